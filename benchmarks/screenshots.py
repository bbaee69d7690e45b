"""Draws the screens of the sample traces at three sizes: sessions, session, label, search, report, replay, and more.

    python benchmarks/screenshots.py [--folder docs/screenshots]

SVG always; PNG as well where rsvg-convert is installed. Dates are drawn as of a fixed day: a second run draws the same.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

SIZES = ((80, 24), (120, 40), (200, 60))
ROOT = Path(__file__).resolve().parents[1]
TODAY = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
SESSION = "帮我看看上周那笔退款到账没"
EDITED = "Fix the greeting"
_CELL = 12.2  # width of a cell in Textual's SVG


async def draw(size: tuple[int, int], folder: Path, samples: Path) -> None:
    """The screens at one size."""
    from reach_tui.tui.app import ReachApp
    from reach_tui.tui.screens.replay import ReplayScreen
    from reach_tui.tui.screens.report import ReportScreen
    from reach_tui.tui.screens.search import SearchScreen
    from reach_tui.tui.screens.session import SessionScreen
    from reach_tui.tui.screens.sessions import SessionsScreen
    from reach_tui.workspace import Settings, Workspace

    app = ReachApp(Workspace([samples], Settings(by="dev")))
    app.now = lambda: TODAY
    width, height = size

    def save(name: str) -> None:
        path = folder / f"{name}-{width}x{height}.svg"
        path.write_text(tidy(app.export_screenshot(simplify=True)), encoding="utf-8")
        if shutil.which("rsvg-convert"):
            subprocess.run(["rsvg-convert", "-w", str(width * 10), path, "-o", path.with_suffix(".png")], check=True)

    async with app.run_test(size=size) as pilot:
        while not (isinstance(app.screen, SessionsScreen) and app.screen.filled):
            await asyncio.sleep(0.05)
        await pilot.pause(0.2)
        save("sessions")
        rows = app.screen.session_list
        rows.cursor = next(i for i, (_, row) in enumerate(rows.rows) if SESSION in (row.judged.session.title or ""))
        await pilot.press("enter")
        while not (isinstance(app.screen, SessionScreen) and app.screen.loaded):
            await asyncio.sleep(0.05)
        await pilot.press("h")
        await pilot.pause(0.3)
        save("session")
        await pilot.press("3")
        await pilot.pause(0.4)
        await pilot.press("p", "semicolon")
        await pilot.pause(0.4)
        save("label")
        await pilot.press("escape", "escape", "ctrl+f")
        while not isinstance(app.screen, SearchScreen):
            await asyncio.sleep(0.05)
        await pilot.press(*"not found", "enter")
        while app.screen.running or not app.screen.hit_list.hits:
            await asyncio.sleep(0.05)
        await pilot.pause(0.3)
        save("search")
        await pilot.press("escape", "R")
        while not (isinstance(app.screen, ReportScreen) and app.screen.report is not None):
            await asyncio.sleep(0.05)
        await pilot.pause(0.3)
        save("report")
        await pilot.press("M")
        await pilot.pause(1.0)
        save("metrics")
        await pilot.press("escape", "D")
        await pilot.pause(1.5)
        save("symptoms")
        await pilot.press("escape", "escape")
        sessions = app.screen.session_list
        sessions.cursor = next(
            i for i, (_, one) in enumerate(sessions.rows) if EDITED in (one.judged.session.title or "")
        )
        await pilot.press("P")
        while not (isinstance(app.screen, ReplayScreen) and app.screen.course is not None):
            await asyncio.sleep(0.05)
        await pilot.press("plus", "plus", "plus", "j", "j", "j")
        await pilot.pause(0.5)
        save("replay")
    app.finish_labels()


def tidy(svg: str) -> str:
    """No fonts from elsewhere, and blanks at the ends of texts as positions: some programs draw them wrongly."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)

    def shift(match: re.Match[str]) -> str:
        x, y, length, rest, text = float(match[1]), match[2], float(match[3]), match[4], match[5]
        inner = re.sub(r"^(?:&#160;)+", "", text)
        left = (len(text) - len(inner)) // 6
        bare = re.sub(r"(?:&#160;)+$", "", inner)
        right = (len(inner) - len(bare)) // 6
        x, length = x + left * _CELL, max(0.1, length - (left + right) * _CELL)
        return f'x="{x:.1f}" y="{y}" textLength="{length:.1f}"{rest}>{bare}</text>'

    return re.sub(r'x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"([^>]*)>([^<]*)</text>', shift, svg)


def main() -> None:
    """Draw everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "screenshots")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        with tempfile.TemporaryDirectory() as home:
            os.environ["REACH_TUI_DATA"] = home
            samples = Path(home) / "samples"
            shutil.copytree(ROOT / "sample_traces", samples)
            asyncio.run(draw(size, folder, samples))
        print(f"{size[0]}x{size[1]} drawn into {folder}")


if __name__ == "__main__":
    main()

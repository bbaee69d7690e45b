"""Running the app in tests: a filled session list, the screen as text, text goldens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from reach_tui.tui.app import ReachApp
from reach_tui.tui.screens.report import ReportScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.screens.sessions import SessionsScreen
from reach_tui.workspace import Settings, Workspace

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
DATA = ROOT / "tests" / "data"
GOLDENS = Path(__file__).with_name("goldens")
NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds; fail where it does not come about."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("did not come about in time")


@asynccontextmanager
async def running(
    paths: Sequence[Path], size: tuple[int, int] = (120, 40), settings: Settings | None = None
) -> AsyncIterator[tuple[ReachApp, Pilot[int]]]:
    """The app on these paths, its list filled and counted."""
    app = ReachApp(Workspace(paths, settings or Settings(by="dev")))
    app.now = lambda: NOON
    try:
        async with app.run_test(size=size) as pilot:
            await until(lambda: isinstance(app.screen, SessionsScreen) and app.screen.filled)
            await pilot.pause()
            yield app, pilot
    finally:
        app.finish_labels()


def sessions_of(app: ReachApp) -> SessionsScreen:
    """The session list, which must be in front."""
    assert isinstance(app.screen, SessionsScreen)
    return app.screen


def session_of(app: ReachApp) -> SessionScreen:
    """The session screen, which must be in front."""
    assert isinstance(app.screen, SessionScreen)
    return app.screen


async def open_session(app: ReachApp, pilot: Pilot[int], title: str = "") -> SessionScreen:
    """Open a session by a part of its title (the chosen one without), and wait until it is read."""
    screen = sessions_of(app)
    if title:
        rows = screen.session_list.rows
        screen.session_list.cursor = next(
            index for index, (_, row) in enumerate(rows) if title in (row.judged.session.title or "")
        )
    await pilot.press("enter")
    await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
    await pilot.pause()
    return session_of(app)


async def open_report(app: ReachApp, pilot: Pilot[int]) -> ReportScreen:
    """The report on what is open, built."""
    await pilot.press("R")
    await until(lambda: isinstance(app.screen, ReportScreen) and app.screen.report is not None)
    await pilot.pause()
    assert isinstance(app.screen, ReportScreen)
    return app.screen


def screen_text(app: ReachApp) -> str:
    """What is on screen, as text: one line a row, trailing blanks cut. Textual has no public call for it."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


async def shows(app: ReachApp, *words: str) -> None:
    """Wait until the screen shows all these words."""
    try:
        await until(lambda: all(word in screen_text(app) for word in words), seconds=10)
    except AssertionError:
        raise AssertionError(f"{words} not on screen:\n{screen_text(app)}") from None


def assert_golden(name: str, text: str) -> None:
    """The text equals the stored one; `REACH_TUI_GOLDENS=write` stores it."""
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("REACH_TUI_GOLDENS") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text

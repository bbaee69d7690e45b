"""The three screens as text at three sizes, from the sample traces: a change of looks shows in the diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from reach_tui.tui.screens.dialogs import PickDialog
from tests.tui.kit import SAMPLES, assert_golden, open_session, running, screen_text, shows, until

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_screens_look_as_they_should(size: tuple[int, int], tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    shop.write_bytes((SAMPLES / "reach" / "shop.db").read_bytes())
    name = f"{size[0]}x{size[1]}"
    async with running([shop], size=size) as (app, pilot):
        assert_golden(f"sessions-{name}", screen_text(app))
        screen = await open_session(app, pilot, "Fix the greeting")
        await pilot.press("h")
        await shows(app, "HIDDEN")
        await until(lambda: "being inferred" not in screen_text(app))
        assert_golden(f"session-{name}", screen_text(app))
        screen.action_label("4")
        await until(lambda: "saved" in screen.status[0])
        screen.set_status("", "dim")
        await pilot.press("semicolon")
        await until(lambda: isinstance(app.screen, PickDialog))
        await shows(app, "Stale context")
        assert_golden(f"label-{name}", screen_text(app))

"""The screens as text at three sizes, from the sample traces: a change of looks shows in the diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from reach_tui.tui.screens.dialogs import PickDialog
from reach_tui.tui.screens.metrics import MetricsScreen
from reach_tui.tui.screens.replay import ReplayScreen
from reach_tui.tui.screens.symptoms import SymptomsScreen
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


@pytest.mark.parametrize("size", SIZES)
async def test_replay_metrics_and_symptoms_look_as_they_should(size: tuple[int, int], tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    shop.write_bytes((SAMPLES / "reach" / "shop.db").read_bytes())
    name = f"{size[0]}x{size[1]}"
    async with running([shop], size=size) as (app, pilot):
        await pilot.press("M")
        await until(lambda: isinstance(app.screen, MetricsScreen) and app.screen.found is not None)
        await pilot.pause()
        assert_golden(f"metrics-{name}", screen_text(app))
        await pilot.press("escape", "D")
        await until(lambda: isinstance(app.screen, SymptomsScreen) and app.screen.findings is not None)
        await pilot.pause()
        assert_golden(f"symptoms-{name}", screen_text(app))
        await pilot.press("escape")
        await open_session(app, pilot, "Fix the greeting")
        await pilot.press("h", "P")
        await until(lambda: isinstance(app.screen, ReplayScreen) and app.screen.course is not None)
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        await pilot.press("plus", "plus", "plus")
        await until(lambda: not screen.busy and screen.settings.t1 == 0.9)
        await until(lambda: screen.current is not None and screen.files_at(screen.current) is not None)
        await pilot.pause()
        assert_golden(f"replay-{name}", screen_text(app))

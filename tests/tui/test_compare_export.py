"""The report compared with what was before, and written to files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from reach_tui.tui.app import ReachApp
from reach_tui.tui.lines import plain
from reach_tui.tui.screens.calls import CallsScreen
from reach_tui.tui.screens.compare import CompareScreen
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.workspace import Workspace
from reach_tui.workspace.comparing import Side, Sides, at_time, compared
from tests.tui.kit import DATA, open_report, running, screen_text, shows, until

PERI = DATA / "peri" / "schema_3.db"
OLDER = DATA / "peri" / "schema_min.db"


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two stores of one kind."""
    return [Path(shutil.copy(path, tmp_path / path.name)) for path in (PERI, OLDER)]


async def compare_screen(app: ReachApp, pilot: Pilot[int]) -> CompareScreen:
    """The comparison, made."""
    await until(lambda: isinstance(app.screen, CompareScreen) and app.screen.found is not None)
    await pilot.pause()
    assert isinstance(app.screen, CompareScreen)
    return app.screen


async def pick(app: ReachApp, pilot: Pilot[int], key: str, digit: str) -> None:
    """Open a choice and choose."""
    await pilot.press(key)
    await until(lambda: isinstance(app.screen, PickDialog))
    await pilot.pause()
    await pilot.press(digit)


async def says(app: ReachApp, words: str) -> None:
    """Wait until a notification has these words."""
    await until(lambda: any(words in one.message for one in app._notifications), seconds=10)


async def answer(app: ReachApp, pilot: Pilot[int], text: str) -> None:
    """Type into the dialog in front."""
    await until(lambda: isinstance(app.screen, NoteDialog))
    app.screen.query_one(Input).value = text
    await pilot.press("enter")


async def test_another_open_store_is_what_was_before(two: list[Path]) -> None:
    async with running(two, size=(140, 60)) as (app, pilot):
        await open_report(app, pilot)
        await pilot.press("c")
        await until(lambda: isinstance(app.screen, PickDialog))
        await shows(app, "schema_min.db", "older half", "a file or folder")
        await pilot.press("2")
        screen = await compare_screen(app, pilot)
        workspace = Workspace(two)
        after, before = workspace.found.sources
        expected = compared(workspace, Sides(Side((before,)), Side((after,))), lambda: None)
        assert screen.found is not None
        assert screen.found.comparison == expected.comparison
        await shows(app, "Before and after", "more than chance", "95 % interval", "schema_min.db")
        rows = screen.report_list
        rows.cursor = next(i for i, row in enumerate(rows.rows) if row.about.endswith(" · hidden, after"))
        tool = rows.rows[rows.cursor].about.partition(" · ")[0]
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
        calls = app.screen
        assert isinstance(calls, CallsScreen)
        told = next(one for one in expected.comparison.tools if one.tool == tool and one.measure == "hidden")
        assert len(calls.call_list.calls) == told.after[0]
        await pilot.press("escape", "escape", "escape")
        await shows(app, "hide errors")


@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_whether_it_is_more_than_chance_is_seen_at_every_width(two: list[Path], width: int) -> None:
    async with running(two, size=(width, 60)) as (app, pilot):
        await open_report(app, pilot)
        await pick(app, pilot, "c", "2")
        screen = await compare_screen(app, pilot)
        lines = [plain([row.line]) for row in screen.report_list.rows]
        heads = [line for line in lines if line.startswith("tool ")]
        assert len(heads) == 2
        assert all(line.endswith(("more than chance", "clear")) and cell_len(line) < width for line in heads)
        assert all(cell_len(line) < width for line in lines)
        assert lines[0].startswith("before     ")
        assert sum(line.endswith(" calls") for line in lines[: lines.index("")]) == 2


async def test_a_saved_report_and_one_that_does_not_fit(two: list[Path], tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    async with running([two[1]], size=(120, 50)) as (app, pilot):
        await open_report(app, pilot)
        await pick(app, pilot, "x", "3")
        await answer(app, pilot, str(saved))
        await until(saved.exists)
        await says(app, "written")
    assert {"scope", "tools", "guards"} <= json.loads(saved.read_text()).keys()
    async with running([two[0]], size=(120, 50)) as (app, pilot):
        await open_report(app, pilot)
        await pick(app, pilot, "c", "3")
        await answer(app, pilot, str(saved))
        screen = await compare_screen(app, pilot)
        assert screen.found is not None
        assert [one["path"] for one in screen.found.comparison.before["stores"]] == [two[1].name]
        await pilot.press("escape")
        broken = json.loads(saved.read_text())
        broken["scope"]["rules_version"] = "other"
        saved.write_text(json.dumps(broken))
        await pick(app, pilot, "c", "3")
        await answer(app, pilot, str(saved))
        await shows(app, "no comparison", "not comparable")
        await pilot.press("escape")
        saved.write_text('{"scope": {}}')
        await pick(app, pilot, "c", "3")
        await answer(app, pilot, str(saved))
        await shows(app, "no comparison", "object without tools, guards")
        await pilot.press("escape")
        await pick(app, pilot, "c", "3")
        await answer(app, pilot, str(tmp_path / "nothing-here"))
        await shows(app, "no comparison")


async def test_two_halves_of_the_time_add_up(two: list[Path]) -> None:
    async with running([two[0]], size=(120, 50)) as (app, pilot):
        report = await open_report(app, pilot)
        assert report.report is not None
        sessions = report.report.scope.sessions
        await pick(app, pilot, "c", "1")
        screen = await compare_screen(app, pilot)
        assert screen.found is not None
        sides = screen.found.comparison.before["sessions"], screen.found.comparison.after["sessions"]
        assert sum(sides) == sessions
        assert min(sides) > 0
        await pilot.press("escape")
        await pick(app, pilot, "c", "2")
        await answer(app, pilot, "no day")
        await says(app, "not a day")


def test_split_at_a_moment_is_half_open(two: list[Path]) -> None:
    sides = at_time(Side(Workspace(two).found.sources), 5)
    assert isinstance(sides.before, Side)
    assert (sides.before.selection.until, sides.after.selection.since) == (5, 5)


@pytest.mark.parametrize(("digit", "suffix"), [("1", ".html"), ("2", ".md"), ("4", ".txt")])
async def test_every_form_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digit: str, suffix: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"report{suffix}").write_text("taken")
    async with running([PERI]) as (app, pilot):
        await open_report(app, pilot)
        await pick(app, pilot, "x", digit)
        await until(lambda: isinstance(app.screen, NoteDialog))
        assert app.screen.query_one(Input).value == f"report-2{suffix}"
        await pilot.press("enter")
        await until(Path(f"report-2{suffix}").exists)
        await says(app, "written")
    assert Path(f"report{suffix}").read_text() == "taken"
    assert "Edit" in Path(f"report-2{suffix}").read_text()


async def test_a_trace_is_never_written_over(two: list[Path]) -> None:
    before = two[0].read_bytes()
    async with running([two[0]]) as (app, pilot):
        await open_report(app, pilot)
        await pick(app, pilot, "x", "1")
        await answer(app, pilot, str(two[0]))
        await says(app, "not overwritten")
    assert two[0].read_bytes() == before


async def test_soft_signals_show_when_switched_on(two: list[Path]) -> None:
    async with running(two, size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        assert screen.report is not None
        soft = {row.tool: row.counts.soft for row in screen.report.tools if row.counts.soft}
        assert "no proof, not counted" not in screen_text(app)
        await pilot.press("S")
        rows = screen.report_list.rows
        shown = [row for row in rows if row.about.endswith(" · soft signals")]
        assert {row.about.partition(" · ")[0] for row in shown} == set(soft)
        if shown:
            screen.report_list.cursor = rows.index(shown[0])
            await pilot.press("enter")
            await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
            assert isinstance(app.screen, CallsScreen)
            assert len(app.screen.call_list.calls) == soft[shown[0].about.partition(" · ")[0]]

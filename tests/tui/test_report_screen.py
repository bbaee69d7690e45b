"""The report on screen: its figures are the analyzer's, and every number leads to the calls it counts."""

from __future__ import annotations

import json

from reach_tui.tui.report_rows import report_rows
from reach_tui.tui.screens.calls import CallsScreen
from reach_tui.tui.screens.session import SessionScreen
from tests.tui.kit import DATA, open_report, running, screen_text, shows, until

PERI = DATA / "peri" / "schema_3.db"


async def test_figures_equal_the_truth_file() -> None:
    truth = json.loads((DATA / "peri" / "schema_3.truth.json").read_text(encoding="utf-8"))["scopes"]["roots"]
    async with running([PERI], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        assert screen.report is not None
        found = {row.tool: row.counts for row in screen.report.tools}
        for tool in ("Agent", "Edit", "Read", "Bash"):
            assert found[tool].calls == truth[tool]["calls"]
            assert found[tool].flagged == truth[tool].get("flagged", 0)
            assert found[tool].hidden == truth[tool].get("hidden", 0)
        await shows(app, "old string not found", "95 % interval")


async def test_a_number_leads_to_its_calls_and_a_call_to_its_session() -> None:
    async with running([PERI], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        rows = screen.report_list.rows
        index = next(i for i, row in enumerate(rows) if row.query and row.query.rule == "edit.old_string_not_found")
        screen.report_list.cursor = index
        assert screen.report is not None
        edit = next(row for row in screen.report.tools if row.tool == "Edit")
        count = next(one.count for one in edit.classes if one.rule == "edit.old_string_not_found")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
        calls = app.screen
        assert isinstance(calls, CallsScreen)
        assert len(calls.call_list.calls) == count
        assert all(one.tool == "Edit" and one.mark.word == "HIDDEN" for one in calls.call_list.calls)
        await shows(app, f"{count} calls")
        await pilot.press("j", "enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        session = app.screen
        assert isinstance(session, SessionScreen)
        current = session.current_call
        assert current is not None
        assert current.call.key == calls.call_list.calls[1].key
        await pilot.press("escape", "escape", "escape")
        await shows(app, "hide errors")


async def test_report_can_be_left_while_it_is_read() -> None:
    async with running([PERI]) as (app, pilot):
        await pilot.press("R", "escape")
        await shows(app, "hide errors")
        assert "sort" in screen_text(app)


async def test_a_report_is_laid_out_for_the_width_there_is() -> None:
    async with running([PERI], size=(160, 40)) as (app, pilot):
        screen = await open_report(app, pilot)
        rows = screen.report_list
        wide = list(rows.rows)
        await pilot.resize_terminal(80, 40)
        await until(lambda: rows.rows != wide)
        assert screen.report is not None
        assert rows.rows == report_rows(screen.report, rows.line_width, app.glyphs)
        await pilot.resize_terminal(160, 40)
        await until(lambda: rows.rows == wide)

"""The report on screen: its figures are the analyzer's, and every number leads to the calls it counts."""

from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

from reach_tui.tui.lines import plain
from reach_tui.tui.report_rows import report_rows
from reach_tui.tui.screens.calls import CallsScreen
from reach_tui.tui.screens.session import SessionScreen
from tests.tui.kit import DATA, SAMPLES, open_report, running, screen_text, shows, until

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
        index = next(i for i, row in enumerate(rows) if row.about.startswith("Edit · old string not found"))
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


async def test_guards_fixes_weeks_and_stale_edits_lead_to_their_calls() -> None:
    async with running([SAMPLES], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        report = screen.report
        assert report is not None
        fix, weeks = report.fixes[0], report.over_time.rows
        wanted = {
            "error metric · in truth": report.metric.by_truth,
            f"{fix.tool} · {fix.category} / {fix.subcategory}": fix.count,
            "Edit · stale edits": next(row.stale for row in report.stale_by_tool if row.tool == "Edit"),
            "failed in sessions begun in the week from 1 Jun 2026": weeks[0].failed,
            "failed in sessions begun in the week from 30 Nov 2026": weeks[-1].failed,
        }
        lines = [plain([row.line]) for row in screen.report_list.rows]
        empty = next(line for line in lines if line.startswith("… "))
        assert empty.split() == ["…", str(sum(not week.ended for week in weeks)), "weeks", "0", "–"]
        for about, count in wanted.items():
            screen.report_list.cursor = [row.about for row in screen.report_list.rows].index(about)
            await pilot.press("enter")
            await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
            await pilot.pause()
            calls = app.screen
            assert isinstance(calls, CallsScreen)
            assert len(calls.call_list.calls) == count, about
            assert f"{count} call" in screen_text(app)
            assert all(one.mark.word in ("HIDDEN", "FLAGGED") for one in calls.call_list.calls)
            await pilot.press("escape")


async def test_a_line_without_calls_says_so() -> None:
    async with running([PERI], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        rows = screen.report_list.rows
        screen.report_list.cursor = next(i for i, row in enumerate(rows) if "Health of the data" in plain([row.line]))
        await pilot.press("enter")
        await until(lambda: any("no list of calls" in one.message for one in app._notifications), seconds=10)
        assert app.screen is screen


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
async def test_a_class_says_of_what_kind_it_is_and_texts_fold(width: int) -> None:
    async with running([SAMPLES], size=(width, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        lines = [plain([row.line]) for row in screen.report_list.rows]
        told = {line.split("%")[1].strip() for line in lines if "%  git" in line}
        assert {" ".join(one.split()) for one in told} == {
            "git context_gap / wrong_target",
            "git stale_context / precondition_not_met",
        }
        whole = " ".join(" ".join(lines).split())
        assert "is recorded now as an error, now as a success" in whole.replace(" 14", "").replace(" 2 ", " ")
        path = lines[next(i for i, line in enumerate(lines) if line.startswith("Errors on the success path")) + 1]
        assert "evidence" in path[: width - 2]
        if width >= 80:
            assert all(cell_len(line) < width for line in lines if "◆" in line)


async def test_the_report_is_laid_out_anew_for_another_width() -> None:
    async with running([SAMPLES], size=(80, 40)) as (app, pilot):
        screen = await open_report(app, pilot)
        rows = screen.report_list.rows
        screen.report_list.cursor = next(i for i, row in enumerate(rows) if row.about.startswith("Read · "))
        chosen = screen.report_list.row
        assert chosen is not None
        await pilot.resize_terminal(140, 40)
        await shows(app, "95 % interval")
        assert screen.report_list.row is not None
        assert screen.report_list.row.same(chosen)
        assert screen.report_list.rows != rows

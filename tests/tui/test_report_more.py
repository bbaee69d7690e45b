"""The report's inferred part on request, and what to change first, with the calls that speak for it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.analyze.suggestions import Suggestion
from reach_tui.tui.glyphs import UNICODE
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.screens.calls import CallsScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.screens.suggestions import SuggestionsScreen
from reach_tui.tui.suggestion_rows import suggestion_rows
from reach_tui.workspace import Source, Workspace
from reach_tui.workspace.inferred_report import InferredCollector
from reach_tui.workspace.reporting import Selection
from tests.tui.kit import DATA, SAMPLES, open_report, running, screen_text, session_of, shows, until

SHOP = SAMPLES / "reach" / "shop.db"
OPENCODE = DATA / "opencode" / "opencode-1.2.20.db"


async def test_the_inferred_part_comes_and_goes_with_a_key() -> None:
    workspace = Workspace([OPENCODE])
    collector = InferredCollector(workspace, Selection())
    list(collector.tallies(workspace.found.sources[0]))
    async with running([OPENCODE], size=(140, 110)) as (app, pilot):
        screen = await open_report(app, pilot)
        before = [row.line for row in screen.report_list.rows]
        await pilot.press("i")
        await until(lambda: screen.report is not None and screen.report.inferred is not None)
        await pilot.pause()
        assert screen.report is not None
        assert screen.report.inferred == collector.rows()
        await shows(app, "Inferred routes", "top 1", "top 5", "Failure rate by confidence", "AUC")
        await pilot.press("i")
        await pilot.pause()
        assert [row.line for row in screen.report_list.rows] == before
        await pilot.press("i")
        await shows(app, "Inferred routes")


async def test_inferring_is_stopped_by_the_first_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(collector: InferredCollector, source: Source) -> Iterator[str]:
        while True:
            time.sleep(0.01)
            yield source.name

    monkeypatch.setattr(InferredCollector, "tallies", endless)
    async with running([SHOP]) as (app, pilot):
        screen = await open_report(app, pilot)
        await pilot.press("i")
        await shows(app, "sessions inferred", "Escape stops")
        await pilot.press("escape")
        await until(lambda: not any(worker.is_running for worker in screen.workers))
        assert app.screen is screen
        assert "sessions inferred" not in screen_text(app)
        await pilot.press("escape")
        await shows(app, "hide errors")


async def test_without_labels_it_says_where_suggestions_come_from() -> None:
    async with running([SHOP]) as (app, pilot):
        await open_report(app, pilot)
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, SuggestionsScreen) and app.screen.found is not None)
        await shows(app, "Nothing to suggest yet", "reach-tui suggest PATH --registry DIR --cases CASES")
        await pilot.press("enter", "escape", "escape")
        await shows(app, "hide errors")


async def test_a_suggestion_opens_the_call_that_speaks_for_it(tmp_path: Path) -> None:
    store = Path(shutil.copy(OPENCODE, tmp_path))
    workspace = Workspace([store], by="ann")
    source = workspace.found.sources[0]
    wrong = [one for one in workspace.judged_calls(source) if one.verdict.failed is True]
    by_rule: dict[str, int] = {}
    for one in wrong:
        by_rule[str(one.verdict.rule)] = by_rule.get(str(one.verdict.rule), 0) + 1
    rule = max(by_rule, key=lambda name: by_rule[name])
    chosen = [one for one in wrong if one.verdict.rule == rule]
    assert len(chosen) >= 3
    for one in chosen:
        workspace.save_label(source, one, workspace.make_label(source, one, "not_a_failure"))
    workspace.close()
    async with running([store]) as (app, pilot):
        await open_report(app, pilot)
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, SuggestionsScreen) and app.screen.found is not None)
        await shows(app, f"narrow or switch off the rule {rule}", "people call")
        screen = app.screen
        assert isinstance(screen, SuggestionsScreen)
        rows = screen.suggestion_list.rows
        screen.suggestion_list.cursor = next(i for i, row in enumerate(rows) if row.example is not None)
        example = rows[screen.suggestion_list.cursor].example
        assert example is not None
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await pilot.pause()
        current = session_of(app).current_call
        assert current is not None
        assert current.call.key == example.key
        assert current.call.key in {one.call.key for one in chosen}


async def test_a_time_limit_opens_the_calls_of_its_tool() -> None:
    async with running([SHOP]) as (app, pilot):
        await open_report(app, pilot)
        await pilot.press("a")
        await until(lambda: isinstance(app.screen, SuggestionsScreen) and app.screen.found is not None)
        screen = app.screen
        assert isinstance(screen, SuggestionsScreen)
        screen.post_message(
            screen.Done(([Suggestion("timeout", "raise the time limit of bash", "9 of 9", (), 9, "bash")], {}))
        )
        await shows(app, "raise the time limit of bash", "1 suggestions")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
        calls = app.screen
        assert isinstance(calls, CallsScreen)
        assert {one.tool for one in calls.call_list.calls} == {"bash"}
        assert "raise the time limit" in screen_text(app)


def test_rows_fit_and_say_what_is_gone() -> None:
    one = Suggestion("rule", "narrow 退款 " * 20, "because " * 30, ("key" * 30,), 3)
    for width in (50, 80, 160):
        rows = suggestion_rows([one], {}, width, UNICODE, lambda _: "title")
        assert all(
            width_of(row.line) <= width for row in rows if row.example is None and "no longer" not in plain([row.line])
        )
    assert "no longer in the traces" in plain(row.line for row in rows)

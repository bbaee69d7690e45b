"""Every number of the report leads to exactly as many calls, steps or sessions as it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from reach_tui.base.paths import cache_dir
from reach_tui.report.model import Report
from reach_tui.tui.app import ReachApp
from reach_tui.tui.glyphs import UNICODE
from reach_tui.tui.lines import plain
from reach_tui.tui.report_numbers import Counted
from reach_tui.tui.report_rows import report_rows
from reach_tui.tui.screens.calls import CallsScreen
from reach_tui.tui.screens.report import ReportScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.workspace import JudgedStep, Source, Workspace
from reach_tui.workspace.finding import Behind, Hit, Search, matching
from reach_tui.workspace.reporting import Collector, Selection
from tests.tui.kit import DATA, ROOT, SAMPLES, open_report, running, session_of, shows, until

PERI = DATA / "peri" / "schema_17.db"
FINE = "not_a_failure"

ONE = {"peri": PERI}  # the others hold the same calls
STORES = [
    *sorted(path for path in SAMPLES.iterdir() if path.is_dir()),
    *(ONE.get(path.name, path) for path in sorted(DATA.iterdir()) if path.is_dir() and path.name != "labels"),
]


def report_on(workspace: Workspace, selection: Selection) -> Report:
    """The report on what is open."""
    collector = Collector(workspace, selection)
    for source in workspace.found.sources:
        for _ in collector.tallies(source):
            pass
    return collector.report()


def listed(workspace: Workspace, number: Counted, selection: Selection) -> list[Hit]:
    """What Enter lists."""
    if number.began is not None:
        selection = replace(selection, since=number.began[0], until=number.began[1])
    return list(matching(workspace, workspace.found.sources, number.query, selection))


def check(path: Path, selection: Selection) -> dict[str, Counted]:
    """Hold every number of the report against its list; the numbers by what they count."""
    workspace = Workspace([path])
    report = report_on(workspace, selection)
    rows = report_rows(report, 200, UNICODE, soft=True)
    numbers = {number for row in rows for number in row.behind}
    for number in numbers:
        assert len(listed(workspace, number, selection)) == number.count, number.about
    for behind, lines in groupby(rows, key=lambda row: row.behind):  # a folded row's lines together
        shown = plain(row.line for row in lines)
        if first := next((one.count for one in behind if one.count), None):
            assert f"{first:,}" in shown, shown
    told = {number.about: number for number in numbers}
    for loop in report.loops:
        first, *_ = listed(workspace, told[f"{loop.what.replace('_', ' ')} · every call"], selection)
        assert first.judged is not None
        assert first.judged.call.key == loop.example_call_key
    workspace.close()
    return told


@pytest.mark.parametrize("path", STORES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_number_is_the_length_of_its_list(path: Path) -> None:
    assert check(path, Selection(scope="all"))


def test_the_same_of_some_tools_alone() -> None:
    assert check(SAMPLES, Selection(tools=("Edit", "Bash")))


def test_the_same_on_a_generated_store(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    script = ROOT / "benchmarks" / "make_store.py"
    command = [sys.executable, str(script), "--sessions", "20", "--calls", "600", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    assert check(path, Selection())


@pytest.mark.shared
def test_the_retrospective_leads_to_the_published_figures(retrospective: tuple[Path, dict[str, Any]]) -> None:
    workspace, selection = Workspace([retrospective[0]]), Selection()
    rows = report_rows(report_on(workspace, selection), 200, UNICODE)
    numbers = {number.about: number for row in rows for number in row.behind}
    wanted = {
        "correction, same error after 5 · by flag": 3,
        "correction, same error after 5 · in truth": 14,
        "correction, any error after 5 · in truth": 7,
        "Edit · stale_context / stale_edit": 132,  # the fix
        "Edit · stale edits": 132,
        "Agent · avoidable by its description, by the seed": 41,
        "Agent · avoidable by its description, by the taxonomy": 42,
    }
    for about, count in wanted.items():
        assert len(listed(workspace, numbers[about], selection)) == count, about
    stale = {hit.judged and hit.judged.call.key for hit in listed(workspace, numbers["Edit · stale edits"], selection)}
    every = {
        hit.judged and hit.judged.call.key for hit in listed(workspace, numbers["Edit · text not found"], selection)
    }
    assert stale < every


def test_labels_lead_to_what_they_are_of(tmp_path: Path) -> None:
    path = Path(shutil.copy(PERI, tmp_path / "threads.db"))
    for person in ("ann", "bob"):
        workspace = Workspace([path], by=person)
        (source,) = workspace.found.sources
        session = next(session for session in source.reader.sessions() if session.own_work)
        for one, category in zip(workspace.judged_calls(source, [session.id]), (FINE, "stale_context"), strict=False):
            workspace.save_label(source, one, workspace.make_label(source, one, category))
        workspace.label_store(source).save(replace(workspace.make_label(source, one, FINE), call_key=None))
        workspace.close()
    numbers = check(path, Selection())
    assert numbers["labelled calls"].count == 4
    assert numbers["sessions labelled as no failure"].count == 2


def test_only_sessions_are_read_that_hold_any(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, selection = Workspace([PERI]), Selection(scope="all")
    (source,) = workspace.found.sources
    rows = report_rows(report_on(workspace, selection), 200, UNICODE)
    numbers = {number.about: number for row in rows for number in row.behind}
    asked: list[str] = []
    real = workspace.judged_steps

    def watched(source: Source, session_id: str) -> Iterator[JudgedStep]:
        asked.append(session_id)
        return real(source, session_id)

    monkeypatch.setattr(workspace, "judged_steps", watched)
    found = listed(workspace, numbers["Edit · stale edits"], selection)
    assert asked == list(dict.fromkeys(hit.session_id for hit in found))
    asked.clear()
    passed = listed(workspace, numbers["passed at first"], selection)
    assert len(passed) == numbers["passed at first"].count > 0
    assert asked == []  # figures of the index say which
    shutil.rmtree(cache_dir())
    assert listed(workspace, numbers["Edit · stale edits"], selection) == found
    assert len(set(asked)) == sum(1 for _ in source.reader.sessions())
    assert [hit.session_id for hit in listed(workspace, numbers["passed at first"], selection)] == [
        hit.session_id for hit in passed
    ]


async def opened(app: ReachApp, pilot: Pilot[int], about: str) -> CallsScreen:
    """What Enter on the row with that number lists, read to its end."""
    screen = app.screen
    assert isinstance(screen, ReportScreen)
    rows = screen.report_list
    rows.cursor = next(i for i, row in enumerate(rows.rows) if any(one.about == about for one in row.behind))
    await pilot.press("enter")
    return await complete(app, pilot)


async def complete(app: ReachApp, pilot: Pilot[int]) -> CallsScreen:
    """The list in front, read to its end."""
    await until(lambda: isinstance(app.screen, CallsScreen) and app.screen.complete)
    await pilot.pause()
    assert isinstance(app.screen, CallsScreen)
    return app.screen


async def test_v_goes_on_to_the_other_numbers_and_escape_comes_back_to_the_row() -> None:
    async with running([SAMPLES / "peri"], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        calls = await opened(app, pilot, "Edit · stale edits")
        behind = screen.report_list.rows[screen.report_list.cursor].behind
        counts = [one.count for one in behind if one.count]
        assert len(counts) > 1
        seen = []
        for _ in counts:
            seen.append(len(calls.call_list.calls))
            await pilot.press("v")
            await complete(app, pilot)
        assert seen == counts
        assert len(calls.call_list.calls) == counts[0]  # and from the start
        before = screen.report_list.cursor
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is screen
        assert screen.report_list.cursor == before


async def test_sessions_and_steps_open_where_they_are() -> None:
    async with running([PERI], size=(120, 60)) as (app, pilot):
        await open_report(app, pilot)
        calls = await opened(app, pilot, "orphan results")
        one = calls.call_list.calls[0]
        await shows(app, f"{len(calls.call_list.calls)} step", "orphan")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await pilot.pause()
        session = session_of(app)
        assert session.step_list.steps[session.step_list.rows[session.step_list.cursor].index].step.number == one.key
        await pilot.press("escape", "escape")
        calls = await opened(app, pilot, "passed at first")
        one = calls.call_list.calls[0]
        await shows(app, "sessions", one.about[:20])
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        assert session_of(app).judged.session.id == one.session_id


async def test_nothing_is_listed_of_zero_and_a_search_ends_with_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running([PERI], size=(120, 60)) as (app, pilot):
        screen = await open_report(app, pilot)
        rows = screen.report_list
        rows.cursor = next(
            i for i, row in enumerate(rows.rows) if row.behind and not any(one.count for one in row.behind)
        )
        await pilot.press("enter")
        await until(lambda: any("there is none" in one.message for one in app._notifications), seconds=10)
        assert app.screen is screen

        def endless(query: Behind, search: Search) -> Iterator[Hit]:
            while True:
                time.sleep(0.01)
                search.watch()
                yield from ()

        monkeypatch.setattr(Behind, "hits", endless)
        rows.cursor = next(i for i, row in enumerate(rows.rows) if row.about == "Edit · stale edits")
        await pilot.press("enter")
        await shows(app, "sessions read", "Escape leaves")
        calls = app.screen
        await pilot.press("escape")
        await until(lambda: not any(worker.is_running for worker in app.workers))
        assert app.screen is screen
        assert calls is not screen

"""Every call as one list: rows by the counts of the sessions, read when they are seen."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from reach_tui.model import Counts, Session
from reach_tui.tui.app import ReachApp
from reach_tui.tui.call_pages import CallPages, View
from reach_tui.tui.screens.all_calls import AllCallsScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.session_tree import Entry
from reach_tui.workspace import JudgedSession, SessionCounts, Workspace
from tests.tui.kit import SAMPLES, running, sessions_of, shows, until

SHOP = Workspace([SAMPLES / "reach" / "shop.db"])


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=12))
def test_every_row_has_its_place(sizes: list[int | None]) -> None:
    source = SHOP.found.sources[0]
    entries = [
        Entry((0, str(number)), source, JudgedSession(
            Session("reach", str(number), started_at=number),
            None if size is None else SessionCounts(str(number), Counts(calls=size), {}, None)))
        for number, size in enumerate(sizes)
    ]  # fmt: skip
    pages = CallPages(entries, View.ALL)
    expected = [(str(number), offset) for number in reversed(range(len(sizes))) for offset in range(sizes[number] or 0)]
    places = [pages.place(row) for row in range(pages.count)]
    assert [(one.entry.judged.session.id, one.offset) for one in places] == expected
    assert [pages.row(one) for one in places] == list(range(pages.count))
    assert all(pages.line(row) is None for row in range(pages.count))
    if pages.count:
        assert pages.wanted(range(pages.count))[0] == 0


async def open_calls(app: ReachApp, pilot: Pilot[int]) -> AllCallsScreen:
    """The list of every call."""
    await pilot.press("c")
    await until(lambda: isinstance(app.screen, AllCallsScreen))
    assert isinstance(app.screen, AllCallsScreen)
    return app.screen


async def test_all_calls_are_listed_and_open_at_their_step(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SAMPLES / "reach" / "shop.db", tmp_path / "shop.db"))
    async with running([shop]) as (app, pilot):
        total = sessions_of(app).counting.total
        screen = await open_calls(app, pilot)
        assert screen.call_list.count == total.calls > 50
        await shows(app, "all calls", f"{total.calls} calls")
        await pilot.press("G")
        rows = screen.call_list
        await until(lambda: rows.pages.line(rows.cursor) is not None)
        one = rows.pages.line(rows.cursor)
        assert one is not None
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await until(lambda: app.screen.current_call is not None and app.screen.current_call.call.key == one.key)  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert app.screen is screen


async def test_views_count_failed_and_hidden_calls(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SAMPLES / "reach" / "shop.db", tmp_path / "shop.db"))
    async with running([shop]) as (app, pilot):
        total = sessions_of(app).counting.total
        screen = await open_calls(app, pilot)
        rows = screen.call_list
        for count, mark in ((total.failed, None), (total.hidden, "HIDDEN")):
            await pilot.press("v")
            assert rows.count == count > 0
            await until(lambda: all(rows.pages.line(row) for row in rows.seen))
            lines = [rows.pages.line(row) for row in rows.seen]
            assert all(one is not None and one.mark.word in (mark, "FLAGGED" if mark is None else mark, "HIDDEN")
                       for one in lines)  # fmt: skip

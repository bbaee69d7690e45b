"""Searching everything that is open: hits as they are found, the words marked, Enter to the step and back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from reach_tui.tui.app import ReachApp
from reach_tui.tui.call_lines import marked
from reach_tui.tui.screens.search import SearchScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.screens.sessions import SessionsScreen
from reach_tui.workspace.searching import marks
from tests.tui.kit import SAMPLES, open_session, running, screen_text, shows, until


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the native samples: an index is made for it anew."""
    return Path(shutil.copy(SAMPLES / "reach" / "shop.db", tmp_path / "shop.db"))


async def look_for(app: ReachApp, pilot: Pilot[int], text: str) -> SearchScreen:
    """Search for words from the screen in front, until all hits are there."""
    if not isinstance(app.screen, SearchScreen):
        await pilot.press("ctrl+f")
        await until(lambda: isinstance(app.screen, SearchScreen))
    screen = app.screen
    assert isinstance(screen, SearchScreen)
    await pilot.pause()
    await pilot.press("slash")
    screen.query_one(Input).value = text
    await pilot.press("enter")
    await until(lambda: screen.words == tuple(text.split()) and not screen.running)
    await pilot.pause()
    return screen


async def test_enter_on_a_hit_opens_its_step_and_escape_comes_back(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        screen = await look_for(app, pilot, "order")
        assert len(screen.hit_list.hits) > 1
        assert screen.focused is screen.hit_list
        await pilot.press("down")
        hit = screen.hit_list.hits[1]
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await until(lambda: app.screen.current_call is not None and app.screen.current_call.call.key == hit.call.key)  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert app.screen is screen
        assert screen.hit_list.cursor == 1
        await pilot.press("escape")
        assert isinstance(app.screen, SessionsScreen)


async def test_chinese_is_found_inside_a_run_of_characters(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        screen = await look_for(app, pilot, "退款")
        assert any("退款" in one.excerpt for one in screen.hit_list.hits)


async def test_the_words_are_marked_and_counted(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        screen = await look_for(app, pilot, "order")
        assert f"{len(screen.hit_list.hits)} hits" in screen_text(app)
        for one in screen.hit_list.hits:
            assert any("order" in one.excerpt[start:end].casefold() for start, end in one.spans)


async def test_search_opens_from_a_session_too(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        await open_session(app, pilot)
        await look_for(app, pilot, "order")
        await pilot.press("escape")
        assert isinstance(app.screen, SessionScreen)


async def test_operators_and_quotes_are_text(shop: Path) -> None:
    texts = ['"', "AND OR NOT", "a* NEAR(b", '"unclosed', "col:x ^y", "-- ;", "%_\\", "[bold]x"]
    async with running([shop]) as (app, pilot):
        for text in texts:
            screen = await look_for(app, pilot, text)
            assert not any("traceback" in one.message.casefold() for one in app._notifications)
            for one in screen.hit_list.hits:
                assert one.spans


async def test_nothing_found_says_what_to_do(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        await look_for(app, pilot, "zzzqqqxxx")
        await shows(app, "No call holds all these words", "0 hits")
        screen = await look_for(app, pilot, "")
        await shows(app, "Operators and quotes are text")
        assert not screen.hit_list.hits


async def test_escape_stops_a_search_before_it_leaves(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from reach_tui.tui.screens import search

    going_on = threading.Event()

    def endless(source: object, words: object, limit: object, *, watch: search.Reading) -> object:
        read = 0
        while True:
            read += 1
            watch(min(read, 999), 1000)  # type: ignore[operator]
            going_on.wait(0.01)
            yield from ()

    monkeypatch.setattr(search, "search_source", endless)
    async with running([shop]) as (app, pilot):
        await pilot.press("ctrl+f")
        await until(lambda: isinstance(app.screen, SearchScreen))
        await pilot.press(*"slow", "enter")
        await shows(app, "reading", "of 1,000 sessions", "Escape stops")
        await pilot.press("escape")
        screen = app.screen
        assert isinstance(screen, SearchScreen)
        await shows(app, "stopped")
        await until(lambda: not any(worker.group == "search" and not worker.is_finished for worker in screen.workers))
        await pilot.press("escape")
        assert isinstance(app.screen, SessionsScreen)


def test_marks_are_spans_of_the_text_itself() -> None:
    assert marks("Straße STRASSE", ["strasse"]) == [(0, 6), (7, 14)]
    assert marks("权限不足", ["限不"]) == [(1, 3)]
    assert marks("preorder order", ["order"]) == [(9, 14)]
    assert marks("order orders", ["order", "orders"]) == [(0, 5), (6, 12)]
    assert marks("", ["x"]) == []
    assert marks("Ärger", ["arger"]) == [(0, 5)]


def test_marked_text_is_the_whole_text() -> None:
    text = "a bc d"
    line = marked(text, [(2, 4)])
    assert "".join(piece for piece, _ in line) == text
    assert ("bc", "evidence") in line


async def test_one_letter_waits_for_enter_and_shows_no_hits_of_other_words(shop: Path) -> None:
    async with running([shop]) as (app, pilot):
        screen = await look_for(app, pilot, "order")
        await pilot.press("slash")
        screen.query_one(Input).value = "e"
        await shows(app, "Enter searches for one letter alone.")
        assert not screen.hit_list.hits
        assert "hits" not in screen_text(app)
        await pilot.press("enter")
        await until(lambda: bool(screen.hit_list.hits))

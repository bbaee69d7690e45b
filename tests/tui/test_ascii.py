"""REACH_TUI_ASCII: on a store of ASCII text every screen, window, frame and message is ASCII."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from reach_tui.tui.app import ReachApp
from reach_tui.tui.ascii import in_ascii
from reach_tui.tui.glyphs import UNICODE
from reach_tui.tui.screens.report import ReportScreen
from reach_tui.workspace import Settings, Workspace
from tests.tui.kit import SAMPLES, open_session, running, screen_text, shows, until

SIZES = [(80, 24), (120, 40)]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The sample shop, each sign that is not ASCII a question mark."""
    path = tmp_path / "shop.db"
    path.write_bytes((SAMPLES / "reach" / "shop.db").read_bytes())
    with sqlite3.connect(path) as connection:
        connection.create_function("plain", 1, lambda text: text.encode("ascii", "replace").decode())
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if kind == "TEXT":
                    connection.execute(f"UPDATE {table} SET {column} = plain({column}) WHERE typeof({column}) = 'text'")
    connection.close()
    return path


@asynccontextmanager
async def plain(shop: Path, size: tuple[int, int]) -> AsyncIterator[tuple[ReachApp, Pilot[int]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REACH_TUI_ASCII", "1")
        async with running([shop], size=size) as (app, pilot):
            yield app, pilot


async def seen(app: ReachApp, *words: str, stays: str = "") -> None:
    """These words come on screen, and nothing there is other than ASCII but `stays`."""
    await shows(app, *words)
    text = screen_text(app)
    assert {sign for sign in text if not sign.isascii()} <= set(stays), text


@pytest.mark.parametrize("size", SIZES)
async def test_sessions_and_a_session(shop: Path, size: tuple[int, int]) -> None:
    async with plain(shop, size) as (app, pilot):
        await seen(app, "reach-tui", "by flag")
        await pilot.press("slash", *"zzq")
        await seen(app, "no session matches the filter")
        await pilot.press("escape", "question_mark")
        await seen(app, "keys", "Move", "+---")
        await pilot.press("escape", "exclamation_mark")
        await seen(app, "what could not be read")
        await pilot.press("escape")
        await open_session(app, pilot, "Fix the greeting")
        await pilot.press("h")
        await until(lambda: "being inferred" not in screen_text(app))
        await seen(app, "H HIDDEN", "route", "slots")
        await pilot.press("tab")
        await seen(app, "H HIDDEN")
        await pilot.press("tab", "slash", *"zzq")
        await seen(app, 'no step holds "zzq"')
        await pilot.press("escape", "enter")
        await seen(app, "step ")
        await pilot.press("escape", "4", "semicolon")
        await seen(app, "Stale context", "+---")
        await pilot.press("escape", "e")
        await seen(app, "note - step")
        await pilot.press("escape", "P")
        await seen(app, "recorded", "decisions flip")
        await pilot.press("plus", "plus", "plus")
        await until(lambda: not getattr(app.screen, "busy", True))
        await seen(app, "t1 0.9")
        await pilot.press("escape", "D")
        await seen(app, "symptoms")


@pytest.mark.parametrize("size", SIZES)
async def test_the_screens_over_everything(shop: Path, size: tuple[int, int]) -> None:
    async with plain(shop, size) as (app, pilot):
        await pilot.press("R")
        await seen(app, "three guards", "in truth")
        for _ in range(12):
            await pilot.press("pagedown")
            await seen(app, "compare")
        await pilot.press("c")
        await seen(app, "older half", "+---")
        await pilot.press("1")
        await seen(app, "before and after", "points")
        await pilot.press("escape", "i")
        await seen(app, "compare")
        screen = app.screen
        assert isinstance(screen, ReportScreen)
        await until(lambda: screen.report is not None and screen.report.inferred is not None)
        await pilot.press("G")
        await seen(app, "compare")
        await pilot.press("a")
        await seen(app, "suggest")
        await pilot.press("escape", "M")
        await seen(app, "end to end")
        await pilot.press("d")
        await seen(app, "what the words mean", stays="不对还是不行")  # words that are looked for, in their own script
        await pilot.press("escape", "escape", "D")
        await seen(app, "symptoms")
        await pilot.press("escape", "escape", "c")
        await seen(app, "all calls")
        await pilot.press("escape", "ctrl+f", *"order")
        await seen(app, "order")
        await pilot.press("escape", "escape", "L")
        await seen(app, "doubt")
        await pilot.press("escape", "N")
        await seen(app, "notes")


async def test_messages_and_the_palette(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACH_TUI_ASCII", "1")
    app = ReachApp(Workspace([shop], Settings(by="dev")))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await seen(app, "by flag")
        app.say("a message · of ours …", severity="error")
        await seen(app, "a message - of ours..")
        await pilot.press("ctrl+p")
        await seen(app, "Search for command", "a page down")
    app.finish_labels()


@given(st.text(st.sampled_from("ab é订…·→≥ ≤─│╭█🔎“▌"), max_size=30))
def test_every_sign_keeps_its_cells(text: str) -> None:
    assert cell_len(in_ascii(text)) == cell_len(text)
    assert {sign for sign in in_ascii(text) if not sign.isascii()} <= set("é订")


def test_signs_by_hand() -> None:
    assert in_ascii("Edit the col… · 0.41 ≥ 0.15 → execute") == "Edit the co.. - 0.41 >=0.15 > execute"
    assert in_ascii("reading the sessions …") == "reading the sessions.."
    assert in_ascii("… 24 weeks") == "..24 weeks"
    assert in_ascii("订…") == "..."
    assert in_ascii("查询 café") == "查询 café"
    assert in_ascii("".join([UNICODE.rule, UNICODE.vertical, UNICODE.bar, UNICODE.dot])) == "-|@*"

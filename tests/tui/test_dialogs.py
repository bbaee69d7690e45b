"""Small windows: the keys that move in a list move in them, and they are as high as what they hold."""

from __future__ import annotations

import pytest

from reach_tui.tui.glyphs import ASCII
from reach_tui.tui.screens.dialogs import HelpDialog, TextDialog
from reach_tui.tui.widgets.line_view import LinesView
from reach_tui.workspace import Settings
from tests.tui.kit import DATA, running, screen_text, shows

PERI = DATA / "peri" / "schema_3.db"


@pytest.mark.parametrize(
    ("down", "up"), [("j", "k"), ("down", "up"), ("pagedown", "pageup"), ("ctrl+d", "ctrl+u"), ("G", "g")]
)
async def test_the_help_scrolls_by_the_keys_it_lists(down: str, up: str) -> None:
    async with running([PERI], size=(80, 24)) as (app, pilot):
        await pilot.press("question_mark")
        await shows(app, "next row")
        view = app.screen.query_one(LinesView)
        await pilot.press(down)
        assert view.top > 0
        await pilot.press(up)
        assert view.top == 0
        await pilot.press("G")
        await shows(app, "labelled, with the category's digit")
        await pilot.press("q")
        assert not isinstance(app.screen, HelpDialog)


async def test_the_help_scrolls_by_keys_of_ones_own() -> None:
    async with running([PERI], size=(80, 24), settings=Settings(by="dev", keys={"page-down": "f5"})) as (app, pilot):
        await pilot.press("question_mark", "f5")
        assert app.screen.query_one(LinesView).top > 0


async def test_a_short_text_makes_a_low_window() -> None:
    async with running([PERI], size=(120, 40)) as (app, pilot):
        app.push_screen(TextDialog("said", ["one line"]))
        await pilot.pause()
        assert app.screen.query_one(LinesView).size.height == 1
        assert "one line" in screen_text(app)


async def test_choices_have_a_cursor_in_ascii_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACH_TUI_ASCII", "1")
    async with running([PERI], size=(100, 30)) as (app, pilot):
        assert app.glyphs is ASCII
        await pilot.press("R")
        await shows(app, ">three guards", "analyzer by flag")
        assert "▌" not in screen_text(app)
        await pilot.press("c")
        await shows(app, "> 1 older half")


async def test_the_palette_names_the_keys() -> None:
    async with running([PERI], size=(100, 30)) as (app, _):
        said = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert said["the report on all that is open"] == "R  Go"
        assert said["a page down"] == "PgDn Ctrl+D  Move"

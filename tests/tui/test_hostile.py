"""A trace in which every field is an attack: shown as text on every screen, never obeyed."""

from __future__ import annotations

import re
from pathlib import Path

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Candidate, Result, Route, Session, Slot, StepKind, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.tui.screens.detail import DetailScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.workspace import Settings
from tests.tui.kit import open_session, running, screen_text, sessions_of, shows, until

ATTACK = "[/foo][@click=app.quit]q[/] [b + 3\x1b]52;c;aGk=\x07\x1b[2J\x1b[31mred\x00\u202e家👩‍👩‍👧\u2028end"
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]")


def attack_store(path: Path) -> Path:
    """A native database made of attacks."""
    route = Route("recorded", ATTACK, (Candidate(ATTACK, 0.8, ATTACK), Candidate("b", 0.1)), "execute")
    slots = (Slot(ATTACK, ATTACK, "result", "recorded", ATTACK, None, 2, 0.3, ATTACK),)
    arguments: JsonValue = {ATTACK: ATTACK, "old_string": ATTACK, "new_string": ATTACK + "2"}
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title=ATTACK, project=ATTACK, model=ATTACK, notes=(ATTACK,)))
        writer.add_message("s1", StepKind.USER, ATTACK)
        for number in range(5):
            result = Result(f"Error: {ATTACK}", 99)
            writer.add_call(
                ToolCall(
                    f"k{number}",
                    f"c{number}",
                    "s1",
                    ATTACK,
                    arguments,
                    False,
                    result,
                    status=ATTACK,
                    route=route,
                    slots=slots,
                )
            )
        writer.add_message("s1", StepKind.ASSISTANT, ATTACK)
    return path


async def test_every_screen_shows_text_and_obeys_nothing(tmp_path: Path) -> None:
    store = attack_store(tmp_path / "attack.db")
    async with running([store], settings=Settings(by=ATTACK)) as (app, pilot):

        def safe(*words: str) -> None:
            text = screen_text(app)
            assert not UNSAFE.search(text)
            for word in words:
                assert word in text

        safe("[/foo][@click=app.quit]q[/]")
        screen = await open_session(app, pilot)
        safe("[/foo]")
        await pilot.press("j")
        await pilot.pause()
        safe("[/foo]")
        screen.action_label("3")
        await until(lambda: "saved" in screen.status[0])
        await pilot.press("semicolon")
        await pilot.pause()
        safe("3 Context gap")
        await pilot.press("escape", "e")
        await pilot.press(*"[/x]", "enter")
        await until(
            lambda: any(one.judged and one.judged.label and one.judged.label.note for one in screen.step_list.steps)
        )
        await pilot.press("g", "j", "enter")
        await until(lambda: isinstance(app.screen, DetailScreen))
        await shows(app, "[/foo]")
        safe()
        await pilot.press("escape", "slash", *"[/foo]", "enter")
        await pilot.pause()
        safe("steps have “[/foo]”")
        await pilot.press("escape", "y", "Y", "exclamation_mark")
        await pilot.pause()
        safe()
        await pilot.press("escape", "ctrl+p")
        await pilot.pause()
        await pilot.press("escape")
        assert isinstance(app.screen, SessionScreen)
        await pilot.press("escape", "slash", *"[@click", "enter")
        await pilot.pause()
        safe("[@click")
        assert sessions_of(app).session_list.rows


async def test_twelve_megabytes_on_one_line_open_at_once(tmp_path: Path) -> None:
    path = tmp_path / "big.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title="big"))
        text = "Error: " + "x" * 12_000_000
        writer.add_call(ToolCall("k", "c", "s1", "bash", {"command": "cat big"}, False, Result(text, len(text))))
    async with running([path]) as (app, pilot):
        await open_session(app, pilot)
        await shows(app, "12.0 MB")
        await pilot.press("enter")
        await shows(app, "step 1 of 1")
        await pilot.press("G")
        await shows(app, "more characters: Enter shows all")
        await pilot.press("a")
        await until(lambda: app.screen.query_one("#detail").count > 90_000)  # type: ignore[attr-defined]

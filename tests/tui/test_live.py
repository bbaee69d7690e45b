"""Live follow: what an agent writes appears while one looks, and the cursor stays where it is."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.model import Result, Session, StepKind, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.tui import live
from reach_tui.workspace import Found, Source
from tests.tui.kit import DATA, open_session, running, screen_text, sessions_of, shows, until


def call(number: int, text: str = "fine") -> ToolCall:
    """A call with a result."""
    return ToolCall(
        f"k{number}", f"c{number}", "s1", "bash", {"command": f"step {number}"}, False, Result(text, len(text))
    )


async def test_new_steps_appear_and_the_cursor_stays(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title="growing"))
        writer.add_message("s1", StepKind.USER, "go")
        writer.add_call(call(1))
    async with running([path]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("F", "j")
        await shows(app, "● live")
        assert len(screen.step_list.steps) == 2
        row = screen.step_list.cursor
        with NativeWriter(path) as writer:
            for number in range(2, 30):
                writer.add_call(call(number, "Error: disk full" if number == 9 else "fine"))
        await until(lambda: len(screen.step_list.steps) == 30, seconds=5)
        assert screen.step_list.cursor == row
        await pilot.press("h")
        current = screen.current_call
        assert current is not None
        assert current.call.key == "k9"
        await pilot.press("escape")
        await until(lambda: "29" in screen_text(app) and "◆" in screen_text(app), seconds=5)
        await pilot.press("F")
        await until(lambda: "● live" not in screen_text(app))


async def test_a_call_that_ends_is_seen_and_a_new_session_comes_into_the_list(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    shutil.copy(DATA / "opencode" / "opencode-1.2.20.db", path)
    async with running([path]) as (app, pilot):
        before = len(sessions_of(app).entries)
        screen = await open_session(app, pilot)
        await pilot.press("F")
        session_id = screen.judged.session.id
        steps = len(screen.step_list.steps)
        with sqlite3.connect(path) as connection:
            row = connection.execute("SELECT * FROM session WHERE id = ?", (session_id,)).fetchone()
            names = [one[1] for one in connection.execute("PRAGMA table_info(session)")]
            values = dict(zip(names, row, strict=True)) | {
                "id": "ses_new",
                "slug": "new",
                "title": "Brand new",
                "parent_id": None,
            }
            marks = ", ".join("?" * len(names))
            connection.execute(
                f"INSERT INTO session ({', '.join(names)}) VALUES ({marks})", [values[name] for name in names]
            )
            part, message, data = connection.execute(
                'SELECT id, message_id, data FROM part WHERE session_id = ? AND data LIKE \'%"type":"tool"%\' '
                "ORDER BY id DESC LIMIT 1",
                (session_id,),
            ).fetchone()
            connection.execute(
                "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) "
                "SELECT 'prt_zzz', message_id, session_id, time_created + 9000, time_updated + 9000, ? "
                "FROM part WHERE id = ?",
                (data.replace('"completed"', '"running"'), part),
            )
            connection.execute("UPDATE session SET time_updated = time_updated + 10000 WHERE id = ?", (session_id,))
            assert message
        connection.close()
        await until(lambda: len(screen.step_list.steps) == steps + 1, seconds=6)
        await pilot.press("escape")
        await until(lambda: len(sessions_of(app).entries) == before + 1, seconds=6)
        await shows(app, "Brand new")


async def test_kinds_in_one_folder_say_their_notice_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frozen:
        """A follower of which one kind stands still."""

        def __init__(self, source: Source) -> None:
            self.notice = "frozen: for the test" if source.kind == "pi" else None

        def watch(self, session_ids: list[str]) -> None:
            """Nothing is watched."""

        def poll(self) -> set[str]:
            return set()

    monkeypatch.setattr(live, "INTERVAL", 0.01)
    async with running([DATA / "pi", DATA / "opencode"]) as (app, pilot):
        folder = app.workspace.found.sources[0]
        both = (folder, replace(folder, kind="other"))
        monkeypatch.setattr(type(app.workspace), "found", Found(both, (), named=True))
        monkeypatch.setattr(app.workspace, "follower", Frozen)
        said: list[str] = []
        monkeypatch.setattr(app, "say", lambda text, **_: said.append(text))
        await pilot.press("F")
        await until(lambda: any("frozen" in text for text in said))
        await pilot.pause(0.3)
        assert [text for text in said if "following" not in text] == ["pi: frozen: for the test"]
        await pilot.press("F")


async def test_new_steps_are_held_against_the_filter(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title="growing"))
        writer.add_message("s1", StepKind.USER, "go")
        writer.add_call(call(1, "disk full"))
    async with running([path]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("F", "slash", *"disk")
        await shows(app, "1 of 2 steps have “disk”")
        with NativeWriter(path) as writer:
            writer.add_call(call(2, "disk full again"))
            writer.add_call(call(3))
        await shows(app, "2 of 4 steps have “disk”")
        assert len(screen.step_list.rows) == 2

"""Following a store while another program writes to it."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from reach_tui.model import Result, Session, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.stores.reader import Reader
from reach_tui.workspace.follow import CallFollower, Follower, follow
from reach_tui.workspace.sources import open_source

START = 1_780_000_000_000
DATA = Path(__file__).resolve().parents[1] / "data"
SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
  data TEXT);
CREATE INDEX part_session ON part (session_id);
"""


class Agent:
    """A program that writes an opencode database and keeps it open."""

    def __init__(self, path: Path, *, wal: bool = True) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
        self.connection.executescript(SCHEMA)
        self.number = 0

    def session(self, name: str) -> None:
        self.connection.execute("INSERT INTO session VALUES (?,NULL,?,?,?)", (name, name, START, START))
        body = '{"role":"assistant"}'
        self.connection.execute("INSERT INTO message VALUES (?,?,?,?,?)", (f"msg_{name}", name, START, START, body))

    def call(self, session: str, status: str = "completed", output: str = "fine") -> str:
        self.number += 1
        name = f"prt_{self.number:06}"
        values = (name, f"msg_{session}", session, START, START, _part(name, status, output))
        self.connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)
        return name

    def finish(self, name: str, output: str = "done") -> None:
        self.connection.execute(
            "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE id = ?",
            (_part(name, "completed", output), name),
        )


def _part(name: str, status: str, output: str) -> str:
    state = {"status": status, "input": {}, **({"output": output} if status == "completed" else {})}
    return json.dumps({"type": "tool", "callID": name, "tool": "read", "state": state})


@pytest.fixture(params=[True, False], ids=["wal", "rollback"])
def agent(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    one = Agent(tmp_path / "opencode.db", wal=request.param)
    for name in ("ses_a", "ses_b"):
        one.session(name)
        one.call(name)
    with closing(one.connection):
        yield one


def test_only_what_changed_is_named_and_a_quiet_store_costs_nothing(agent: Agent) -> None:
    follower = Follower(open_source(agent.path))
    assert follower.poll() == set()
    agent.call("ses_a")
    assert follower.poll() == {"ses_a"}
    follower.poll()
    begun = time.process_time()
    for _ in range(200):
        assert follower.poll() == set()
    assert (time.process_time() - begun) / 200 < 0.001
    agent.session("ses_c")
    assert follower.poll() == {"ses_c"}
    agent.connection.execute("UPDATE session SET title = 'other', time_updated = time_updated + 1 WHERE id = 'ses_b'")
    assert follower.poll() == {"ses_b"}
    agent.connection.execute("DELETE FROM session WHERE id = 'ses_b'")
    assert "ses_b" in follower.poll()


def test_rows_updated_in_place_are_changes(agent: Agent) -> None:
    running = agent.call("ses_a", "running")
    calls = CallFollower(open_source(agent.path))
    assert calls.poll() == []
    agent.finish(running, "the answer")
    assert [(call.id, call.status, call.result and call.result.text) for call in calls.poll()] == [
        (running, "completed", "the answer")
    ]
    assert calls.poll() == []


def test_every_call_comes_once_through_checkpoints(agent: Agent) -> None:
    calls = CallFollower(open_source(agent.path))
    written, seen = [], []
    for number in range(60):
        written.append(agent.call("ses_a" if number % 3 else "ses_b"))
        if number % 7 == 0:
            agent.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if number % 4 == 0:
            seen += [call.id for call in calls.poll()]
    for _ in range(2):
        seen += [call.id for call in calls.poll()]
    assert sorted(seen) == sorted(written)


def test_only_the_sessions_asked_for(agent: Agent) -> None:
    calls = CallFollower(open_source(agent.path), {"ses_b"})
    agent.call("ses_a")
    wanted = agent.call("ses_b")
    assert [call.id for call in calls.poll()] == [wanted]


def test_an_agent_that_starts_later_is_followed(tmp_path: Path, agent: Agent) -> None:
    """Read as a file at rest first; then its program opens it and writes."""
    quiet = tmp_path / "quiet" / "opencode.db"
    quiet.parent.mkdir()
    agent.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(agent.path, quiet)
    calls = CallFollower(open_source(quiet))
    assert calls.poll() == []
    with closing(sqlite3.connect(quiet, isolation_level=None)) as late:
        late.execute(
            "INSERT INTO part VALUES ('prt_late', 'msg_ses_a', 'ses_a', ?, ?, ?)",
            (START, START, _part("prt_late", "completed", "hello")),
        )
        assert [call.id for call in calls.poll()] == ["prt_late"]


def test_a_replaced_file_is_read_anew_and_a_missing_one_is_said(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing((first := Agent(path, wal=False)).connection):
        first.session("ses_a")
        first.call("ses_a")
    source = open_source(path)
    calls = CallFollower(source)
    os.rename(path, tmp_path / "away")
    assert calls.poll() == []
    assert "no such file" in (calls.notice or "")
    with closing((other := Agent(tmp_path / "new.db", wal=False)).connection):
        other.session("ses_a")
        other.call("ses_a")
        new = other.call("ses_a")
    os.rename(tmp_path / "new.db", path)
    assert [call.id for call in calls.poll()] == [new]
    assert calls.notice is None


def test_a_lock_is_waited_for_and_nothing_is_lost(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(agent.path)
    calls = CallFollower(source)
    new = agent.call("ses_a")
    from reach_tui.base.errors import StoreLocked

    with monkeypatch.context() as patch:

        def locked(*_: object) -> None:
            raise StoreLocked("locked by another process", agent.path)

        patch.setattr(source.reader, "calls", locked)
        assert calls.poll() == []
        assert "locked" in (calls.notice or "")
    assert [call.id for call in calls.poll()] == [new]
    assert calls.notice is None


def _native(path: Path) -> NativeWriter:
    return NativeWriter(path)


def test_a_native_database(tmp_path: Path) -> None:
    path = tmp_path / "reach.db"
    one = ToolCall("k1", "1", "s", "read", {}, None)
    with _native(path) as writer:
        writer.add_session(Session("reach", "s"))
        writer.add_call(one)
    calls = CallFollower(open_source(path))
    with _native(path) as writer:
        writer.add_call(ToolCall("k1", "1", "s", "read", {}, False, Result("ok", 2), step=1))
        writer.add_call(ToolCall("k2", "2", "s", "read", {}, False, Result("ok", 2)))
        writer.flush()
        assert [call.key for call in calls.poll()] == ["k1", "k2"]


@pytest.mark.parametrize("name", ["opencode/opencode-1.14.48.db", "peri/schema_3.db"])
def test_stores_as_recorded(tmp_path: Path, name: str) -> None:
    path = tmp_path / Path(name).name
    shutil.copyfile(DATA / name, path)
    source = open_source(path)
    newest = next(session.id for session in source.reader.sessions() if any(source.reader.calls([session.id])))
    follower, calls = Follower(source), CallFollower(source)
    assert follower.poll() == set()
    table, column = ("part", "session_id") if source.kind == "opencode" else ("messages", "thread_id")
    with closing(sqlite3.connect(path)) as writer:
        row = dict(_last_row(writer, table, column, newest))
        key = "id" if table == "part" else "message_id"
        row[key] = f"{row[key][:-1]}!"
        marks = ", ".join(f":{field}" for field in row)
        writer.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)
        writer.commit()
    assert follower.poll() == {newest}
    calls.poll()


def _last_row(writer: sqlite3.Connection, table: str, column: str, session: str) -> sqlite3.Row:
    writer.row_factory = sqlite3.Row
    found: sqlite3.Row = writer.execute(
        f"SELECT * FROM {table} WHERE {column} = ? ORDER BY rowid DESC", (session,)
    ).fetchone()
    return found


class Plain:
    """A reader without `changed_since`."""

    def __init__(self, reader: Reader) -> None:
        self.sessions, self.calls, self.data_version = reader.sessions, reader.calls, reader.data_version


def test_a_reader_that_only_lists_sessions(agent: Agent) -> None:
    """The way of stores without `changed_since`: by their session lists, and what is active where these say nothing."""
    source = open_source(agent.path)
    follower = Follower(dataclasses.replace(source, reader=cast("Reader", Plain(source.reader))))
    assert follower.poll() == set()
    agent.session("ses_c")
    assert follower.poll() == {"ses_c"}
    agent.call("ses_a")
    assert "ses_a" in follower.poll()


def test_follow_gives_calls_as_they_come(agent: Agent) -> None:
    coming = follow(open_source(agent.path), interval=0.01)
    assert next(coming) is None
    new = agent.call("ses_a")
    found = next(coming)
    assert found is not None
    assert found.id == new


TRANSCRIPTS = sorted(path for path in DATA.rglob("*.jsonl") if path.stat().st_size > 2_000)


@pytest.mark.parametrize("path", TRANSCRIPTS[:: max(1, len(TRANSCRIPTS) // 8)], ids=lambda path: path.parent.name)
def test_transcripts_that_grow_line_by_line(path: Path, tmp_path: Path) -> None:
    """Also by half a line, as a writer that is interrupted leaves it for a moment."""
    lines = path.read_bytes().splitlines(keepends=True)
    target = tmp_path / path.name
    target.write_bytes(b"".join(lines[:2]))
    calls = CallFollower(open_source(target))
    assert calls.notice is None
    state: dict[str, str | None] = {}
    for number, line in enumerate(lines[2:]):
        with open(target, "ab") as file:
            file.write(line[: len(line) // 2])
            file.flush()
            if number % 3 == 0:
                state |= {call.key: call.result.text if call.result else None for call in calls.poll()}
            file.write(line[len(line) // 2 :])
    for _ in range(2):
        state |= {call.key: call.result.text if call.result else None for call in calls.poll()}
    whole = {call.key: call.result.text if call.result else None for call in open_source(target).reader.calls()}
    assert state.items() <= whole.items()
    assert whole.keys() == state.keys()
    assert calls.notice is None

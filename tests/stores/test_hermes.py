"""Hermes Agent's `state.db`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.model import StepKind
from reach_tui.stores.catalog import open_store
from reach_tui.stores.hermes import HermesReader

START = 1_780_000_000.0
Rows = dict[str, list[dict[str, Any]]]
Build = Callable[..., HermesReader]

SCHEMA = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, model_config TEXT, parent_session_id TEXT,
  started_at REAL, ended_at REAL, end_reason TEXT, billing_provider TEXT, title TEXT, cwd TEXT, archived INT,
  input_tokens INT, output_tokens INT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT, timestamp REAL, reasoning TEXT,
  active INT DEFAULT 1, compacted INT DEFAULT 0, _compressed_summary INT DEFAULT 0);
"""


def call(identifier: str, name: str = "terminal", arguments: str = "{}") -> str:
    return json.dumps([{"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}])


def asked(identifier: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": call(identifier), **more}


def answered(identifier: str, content: str = "{}", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": identifier, "tool_name": "terminal", **more}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds `state.db` from messages by session; `columns` are more columns of sessions, by session."""

    def make(rows: Rows, columns: dict[str, dict[str, Any]] | None = None) -> HermesReader:
        path = tmp_path / "state.db"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        for number, (session, messages) in enumerate(rows.items()):
            row = {"id": session, "source": "cli", "started_at": START + number, **(columns or {}).get(session, {})}
            marks = ",".join("?" * len(row))
            connection.execute(f"INSERT INTO sessions ({','.join(row)}) VALUES ({marks})", list(row.values()))
            for place, message in enumerate(messages):
                values = {"session_id": session, "timestamp": START + place, **message}
                marks = ",".join("?" * len(values))
                connection.execute(f"INSERT INTO messages ({','.join(values)}) VALUES ({marks})", list(values.values()))
        connection.commit()
        connection.close()
        reader = open_store(path).reader
        assert isinstance(reader, HermesReader)
        return reader

    return make


def test_facts_come_from_the_result_and_the_guard_behind_it(build: Build) -> None:
    body = '{"output": "x\\n[Command timed out after 2s]", "exit_code": 124, "error": null, "truncated": true}'
    reader = build({"s": [asked("a"), answered("a", f"{body}\n\n[LOOP WARNING: called 5 times]")]})
    (found,) = reader.calls()
    assert found.flagged is None
    assert found.metadata == {
        "exit_code": 124,
        "timed_out": True,
        "truncated": True,
        "notice": "[LOOP WARNING: called 5 times]",
    }
    assert found.duration_ms == 1000


@pytest.mark.parametrize("text", ["{", "{" * 50_000, '{"exit_code": "many"}', "[1]", "", "\x00json:oops", "{}[["])
def test_any_result_text_is_kept_as_it_is(build: Build, text: str) -> None:
    (found,) = build({"s": [asked("a"), answered("a", text)]}).calls()
    assert found.result is not None
    assert found.result.text == text.removeprefix("\x00json:")
    assert "exit_code" not in found.metadata


def test_content_in_parts(build: Build) -> None:
    parts = "\x00json:" + json.dumps(
        [{"type": "text", "text": "Look: "}, {"type": "image_url", "image_url": {"url": ""}}]
    )
    (step,) = build({"s": [{"role": "user", "content": parts}]}).steps("s")
    assert (step.kind, step.text) == (StepKind.USER, "Look: [image_url]")


def test_rewound_and_compacted_rows_are_there_but_not_visible(build: Build) -> None:
    rows = [
        {"role": "user", "content": "go"},
        asked("a", active=0, compacted=1),
        answered("a", active=0, compacted=1),
        {"role": "user", "content": "[CONTEXT COMPACTION]", "_compressed_summary": 1},
        asked("a"),
        answered("a"),
    ]
    reader = build({"s": rows})
    first, copy = reader.calls()
    assert (first.visible, first.copy_of) == (False, None)
    assert (copy.visible, copy.copy_of) == (True, first.key)
    assert [(step.kind, step.turn) for step in reader.steps("s")][2] == (StepKind.NOTE, 1)


def test_branches_delegates_and_continuations(build: Build) -> None:
    rows = {
        "root": [{"role": "user", "content": "begin"}, asked("a"), answered("a")],
        "branch": [{"role": "user", "content": "begin"}, asked("a"), answered("a"), asked("b"), answered("b")],
        "worker": [asked("w")],
        "next": [asked("n")],
    }
    columns: dict[str, dict[str, Any]] = {
        "root": {"end_reason": "compression"},
        "branch": {"parent_session_id": "root", "model_config": '{"_branched_from": "root"}'},
        "worker": {"parent_session_id": "root", "model_config": '{"_delegate_from": "root"}', "source": "tool"},
        "next": {"parent_session_id": "root"},
    }
    reader = build(rows, columns)
    sessions = {session.id: session for session in reader.sessions()}
    assert {name: session.own_work for name, session in sessions.items()} == {
        "root": True,
        "branch": True,
        "worker": False,
        "next": True,
    }
    assert sessions["branch"].copy_of == "root"
    assert sessions["root"].title == "begin"
    copies = {one.key: one.copy_of for one in reader.calls(["branch"])}
    assert copies == {"branch/5/a": "root/2/a", "branch/7/b": None}


def test_a_cycle_of_parents_ends(build: Build) -> None:
    columns = {"x": {"parent_session_id": "y"}, "y": {"parent_session_id": "x"}}
    reader = build({"x": [asked("a")], "y": [asked("b")]}, columns)
    assert {one.id for one in reader.calls()} == {"a", "b"}


def test_the_name_of_an_unknown_tool_comes_from_the_call(build: Build) -> None:
    rows = [{**asked("a"), "tool_calls": call("a", "nothing")}, answered("a", "Tool 'nothing' does not exist.")]
    rows[1]["tool_name"] = None
    (found,) = build({"s": rows}).calls()
    assert found.tool == "nothing"


def test_broken_rows_are_shown(build: Build) -> None:
    rows = [
        {"role": "assistant", "content": "I call", "tool_calls": "[{"},
        {"role": "assistant", "content": "", "tool_calls": '[5, {"id": "q"}]'},
        {"role": "martian", "content": "?"},
        {"role": None, "content": b"\xff"},
        answered("never asked"),
    ]
    reader = build({"s": rows})
    kinds = [step.kind for step in reader.steps("s")]
    assert kinds == [StepKind.ASSISTANT, StepKind.RAW, *[StepKind.CALL] * 2, *[StepKind.RAW] * 2, StepKind.NOTE]
    assert len(reader.troubles("s")) == 6


def test_older_columns_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE schema_version (version INTEGER);"
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL, end_reason TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,"
        " tool_calls TEXT, tool_name TEXT);"
        "INSERT INTO sessions VALUES ('s', 'telegram', 1780000000.5, NULL);"
        "INSERT INTO messages VALUES (1, 's', 'user', 'hello', NULL, NULL, NULL);"
    )
    connection.commit()
    connection.close()
    reader = open_store(path).reader
    (session,) = reader.sessions()
    assert (session.title, session.notes) == ("hello", ("source: telegram",))
    assert [step.text for step in reader.steps("s")] == ["hello"]

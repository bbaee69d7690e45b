"""What is particular to Codex: rollouts, the items in them, and the databases beside them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import StoreUnreadable
from reach_tui.model import StepKind
from reach_tui.workspace.sources import open_paths, open_source
from tests.stores.transcripts.conftest import Write, opened

ONE, TWO, THREE = (f"01a22d90-57a8-7cb0-a80f-00000000000{n}" for n in (1, 2, 3))
STATE = """
CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT, title TEXT, name TEXT, archived INTEGER,
  created_at INTEGER);
CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT PRIMARY KEY, status TEXT);
"""
HISTORY = """
CREATE TABLE thread_turns (thread_id TEXT, turn_id TEXT);
CREATE TABLE thread_items (thread_id TEXT, turn_id TEXT, item_id TEXT, item_json TEXT, item_type TEXT);
"""


def line(kind: str, **payload: Any) -> dict[str, Any]:
    """A line of a rollout."""
    return {"timestamp": "2026-06-01T10:00:00.000Z", "type": kind, "payload": payload}


def call(call_id: str, name: str = "exec_command", arguments: str = '{"cmd": "ls"}', **more: Any) -> dict[str, Any]:
    """A call of a function."""
    return line("response_item", type="function_call", call_id=call_id, name=name, arguments=arguments, **more)


def output(call_id: str, value: Any) -> dict[str, Any]:
    """What came back."""
    return line("response_item", type="function_call_output", call_id=call_id, output=value)


def item(call_id: str, status: str, **more: Any) -> dict[str, Any]:
    """The item of a command."""
    fields = {"type": "CommandExecution", "id": call_id, "status": status, **more}
    return line("event_msg", type="item_completed", item=fields)


def meta(thread: str, **more: Any) -> dict[str, Any]:
    """The first line."""
    return line("session_meta", id=thread, timestamp="2026-06-01T10:00:00Z", cwd="/shop", cli_version="0.1", **more)


def prompt(text: str) -> dict[str, Any]:
    """A message of the user."""
    content = [{"type": "input_text", "text": text}]
    return line("response_item", type="message", role="user", content=content)


def home(write: Write, thread: str, *lines: dict[str, Any]) -> Path:
    """A rollout in its place; returns the home."""
    path = write(f"home/sessions/2026/06/01/rollout-2026-06-01T10-00-00-{thread}.jsonl", [meta(thread), *lines])
    return path.parents[4]


def database(path: Path, script: str, table: str, *rows: tuple[Any, ...]) -> Path:
    """A database beside the rollouts."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    return path


def test_flags_come_from_items_and_turned_down_calls_have_none(write: Write) -> None:
    root = home(
        write, ONE, prompt("<environment_context>x</environment_context>"), prompt("go"),
        call("a"), item("a", "completed", exit_code=0, duration={"secs": 1, "nanos": 5_000_000}), output("a", "fine"),
        call("b"), output("b", "failed to parse function arguments"),
        call("c"), output("c", "still running"), item("c", "failed", exit_code=130),
        call("d", arguments='{"cmd": "l'),
    )  # fmt: skip
    reader = opened(root)
    calls = list(reader.calls())
    assert [one.flagged for one in calls] == [False, None, True, None]
    assert calls[0].duration_ms == 1005
    assert calls[2].metadata["exit_code"] == 130
    assert (calls[3].arguments, calls[3].problem) == ('{"cmd": "l', "arguments are not valid JSON")
    assert [step.text for step in reader.steps(ONE) if step.kind is StepKind.USER] == ["go"]


def test_events_of_earlier_versions(write: Write) -> None:
    root = home(
        write, ONE,
        call("a"), line("event_msg", type="exec_command_end", call_id="a", exit_code=2), output("a", "no"),
        call("b"), line("event_msg", type="mcp_tool_call_end", call_id="b", result={"Err": "x"}), output("b", "x"),
        call("c"), line("event_msg", type="patch_apply_end", call_id="c", success=True),
        output("c", {"content": "patched", "success": True}),
    )  # fmt: skip
    calls = list(opened(root).calls())
    assert [one.flagged for one in calls] == [True, True, False]
    assert calls[2].result is not None
    assert calls[2].result.text == "patched"


def test_exit_codes_in_outputs_of_early_versions(write: Write) -> None:
    told = json.dumps({"output": "no", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
    root = home(write, ONE, call("a"), output("a", told), call("b"), output("b", '{"output": 1'))
    first, second = opened(root).calls()
    assert (first.flagged, first.metadata) == (None, {"exit_code": 2})
    assert second.metadata == {}


def test_what_the_rollout_lacks_comes_from_the_history(write: Write) -> None:
    root = home(write, ONE, call("a"), output("a", "no"), call("b"), item("b", "completed"), output("b", "x"))
    body = json.dumps({"type": "commandExecution", "id": "a", "status": "failed", "exitCode": 1, "durationMs": 7})
    other = json.dumps({"type": "commandExecution", "id": "b", "status": "failed"})
    rows = [(ONE, "t", "a", body, "x"), (ONE, "t", "b", other, "x"), (ONE, "t", "c", "no json", "x")]
    named = database(root / "thread_history_3.sqlite", HISTORY, "thread_items", *rows)
    database(root / "thread_history_1.sqlite", HISTORY, "thread_items")
    calls = list(opened(root).calls())
    assert [(one.flagged, one.duration_ms) for one in calls] == [(True, 7), (False, 0)]
    assert [one.key for one in open_source(named).reader.calls()] == [f"{ONE}/a", f"{ONE}/b"]


def test_tools_of_servers_and_free_input(write: Write) -> None:
    patch = line("response_item", type="custom_tool_call", call_id="b", name="apply_patch", input="*** Begin")
    done = line("response_item", type="custom_tool_call_output", call_id="b", output="ok")
    parts = [{"type": "input_text", "text": "Wall time: 1\nOutput:"}, {"type": "input_text", "text": "Error: no"}]
    root = home(write, ONE, call("a", "find", namespace="mcp__desk"), output("a", parts), patch, done)
    first, second = opened(root).calls()
    assert first.tool == "mcp__desk.find"
    assert first.result is not None
    assert first.result.text == "Wall time: 1\nOutput:\nError: no"
    assert second.arguments == {"input": "*** Begin"}


def test_names_parents_and_lost_threads_from_the_state(write: Write) -> None:
    root = home(write, ONE, prompt("go"))
    home(write, TWO, prompt("look"))
    rows = [(ONE, "", "title", "name", 0, 1_780_000_000), (TWO, "", "t2", None, 1, 1_780_000_001)]
    lost = (THREE, "", "lost", None, 0, 1_780_000_002)
    state = database(root / "state_5.sqlite", STATE, "threads", *rows, lost)
    with sqlite3.connect(state) as connection:
        connection.execute("INSERT INTO thread_spawn_edges VALUES (?, ?, 'closed')", (ONE, TWO))
    connection.close()
    for side in ("logs_2.sqlite", "queue_1.sqlite"):
        database(root / side, "CREATE TABLE t (n)", "t")
    found = open_paths([root])
    assert found.problems == ()
    (source,) = found.sources
    sessions = {session.id: session for session in source.reader.sessions()}
    assert sessions[ONE].title == "name"
    assert (sessions[TWO].parent_id, sessions[TWO].own_work, sessions[TWO].notes) == (ONE, False, ("archived",))
    assert sessions[THREE].notes == ("its rollout is missing",)
    assert [step.kind for step in source.reader.steps(THREE)] == [StepKind.NOTE]
    assert source.file_of(THREE) == "state_5.sqlite"
    (root / "archived_sessions").mkdir()
    rollout = next(root.rglob(f"*{TWO}.jsonl"))
    rollout.rename(root / "archived_sessions" / rollout.name)
    now = {session.id for session in open_source(root / "sessions").reader.sessions()}
    archived = {session.id for session in open_source(root / "archived_sessions").reader.sessions()}
    assert (now, archived) == ({ONE, THREE}, {TWO})


def test_a_damaged_state_costs_only_the_names(write: Write) -> None:
    root = home(write, ONE, prompt("go"), call("a"), output("a", "x"))
    (root / "state_5.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x07" * 2000)
    (root / "thread_history_1.sqlite").write_bytes(b"no database")
    found = open_paths([root])
    (source,) = [source for source in found.sources if source.kind == "codex"]
    (session,) = source.reader.sessions()
    assert session.title == "go"
    assert "state_5.sqlite cannot be read" in session.notes[0]
    assert [one.id for one in source.reader.calls()] == ["a"]
    assert [trouble.what for trouble in source.reader.troubles(ONE)] == ["unreadable database"]


def test_a_state_without_any_rollout(tmp_path: Path) -> None:
    path = database(tmp_path / "state_5.sqlite", STATE, "threads")
    with pytest.raises(StoreUnreadable, match="an index of Codex without its transcripts"):
        open_source(path)


def test_a_sub_agent_says_whose_it_is(write: Write) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": ONE, "depth": 1}}}
    reader = opened(write("rollout-x.jsonl", [meta(TWO, source=source), prompt("look")]))
    (session,) = reader.sessions()
    assert (session.parent_id, session.own_work) == (ONE, False)


def test_a_compacted_thread(write: Write) -> None:
    root = home(write, ONE, call("a"), output("a", "x"), line("compacted", message="so far"), call("b"))
    assert [(one.id, one.visible) for one in opened(root).calls()] == [("a", False), ("b", True)]


def test_an_early_rollout_has_bare_items(write: Write) -> None:
    head = {"id": ONE, "timestamp": "2026-06-01T10:00:00Z", "instructions": None}
    lines = [head, prompt("go")["payload"], call("a")["payload"], output("a", "x")["payload"]]
    reader = opened(write(f"rollout-2025-05-01-{ONE}.jsonl", lines))
    assert [session.id for session in reader.sessions()] == [ONE]
    assert [one.id for one in reader.calls()] == ["a"]

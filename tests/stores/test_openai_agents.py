"""OpenAI Agents SDK sessions, and the message lists that several stores share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.jsonio import dumps
from reach_tui.model import StepKind
from reach_tui.stores.catalog import open_store
from reach_tui.stores.content import Narrator
from reach_tui.stores.openai_agents import OpenaiAgentsReader
from reach_tui.stores.openai_messages import Answer, Entry, Request, item_entry, message_entry, tell

USER = {"role": "user", "content": "Read it"}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a"}', "status": "completed"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "text of a"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "type", "content", "tool_calls", "tool_call_id", "id", "call_id", "function", "name", "text",
                 "arguments", "output", "summary", "error", "status", "function_call", "refusal", "reasoning"]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "function_call", "function_call_output", "mcp_call"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip

Build = Callable[..., OpenaiAgentsReader]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a database with one session `s` from items (JSON values, or raw column values as text or bytes)."""

    def make(items: Iterable[Any], *, branches: Iterable[str] = ()) -> OpenaiAgentsReader:
        path = tmp_path / "agents.db"
        connection = sqlite3.connect(path)
        connection.executescript(
            "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);"
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TEXT);"
            "INSERT INTO agent_sessions VALUES ('s', '2026-11-30 17:22:25', '2026-11-30 17:22:26');"
        )
        for item in items:
            value = item if isinstance(item, str | bytes) else json.dumps(item)
            row = ("s", value, "2026-11-30 17:22:25")
            connection.execute("INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?,?,?)", row)
        for number, branch in enumerate(branches, 1):
            connection.execute(
                "CREATE TABLE IF NOT EXISTS message_structure (session_id TEXT, message_id INT, branch_id TEXT)"
            )
            connection.execute("INSERT INTO message_structure VALUES ('s',?,?)", (number, branch))
        connection.commit()
        connection.close()
        reader = open_store(path).reader
        assert isinstance(reader, OpenaiAgentsReader)
        return reader

    return make


def test_a_session_is_named_by_what_was_asked_first(build: Build) -> None:
    (session,) = build([USER, CALL, OUTPUT]).sessions()
    assert (session.title, session.started_at, session.ended_at) == ("Read it", 1796059345000, 1796059346000)


def test_a_call_has_its_output_and_no_flag(build: Build) -> None:
    reader = build([USER, CALL, OUTPUT, {"type": "message", "role": "assistant", "content": [{"text": "Done"}]}])
    assert [step.kind for step in reader.steps("s")] == [StepKind.USER, StepKind.CALL, StepKind.ASSISTANT]
    (call,) = reader.calls()
    assert (call.key, call.arguments, call.flagged, call.status) == ("s/2/c1", {"path": "a"}, None, "completed")
    assert call.result is not None
    assert call.result.text == "text of a"
    assert call.duration_ms is None


def test_cut_off_arguments_stay_as_the_model_wrote_them(build: Build) -> None:
    (call,) = build([{**CALL, "arguments": '{"path": "a'}]).calls()
    assert (call.arguments, call.problem) == ('{"path": "a', "arguments are not valid JSON")
    assert call.result is None


def test_output_in_parts_never_shows_what_is_attached(build: Build) -> None:
    parts = [
        {"type": "input_text", "text": "one "},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "BBBB"},
    ]
    (call,) = build([CALL, {**OUTPUT, "output": parts}]).calls()
    assert call.result is not None
    assert call.result.text == "one [input_image][input_file a.pdf]"


def test_an_id_that_repeats_is_paired_by_occurrence(build: Build) -> None:
    reader = build([CALL, OUTPUT, CALL, {**OUTPUT, "output": "second"}, {**OUTPUT, "output": "third"}])
    calls = list(reader.calls())
    assert [call.result and call.result.text for call in calls] == ["text of a", "second"]
    assert len({call.key for call in calls}) == 2
    assert [trouble.what for trouble in reader.troubles("s")] == ["orphan result"]
    assert "third" in list(reader.steps("s"))[-1].text


def test_a_tool_that_the_provider_ran_is_one_call(build: Build) -> None:
    remote = {"type": "mcp_call", "id": "m1", "name": "lookup", "arguments": "{}", "server_label": "desk"}
    search = {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "x"}}
    done, broken, searched = build([{**remote, "output": "found"}, {**remote, "error": "gone"}, search]).calls()
    assert (done.tool, done.flagged, done.result and done.result.text) == ("lookup", None, "found")
    assert (broken.flagged, broken.result and broken.result.text) == (True, "gone")
    assert (searched.tool, searched.arguments, searched.result) == ("web_search", {"action": {"query": "x"}}, None)


def test_free_form_input_is_no_broken_json(build: Build) -> None:
    custom = {"type": "custom_tool_call", "call_id": "c9", "name": "patch", "input": "*** Begin"}
    (call,) = build([custom, {"type": "custom_tool_call_output", "call_id": "c9", "output": "ok"}]).calls()
    assert (call.arguments, call.problem, call.result and call.result.text) == ("*** Begin", None, "ok")


def test_branches_are_told_once_and_named(build: Build) -> None:
    other = {**CALL, "call_id": "c2"}
    reader = build([USER, CALL, OUTPUT, other], branches=["main", "main", "main", "try-2"])
    first, second = reader.calls()
    assert ("branch_id" in first.metadata, second.metadata["branch_id"]) == (False, "try-2")
    assert "branch: try-2" in [step.text for step in reader.steps("s")]
    assert next(reader.sessions()).notes == ("2 branches",)


def test_rows_that_cannot_be_read_are_shown(build: Build) -> None:
    encrypted = {"__enc__": 1, "v": 1, "kid": "k", "payload": "zzz"}
    rows = ["{", b"\xff\x00", "[]", encrypted, {"type": "hologram"}, "null", '"x"', {"role": "wizard", "content": "y"}]
    reader = build([USER, *rows])
    raw = [step for step in reader.steps("s") if step.kind is StepKind.RAW]
    assert len(raw) == len(rows)
    assert len(reader.troubles("s")) == len(rows)
    assert any("encrypted" in trouble.where for trouble in reader.troubles("s"))
    assert list(reader.calls()) == []


def test_changes_are_noticed(build: Build) -> None:
    reader = build([USER])
    _, mark = reader.changed_since(None, ())
    assert reader.changed_since(mark, ())[0] == set()
    connection = sqlite3.connect(reader.path)
    connection.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('s', '{}')")
    connection.commit()
    connection.close()
    assert reader.changed_since(mark, ())[0] == {"s"}


def test_missing_columns_are_said(build: Build) -> None:
    from reach_tui.base.sqlite import Schema

    schema = Schema({"agent_sessions": frozenset({"session_id"}), "agent_messages": frozenset({"id"})}, 0)
    answer = OpenaiAgentsReader.recognise(schema, Path("x.db"))
    assert answer is not None
    assert answer.unsupported == "columns missing: message_data, session_id"


def test_answers_without_an_id_go_by_name() -> None:
    entries = [
        Entry("1", requests=[Request("", "add", {"a": 1}), Request("", "sub", {})]),
        Entry("2", answers=[Answer("", "sub done", "sub"), Answer("", "add done", "add")]),
    ]
    calls = [step.call for step in tell(Narrator("s"), entries) if step.call]
    assert [(call.tool, call.result and call.result.text) for call in calls] == [
        ("add", "add done"),
        ("sub", "sub done"),
    ]
    assert len({call.key for call in calls}) == 2


def test_only_a_call_made_alone_has_a_duration() -> None:
    def took(*requests: Request) -> list[int | None]:
        entries = [Entry("1", 1000, requests=list(requests)), Entry("2", 1250, answers=[Answer("a", "x")])]
        return [step.call.duration_ms for step in tell(Narrator("s"), entries) if step.call]

    assert took(Request("a", "t")) == [250]
    assert took(Request("a", "t"), Request("b", "t")) == [None, None]


@pytest.mark.parametrize("entry", [message_entry, item_entry])
@given(values=st.lists(json_values, max_size=6))
def test_any_json_becomes_steps(entry: Callable[[str, Any, int | None], Entry], values: list[Any]) -> None:
    narrator = Narrator("s")
    steps = list(tell(narrator, [entry(str(number), value, None) for number, value in enumerate(values)]))
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    keys = [step.call.key for step in steps if step.call]
    assert len(set(keys)) == len(keys)
    for step in steps:
        if step.call:
            dumps(step.call.arguments)
            dumps(dict(step.call.metadata))

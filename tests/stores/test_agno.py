"""Agno: both layouts, what is copied and what is not, runs inside runs, and whatever stands in the JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import SchemaUnknown
from reach_tui.base.jsonio import dumps
from reach_tui.model import Step, ToolCall
from reach_tui.stores.agno import AgnoReader
from reach_tui.stores.catalog import open_store
from tests.stores.test_reader_contract import check_calls_against_steps

SESSIONS = """
CREATE TABLE agno_schema_versions (table_name TEXT PRIMARY KEY, version TEXT);
CREATE TABLE {sessions} (session_id TEXT PRIMARY KEY, session_type TEXT, agent_id TEXT, team_id TEXT, workflow_id TEXT,
  user_id TEXT, session_data JSON, agent_data JSON, team_data JSON, metadata JSON, {runs} created_at BIGINT,
  updated_at BIGINT);
"""
RUNS = """
CREATE TABLE {name} (run_id TEXT PRIMARY KEY, session_id TEXT, run_type TEXT, parent_run_id TEXT, status TEXT,
  run_index BIGINT, run_data JSON, created_at BIGINT);
"""
START = 1_780_000_000
Build = Callable[..., Path]


def fill(path: Path, runs: list[Any], *, new: bool, names: tuple[str, str] = ("agno_sessions", "agno_runs")) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(SESSIONS.format(sessions=names[0], runs="" if new else "runs JSON,"))
    data = json.dumps({"session_name": "desk", "session_metrics": {"input_tokens": 5, "output_tokens": 2}})
    agent = json.dumps({"model": {"id": "scripted-1"}})
    if not new:
        data, agent = json.dumps(data), json.dumps(agent)
    connection.execute(
        f"INSERT INTO {names[0]} (session_id, session_type, agent_id, session_data, agent_data, metadata, created_at) "
        "VALUES ('s1','agent','helper',?,?,'null',?)", (data, agent, START),
    )  # fmt: skip
    if new:
        connection.executescript(RUNS.format(name=names[1]))
        for place, run in enumerate(runs):
            body = run if isinstance(run, str) else json.dumps(run)
            fields = run if isinstance(run, dict) else {}
            status = fields.get("status") if isinstance(fields.get("status"), str) else None
            values = (f"row{place}", "s1", "agent", status, place, body, START)
            connection.execute(
                f"INSERT INTO {names[1]} (run_id, session_id, run_type, status, run_index, run_data, created_at) "
                "VALUES (?,?,?,?,?,?,?)", values,
            )  # fmt: skip
    else:
        connection.execute(f"UPDATE {names[0]} SET runs = ?", (json.dumps(json.dumps(runs)),))
    connection.commit()
    connection.close()
    return path


@pytest.fixture(params=[True, False], ids=["3.x", "2.x"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    """One session `s1` with runs, in either layout."""
    return lambda *runs: fill(tmp_path / "agno.db", list(runs), new=request.param)


def ask(*calls: tuple[str, str, str], **fields: Any) -> dict[str, Any]:
    asked = [
        {"id": one, "type": "function", "function": {"name": name, "arguments": text}} for one, name, text in calls
    ]
    return {"id": f"m{calls[0][0]}", "role": "assistant", "tool_calls": asked, **fields}


def answer(call: str, text: Any = "fine", **fields: Any) -> dict[str, Any]:
    return {"id": f"r{call}", "role": "tool", "tool_call_id": call, "content": text, **fields}


def run(name: str, *messages: Any, **fields: Any) -> dict[str, Any]:
    return {"run_id": name, "status": "COMPLETED", "created_at": START, "messages": list(messages), **fields}


def told(path: Path) -> tuple[list[Step], dict[str, ToolCall]]:
    steps = list(AgnoReader(path).steps("s1"))
    return steps, {step.call.id: step.call for step in steps if step.call}


def test_flags_durations_and_broken_arguments(build: Build) -> None:
    tools = [{"tool_call_id": "a", "metrics": {"start_time": START + 1.5, "duration": 0.25}, "child_run_id": "r9"}]
    path = build(run(
        "r1", {"role": "system", "content": "be nice"}, {"role": "user", "content": "go"},
        ask(("a", "look", '{"q": 1}'), ("b", "edit", '{"q": '), ("c", "edit", "{}"), ("d", "edit", "{}")),
        answer("a", tool_call_error=True), answer("b", "Error while decoding"), answer("c", tool_call_error=False),
        tools=tools, agent_name="helper",
    ))  # fmt: skip
    steps, found = told(path)
    assert [step.kind.value for step in steps] == ["system", "user", "call", "call", "call", "call"]
    assert [found[name].flagged for name in "abcd"] == [True, None, False, None]
    assert (found["a"].duration_ms, found["a"].started_at) == (250, (START * 1000) + 1500)
    assert (found["a"].metadata["child_run_id"], found["a"].metadata["agent"]) == ("r9", "helper")
    assert (found["b"].arguments, bool(found["b"].problem), found["d"].result) == ('{"q": ', True, None)
    session = next(AgnoReader(path).sessions())
    assert (session.title, session.model, session.tokens.input) == ("desk", "scripted-1", 5)


def test_history_and_repeated_instructions_are_told_once(build: Build) -> None:
    system = {"role": "system", "content": "be nice"}
    first = run("r1", system, {"role": "user", "content": "one"}, ask(("a", "look", "{}")), answer("a"))
    copied = [{**message, "from_history": True} for message in first["messages"][1:]]
    steps, _ = told(build(first, run("r2", system, *copied, {"role": "user", "content": "two"})))
    assert [(step.kind.value, step.text) for step in steps] == [
        ("system", "be nice"), ("user", "one"), ("call", ""), ("user", "two"),
    ]  # fmt: skip


def test_calls_of_runs_without_stored_messages_come_from_tools(build: Build) -> None:
    tools = [{"tool_call_id": "a", "tool_name": "look", "tool_args": {"q": 1}, "result": "no", "tool_call_error": True},
             {"tool_call_id": "b", "tool_name": "pay", "tool_args": {}, "requires_confirmation": True}]  # fmt: skip
    body = {"run_id": "r1", "status": "PAUSED", "tools": tools, "input": {"input_content": "go"}, "content": "wait"}
    steps, found = told(build(body))
    assert [step.kind.value for step in steps] == ["user", "call", "call", "assistant"]
    assert (found["a"].flagged, found["a"].arguments) == (True, {"q": 1})
    assert (found["b"].flagged, found["b"].result, found["b"].metadata["requires_confirmation"]) == (None, None, True)


def test_runs_of_members_are_told_once(build: Build) -> None:
    member = run("m1", ask(("b", "edit", "{}")), answer("b"), parent_run_id="r1")
    team = run("r1", ask(("a", "delegate", "{}")), answer("a"), member_responses=[member])
    _, found = told(build(team, member))
    assert list(found) == ["a", "b"]
    assert found["b"].metadata["parent_run_id"] == "r1"


def test_how_a_run_ended(build: Build) -> None:
    steps, _ = told(build(run("r1", status="ERROR", content="HTTP 500"), run("r2", status="CANCELLED", content="bye")))
    assert [(step.kind.value, step.text) for step in steps] == [
        ("error", "run ERROR: HTTP 500"), ("note", "run CANCELLED: bye"),
    ]  # fmt: skip


def test_one_message_may_answer_a_round(build: Build) -> None:
    round_ = {"role": "tool", "content": ["x"], "tool_calls": [{"tool_call_id": "a", "content": "one"},
              {"tool_call_id": "b", "content": "two", "tool_call_error": True}]}  # fmt: skip
    _, found = told(build(run("r1", ask(("a", "look", "{}"), ("b", "look", "{}")), round_)))
    assert [(call.result.text, call.flagged) for call in found.values() if call.result] == [
        ("one", None),
        ("two", True),
    ]


def test_runs_that_cannot_be_read_are_shown(build: Build) -> None:
    path = build("no run", run("r1", {"role": "user", "content": "go"}))
    steps, _ = told(path)
    assert [step.kind.value for step in steps] == ["raw", "user"]
    assert [one.what for one in AgnoReader(path).troubles("s1")] == ["unreadable message"]


def test_tables_with_other_names(tmp_path: Path) -> None:
    path = fill(tmp_path / "x.db", [run("r1", {"role": "user", "content": "go"})], new=True, names=("talks", "turns"))
    assert open_store(path).version == "3.x"
    assert [step.text for step in AgnoReader(path).steps("s1")] == ["go"]


def test_layouts_that_are_not_known(tmp_path: Path) -> None:
    path = fill(tmp_path / "x.db", [], new=False)
    assert open_store(path).version == "2.x"
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE agno_sessions RENAME COLUMN runs TO memory")
    connection.close()
    with pytest.raises(SchemaUnknown):
        open_store(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "role", "content", "tool_calls", "function", "name", "arguments", "tool_call_id", "metrics"]), inner),
    max_leaves=8,
)  # fmt: skip
RUN = st.dictionaries(
    st.sampled_from(["run_id", "messages", "tools", "status", "input", "content", "member_responses", "created_at"]),
    JSON | st.lists(st.fixed_dictionaries({"role": st.sampled_from(["assistant", "tool", "user"])}, optional={
        "tool_calls": JSON, "content": JSON, "tool_call_id": JSON, "id": JSON}), max_size=3),
)  # fmt: skip


@settings(max_examples=30)
@given(st.lists(RUN | JSON, max_size=3), st.booleans())
def test_any_run_is_told(tmp_path_factory: pytest.TempPathFactory, runs: list[Any], new: bool) -> None:
    path = fill(tmp_path_factory.mktemp("fuzz") / "a.db", runs, new=new)
    reader = AgnoReader(path)
    check_calls_against_steps(reader)
    for call in reader.calls():
        dumps([call.arguments, dict(call.metadata), call.result.text if call.result else None])

"""MLflow: attributes encoded twice, sessions of traces, traces whose spans are elsewhere, recorded scores."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import SchemaUnknown
from reach_tui.base.jsonio import dumps
from reach_tui.model import ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.stores.mlflow import MlflowReader
from reach_tui.stores.offered import OfferedTool
from tests.stores.test_accuracy import faults
from tests.stores.test_reader_contract import check_calls_against_steps

SCHEMA = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO experiments VALUES (1, 'desk');
CREATE TABLE trace_info (request_id TEXT PRIMARY KEY, experiment_id INTEGER, timestamp_ms BIGINT,
  execution_time_ms BIGINT, status TEXT, request_preview TEXT, response_preview TEXT, trace_name TEXT, session_id TEXT,
  input_tokens BIGINT, output_tokens BIGINT);
CREATE TABLE trace_request_metadata (key TEXT, value TEXT, request_id TEXT);
CREATE TABLE spans (trace_id TEXT, experiment_id INTEGER, span_id TEXT, parent_span_id TEXT, name TEXT, type TEXT,
  status TEXT, start_time_unix_nano BIGINT, end_time_unix_nano BIGINT, content TEXT);
CREATE TABLE secrets (secret_id TEXT, secret BLOB);
"""
START = 1_780_000_000_000
Build = Callable[..., Path]


def span(
    name: str, kind: str, at: int, *, status: str = "OK", message: str = "", events: Any = (), **attributes: Any
) -> Any:
    encoded = {key.replace("__", "."): json.dumps(value) for key, value in attributes.items()}
    content = {
        "attributes": encoded,
        "events": list(events),
        "status": {"code": f"STATUS_CODE_{status}", "message": message},
    }
    return {
        "span_id": f"{name}-{at}" if name != "root" else name,
        "parent_span_id": "root" if name != "root" else None, "name": name, "type": kind,
        "status": status, "start_time_unix_nano": (START + at * 1000) * 1_000_000,
        "end_time_unix_nano": (START + at * 1000 + 500) * 1_000_000, "content": content,
    }  # fmt: skip


def model(at: int, messages: list[Any], answer: Any, **attributes: Any) -> Any:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    return span("Chat", "CHAT_MODEL", at, mlflow__spanInputs={"messages": messages}, mlflow__spanOutputs=answer,
                invocation_params={"model": "scripted-1", "tools": tools}, **attributes)  # fmt: skip


def choice(text: str | None, *calls: tuple[str, str, str]) -> Any:
    asked = [
        {"id": one, "type": "function", "function": {"name": name, "arguments": body}} for one, name, body in calls
    ]
    return {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": asked or None}}]}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A store of traces `(session or None, spans)`."""

    def make(*traces: tuple[str | None, Iterable[Any]], metadata: Iterable[tuple[str, str]] = ()) -> Path:
        path = tmp_path / "mlflow.db"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        for number, (session, spans) in enumerate(traces, 1):
            values = (f"tr-{number}", START + number * 60_000, session)
            connection.execute(
                "INSERT INTO trace_info VALUES (?,1,?,1000,'OK','{\"q\": \"go\"}','done','turn',?,10,2)", values
            )
            for one in spans:
                row = {"trace_id": f"tr-{number}", "experiment_id": 1, **one}
                row["content"] = row["content"] if isinstance(row["content"], str) else json.dumps(row["content"])
                columns, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO spans ({columns}) VALUES ({marks})", list(row.values()))
        for request, session in metadata:
            connection.execute(
                "INSERT INTO trace_request_metadata VALUES ('mlflow.trace.session',?,?)", (session, request)
            )
        connection.commit()
        connection.close()
        return path

    return make


def told(path: Path, session: str) -> tuple[list[tuple[str, str]], list[ToolCall]]:
    steps = list(MlflowReader(path).steps(session))
    return [(step.kind.value, step.call.tool if step.call else step.text) for step in steps], [
        step.call for step in steps if step.call
    ]


GO = {"role": "user", "content": "go"}


def test_calls_messages_and_flags(build: Build) -> None:
    output = {"content": "found", "type": "tool", "tool_call_id": "c1", "status": "success"}
    raised = [{"name": "exception", "attributes": {"exception.type": "KeyboardInterrupt", "exception.message": ""}}]
    asked = choice(None, ("c1", "look", '{"q": 1}'), ("c2", "edit", "{}"), ("c3", "ship", '{"id'))
    path = build(("s1", [
        span("root", "AGENT", 0, mlflow__spanInputs={"q": "go"}),
        model(1, [{"role": "system", "content": "be nice"}, GO], asked),
        span("look", "TOOL", 2, mlflow__spanInputs={"q": 1}, tool_call_id="c1", mlflow__spanOutputs=output),
        span("edit", "TOOL", 3, status="ERROR", events=raised, mlflow__spanInputs={}, tool_call_id="c2"),
        model(4, [GO], choice("bye")),
    ]))  # fmt: skip
    steps, calls = told(path, "s1")
    assert steps == [
        ("system", "be nice"), ("user", "go"), ("call", "ship"), ("call", "look"), ("call", "edit"),
        ("assistant", "bye"),
    ]  # fmt: skip
    found = {call.id: call for call in calls}
    assert [found[name].flagged for name in ("c1", "c2", "c3")] == [False, True, None]
    results = [found[name].result for name in ("c1", "c2", "c3")]
    assert [one.text if one else None for one in results] == ["found", "KeyboardInterrupt", None]
    assert (found["c3"].arguments, bool(found["c3"].problem)) == ('{"id', True)
    assert (found["c1"].metadata["agent"], found["c1"].metadata["offered_tools"]) == ("root", ["look"])
    assert MlflowReader(path).offered_tools("s1") == [OfferedTool("look", "", {"type": "object"})]


def test_sessions_by_column_by_metadata_and_alone(build: Build) -> None:
    reader = MlflowReader(build(("s1", []), ("s1", []), (None, []), (None, []), metadata=[("tr-3", "s2")]))
    found = {session.id: (session.tokens.input, session.project, session.title) for session in reader.sessions()}
    assert found == {"s1": (20, "desk", "turn"), "s2": (10, "desk", "turn"), "tr-4": (10, "desk", "turn")}
    check_calls_against_steps(reader)


def test_a_trace_whose_spans_are_in_files_shows_its_preview(build: Build) -> None:
    steps, _ = told(build(("s1", [])), "s1")
    assert [kind for kind, _ in steps] == ["user", "assistant", "note"]
    assert "not in the database" in steps[-1][1]


def test_langchain_and_anthropic_messages(build: Build) -> None:
    lang = [[{"type": "human", "content": "go"}]]
    answer = {"generations": [[{"text": "hm", "message": {"type": "ai", "content": "hm", "tool_calls": [
        {"name": "look", "args": {"q": 1}, "id": "c1", "type": "tool_call"}]}}]]}  # fmt: skip
    claude = [
        GO,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "edit", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True}]},
    ]
    reply = {
        "role": "assistant",
        "content": [{"type": "text", "text": "ok"}, {"type": "tool_use", "id": "c2", "name": "edit", "input": {}}],
    }
    path = build(("s1", [
        span("Chat", "LLM", 1, mlflow__spanInputs={"messages": lang}, mlflow__spanOutputs=answer),
        span("Claude", "LLM", 2, mlflow__spanInputs={"messages": [GO]}, mlflow__spanOutputs=reply),
        span("Claude", "LLM", 3, mlflow__spanInputs={"messages": claude}, mlflow__spanOutputs={"content": [
            {"type": "text", "text": "bye"}], "role": "assistant", "type": "message"}),
    ]))  # fmt: skip
    steps, calls = told(path, "s1")
    assert steps == [
        ("user", "go"), ("assistant", "hm"), ("call", "look"), ("assistant", "ok"), ("call", "edit"),
        ("assistant", "bye"),
    ]  # fmt: skip
    assert [(call.arguments, call.flagged, call.result.text if call.result else None) for call in calls] == [
        ({"q": 1}, None, None), ({}, True, "no"),
    ]  # fmt: skip


def test_scores_in_a_retrievers_documents(build: Build) -> None:
    found = [{"page_content": "Looks.", "metadata": {"tool_name": "look", "score": 0.8}},
             {"page_content": "Edits.", "metadata": {"tool_name": "edit", "score": 0.3}}]  # fmt: skip
    _, (call,) = told(build(("s1", [
        span("root", "AGENT", 0),
        span("tools", "RETRIEVER", 1, mlflow__spanInputs={"query": "see"}, mlflow__spanOutputs=found),
        span("look", "TOOL", 2, mlflow__spanInputs={}, mlflow__spanOutputs="ok"),
    ])), "s1")  # fmt: skip
    assert call.route is not None
    assert (call.route.intent, [(one.name, one.score) for one in call.route.candidates]) == (
        "see", [("look", 0.8), ("edit", 0.3)],
    )  # fmt: skip


def test_layouts(build: Build) -> None:
    path = build(("s1", []))
    assert open_store(path).version == "spans"
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE trace_info RENAME COLUMN session_id TO other")
        assert open_store(path).version == "spans, sessions in metadata"
        connection.execute("DROP TABLE spans")
    connection.close()
    with pytest.raises(SchemaUnknown, match="in files"):
        open_store(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5) | st.just('{"candidates": [1]}'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["messages", "choices", "message", "role", "content", "type", "tool_calls", "tools", "id", "name", "arguments",
         "generations", "output", "input", "metadata", "score"]), inner),
    max_leaves=10,
)  # fmt: skip
CONTENT = JSON | st.fixed_dictionaries({}, optional={
    "attributes": st.dictionaries(st.sampled_from(
        ["mlflow.spanInputs", "mlflow.spanOutputs", "tool_call_id", "invocation_params", "metadata"]),
        JSON.map(json.dumps)),
    "status": JSON, "events": JSON,
})  # fmt: skip
KIND = st.sampled_from(["CHAT_MODEL", "TOOL", "RETRIEVER", "CHAIN", "AGENT", None, "RERANKER"])


@settings(max_examples=30)
@given(st.lists(st.tuples(KIND, CONTENT, st.integers(0, 4)), max_size=5))
def test_any_span_is_told(tmp_path_factory: pytest.TempPathFactory, spans: list[Any]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "m.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO trace_info (request_id, timestamp_ms) VALUES ('t', 'never')")
    for place, (kind, content, parent) in enumerate(spans):
        values = (str(place), str(parent), kind, place, json.dumps(content))
        connection.execute("INSERT INTO spans VALUES ('t', 1, ?, ?, 'n', ?, 'ERROR', ?, NULL, ?)", values)
    connection.commit()
    connection.close()
    reader = MlflowReader(path)
    check_calls_against_steps(reader)
    for call in reader.calls():
        dumps([call.arguments, dict(call.metadata), call.result.text if call.result else None])


@pytest.mark.shared
def test_the_recording(shared: Path) -> None:
    path = shared / "real_traces" / "mlflow" / "mlflow-langgraph.db"
    reader = MlflowReader(path)
    check_calls_against_steps(reader)
    wanted = json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))["calls"]
    wrong = faults(wanted, list(reader.calls()))
    # the truth counts tool records: it has no result for the unknown tool (told in the next request), and an empty one
    # for the cancelled call
    assert {what for what, *_ in wrong} == {"has result"}

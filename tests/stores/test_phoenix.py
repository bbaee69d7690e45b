"""Phoenix: calls out of TOOL and LLM spans in the ways that tracers write them, messages told once, recorded scores."""

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
from reach_tui.stores.offered import OfferedTool
from reach_tui.stores.phoenix import PhoenixReader
from reach_tui.stores.span_routes import documents_route
from tests.stores.test_accuracy import faults
from tests.stores.test_reader_contract import check_calls_against_steps

SCHEMA = """
CREATE TABLE projects (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE project_sessions (id INTEGER PRIMARY KEY, session_id TEXT, project_id INTEGER, start_time TEXT,
  end_time TEXT);
CREATE TABLE traces (id INTEGER PRIMARY KEY, project_rowid INTEGER, trace_id TEXT, start_time TEXT, end_time TEXT,
  project_session_rowid INTEGER);
CREATE TABLE spans (id INTEGER PRIMARY KEY, trace_rowid INTEGER, span_id TEXT UNIQUE, parent_id TEXT, name TEXT,
  span_kind TEXT, start_time TEXT, end_time TEXT, attributes JSONB, events JSONB, status_code TEXT,
  status_message TEXT);
CREATE TABLE users (id INTEGER PRIMARY KEY, password_hash BLOB);
INSERT INTO projects VALUES (1, 'desk');
"""
Build = Callable[..., Path]


def span(name: str, kind: str, at: int, attributes: Any = None, **row: Any) -> dict[str, Any]:
    return {
        "span_id": f"{kind.lower()}-{name}-{at}", "parent_id": "root", "name": name, "span_kind": kind,
        "start_time": f"2026-06-01 10:00:{at:02}.000000", "end_time": f"2026-06-01 10:00:{at:02}.500000",
        "attributes": attributes or {}, "status_code": "OK", "status_message": "", "events": [], **row,
    }  # fmt: skip


def root(**row: Any) -> dict[str, Any]:
    return span("desk", "AGENT", 0, row.pop("attributes", None), span_id="root", parent_id=None, **row)


def user(text: str) -> dict[str, Any]:
    return {"message": {"role": "user", "content": text}}


def asks(*calls: tuple[str, str, Any], text: str = "") -> dict[str, Any]:
    asked = [
        {"tool_call": {"id": one, "function": {"name": name, "arguments": json.dumps(body)}}}
        for one, name, body in calls
    ]
    return {"message": {"role": "assistant", "content": text, "tool_calls": asked}}


def told_back(call: str, text: str) -> dict[str, Any]:
    return {"message": {"role": "tool", "tool_call_id": call, "content": text}}


def model(at: int, said: list[Any], answered: list[Any], **row: Any) -> dict[str, Any]:
    schema = {
        "type": "function",
        "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
    }
    llm = {
        "model_name": "scripted-1", "input_messages": said, "output_messages": answered,
        "tools": [{"tool": {"json_schema": json.dumps(schema)}}],
    }  # fmt: skip
    return span("Chat", "LLM", at, {"llm": llm}, **row)


def langchain(name: str, at: int, given_: Any, call: str, text: str) -> dict[str, Any]:
    data = {"content": text, "tool_call_id": call, "status": "success"}
    value = {"input": {"value": given_}, "output": {"value": json.dumps({"type": "tool", "data": data})}}
    return span(name, "TOOL", at, {**value, "tool": {"name": name}})


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A store with one session `s1` of traces, each a list of spans."""

    def make(*traces: Iterable[dict[str, Any]], session: bool = True) -> Path:
        path = tmp_path / "phoenix.db"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        if session:
            connection.execute(
                "INSERT INTO project_sessions VALUES (1,'s1',1,'2026-06-01 10:00:00','2026-06-01 11:00:00')"
            )
        for number, spans in enumerate(traces, 1):
            start = f"2026-06-01 10:0{number}:00"
            values = (number, 1, f"trace{number}", start, start, 1 if session else None)
            connection.execute("INSERT INTO traces VALUES (?,?,?,?,?,?)", values)
            for one in spans:
                row = {"trace_rowid": number, **one}
                row |= {
                    name: json.dumps(row[name]) for name in ("attributes", "events") if not isinstance(row[name], str)
                }
                columns, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO spans ({columns}) VALUES ({marks})", list(row.values()))
        connection.commit()
        connection.close()
        return path

    return make


def told(path: Path, session: str = "s1") -> tuple[list[tuple[str, str]], list[ToolCall]]:
    steps = list(PhoenixReader(path).steps(session))
    return [(step.kind.value, step.call.tool if step.call else step.text) for step in steps], [
        step.call for step in steps if step.call
    ]


def test_messages_are_told_once_and_calls_where_they_ran(build: Build) -> None:
    first = [user("go")]
    second = [*first, asks(("c1", "look", {"q": "x"}), text="looking"), told_back("c1", "found")]
    path = build([
        root(), model(1, first, second[1:2]), langchain("look", 2, "x", "c1", "found"),
        model(3, second, [{"message": {"role": "assistant", "content": "bye"}}]),
    ])  # fmt: skip
    steps, (call,) = told(path)
    assert steps == [("user", "go"), ("assistant", "looking"), ("call", "look"), ("assistant", "bye")]
    assert (call.id, call.arguments, call.flagged, call.duration_ms) == ("c1", {"q": "x"}, False, 500)
    assert call.result is not None
    assert call.result.text == "found"
    assert (call.metadata["agent"], call.metadata["offered_tools"], call.turn) == ("desk", ["look"], 1)
    assert PhoenixReader(path).offered_tools("s1") == [OfferedTool("look", "Looks.", {"type": "object"})]


def test_a_tool_that_raised_has_no_id_but_its_arguments(build: Build) -> None:
    events = [{"name": "exception", "attributes": {"exception.type": "ValueError", "exception.message": "12"}}]
    failed = span("look", "TOOL", 2, {"input": {"value": "12"}, "tool": {"name": "look"}}, status_code="ERROR",
                  status_message="ValueError('12')Traceback", events=events)  # fmt: skip
    _, (call,) = told(
        build([root(status_code="ERROR"), model(1, [user("go")], [asks(("c1", "look", {"q": "12"}))]), failed])
    )
    assert (call.id, call.arguments, call.flagged) == ("", {"q": "12"}, True)
    assert (call.metadata["asked_as"], call.metadata["exception"]) == ("c1", "ValueError")
    assert call.result is not None
    assert call.result.text == "ValueError('12')Traceback"


def test_openai_agents_spans_have_no_ids(build: Build) -> None:
    spans = [
        root(),
        model(1, [user("go")], [asks(("c1", "look", {"q": 1}), ("c2", "look", {"q": 2}), ("c3", "none", {}))]),
    ]
    for at, value in ((2, 2), (3, 1)):
        value_ = {"input": {"value": json.dumps({"q": value})}, "output": {"value": f"found {value}"}}
        spans.append(span("look", "TOOL", at, {**value_, "tool": {"name": "look"}}))
    spans.append(span("look", "TOOL", 4, {"input": {"value": "cut off"}, "tool": {"name": "look"}}))
    _, calls = told(build(spans))
    assert [(call.tool, call.id, call.metadata.get("asked_as"), call.flagged) for call in calls] == [
        ("none", "c3", None, None), ("look", "", "c2", False), ("look", "", "c1", False), ("look", "", None, False),
    ]  # fmt: skip
    assert calls[3].result is None
    assert calls[3].problem is not None


def test_a_call_that_nothing_ran_gets_the_answer_from_the_next_request(build: Build) -> None:
    asked = asks(("c1", "ship", {"id": 1}))
    _, (call,) = told(build([
        root(), model(1, [user("go")], [asked]),
        model(2, [user("go"), asked, told_back("c1", "Error: ship is not a valid tool")], [user("x")]),
    ]))  # fmt: skip
    assert (call.id, call.flagged, call.metadata["not_run"]) == ("c1", None, True)
    assert call.result is not None
    assert call.result.text == "Error: ship is not a valid tool"


def test_broken_arguments_are_found_in_the_raw_output(build: Build) -> None:
    invalid = [{"id": "c1", "name": "convert", "args": '{"amount": 1, "to', "error": "no"}]
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["x", "AIMessage"],
        "kwargs": {"content": "", "invalid_tool_calls": invalid},
    }
    one = model(1, [user("go")], [{"message": {"role": "assistant"}}])
    one["attributes"]["output"] = {"value": json.dumps({"generations": [[{"text": "", "message": message}]]})}
    _, (call,) = told(build([root(), one]))
    assert (call.tool, call.arguments, bool(call.problem)) == ("convert", '{"amount": 1, "to', True)


def test_a_listed_call_without_an_id_is_not_doubled_by_the_raw_output(build: Build) -> None:
    one = model(1, [user("go")], [asks(("", "look", {"q": 1}))])
    one["attributes"]["output"] = {
        "value": json.dumps({"output": [{"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}]})
    }
    handoff = span("handoff to billing", "TOOL", 2)
    steps, _ = told(build([root(), one, handoff]))
    assert steps == [("user", "go"), ("call", "look"), ("note", "handoff to billing")]


def test_two_tracers_of_one_request_are_one(build: Build) -> None:
    asked = asks(("c1", "look", {"q": 1}), text="hm")
    outer = model(1, [user("go")], [asked])
    inner = model(2, [user("go")], [asked], parent_id=outer["span_id"])
    steps, _ = told(build([root(), outer, inner]))
    assert steps == [("user", "go"), ("assistant", "hm"), ("call", "look")]


def test_turns_over_traces_and_a_history_that_was_not_traced(build: Build) -> None:
    history = [user("before"), {"message": {"role": "assistant", "content": "earlier"}}]
    path = build(
        [root(), model(1, [*history, user("one")], [{"message": {"role": "assistant", "content": "first"}}])],
        [{**model(2, [*history, user("one"), {"message": {"role": "assistant", "content": "first"}}, user("two")], []),
          "span_id": "later"}],
    )  # fmt: skip
    steps = list(PhoenixReader(path).steps("s1"))
    assert [(step.text, step.turn, step.inherited) for step in steps] == [
        ("before", 0, True), ("earlier", 0, True), ("one", 1, False), ("first", 1, False), ("two", 2, False),
    ]  # fmt: skip


def test_the_innermost_error_is_told_once(build: Build) -> None:
    steps, _ = told(build([
        root(status_code="ERROR", status_message="outer"),
        model(1, [user("go")], [], status_code="ERROR", status_message="HTTP 500"),
    ]))  # fmt: skip
    assert steps == [("user", "go"), ("error", "Chat: HTTP 500")]


def test_a_trace_without_model_spans_is_framed_by_its_first_span(build: Build) -> None:
    attributes = {
        "input": {"value": "what now"},
        "output": {"value": '{"messages": [{"role": "ai", "content": "this"}]}'},
    }
    steps, _ = told(build([root(attributes=attributes), langchain("look", 2, "x", "c1", "ok")]))
    assert steps == [("user", "what now"), ("call", "look"), ("assistant", "this")]


def documents(*scores: tuple[str, Any]) -> dict[str, Any]:
    found = [{"document": {"id": name, "content": f"about {name}", "score": score}} for name, score in scores]
    return {"input": {"value": "refund"}, "retrieval": {"documents": found}}


def test_scores_of_retrieved_tools_are_the_route_of_the_call(build: Build) -> None:
    path = build([
        root(), span("tools", "RETRIEVER", 1, documents(("edit", 0.4), ("look", 0.9))),
        model(2, [user("go")], [asks(("c1", "look", {"q": "x"}))]), langchain("look", 3, "x", "c1", "ok"),
    ])  # fmt: skip
    steps, (call,) = told(path)
    assert ("note", "retriever tools") not in steps
    assert call.route is not None
    assert (call.route.basis, call.route.intent, call.route.gap) == ("recorded", "refund", 0.5)
    assert [one.name for one in call.route.candidates] == ["look", "edit"]


def test_scores_of_other_documents_stay_with_their_own_step(build: Build) -> None:
    steps = list(PhoenixReader(build([root(), span("kb", "RETRIEVER", 1, documents(("faq", 0.9)))])).steps("s1"))
    assert [(step.kind.value, step.route.basis if step.route else None) for step in steps] == [("note", "recorded")]
    assert documents_route("q", documents(("faq", 7.5))["retrieval"]["documents"]) is None


def test_a_routers_own_record_is_a_decision(build: Build) -> None:
    record = {"candidates": [{"name": "look", "score": 0.6}, {"tool": "edit", "score": 0.55}], "decision": "clarify",
              "query": "what", "thresholds": {"t1": 0.8, "gap": 0.2}}  # fmt: skip
    path = build([root(), span("router", "CHAIN", 1, {"output": {"value": json.dumps(record)}})])
    steps = list(PhoenixReader(path).steps("s1"))
    (route,) = [step.route for step in steps if step.route]
    assert [step.kind.value for step in steps] == ["decision"]
    assert (route.decision, route.intent, route.thresholds.t1, route.thresholds.gap) == ("clarify", "what", 0.8, 0.2)


def test_traces_outside_of_a_session_are_sessions(build: Build) -> None:
    reader = PhoenixReader(build([root()], [{**root(), "span_id": "r2"}], session=False))
    assert [(session.id, session.project) for session in reader.sessions()] == [("trace2", "desk"), ("trace1", "desk")]
    check_calls_against_steps(reader)


def test_unreadable_attributes_are_shown(build: Build) -> None:
    path = build([span("look", "TOOL", 1, attributes="{broken", parent_id=None)])
    steps, (call,) = told(path)
    assert ("raw", "{broken") in steps
    assert call.tool == "look"
    assert "unreadable span" in {one.what for one in PhoenixReader(path).troubles("s1")}


def test_layouts_that_are_not_known(build: Build) -> None:
    path = build([root()])
    assert open_store(path).version == "with sessions"
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE spans RENAME COLUMN attributes TO body")
    connection.close()
    with pytest.raises(SchemaUnknown):
        open_store(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["value", "input", "output", "llm", "tools", "input_messages", "output_messages", "message", "role", "content",
         "tool_calls", "documents", "candidates", "name", "score", "type", "data", "id"]), inner),
    max_leaves=10,
)  # fmt: skip
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["input", "output", "llm", "tool", "retrieval", "reranker", "metadata", "gen_ai"]), JSON
)
KIND = st.sampled_from(["LLM", "TOOL", "RETRIEVER", "CHAIN", "AGENT", "UNKNOWN", "RERANKER", "GUARDRAIL", ""])


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(KIND, ATTRIBUTES | JSON, st.sampled_from(["OK", "ERROR", "UNSET"]), st.integers(0, 4)), max_size=5
    )
)
def test_any_span_is_told(tmp_path_factory: pytest.TempPathFactory, spans: list[Any]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "p.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO traces VALUES (1, 1, 't1', 'x', NULL, NULL)")
    for place, (kind, attributes, status, parent) in enumerate(spans):
        connection.execute(
            "INSERT INTO spans VALUES (?, 1, ?, ?, 'n', ?, ?, NULL, ?, ?, ?, 'm')",
            (place, str(place), str(parent), kind, place, json.dumps(attributes), json.dumps(attributes), status),
        )
    connection.commit()
    connection.close()
    reader = PhoenixReader(path)
    check_calls_against_steps(reader)
    for call in reader.calls():
        dumps([call.arguments, dict(call.metadata), call.result.text if call.result else None])


@pytest.mark.shared
def test_the_recording(shared: Path) -> None:
    path = shared / "real_traces" / "phoenix" / "phoenix-langgraph.db"
    reader = PhoenixReader(path)
    check_calls_against_steps(reader)
    wanted = json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))["calls"]
    wrong = faults(wanted, list(reader.calls()))
    # the truth counts tool records; what the model was told of the unknown tool stands in its next request
    assert [(what, rest[1]) for what, *rest in wrong] == [("has result", False)]
    kinds = {step.kind.value for session in reader.sessions() for step in reader.steps(session.id)}
    assert kinds == {"system", "user", "assistant", "call", "error"}

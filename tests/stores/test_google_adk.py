"""Google ADK: its three layouts, pairing, errors of the framework, and the pickle that is never loaded."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import SchemaUnknown
from reach_tui.base.jsonio import dumps
from reach_tui.model import Step, ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.stores.google_adk import GoogleAdkReader
from tests.stores.test_reader_contract import check_calls_against_steps

COMMON = """
CREATE TABLE app_states (app_name TEXT PRIMARY KEY, state TEXT);
CREATE TABLE user_states (app_name TEXT, user_id TEXT, state TEXT);
CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL, update_time REAL,
  PRIMARY KEY (app_name, user_id, id));
"""
NEW = (
    COMMON
    + """
CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, timestamp REAL,
  event_data TEXT);
"""
)
OLD = (
    COMMON
    + """
CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, author TEXT,
  actions BLOB, long_running_tool_ids_json TEXT, branch TEXT, timestamp TEXT, content TEXT, partial BOOLEAN,
  turn_complete BOOLEAN, error_code TEXT, error_message TEXT, interrupted BOOLEAN);
"""
)
START = 1_780_000_000
Build = Callable[..., Path]


def calls(*asked: tuple[str, str], **fields: Any) -> dict[str, Any]:
    parts = [{"function_call": {"id": identifier, "name": name, "args": {"q": 1}}} for identifier, name in asked]
    return {"author": "desk", "content": {"role": "model", "parts": parts}, **fields}


def answers(*given_: tuple[str, str, Any], **fields: Any) -> dict[str, Any]:
    parts = [{"function_response": {"id": one, "name": name, "response": body}} for one, name, body in given_]
    return {"author": "desk", "content": {"role": "user", "parts": parts}, **fields}


def said(text: str, author: str = "user", **part: Any) -> dict[str, Any]:
    return {"author": author, "content": {"parts": [{"text": text, **part}]}}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A store of the newest layout from sessions `(app, user, id)` with their events."""

    def make(*sessions: tuple[tuple[str, str, str], Iterable[Any]]) -> Path:
        path = tmp_path / "session.db"
        connection = sqlite3.connect(path)
        connection.executescript(NEW)
        for number, (key, events) in enumerate(sessions):
            connection.execute(
                "INSERT INTO sessions VALUES (?,?,?,'{}',?,?)", (*key, START + number * 100, START + number * 100 + 50)
            )
            for place, event in enumerate(events):
                invocation = event.pop("invocation", "e-1") if isinstance(event, dict) else "e-1"
                body = json.dumps(event) if isinstance(event, dict) else event
                values = (f"ev{place}", *key, invocation, START + number * 100 + place, body)
                connection.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?)", values)
        connection.commit()
        connection.close()
        return path

    return make


KEY = ("desk", "dev", "s1")


def told(path: Path, session: str = "s1") -> tuple[list[Step], dict[str, ToolCall]]:
    steps = list(GoogleAdkReader(path).steps(session))
    return steps, {step.call.id: step.call for step in steps if step.call}


def test_calls_are_paired_and_flagged_by_the_response(build: Build) -> None:
    steps, found = told(build((KEY, [
        said("go"), said("hm", "desk", thought=True), calls(("a", "look"), ("b", "edit"), ("c", "edit")),
        answers(("a", "look", {"result": "Error: no"}), ("b", "edit", {"error": "no such tool"})),
        answers(("c", "edit", {"error": None, "result": 1})), said("done", "desk"),
    ])))  # fmt: skip
    assert [step.kind.value for step in steps] == ["user", "reasoning", "call", "call", "call", "assistant"]
    assert [found[name].flagged for name in "abc"] == [False, True, False]
    assert found["a"].result is not None
    assert found["a"].result.text == '{"result":"Error: no"}'
    assert (found["a"].duration_ms, found["a"].metadata["agent"]) == (1000, "desk")


def test_an_error_event_answers_the_open_calls_of_its_invocation_only(build: Build) -> None:
    steps, found = told(build((KEY, [
        calls(("old", "look"), invocation="e-0"), calls(("a", "look"), ("b", "edit")),
        answers(("b", "edit", {"result": 1})), {"error_code": "ValueError", "error_message": "12", "author": "desk"},
    ])))  # fmt: skip
    assert {name: call.flagged for name, call in found.items()} == {"old": None, "a": True, "b": False}
    assert found["a"].result is not None
    assert found["a"].result.text == "ValueError: 12"
    assert (steps[-1].kind.value, steps[-1].text) == ("error", "ValueError: 12")


def test_repeated_ids_pair_by_occurrence_and_missing_ids_by_name(build: Build) -> None:
    path = build((KEY, [
        calls(("a", "look")), answers(("a", "look", {"result": 1})), calls(("a", "look")),
        answers(("a", "look", {"result": 2})), calls(("", "edit")), answers(("", "edit", {"result": 3})),
    ]))  # fmt: skip
    found = list(GoogleAdkReader(path).calls())
    assert [call.result.text for call in found if call.result] == ['{"result":1}', '{"result":2}', '{"result":3}']
    assert len({call.key for call in found}) == 3


def test_a_long_running_tools_last_answer_counts(build: Build) -> None:
    _, found = told(build((KEY, [
        calls(("a", "export"), long_running_tool_ids=["a"]), answers(("a", "export", {"status": "pending"})),
        {**answers(("a", "export", {"status": "done"})), "author": "user"},
    ])))  # fmt: skip
    assert found["a"].result is not None
    assert found["a"].result.text == '{"status":"done"}'


def test_what_a_rewind_took_back_is_not_visible(build: Build) -> None:
    steps, _ = told(build((KEY, [
        {**said("one"), "invocation": "e-1"}, {**said("two"), "invocation": "e-2"},
        {"author": "user", "actions": {"rewind_before_invocation_id": "e-2"}, "invocation": "e-3"}, said("three"),
    ])))  # fmt: skip
    assert [(step.text, step.visible) for step in steps if step.kind.value == "user"] == [
        ("one", True), ("two", False), ("three", True),
    ]  # fmt: skip


def test_one_id_under_two_users(build: Build) -> None:
    reader = GoogleAdkReader(build((KEY, [said("one")]), (("desk", "eve", "s1"), [said("two")])))
    assert [session.id for session in reader.sessions()] == ["desk/eve/s1", "desk/dev/s1"]
    assert [step.text for step in reader.steps("desk/eve/s1")] == ["two"]
    assert reader.session("s1") is None


def test_unreadable_events_and_orphans_are_shown(build: Build) -> None:
    path = build(
        (KEY, ["{broken", None, answers(("zz", "look", {"result": 1})), {"content": {"parts": ["x", {"new": 1}]}}])
    )
    steps, _ = told(path)
    assert [step.kind.value for step in steps] == ["raw", "raw", "note", "raw", "raw"]
    assert {one.what for one in GoogleAdkReader(path).troubles("s1")} == {
        "unreadable event", "orphan result", "unreadable part",
    }  # fmt: skip


def test_schema_0_without_touching_its_pickle(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.write_text, (tmp_path / "trapped", "x"))

    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(OLD)
    connection.execute("INSERT INTO sessions VALUES ('desk','dev','s1','{}',?,?)", (START, START))
    rows = [said("go"), calls(("a", "look")), {"author": "desk", "error_code": "ValueError", "error_message": "12"}]
    for place, event in enumerate(rows):
        content = json.dumps(event["content"]) if "content" in event else None
        values = (f"ev{place}", event["author"], pickle.dumps(Trap()), f"2026-06-01 10:00:0{place}.5", content,
                  event.get("error_code"), event.get("error_message"))  # fmt: skip
        connection.execute(
            "INSERT INTO events (id, author, actions, timestamp, content, error_code, error_message, app_name, "
            "user_id, session_id, invocation_id) VALUES (?,?,?,?,?,?,?,'desk','dev','s1','e-1')", values,
        )  # fmt: skip
    connection.commit()
    connection.close()
    assert open_store(path).version == "schema 0"
    steps, found = told(path)
    assert [step.kind.value for step in steps] == ["user", "call", "error"]
    assert (found["a"].flagged, found["a"].duration_ms) == (True, 1000)
    assert not (tmp_path / "trapped").exists()


def test_layouts(build: Build, tmp_path: Path) -> None:
    path = build((KEY, []))
    assert open_store(path).version == "SQLite service"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE adk_internal_metadata (key TEXT, value TEXT)")
        assert open_store(path).version == "schema 1"
        connection.execute("ALTER TABLE events RENAME COLUMN event_data TO body")
    connection.close()
    with pytest.raises(SchemaUnknown):
        open_store(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["text", "function_call", "function_response", "id", "name", "args", "response", "error", "parts"]), inner),
    max_leaves=8,
)  # fmt: skip
EVENT = st.dictionaries(
    st.sampled_from(["content", "author", "timestamp", "error_code", "actions", "long_running_tool_ids", "partial"]),
    JSON,
)
PART = st.dictionaries(st.sampled_from(["text", "function_call", "function_response", "inline_data", "new"]), JSON)


@settings(max_examples=30)
@given(st.lists(EVENT | st.lists(PART, max_size=3).map(lambda parts: {"content": {"parts": parts}}) | JSON, max_size=4))
def test_any_event_is_told(tmp_path_factory: pytest.TempPathFactory, events: list[Any]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.db"
    connection = sqlite3.connect(path)
    connection.executescript(NEW)
    connection.execute("INSERT INTO sessions VALUES ('a','u','s','{}','x',NULL)")
    for place, event in enumerate(events):
        values = (str(place), json.dumps(event))
        connection.execute("INSERT INTO events VALUES (?,'a','u','s',NULL,'soon',?)", values)
    connection.commit()
    connection.close()
    reader = GoogleAdkReader(path)
    check_calls_against_steps(reader)
    for call in reader.calls():
        dumps([call.arguments, dict(call.metadata), call.result.text if call.result else None])

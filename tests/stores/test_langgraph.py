"""LangGraph: pairing over checkpoints and writes, branches, copies, and values that must not be read."""

from __future__ import annotations

import json
import pickle
import sqlite3
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import dumps
from reach_tui.model import Step, StepKind
from reach_tui.stores.catalog import open_store
from reach_tui.stores.langgraph import LanggraphReader
from reach_tui.stores.langgraph_state import Decoder, Unreadable, plain
from tests.stores.test_reader_contract import check_calls_against_steps

SCHEMA = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT,
  value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
Build = Callable[..., Path]


def pack(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def message(role: str, content: Any = "", **fields: Any) -> msgspec.msgpack.Ext:
    body = [
        "langchain_core.messages",
        CLASSES[role],
        {"type": role, "content": content, **fields},
        "model_validate_json",
    ]
    return msgspec.msgpack.Ext(5, pack(body))


def ask(identifier: str, *calls: tuple[str, str], invalid: Iterable[Any] = (), content: Any = "") -> Any:
    asked = [{"name": name, "args": {"q": name}, "id": call, "type": "tool_call"} for call, name in calls]
    return message("ai", content, id=identifier, tool_calls=asked, invalid_tool_calls=list(invalid))


def answer(call: str, content: Any = "fine", **fields: Any) -> Any:
    return message("tool", content, **{"id": f"t-{call}", "tool_call_id": call, "status": "success", **fields})


def send(call: str) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(1, pack(["langgraph.types", "Send", ["tools", [{"name": "x", "args": {}, "id": call}]]]))


def uuid6(number: int) -> str:
    ticks = 122_192_928_000_000_000 + (1_780_000_000 + number) * 10_000_000
    value = (ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64 | 0x8000_0000_0000_0000 | number
    return str(uuid.UUID(int=value))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A store of checkpoints `(thread, number, parent, messages or channel values)` and writes."""

    def make(checkpoints: Iterable[Any], writes: Iterable[Any] = ()) -> Path:
        path = tmp_path / "checkpoints.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        for thread, number, parent, values, *rest in checkpoints:
            space = rest[0] if rest else ""
            state = values if isinstance(values, dict) else {"messages": values}
            body = {"v": 4, "ts": f"2026-06-01T10:00:{number:02}+00:00", "channel_values": state}
            kind, raw = rest[1:] if len(rest) == 3 else ("msgpack", pack(body))
            row = (thread, space, uuid6(number), None if parent is None else uuid6(parent), kind, raw, b"{}")
            connection.execute("INSERT INTO checkpoints VALUES (?,?,?,?,?,?,?)", row)
        for place, (thread, number, path_text, channel, value) in enumerate(writes):
            written = (thread, "", uuid6(number), f"task{place}", path_text, 0, channel, "msgpack", pack(value))
            connection.execute("INSERT INTO writes VALUES (?,?,?,?,?,?,?,?,?)", written)
        connection.commit()
        connection.close()
        return path

    return make


def told(path: Path, session: str = "t1") -> list[Step]:
    return list(LanggraphReader(path).steps(session))


def seen(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.kind.value, step.call.tool if step.call else step.text) for step in steps]


def test_a_conversation_is_told_once_with_times_of_the_first_checkpoints(build: Build) -> None:
    hello, asks, done, bye = message("human", "hello", id="h1"), ask("a1", ("c1", "look")), answer("c1"), ask("a2")
    bye = message("ai", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "bye"}], id="a2")
    steps = told(build([
        ("t1", 1, None, [hello]), ("t1", 2, 1, [hello, asks]), ("t1", 3, 2, [hello, asks, done]),
        ("t1", 4, 3, [hello, asks, done, bye]),
    ]))  # fmt: skip
    assert seen(steps) == [("user", "hello"), ("call", "look"), ("reasoning", "hm"), ("assistant", "bye")]
    call = steps[1].call
    assert call is not None
    assert (call.key, call.flagged, call.status, call.duration_ms, call.turn) == ("t1/a1/c1", False, "success", 1000, 1)
    assert call.result is not None
    assert call.result.text == "fine"
    assert all(step.visible for step in steps)


def test_status_error_invalid_calls_and_open_calls(build: Build) -> None:
    broken = {"name": "convert", "args": '{"amount": 1, "to', "id": "c3", "error": "not valid JSON", "type": "x"}
    messages = [ask("a1", ("c1", "look"), ("c2", "edit"), invalid=[broken]), answer("c1", "Error: no", status="error")]
    calls = {step.call.id: step.call for step in told(build([("t1", 1, None, messages)])) if step.call}
    assert (calls["c1"].flagged, calls["c2"].flagged, calls["c3"].flagged) == (True, None, True)
    assert calls["c2"].result is None
    assert calls["c3"].arguments == '{"amount": 1, "to'
    assert calls["c3"].problem is not None
    assert calls["c3"].result is not None
    assert calls["c3"].result.text == "not valid JSON"


def test_a_step_that_failed_half_way_is_read_from_the_writes(build: Build) -> None:
    asks = ask("a1", ("c1", "look"), ("c2", "edit"), ("c3", "look"))
    state = {"messages": [asks], "__pregel_tasks": [send("c1"), send("c2"), send("c3")]}
    steps = told(build(
        [("t1", 1, None, state)],
        [
            ("t1", 1, "~__pregel_push, 0000000000, 0000000000", "messages", [answer("c1", "one", id=None)]),
            ("t1", 1, "~__pregel_push, 0000000000, 0000000001", "__error__", "ValueError('12')"),
            ("t1", 1, "~__pregel_push, 0000000002, 0000000002", "messages", [answer("c3", "three", id=None)]),
        ],
    ))  # fmt: skip
    results = {step.call.id: step.call.result.text for step in steps if step.call and step.call.result}
    assert results["c1"] == "one"
    assert results["c3"] == "three"


def test_the_error_of_a_pushed_task_belongs_to_the_call_it_was_sent(build: Build) -> None:
    state = {"messages": [ask("a1", ("c1", "look"), ("c2", "edit"))], "__pregel_tasks": [send("c1"), send("c2")]}
    steps = told(
        build([("t1", 1, None, state)], [("t1", 1, "~__pregel_push, 0000000001", "__error__", "ValueError()")])
    )
    calls = {step.call.id: step.call for step in steps if step.call}
    assert (calls["c1"].flagged, calls["c2"].flagged) == (None, True)
    assert StepKind.ERROR not in {step.kind for step in steps}


def test_an_error_of_the_model_is_no_call_of_anybody(build: Build) -> None:
    messages = [message("human", "hi", id="h1")]
    steps = told(build([("t1", 1, None, messages)], [("t1", 1, "~__pregel_pull, model", "__error__", "APIError(500)")]))
    assert seen(steps) == [("user", "hi"), ("error", "APIError(500)")]


def test_the_error_of_a_whole_round_is_given_to_a_lone_call_only(build: Build) -> None:
    for calls, flags in (((("c1", "look"),), [True]), ((("c1", "look"), ("c2", "look")), [None, None])):
        path = build([("t1", 1, None, [ask("a1", *calls)])], [("t1", 1, "~__pregel_pull, tools", "__error__", "X()")])
        assert [call.flagged for call in LanggraphReader(path).calls()] == flags
        path.unlink()


def test_branches_are_told_once_and_the_abandoned_one_is_not_visible(build: Build) -> None:
    start = message("human", "go", id="h1")
    steps = told(build([
        ("t1", 1, None, [start]), ("t1", 2, 1, [start, ask("a1", ("c1", "look"))]),
        ("t1", 3, 2, [start, ask("a1", ("c1", "look")), answer("c1")]),
        ("t1", 4, 1, [start, ask("b1", ("c1", "look"))]),
        ("t1", 5, 4, [start, ask("b1", ("c1", "look")), answer("c1", "again", id="t-b")]),
    ]))  # fmt: skip
    calls = [step.call for step in steps if step.call]
    assert [(call.key, call.visible, call.result.text if call.result else None) for call in calls] == [
        ("t1/a1/c1", False, "fine"),
        ("t1/b1/c1", True, "again"),
    ]


def test_a_copied_thread_points_to_the_original(build: Build) -> None:
    common = [message("human", "go", id="h1"), ask("a1", ("c1", "look")), answer("c1")]
    more = [*common, ask("a2", ("c2", "edit")), answer("c2")]
    reader = LanggraphReader(build([("t1", 1, None, common), ("t2", 1, None, common), ("t2", 2, 1, more)]))
    assert {session.id: session.copy_of for session in reader.sessions()} == {"t1": None, "t2": "t1"}
    assert {call.key: call.copy_of for call in reader.calls()} == {
        "t1/a1/c1": None,
        "t2/a1/c1": "t1/a1/c1",
        "t2/a2/c2": None,
    }


def test_sub_graphs_are_children(build: Build) -> None:
    reader = LanggraphReader(build([
        ("t/1", 1, None, [message("human", "go", id="h1")]),
        ("t/1", 2, None, [ask("a1", ("c1", "look"))], "helper:6b2f"),
        ("t/1", 3, None, [ask("a2", ("c2", "look"))], "helper:6b2f|inner:77"),
    ]))  # fmt: skip
    found = {session.id: (session.parent_id, session.own_work, session.title) for session in reader.sessions()}
    assert found == {
        "t/1": (None, True, None),
        "t/1/helper:6b2f": ("t/1", False, "helper"),
        "t/1/helper:6b2f|inner:77": ("t/1/helper:6b2f", False, "inner"),
    }
    assert [call.id for call in reader.calls(["t/1/helper:6b2f|inner:77"])] == ["c2"]


def test_pickle_is_never_loaded(build: Build, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.write_text, (tmp_path / "trapped", "x"))

    path = build([("t1", 1, None, [], "", "pickle", pickle.dumps(Trap()))])
    steps = told(path)
    assert [step.kind for step in steps] == [StepKind.RAW]
    assert "pickle" in steps[0].text
    assert not (tmp_path / "trapped").exists()
    assert [trouble.what for trouble in LanggraphReader(path).troubles("t1")] == ["unreadable state"]


def test_json_state_and_constructor_messages(build: Build) -> None:
    message_json = {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "hi"}}
    body = json.dumps({"channel_values": {"messages": [message_json]}}).encode()
    assert seen(told(build([("t1", 1, None, [], "", "json", body)]))) == [("user", "hi")]


def test_a_graph_without_messages_shows_its_state(build: Build) -> None:
    steps = told(build([("t1", 1, None, {"total": 3, "when": msgspec.msgpack.Ext(0, pack(["d", "date", "2026"]))})]))
    assert [step.kind for step in steps] == [StepKind.NOTE]
    assert '"total":3' in steps[0].text


def test_layouts(build: Build) -> None:
    path = build([("t1", 1, None, [])])
    assert open_store(path).version == "saver 3"
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE writes RENAME COLUMN task_path TO other")
    connection.close()
    assert open_store(path).version == "saver without task_path"


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(raw: bytes) -> None:
    decoder = Decoder()
    for body in (raw, pack(msgspec.msgpack.Ext(5, raw)), pack([msgspec.msgpack.Ext(code, raw) for code in range(8)])):
        try:
            value = decoder.decode("msgpack", body)
        except Unreadable:
            continue
        dumps(plain(value))
        decoder.messages_in(value)


def test_extensions_nested_ten_thousand_deep_are_refused() -> None:
    raw = pack("x")
    for _ in range(3000):
        raw = pack(msgspec.msgpack.Ext(5, pack(["m", "C", msgspec.Raw(raw)])))
    with pytest.raises(Unreadable):
        plain(Decoder().decode("msgpack", raw))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "content", "type", "tool_calls", "args", "name", "tool_call_id", "status"]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(sorted(CLASSES)), JSON, st.dictionaries(st.sampled_from(
    ["id", "tool_calls", "invalid_tool_calls", "tool_call_id", "status", "additional_kwargs"]), JSON)), max_size=4),
    JSON)  # fmt: skip
def test_any_state_is_told(tmp_path_factory: pytest.TempPathFactory, messages: list[Any], other: Any) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "c.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    state = {"messages": [message(role, content, **fields) for role, content, fields in messages], "other": other}
    for raw in (pack({"channel_values": state}), pack(other)):
        row = ("t", "", uuid6(len(raw)), None, "msgpack", raw, None)
        connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?,?,?,?,?,?,?)", row)
    connection.execute("INSERT INTO writes VALUES ('t','',?,'k','',0,'__error__','msgpack',?)", (uuid6(1), pack(other)))
    connection.commit()
    connection.close()
    reader = LanggraphReader(path)
    check_calls_against_steps(reader)
    for call in reader.calls():
        dumps(call.arguments)
        dumps(dict(call.metadata))


@pytest.mark.shared
def test_the_recording(shared: Path) -> None:
    reader = LanggraphReader(shared / "real_traces" / "langgraph" / "langgraph-default-errors.db")
    assert len(list(reader.calls())) == 38

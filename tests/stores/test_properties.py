"""Whatever stands in the JSON columns: only errors of ours, and no other row is lost."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import dumps
from reach_tui.model import StepKind
from reach_tui.stores.opencode import OpencodeReader
from reach_tui.stores.peri import PeriReader
from reach_tui.stores.reader import Reader

RELAXED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["\x1b[31m", "\ud83d", "\x00", "error", "completed", "[/", "2026-06-01T10:00:00Z"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
opencode_part = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["tool", "text", "reasoning", "file", "patch", "retry", "subtask", "agent", "new"])
        | values
    },
    optional={
        "tool": st.sampled_from(["bash", "invalid"]) | values,
        "callID": values,
        "text": values,
        "synthetic": values,
        "files": values,
        "error": values,
        "url": values,
        "time": values,
        "metadata": values,
        "state": values
        | st.fixed_dictionaries(
            {"status": st.sampled_from(["completed", "error", "pending", "running"]) | values},
            optional=dict.fromkeys(("input", "output", "error", "metadata", "time", "raw", "attachments"), values),
        ),
    },
)
opencode_message = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | values},
    optional={"error": values, "time": values, "model": values},
)
second_item = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool", "text", "reasoning"]) | values},
    optional={
        "id": values,
        "name": values,
        "text": values,
        "time": values,
        "state": values
        | st.fixed_dictionaries(
            {"status": st.sampled_from(["completed", "error", "pending"]) | values},
            optional=dict.fromkeys(("input", "content", "structured", "error", "outputPaths"), values),
        ),
    },
)
peri_block = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "reasoning", "image", "document"]) | values},
    optional=dict.fromkeys(
        ("text", "id", "name", "input", "tool_use_id", "content", "source", "title", "is_error"), values
    ),
)
peri_message = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | values},
    optional={
        "content": st.lists(peri_block | values, max_size=4) | values,
        "tool_calls": st.lists(
            values | st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "name", "arguments", "function"), values)),
            max_size=3,
        )
        | values,
        "tool_call_id": values,
        "is_error": values,
        "execution": values,
    },
)
peri_row = (
    peri_message
    | values
    | st.fixed_dictionaries(
        {"version": st.just(1) | values, "type": st.sampled_from(["message", "system_reminder"]) | values},
        optional={"message": peri_message | values, "reminder": values},
    )
)


def column(value: Any) -> Any:
    """What SQLite can hold of a value: JSON text with lone surrogates escaped."""
    return json.dumps(value)


def read_everything(reader: Reader, session: str) -> list[Any]:
    """All of one session, checked: the same calls by both ways, everything can be written as JSON and as UTF-8."""
    steps = list(reader.steps(session))
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert [step.call for step in steps if step.call] == list(reader.calls([session]))
    for step in steps:
        step.text.encode()
        if step.call is not None:
            assert step.kind is StepKind.CALL
            assert isinstance(step.call.tool, str)
            assert isinstance(step.call.id, str)
            assert step.call.flagged in (True, False, None)
            dumps([step.call.key, step.call.arguments, dict(step.call.metadata), step.call.status, step.call.target])
            if step.call.result is not None:
                assert step.call.result.bytes == len(step.call.result.text.encode())
    for found in reader.sessions():
        assert isinstance(found.id, str)
    reader.troubles(session)
    return steps


@pytest.fixture(scope="module")
def opencode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("o") / "opencode.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE session (id, title, directory, revert, model, tokens_input, tokens_output, time_created,"
            " time_updated);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
            "CREATE TABLE session_message (id, session_id, type, seq, time_created, data);"
        )
    connection.close()
    return path


def refill(path: Path, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    connection = sqlite3.connect(path)
    for table, entries in rows.items():
        connection.execute(f"DELETE FROM {table}")
        for entry in entries:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(entry))})", entry)
    connection.commit()
    connection.close()


GOOD_CALL = column(
    {"type": "tool", "tool": "read", "callID": "good", "state": {"status": "completed", "output": "fine"}}
)


@RELAXED
@given(
    message=opencode_message | values,
    parts=st.lists(opencode_part | values, max_size=4),
    second=st.lists(
        st.fixed_dictionaries({"content": st.lists(second_item | values, max_size=3) | values}) | values, max_size=2
    ),
    kind=st.sampled_from(["user", "assistant", "agent-switched", "model-switched", "new"]),
    odd=st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=9),
)
def test_opencode(opencode: Path, message: Any, parts: list[Any], second: list[Any], kind: str, odd: Any) -> None:
    refill(
        opencode,
        {
            "session": [("s", odd, odd, odd, odd, odd, odd, odd, odd)],
            "message": [("m1", "s", odd, column(message)), ("m2", "s", 2**41, column({"role": "assistant"}))],
            "part": [
                *((f"p{n}", "m1", "s", column(part)) for n, part in enumerate(parts)),
                ("q1", "m2", "s", odd),
                ("q2", "m2", "s", GOOD_CALL),
            ],
            "session_message": [(f"x{n}", "s", kind, n, odd, column(row)) for n, row in enumerate(second)],
        },
    )
    steps = read_everything(OpencodeReader(opencode), "s")
    good = [step.call for step in steps if step.call and step.call.id == "good" and step.call.tool == "read"]
    assert any(call.result is not None and call.result.text == "fine" for call in good)


@pytest.fixture(scope="module")
def peri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("p") / "threads.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE threads (id, title, cwd, created_at, updated_at, message_count, hidden, inherited_context);"
            "CREATE TABLE messages (message_id, thread_id, role, content, truncated, excluded, projection);"
        )
    connection.close()
    return path


@RELAXED
@given(
    rows=st.lists(st.tuples(peri_row, st.sampled_from(["user", "assistant", "tool", "system", "new"])), max_size=5),
    inherited=st.fixed_dictionaries({"payloads": st.lists(peri_row, max_size=2) | values}) | values,
    odd=st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=9),
)
def test_peri(peri: Path, rows: list[tuple[Any, str]], inherited: Any, odd: Any) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "good-call", "name": "Read", "arguments": {}}]}
    answer = {"role": "tool", "tool_call_id": "good-call", "content": "fine", "is_error": False}
    refill(
        peri,
        {
            "threads": [("t", odd, odd, odd, odd, odd, odd, column(inherited))],
            "messages": [
                *((odd, "t", role, column(row), odd, odd, odd) for row, role in rows),
                ("m1", "t", "assistant", column(call), 0, 0, None),
                ("m2", "t", odd, odd, odd, 0, None),
                ("m3", "t", "tool", column(answer), 0, 0, None),
            ],
        },
    )
    steps = read_everything(PeriReader(peri), "t")
    good = [step.call for step in steps if step.call and step.call.id == "good-call" and step.call.tool == "Read"]
    assert any(call.result is not None and call.result.text == "fine" for call in good)
    assert any(step.kind is StepKind.RAW for step in steps)

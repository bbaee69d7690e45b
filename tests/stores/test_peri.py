"""Peri: wrappings, pairing and what is counted, on rows built for the purpose."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import SchemaUnknown
from reach_tui.model import Step, StepKind, ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.stores.peri import PeriReader

Build = Callable[..., Path]
START = 1_780_000_000_000


def use(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def entry(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, text: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text, "is_error": False, **fields}


def assistant(content: Any = "", **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def read(path: Path, session: str = "t1") -> tuple[list[Step], list[ToolCall], list[str]]:
    reader = PeriReader(path)
    steps = list(reader.steps(session))
    return steps, [step.call for step in steps if step.call], [trouble.what for trouble in reader.troubles(session)]


def test_a_call_written_twice_is_one_call(build_peri: Build) -> None:
    path = build_peri([assistant([use("a", path="x")], tool_calls=[entry("a", path="x")]), result("a", "fine")])
    _, calls, troubles = read(path)
    assert [(call.id, call.tool, call.result.text if call.result else None) for call in calls] == [
        ("a", "Read", "fine")
    ]
    assert troubles == []


def test_a_conflicting_double_write_is_one_call_and_said(build_peri: Build) -> None:
    path = build_peri([assistant([use("a", path="x")], tool_calls=[entry("a", path="y")]), result("a")])
    _, calls, troubles = read(path)
    assert len(calls) == 1
    assert "arguments differ" in (calls[0].problem or "")
    assert troubles == ["conflicting double write"]


def test_ids_that_start_again_keep_their_own_results(build_peri: Build) -> None:
    turns = [message for n in (1, 2, 3) for message in (assistant([use("bash:0", "Bash")]), result("bash:0", f"r{n}"))]
    _, calls, _ = read(build_peri(turns))
    assert [call.result.text for call in calls if call.result] == ["r1", "r2", "r3"]
    assert len({call.key for call in calls}) == 3


def test_the_first_open_call_with_an_id_wins(build_peri: Build) -> None:
    path = build_peri(
        [assistant([use("a", n=1)]), assistant([use("a", n=2)]), result("a", "first"), result("a", "second")]
    )
    _, calls, troubles = read(path)
    assert [(call.arguments, call.result.text if call.result else None) for call in calls] == [
        ({"n": 1}, "first"),
        ({"n": 2}, "second"),
    ]
    assert troubles == []


def test_no_pairing_across_threads(build_peri: Build) -> None:
    path = build_peri([assistant([use("call_1")])], [result("call_1", "other thread's")])
    _, calls, _ = read(path)
    assert calls[0].result is None
    assert calls[0].flagged is None
    steps, _, troubles = read(path, "t2")
    assert [step.kind for step in steps] == [StepKind.NOTE]
    assert "other thread's" in steps[0].text
    assert troubles == ["orphan result"]


def test_malformed_calls_pair_with_nothing(build_peri: Build) -> None:
    path = build_peri([assistant([use(""), use("b", "")]), result("", "no id"), result("b", "no name")])
    steps, calls, troubles = read(path)
    assert calls == []
    assert sorted(troubles) == ["malformed call", "malformed call", "malformed result", "orphan result"]
    assert len(steps) == 4


def test_foreign_exports_with_function_objects(build_peri: Build) -> None:
    good = {"id": "a", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
    bad = {"id": "b", "function": {"name": "Bash", "arguments": '{"command": '}}
    _, calls, _ = read(build_peri([assistant("go", tool_calls=[good, bad])]))
    assert calls[0].arguments == {"command": "ls"}
    assert calls[1].arguments == '{"command": '
    assert calls[1].problem == "arguments are not valid JSON"


def test_result_blocks_in_a_user_message(build_peri: Build) -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "seen"}], "is_error": True}
    _, calls, _ = read(build_peri([assistant([use("a")]), {"role": "user", "content": [block]}]))
    assert calls[0].result is not None
    assert calls[0].result.text == "seen"
    assert calls[0].flagged is True


def test_a_missing_flag_is_unknown(build_peri: Build) -> None:
    answer = result("a", "text")
    del answer["is_error"]
    _, calls, _ = read(build_peri([assistant([use("a")]), answer]))
    assert calls[0].flagged is None
    assert calls[0].result is not None


def test_execution_becomes_metadata_and_status(build_peri: Build) -> None:
    text = "boom\n[Execution status: failed, exit_code: 7]"
    execution = {"status": "failed", "exit_code": 7, "output_truncated": True, "task_id": "bg-1"}
    slow = {"status": "timed_out", "output_truncated": False}
    path = build_peri(
        [
            assistant([use("a"), use("b")]),
            result("a", text, is_error=True, execution=execution),
            result("b", execution=slow),
        ]
    )
    _, calls, _ = read(path)
    assert calls[0].status == "failed"
    assert dict(calls[0].metadata) == {
        "exit_code": 7, "truncated": True, "task_id": "bg-1", "notice": "[Execution status: failed, exit_code: 7]",
    }  # fmt: skip
    assert calls[1].metadata == {"timed_out": True}


def test_the_wrapper_names_its_target(build_peri: Build) -> None:
    _, calls, _ = read(build_peri([assistant([use("a", "ExecuteExtraTool", tool_name="Workflow", params={})])]))
    assert calls[0].shown_tool == "ExecuteExtraTool→Workflow"


def test_only_a_lone_call_has_a_duration(build_peri: Build) -> None:
    alone = [assistant([use("a")], at=START), result("a", at=START + 250)]
    pair = [
        assistant([use("b"), use("c")], at=START + 1000),
        result("b", at=START + 1900),
        result("c", at=START + 1900),
    ]
    _, calls, _ = read(build_peri([*alone, *pair]))
    assert [(call.started_at, call.duration_ms) for call in calls] == [
        (START, 250),
        (START + 1000, None),
        (START + 1000, None),
    ]


def test_excluded_rows_are_counted_but_not_visible(build_peri: Build) -> None:
    path = build_peri([assistant([use("a")], excluded=1), result("a", excluded=1), assistant([use("b")]), result("b")])
    _, calls, _ = read(path)
    assert [call.visible for call in calls] == [False, True]


def test_reminders_are_not_user_turns(build_peri: Build) -> None:
    reminder = {
        "version": 1,
        "type": "system_reminder",
        "id": "x",
        "reminder": {"body": "be careful"},
        "row_role": "system_reminder",
    }
    old = {"role": "user", "content": "<system-reminder>\nWarning: Tool 'Read' has failed 5 times\n</system-reminder>"}
    wrapped = {"version": 1, "type": "message", "message": {"role": "user", "content": "hello"}, "row_role": "user"}
    steps, _, troubles = read(build_peri([wrapped, reminder, old, {"role": "user", "content": "again"}]))
    assert [(step.kind.value, step.turn) for step in steps] == [("user", 1), ("system", 1), ("system", 1), ("user", 2)]
    assert troubles == []


@pytest.mark.parametrize(
    "row",
    [
        '{"version":2,"type":"message"}',
        '{"version":1,"type":"hologram"}',
        "not json",
        "[]",
        '"text"',
        "",
        '{"role":"user"}',
        "[" * 9000,
    ],
)
def test_unreadable_rows_are_shown_raw_and_the_rest_stands(build_peri: Build, row: str) -> None:
    path = build_peri([{"role": "user", "content": "before"}, row, assistant([use("a")]), result("a", "after")])
    steps, calls, troubles = read(path)
    assert [step.kind.value for step in steps] == ["user", "raw", "call"]
    assert row in steps[1].text
    assert len(calls) == 1
    assert troubles == ["unreadable message"]


def test_blocks_become_text(build_peri: Build) -> None:
    content = [
        {"type": "text", "text": "看图"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 64_000}},
        {"type": "responses_native_history", "history": "secret"},
        {"type": "hologram", "x": 1},
    ]
    thinking = assistant([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "so"}])
    steps, _, _ = read(build_peri([{"role": "user", "content": content}, thinking]))
    assert steps[0].text.startswith("看图[image 48 kB][responses_native_history]")
    assert "hologram" in steps[0].text
    assert "secret" not in steps[0].text
    assert [(step.kind.value, step.text) for step in steps[1:]] == [("reasoning", "hm"), ("assistant", "so")]


def test_inherited_context_is_shown_and_never_counted(build_peri: Build) -> None:
    old = {
        "version": 1,
        "type": "message",
        "message": {"role": "assistant", "content": "old", "tool_calls": [entry("a")]},
    }
    context = {"version": 1, "payloads": [json.dumps(old)], "flags": {}}
    path = build_peri([assistant([use("b")]), result("b")], inherited_context=context, parent_thread_id="t0")
    steps, calls, _ = read(path)
    assert [(step.kind.value, step.inherited) for step in steps] == [
        ("assistant", True),
        ("note", True),
        ("call", False),
    ]
    assert [call.id for call in calls] == ["b"]
    assert [call.id for call in PeriReader(path).calls()] == ["b"]


def test_sessions_say_what_they_are(build_peri: Build) -> None:
    path = build_peri([], hidden=1, parent_thread_id="t0", agent_status="error", message_count=4)
    (session,) = PeriReader(path).sessions()
    assert session.parent_id == "t0"
    assert not session.own_work
    assert session.outcome == "error"
    assert session.notes == ("messages not recorded",)
    assert session.started_at == 1_780_308_000_123
    assert session.project == "/home/dev"


def test_columns_that_are_not_there_stay_blank(build_peri: Build) -> None:
    path = build_peri([assistant([use("a")]), result("a")], extra="ALTER TABLE threads DROP COLUMN title;")
    (session,) = open_store(path).reader.sessions()
    assert session.title is None
    assert len(list(open_store(path).reader.calls())) == 1


def payload_copy(data: Path, tmp_path: Path, change: str) -> Path:
    path = tmp_path / "threads.db"
    shutil.copyfile(data / "peri" / "schema_17.db", path)
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DELETE FROM session_payloads", "not stored"),
        ("UPDATE session_payloads SET byte_length = byte_length + 1", "bytes instead of"),
        ("UPDATE session_payloads SET sha256 = 'ff'", "checksum"),
        ("UPDATE session_payloads SET bytes = x'1f8b0800', sha256 = '', byte_length = NULL", "not JSON"),
    ],
)
def test_payloads_that_cannot_be_read_are_never_an_empty_list(
    data: Path, tmp_path: Path, change: str, fault: str
) -> None:
    relaxed = "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'session_payloads';"
    relaxed = f"PRAGMA writable_schema = 1; {relaxed}"
    payload_copy(data, tmp_path, relaxed)
    with sqlite3.connect(tmp_path / "threads.db") as connection:
        connection.execute(change)
    connection.close()
    reader = PeriReader(tmp_path / "threads.db")
    recorded = [session.id for session in reader.sessions() if "messages not recorded" not in session.notes]
    assert len(recorded) > 3
    for session in recorded:
        own = [step for step in reader.steps(session) if not step.inherited]
        troubles = reader.troubles(session)
        assert all(step.kind is StepKind.RAW for step in own)
        assert len(troubles) == len(own) > 0
        assert all(fault in trouble.where for trouble in troubles)


def test_payloads_of_another_scope_are_found(data: Path, tmp_path: Path) -> None:
    path = payload_copy(data, tmp_path, "UPDATE session_payloads SET storage_scope = 'elsewhere'")
    assert list(PeriReader(path).calls()) == list(PeriReader(data / "peri" / "schema_17.db").calls())


def test_a_layout_without_any_text_is_named(build_peri: Build) -> None:
    path = build_peri([], extra="ALTER TABLE messages RENAME COLUMN content TO content_ref;")
    with pytest.raises(SchemaUnknown, match="Peri Code"):
        open_store(path)

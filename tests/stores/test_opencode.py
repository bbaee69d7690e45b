"""opencode: states, metadata, forks, reverts and the second interface, on rows built for the purpose."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import SchemaUnknown
from reach_tui.base.sqlite import Schema
from reach_tui.model import Step, StepKind, ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.stores.opencode import OpencodeReader

Build = Callable[..., Path]
START = 1_780_000_000_000
USER = {"role": "user", "time": {"created": START}}
ASSISTANT = {"role": "assistant", "time": {"created": START}}


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **fields}


def tool(name: str = "bash", status: str = "completed", call_id: str = "call_1", **state: Any) -> dict[str, Any]:
    body = {"status": status, "input": {"command": "ls"}, "time": {"start": START, "end": START + 40}, **state}
    if status == "completed":
        body.setdefault("output", "done")
    return {"type": "tool", "tool": name, "callID": call_id, "state": body}


def read(path: Path, session: str = "s") -> tuple[list[Step], list[ToolCall], list[str]]:
    reader = OpencodeReader(path)
    steps = list(reader.steps(session))
    return steps, [step.call for step in steps if step.call], [trouble.what for trouble in reader.troubles(session)]


def call_of(build: Build, part: dict[str, Any], **message: Any) -> ToolCall:
    _, calls, _ = read(build({"s": [(USER, [text("go")]), ({**ASSISTANT, **message}, [part])]}))
    (call,) = calls
    return call


def test_a_completed_call(build_opencode: Build) -> None:
    call = call_of(
        build_opencode, tool(metadata={"exit": 3, "output": "done", "truncated": True, "outputPath": "/t/x"})
    )
    assert call.key == "s/prt_s_001_000"
    assert (call.flagged, call.status, call.duration_ms, call.turn, call.step) == (False, "completed", 40, 1, 2)
    assert call.result is not None
    assert (call.result.text, call.result.bytes) == ("done", 4)
    assert dict(call.metadata) == {"exit_code": 3, "truncated": True, "outputPath": "/t/x"}


@pytest.mark.parametrize(
    ("part", "flagged", "result"),
    [
        (tool(status="error", error="File not found: x"), True, "File not found: x"),
        (tool(status="error", error={"message": "bad"}), True, "bad"),
        (tool(status="pending", input={}, raw='{"command": "l'), None, None),
        (tool(status="running", metadata={"output": "so far"}), None, None),
        (tool(status="applied", output="odd"), False, "odd"),
        (tool(status="quarantined"), None, None),
        (tool(output=None), False, None),
        (tool(output={"a": 1}), False, '{"a":1}'),
    ],
)
def test_flag_and_result_by_state(
    build_opencode: Build, part: dict[str, Any], flagged: bool | None, result: str | None
) -> None:
    call = call_of(build_opencode, part)
    assert call.flagged is flagged
    assert (call.result.text if call.result else None) == result


def test_arguments_that_were_still_streaming(build_opencode: Build) -> None:
    call = call_of(build_opencode, tool(status="pending", input={}, raw='{"command": "l'))
    assert call.arguments == '{"command": "l'
    assert call.problem == "arguments are not valid JSON"


def test_exit_status_under_its_other_name(build_opencode: Build) -> None:
    assert call_of(build_opencode, tool(metadata={"exitCode": 127})).metadata["exit_code"] == 127


@pytest.mark.parametrize("tag", ["shell_metadata", "bash_metadata"])
def test_a_time_out_is_told_by_the_program(build_opencode: Build, tag: str) -> None:
    said = "shell tool terminated command after exceeding timeout 2000 ms"
    call = call_of(build_opencode, tool(output=f"x\n\n<{tag}>\n{said}\n</{tag}>", metadata={"exit": None}))
    assert call.metadata["timed_out"] is True
    assert call.metadata["interrupted"] is False
    assert call.metadata["notice"] == said
    assert "exit_code" not in call.metadata


def test_a_file_that_quotes_such_a_notice_is_no_time_out(build_opencode: Build) -> None:
    quoted = "<shell_metadata>\nexceeding timeout\n</shell_metadata>"
    assert "timed_out" not in call_of(build_opencode, tool("read", output=quoted)).metadata


def test_an_abort_by_the_user(build_opencode: Build) -> None:
    output = "x\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    path = build_opencode({"s": [({**ASSISTANT, "error": error}, [tool(output=output, metadata={"exit": None})])]})
    steps, (call,), _ = read(path)
    assert call.metadata["interrupted"] is True
    assert call.metadata["message_error"] == "MessageAbortedError"
    assert (steps[-1].kind, steps[-1].text) == (StepKind.ERROR, "MessageAbortedError: Aborted")


def test_a_refused_model_call_is_an_error_step_without_a_tool(build_opencode: Build) -> None:
    error = {"name": "APIError", "data": {"message": "blocked", "statusCode": 400}}
    steps, calls, _ = read(build_opencode({"s": [({**ASSISTANT, "error": error}, [])]}))
    assert [(step.kind, step.text) for step in steps] == [(StepKind.ERROR, "APIError (400): blocked")]
    assert calls == []


def test_the_placeholder_names_the_tool_that_was_meant(build_opencode: Build) -> None:
    unknown = tool("invalid", input={"tool": "search_files", "error": "unavailable tool"}, output="…")
    call = call_of(build_opencode, unknown)
    assert (call.tool, call.target, call.problem) == ("invalid", "search_files", None)


def test_a_command_typed_by_the_user(build_opencode: Build) -> None:
    synthetic = text("The following tool was executed by the user", synthetic=True)
    part = tool(call_id="01M8PS0CMYF5VB3M8YEE52QVSK", metadata={"output": "done"})
    steps, (call,), _ = read(build_opencode({"s": [(USER, [synthetic]), (ASSISTANT, [part])]}))
    assert steps[0].kind is StepKind.SYSTEM
    assert call.metadata == {"typed_by_user": True}
    assert call.turn == 0


def test_kinds_of_parts(build_opencode: Build) -> None:
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        text("so"),
        {"type": "patch", "files": ["a.py", "b.py"]},
        {"type": "compaction", "auto": True},
        {"type": "hologram", "x": 1},
        {"type": "step-finish"},
    ]
    attached = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64," + "A" * 400}
    steps, _, troubles = read(build_opencode({"s": [(USER, [text("hi"), attached]), (ASSISTANT, parts)]}))
    assert [(step.kind.value, step.text) for step in steps] == [
        ("user", "hi"),
        ("user", "[file a.png 300 B]"),
        ("reasoning", "hm"),
        ("assistant", "so"),
        ("note", "files changed: a.py, b.py"),
        ("note", "compaction (automatic)"),
        ("raw", '{"type": "hologram", "x": 1}'),
    ]
    assert {step.turn for step in steps} == {1}
    assert troubles == ["unknown part"]


@pytest.mark.parametrize(
    "broken", ["not json", "[1]", '"x"', None, 7, b"\xff\xfe{", "[" * 9000, '{"no": "type"}', '{"type": 3}']
)
def test_a_part_that_cannot_be_read_is_shown_raw_and_the_rest_stands(build_opencode: Build, broken: Any) -> None:
    steps, calls, troubles = read(build_opencode({"s": [(ASSISTANT, [text("before"), broken, tool()])]}))
    assert [step.kind.value for step in steps] == ["assistant", "raw", "call"]
    assert len(calls) == 1
    assert troubles == ["unreadable part"]


def test_a_message_that_cannot_be_read_keeps_its_calls(build_opencode: Build) -> None:
    steps, calls, troubles = read(build_opencode({"s": [("{broken", [tool()]), (ASSISTANT, [tool(call_id="b")])]}))
    assert [step.kind.value for step in steps] == ["raw", "call", "call"]
    assert [call.id for call in calls] == ["call_1", "b"]
    assert troubles == ["unreadable message"]


def test_missing_keys_are_named(build_opencode: Build) -> None:
    _, calls, troubles = read(
        build_opencode({"s": [(ASSISTANT, [{"type": "tool", "callID": "a"}, {"type": "tool", "tool": "x"}])]})
    )
    assert [call.problem for call in calls] == ["missing key: tool", "missing key: state"]
    assert troubles == ["incomplete call", "incomplete call"]


def test_parts_without_a_message_are_shown_at_the_end(build_opencode: Build) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()]), (ASSISTANT, [tool(call_id="lost")])]})
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM message WHERE id = 'msg_s_001'")
    connection.close()
    _, calls, troubles = read(path)
    assert [call.id for call in calls] == ["call_1", "lost"]
    assert troubles == ["part without message"]


def test_a_fork_marks_its_copies(build_opencode: Build) -> None:
    shared_turns = [(USER, [text("read")]), (ASSISTANT, [tool(call_id="a"), tool(call_id="b", output="two")])]
    path = build_opencode(
        {"one": shared_turns, "two": [*shared_turns, (ASSISTANT, [tool(call_id="c")])], "three": shared_turns},
        sessions=[
            {"id": "one", "title": "Long talk", "directory": "/d", "time_created": START},
            {"id": "two", "title": "Long talk (fork #1)", "directory": "/d", "time_created": START + 1},
            {"id": "three", "title": "Long talk (fork #2)", "directory": "/d", "time_created": START + 2},
        ],
    )
    reader = OpencodeReader(path)
    assert [(session.id, session.copy_of) for session in reader.sessions()] == [
        ("three", "two"),
        ("two", "one"),
        ("one", None),
    ]
    originals = ["one/prt_one_001_000", "one/prt_one_001_001"]
    assert [call.copy_of for call in reader.calls(["one"])] == [None, None]
    assert [call.copy_of for call in reader.calls(["two"])] == [*originals, None]
    assert [call.copy_of for call in reader.calls(["three"])] == originals
    assert [call.copy_of for call in read(path, "two")[1]] == [*originals, None]
    assert reader.session("two") in list(reader.sessions())


def test_what_was_reverted_is_no_longer_visible(build_opencode: Build) -> None:
    turns = [(USER, [text("a")]), (ASSISTANT, [tool()]), (USER, [text("b")]), (ASSISTANT, [tool(call_id="late")])]
    undone = {"id": "s", "revert": {"messageID": "msg_s_002"}, "time_archived": START, "title": "t"}
    path = build_opencode({"s": turns}, sessions=[undone])
    steps, _, _ = read(path)
    assert [step.visible for step in steps] == [True, True, False, False]
    (session,) = OpencodeReader(path).sessions()
    assert session.notes == ("archived", "reverted: later messages are undone")


def test_session_columns(build_opencode: Build) -> None:
    model = {"id": "sim-large", "providerID": "local"}
    path = build_opencode(
        {"p": [({"role": "user", "model": {"providerID": "local", "modelID": "small"}}, [text("x")])], "c": []},
        sessions=[
            {"id": "p", "title": "Parent", "directory": "/d", "tokens_input": 0, "tokens_output": 0},
            {"id": "c", "parent_id": "p", "model": model, "tokens_input": 5, "tokens_output": 0},
        ],
    )
    child, parent = OpencodeReader(path).sessions()
    assert (child.parent_id, child.own_work, child.model, child.tokens.input) == ("p", False, "local/sim-large", 5)
    assert (parent.own_work, parent.model, parent.tokens.input) == (True, "local/small", None)
    assert parent.project == "/d"


def second_assistant(*content: Any, **fields: Any) -> dict[str, Any]:
    return {"time": {"created": START, "completed": START + 9}, "content": list(content), "finish": "stop", **fields}


def second_tool(name: str, status: str, **state: Any) -> dict[str, Any]:
    times = {"created": START, "ran": START + 5, "completed": START + 25}
    return {"type": "tool", "id": "call_9", "name": name, "state": {"status": status, **state}, "time": times}


def test_the_second_interface(build_opencode: Build) -> None:
    said = [{"type": "text", "text": "FAIL"}, {"type": "text", "text": "Command exited with code 1."}]
    done = second_tool(
        "bash", "completed", input={"command": "t"}, content=said, structured={"exit": 1, "truncated": False}
    )
    slow = second_tool("bash", "completed", input={}, content=[], structured={"timeout": True})
    failed = second_tool(
        "nope", "error", input={}, content=[], structured={}, error={"type": "unknown", "message": "Unknown tool: nope"}
    )
    cut = second_tool("read", "pending", input='{"path": "READ')
    broken = {"type": "unknown", "message": "Invalid JSON input"}
    path = build_opencode(
        {"s": []},
        second=[
            ("s", "user", {"text": "test it", "time": {"created": START}}),
            ("s", "assistant", second_assistant({"type": "text", "text": "sure"}, done, slow)),
            ("s", "assistant", second_assistant(failed)),
            ("s", "assistant", second_assistant(cut, error=broken)),
            ("s", "agent-switched", {"agent": "plan"}),
            ("s", "hologram", {"x": 1}),
            ("s", "assistant", "{broken"),
        ],
    )
    steps, calls, troubles = read(path)
    kinds = ["user", "assistant", "call", "call", "call", "call", "error", "note", "raw", "raw"]
    assert [step.kind.value for step in steps] == kinds
    assert [call.flagged for call in calls] == [False, False, True, None]
    assert calls[0].result is not None
    assert calls[0].result.text.startswith("FAILCommand exited with code 1.\n")
    assert calls[0].metadata == {"exit_code": 1}
    assert calls[0].duration_ms == 20
    assert calls[1].metadata == {"timed_out": True}
    assert calls[2].result is not None
    assert calls[2].result.text == "Unknown tool: nope"
    assert (calls[3].arguments, calls[3].problem) == ('{"path": "READ', "arguments are not valid JSON")
    assert calls[3].metadata == {"message_error": "unknown"}
    assert len({call.key for call in calls}) == 4
    assert troubles == ["unknown message", "unreadable message"]


def test_both_interfaces_in_one_session_keep_their_order(build_opencode: Build) -> None:
    switched = {"agent": "build"}
    steps, _, _ = read(build_opencode({"s": [(USER, [text("hi")])]}, second=[("s", "agent-switched", switched)]))
    assert sorted(step.kind.value for step in steps) == ["note", "user"]


def tables(tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "opencode.db"
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_unknown_layouts_are_named_never_empty(tmp_path: Path) -> None:
    path = tables(tmp_path, "CREATE TABLE sessions (id)", "CREATE TABLE messages (id)", "CREATE TABLE parts (id)")
    with pytest.raises(SchemaUnknown, match="plural tables"):
        open_store(path)


def test_a_later_store_without_a_session_table_is_named(tmp_path: Path) -> None:
    path = tables(
        tmp_path, "CREATE TABLE session_v2 (id)", "CREATE TABLE session_message (id, session_id, type, seq, data)"
    )
    with pytest.raises(SchemaUnknown, match="not in a table named session"):
        open_store(path)


def test_kilo_is_not_claimed(build_opencode: Build) -> None:
    path = build_opencode({"s": []})
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE kilo_board (id)")
    connection.close()
    assert OpencodeReader.recognise(Schema({"session": frozenset({"id"}), "kilo_board": frozenset()}, 0), path) is None
    assert open_store(path).reader.kind == "kilo"


@pytest.mark.shared
def test_the_recorded_fork_and_the_archived_session_of_the_newest_version(shared: Path) -> None:
    reader = open_store(shared / "real_traces" / "opencode" / "opencode-1.18.33.db").reader
    by_title = {session.title: session for session in reader.sessions()}
    fork, origin = by_title["Long talk (fork #1)"], by_title["Long talk"]
    assert fork.copy_of == origin.id
    copies = list(reader.calls([fork.id]))
    assert [call.copy_of for call in copies] == [call.key for call in reader.calls([origin.id])]
    assert [call.metadata.get("typed_by_user") for call in copies] == [None, None, True]
    assert by_title["Explain tax"].notes == ("archived",)
    assert any(not step.visible for step in reader.steps(by_title["Refund grace day"].id))

"""What is particular to Gemini CLI, Qwen Code, Copilot CLI and Pi."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import StoreUnreadable
from reach_tui.model import StepKind
from reach_tui.workspace.sources import open_paths, open_source
from tests.stores.transcripts.conftest import Write, opened

AT = "2026-06-01T10:00:{:02}.000Z"
HEADER = {"sessionId": "g1", "projectHash": "p", "startTime": AT.format(0), "lastUpdated": AT.format(9), "kind": "main"}


def gemini(name: str, *calls: dict[str, Any], at: int = 1, **more: Any) -> dict[str, Any]:
    """A model's message."""
    return {"id": name, "type": "gemini", "timestamp": AT.format(at), "content": "", "toolCalls": list(calls), **more}


def ran(call: str, status: str, **response: Any) -> dict[str, Any]:
    """A call in it."""
    result = [{"functionResponse": {"id": call, "name": "run_shell_command", "response": response}}] if response else []
    return {"id": call, "name": "run_shell_command", "args": {}, "result": result, "status": status}


# Gemini CLI


def test_a_later_line_replaces_the_earlier_one(write: Write) -> None:
    context = {"id": "c", "type": "user", "content": [{"text": "<session_context>\nx</session_context>"}]}
    echo = {"id": "e", "type": "user", "content": [{"functionResponse": {"id": "a", "response": {"output": "x"}}}]}
    lines = [
        HEADER, {"$set": {"messages": [context], "lastUpdated": AT.format(1)}},
        {"id": "u", "type": "user", "timestamp": AT.format(1), "content": [{"text": "go"}]},
        gemini("m", thoughts=[{"subject": "Hm", "description": "think"}]),
        gemini("m", ran("a", "success", output="Output: x\nExit Code: 127"), ran("b", "error", error="no"),
               ran("c", "cancelled", error="stopped"), ran("d", "executing"), thoughts=[{"subject": "Hm"}]),
        echo, {"$set": {"lastUpdated": AT.format(2)}}, {"id": "x", "type": "error", "content": "quota"},
    ]  # fmt: skip
    reader = opened(write("session-2026.jsonl", lines))
    calls = list(reader.calls())
    assert [(call.id, call.flagged, call.status) for call in calls] == [
        ("a", False, "success"), ("b", True, "error"), ("c", False, "cancelled"), ("d", None, "executing"),
    ]  # fmt: skip
    assert calls[0].metadata == {"exit_code": 127}
    assert calls[3].result is None
    kinds = [step.kind for step in reader.steps("g1")]
    assert kinds[:3] == [StepKind.SYSTEM, StepKind.USER, StepKind.REASONING]
    assert kinds[-1] is StepKind.ERROR
    (session,) = reader.sessions()
    assert session.title == "go"


def test_a_document_of_an_early_version(write: Write, tmp_path: Path) -> None:
    user = {"id": "u", "type": "user", "timestamp": AT.format(1), "content": "go"}
    body = {**HEADER, "messages": [user, gemini("m", ran("a", "error", error="no")), 7]}
    path = write("chats/session-1.json", [json.dumps(body, indent=2).encode()])
    write("chats/session-notes.json", [b'{"notes": 1}'])
    (source,) = open_paths([tmp_path]).sources
    assert [(call.id, call.flagged) for call in source.reader.calls()] == [("a", True)]
    assert [step.text for step in source.reader.steps("g1") if step.kind is StepKind.RAW] == ["7"]
    assert opened(path).session("g1") == source.reader.session("g1")


# Qwen Code


def qwen(kind: str, number: int, *parts: Any, **more: Any) -> dict[str, Any]:
    """A line of a chain."""
    return {
        "uuid": f"u{number}", "parentUuid": None, "sessionId": "q1", "timestamp": AT.format(number), "type": kind,
        "cwd": "/shop", "version": "0.15", "message": {"parts": list(parts)}, **more,
    }  # fmt: skip


def measured(number: int, path: str, took: int) -> dict[str, Any]:
    """A telemetry line."""
    event = {"event.name": "qwen-code.tool_call", "function_name": "read", "function_args": {"p": path}}
    return qwen("system", number, subtype="ui_telemetry", systemPayload={"uiEvent": {**event, "duration_ms": took}})


def answered(number: int, call: str, status: str, **response: Any) -> dict[str, Any]:
    """A result line."""
    part = {"functionResponse": {"id": call, "name": "read", "response": response}}
    return qwen("tool_result", number, part, toolCallResult={"callId": call, "status": status})


def test_durations_come_from_the_telemetry_of_the_same_arguments(write: Write) -> None:
    asks = [{"functionCall": {"id": call, "name": "read", "args": {"p": call}}} for call in "abc"]
    lines = [
        qwen("user", 1, {"text": "go"}), qwen("assistant", 2, {"text": "hm", "thought": True}, *asks),
        measured(3, "b", 20), measured(3, "a", 10),
        answered(4, "a", "success", output="Error: (none)\nExit Code: 1"), answered(5, "b", "error", error="no"),
        answered(6, "c", "cancelled", output="x"),
    ]  # fmt: skip
    reader = opened(write("chats/q.jsonl", lines))
    calls = list(reader.calls())
    assert [(call.duration_ms, call.flagged) for call in calls] == [(10, False), (20, True), (4000, False)]
    assert calls[0].metadata == {"exit_code": 1}
    assert [step.kind for step in reader.steps("q1")][:2] == [StepKind.USER, StepKind.REASONING]


def test_a_compressed_chat(write: Write) -> None:
    ask = {"functionCall": {"id": "a", "name": "read", "args": {}}}
    late = {"functionCall": {"id": "b", "name": "read", "args": {}}}
    squeezed = qwen("system", 3, subtype="chat_compression", systemPayload={})
    reader = opened(write("q.jsonl", [qwen("assistant", 2, ask), squeezed, qwen("assistant", 4, late)]))
    assert [(call.id, call.visible) for call in reader.calls()] == [("a", False), ("b", True)]


# Copilot CLI


def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
    """An event."""
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": AT.format(number), "parentId": None}


def test_durations_exit_codes_and_the_programs_own_calls(write: Write) -> None:
    lines = [
        event("session.start", 0, sessionId="c1", copilotVersion="1", context={"cwd": "/shop"}),
        event("user.message", 1, content="go", transformedContent="<x>go"),
        event("assistant.message", 2, content="", toolRequests=[{"toolCallId": "a", "name": "bash", "arguments": {}}]),
        event("tool.execution_start", 3, toolCallId="a", toolName="bash", arguments={}),
        event("tool.execution_complete", 5, toolCallId="a", success=True,
              result={"content": "no\n<shellId: 0 completed with exit code 1>"}),
        event("tool.execution_start", 6, toolCallId="own", toolName="read_bash", arguments={"id": 1}),
        event("tool.execution_complete", 7, toolCallId="own", success=False,
              error={"message": "gone", "code": "failure"}),
        event("session.error", 8, message="400"),
    ]  # fmt: skip
    reader = opened(write("c1/events.jsonl", lines))
    first, own = reader.calls()
    assert (first.duration_ms, first.flagged, first.metadata["exit_code"]) == (2000, False, 1)
    assert (own.tool, own.flagged, own.status) == ("read_bash", True, "failure")
    assert own.result is not None
    assert json.loads(own.result.text) == {"message": "gone", "code": "failure"}
    (session,) = reader.sessions()
    assert (session.id, session.project, session.title) == ("c1", "/shop", "go")
    assert session.notes == ("no shutdown recorded: running, or killed",)


def test_the_index_does_not_double_the_calls(data: Path, tmp_path: Path) -> None:
    folder = data / "copilot_cli"
    (source,) = open_paths([folder]).sources
    count = sum(1 for _ in source.reader.calls())
    assert sum(1 for _ in open_source(folder / "session-store.db").reader.calls()) == count > 0
    alone = tmp_path / "session-store.db"
    shutil.copyfile(folder / "session-store.db", alone)
    with pytest.raises(StoreUnreadable, match="an index of GitHub Copilot CLI without its transcripts"):
        open_source(alone)
    (tmp_path / "session-state" / "x").mkdir(parents=True)
    events = next(folder.glob("*.events.jsonl"))
    shutil.copyfile(events, tmp_path / "session-state" / "x" / "events.jsonl")
    assert len(list(open_source(alone).reader.sessions())) == 1


# Pi


def entry(name: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message in the tree."""
    message = {"role": role, "content": content, **more}
    return {"type": "message", "id": name, "parentId": parent, "timestamp": AT.format(1), "message": message}


def test_a_left_branch_and_what_was_compacted_are_invisible(write: Write) -> None:
    def asks(call: str) -> list[dict[str, Any]]:
        return [{"type": "toolCall", "id": call, "name": "read", "arguments": {}}]

    lines = [
        {"type": "session", "version": 3, "id": "p1", "timestamp": AT.format(0), "cwd": "/shop"},
        entry("1", None, "user", [{"type": "text", "text": "go"}]),
        entry("2", "1", "assistant", asks("old")), entry("3", "2", "assistant", asks("kept")),
        entry("4", "3", "assistant", asks("left")),
        {"type": "compaction", "id": "5", "parentId": "3", "summary": "so far", "firstKeptEntryId": "3"},
        entry("6", "5", "assistant", asks("new")),
        {"type": "session_info", "id": "7", "parentId": "6", "name": "named"},
    ]  # fmt: skip
    reader = opened(write("p.jsonl", lines))
    seen = {call.id: call.visible for call in reader.calls()}
    assert seen == {"old": False, "kept": True, "left": False, "new": True}
    (session,) = reader.sessions()
    assert session.title == "named"


def test_parents_in_a_circle_end(write: Write) -> None:
    head = {"type": "session", "version": 3, "id": "p1", "timestamp": AT.format(0)}
    reader = opened(write("p.jsonl", [head, entry("1", "2", "user", "go"), entry("2", "1", "user", "on")]))
    assert [step.visible for step in reader.steps("p1")] == [True, True]


def test_commands_of_the_user_and_errors_of_the_model(write: Write) -> None:
    head = {"type": "session", "id": "p1", "timestamp": AT.format(0)}
    typed = entry("1", None, "bashExecution", None, command="make", output="bad", exitCode=2)
    broken = entry("2", "1", "assistant", [], stopReason="error", errorMessage="400 too long")
    reader = opened(write("p.jsonl", [head, typed, broken]))
    assert [(step.kind, step.text) for step in reader.steps("p1")] == [
        (StepKind.NOTE, "$ make\nbad\n[exit code 2]"),
        (StepKind.ERROR, "400 too long"),
    ]

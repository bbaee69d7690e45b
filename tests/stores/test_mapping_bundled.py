"""The mappings that come along, on rows as the store notes describe them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import SchemaUnknown
from reach_tui.stores.catalog import open_store
from reach_tui.stores.mapping.loader import bundled

AT = "2026-06-01 10:00:00"
MS = 1780308000000


def insert(path: Path, schema: str, **tables: list[tuple[Any, ...]]) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for table, values in tables.items():
        for row in values:
            plain = [json.dumps(one) if isinstance(one, list | dict) else one for one in row]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", plain)
    connection.commit()
    connection.close()
    return path


def told_of(path: Path, kind: str) -> tuple[list[tuple[str, str]], list[Any]]:
    opened = open_store(path)
    assert (opened.reader.kind, opened.verified) == (kind, False)
    (session,) = [one for one in opened.reader.sessions() if one.own_work]
    steps = list(opened.reader.steps(session.id))
    calls = [step.call for step in steps if step.call]
    told = [(one.tool, one.arguments, one.flagged, one.result and one.result.text) for one in calls]
    return [(one.kind.value, one.text) for one in steps if not one.call], told


def test_goose(tmp_path: Path) -> None:
    def asked(identifier: str, tool: str) -> dict[str, Any]:
        value = {"name": tool, "arguments": {"a": 1}}
        return {"type": "toolRequest", "id": identifier, "toolCall": {"status": "success", "value": value}}

    def answered(identifier: str, result: object) -> dict[str, Any]:
        return {"type": "toolResponse", "id": identifier, "toolResult": result}

    text = [{"type": "text", "text": "out"}]
    requests = [asked(name, f"t__{name}") for name in "abcd"]
    path = insert(
        tmp_path / "sessions.db",
        "CREATE TABLE sessions (id, description, working_dir, created_at, extension_data, session_type);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, created_timestamp);",
        sessions=[("s", "t", "/w", AT, "{}", "user"), ("h", "", "/w", AT, "{}", "hidden")],
        messages=[
            (1, "s", "user", [{"type": "text", "text": "Go."}], 1780308000),
            (2, "s", "assistant", [{"type": "thinking", "thinking": "Hm."}, *requests], 1780308001),
            (3, "s", "user", [
                answered("a", {"status": "success", "value": {"content": text, "isError": False}}),
                answered("b", {"status": "success", "value": {"content": text, "isError": True}}),
                answered("c", {"status": "error", "error": "no"}),
                answered("d", {"status": "success", "value": text}),
            ], 1780308002),
        ],
    )  # fmt: skip
    said, calls = told_of(path, "goose")
    assert said == [("user", "Go."), ("reasoning", "Hm.")]
    assert [(tool, flagged, result) for tool, _, flagged, result in calls] == [
        ("t__a", False, "out"), ("t__b", True, "out"), ("t__c", True, "no"), ("t__d", False, "out"),
    ]  # fmt: skip


def test_crush(tmp_path: Path) -> None:
    def part(kind: str, **data: object) -> list[dict[str, object]]:
        return [{"type": kind, "data": data}]

    path = insert(
        tmp_path / "crush.db",
        "CREATE TABLE sessions (id, parent_session_id, title, prompt_tokens, completion_tokens, created_at, ended);"
        "CREATE TABLE messages (id, session_id, role, parts, created_at, finished_at);",
        sessions=[("s", None, "t", 5, 6, 1780308000, 1780308009)],
        messages=[
            ("1", "s", "user", [{"type": "text", "data": {"text": "Go."}}], 1780308000, None),
            ("2", "s", "assistant", [
                *part("tool_call", id="a", name="bash", input='{"command": "ls"}', finished=True),
                *part("tool_call", id="b", name="edit", input="{cut", finished=True),
            ], 1780308001, None),
            ("3", "s", "tool", part("tool_result", tool_call_id="a", content="x\nExit code 2", is_error=False), MS, 0),
            ("4", "s", "tool", part("tool_result", tool_call_id="b", content="bad", is_error=True), MS, 0),
        ],
    )  # fmt: skip
    said, calls = told_of(path, "crush")
    assert said == [("user", "Go.")]
    assert calls == [
        ("bash", {"command": "ls"}, False, "x\nExit code 2"),
        ("edit", "{cut", True, "bad"),
    ]


def test_zed(tmp_path: Path) -> None:
    use = {"ToolUse": {"id": "u", "name": "grep", "raw_input": "{}", "input": {"q": "x"}, "is_input_complete": True}}
    answer = {"tool_use_id": "u", "tool_name": "grep", "is_error": True, "content": {"Text": "nothing"}, "output": None}
    body = {"version": "0.3.0", "messages": [
        {"User": {"id": "1", "content": [{"Text": "Go."}]}},
        {"Agent": {"content": [{"Thinking": "Hm."}, {"Text": "I look."}, use], "tool_results": {"u": answer}}},
        "Resume",
    ]}  # fmt: skip
    path = insert(
        tmp_path / "threads.db",
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary, updated_at, data_type, data BLOB, parent_id)",
        threads=[
            ("t", "s", "2026-06-01T10:00:00Z", "json", body, None),
            ("z", "s", "2026-06-01T10:00:00Z", "zstd", b"\x28\xb5", "t"),
        ],
    )
    said, calls = told_of(path, "zed")
    assert said == [("user", "Go."), ("reasoning", "Hm."), ("assistant", "I look.")]
    assert calls == [("grep", {"q": "x"}, True, "nothing")]
    packed = open_store(path).reader.session("z")
    assert packed is not None
    assert packed.notes == ("stored compressed (zstd): its messages are not read",)
    assert list(open_store(path).reader.steps("z")) == []


def test_cursor(tmp_path: Path) -> None:
    tool = {"toolCallId": "c", "name": "edit_file", "rawArgs": '{"p": 1}', "result": '{"ok": 1}', "status": "error"}
    path = insert(
        tmp_path / "state.vscdb",
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)",
        cursorDiskKV=[
            ("composerData:k", {"name": "t", "createdAt": 1780308000000, "status": "completed"}),
            ("bubbleId:k:1", {"type": 1, "text": "Go."}),
            ("bubbleId:k:2", {"type": 2, "text": "", "toolFormerData": tool}),
            ("bubbleId:k2:9", {"type": 1, "text": "of another"}),
            ("secret:token", "never"),
        ],
    )
    said, calls = told_of(path, "cursor")
    assert said == [("user", "Go.")]
    assert calls == [("edit_file", {"p": 1}, True, '{"ok": 1}')]
    assert [one.id for one in open_store(path).reader.sessions()] == ["k"]


def test_kiro_shelley_and_warp(tmp_path: Path) -> None:
    used = {"content": "I run.", "tool_uses": [{"id": "x", "name": "sh", "args": {"c": 1}}]}
    history = [
        {"user": {"content": "Go."}, "assistant": {"ToolUse": used}},
        {"user": {"content": "More."}, "assistant": {"Response": {"content": "Done."}}},
    ]
    kiro = insert(
        tmp_path / "kiro.sqlite3",
        "CREATE TABLE conversations_v2 (key, conversation_id, value, created_at, updated_at)",
        conversations_v2=[("/w", "c", {"history": history}, MS, MS)],
    )
    said, calls = told_of(kiro, "kiro")
    assert said == [("user", "Go."), ("assistant", "I run."), ("user", "More."), ("assistant", "Done.")]
    assert calls == [("sh", {"c": 1}, None, None)]
    shelley = insert(
        tmp_path / "shelley.db",
        "CREATE TABLE conversations (conversation_id, slug, user_initiated, created_at, updated_at);"
        "CREATE TABLE messages (conversation_id, sequence_id, type, llm_data, user_data, created_at);",
        conversations=[("c", "t", 1, AT, AT), ("d", "t", 0, AT, AT)],
        messages=[("c", 1, "user", '{"Content": []}', None, AT)],
    )  # fmt: skip
    assert told_of(shelley, "shelley") == ([("user", '{"Content": []}')], [])
    warp = insert(
        tmp_path / "warp.sqlite",
        "CREATE TABLE agent_conversations (conversation_id, conversation_data, last_modified_at);"
        "CREATE TABLE ai_queries (exchange_id, conversation_id, start_ts, input, output_status);",
        ai_queries=[("e", "c", AT, [{"Query": {"text": "Go."}}], "Completed"),
                    ("f", "c", "2026-06-01 10:00:05", [{"Query": {"text": "On."}}], "Completed")],
    )  # fmt: skip
    assert told_of(warp, "warp") == ([("user", "Go."), ("user", "On.")], [])


def test_a_bundled_mapping_in_a_strange_layout_says_what_is_missing(tmp_path: Path) -> None:
    path = insert(
        tmp_path / "crush.db",
        "CREATE TABLE sessions (id, parent_session_id, prompt_tokens, completion_tokens);"
        "CREATE TABLE messages (session_id, role, parts, finished_at, created_at);",
    )
    with pytest.raises(SchemaUnknown, match=r"Crush in a layout .* no column created_at"):
        open_store(path)


def test_bundled_mappings_say_that_nobody_tried_them() -> None:
    kinds = [mapping.kind for mapping in bundled()]
    assert kinds == ["crush", "cursor", "goose", "kiro", "shelley", "warp", "zed"]
    for mapping in bundled():
        assert not mapping.verified
        assert mapping.source
        assert mapping.not_recorded

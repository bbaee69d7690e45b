"""Many files as one source: what is found, told apart, copied, broken, and seen to change."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import NotRecognised, StoreDamaged, StoreUnreadable
from reach_tui.model import StepKind
from reach_tui.workspace.follow import CallFollower
from reach_tui.workspace.records import call_record
from reach_tui.workspace.scan import ScanProcess
from reach_tui.workspace.sources import open_paths, open_source
from reach_tui.workspace.workspace import Workspace
from tests.stores.transcripts.conftest import Write, dumped, opened

AT = "2026-06-01T10:00:0{}.000Z"


def pi(name: str, *calls: str, first: str = "m", parent: str | None = None, second: int = 0) -> list[dict[str, Any]]:
    """A session of Pi with calls of the ids given, each answered."""
    head: dict[str, Any] = {"type": "session", "version": 3, "id": name, "timestamp": AT.format(second), "cwd": "/shop"}
    if parent:
        head["parentSession"] = parent
    told = {"role": "user", "content": [{"type": "text", "text": f"do {name}"}]}
    lines = [head, {"type": "message", "id": first, "parentId": None, "timestamp": AT.format(second), "message": told}]
    last = first
    for n, call in enumerate(calls):
        asks = {"role": "assistant", "content": [{"type": "toolCall", "id": call, "name": "read", "arguments": {}}]}
        gives = {
            "role": "toolResult",
            "toolCallId": call,
            "content": [{"type": "text", "text": "ok"}],
            "isError": False,
        }
        for suffix, message in (("a", asks), ("r", gives)):
            name_of = f"{call}{n}{suffix}"
            at = AT.format(5)
            lines.append({"type": "message", "id": name_of, "parentId": last, "timestamp": at, "message": message})
            last = name_of
    return lines


def test_a_folder_is_one_source_a_kind(data: Path, tmp_path: Path) -> None:
    found = open_paths([data])
    kinds = [source.kind for source in found.sources if source.path == data]
    assert kinds == ["claude_code", "codex", "copilot_cli", "gemini_cli", "pi", "qwen_code"]
    assert all(source.access is None for source in found.sources if source.path == data)
    assert not [problem for problem in found.problems if "jsonl" in problem.line() or "session-store" in problem.line()]


def test_records_name_the_file_of_their_session(data: Path) -> None:
    source = open_source(data / "pi")
    judged = next(Workspace().judged_calls(source))
    name = call_record(source, judged)["path"]
    assert isinstance(name, str)
    assert judged.call.session_id in name
    assert (data / "pi" / name).is_file()


def test_a_named_file_is_its_own_source(write: Write) -> None:
    path = write("deep/one.jsonl", pi("s1", "c1"))
    write("deep/two.jsonl", pi("s2", "c2"))
    source = open_source(path)
    assert (source.path, source.kind, source.version) == (path, "pi", "session version 3")
    assert [session.id for session in source.reader.sessions()] == ["s1"]
    assert source.file_of("s1") == "one.jsonl"


def test_what_is_no_transcript_is_passed_over_unless_named(tmp_path: Path, write: Write) -> None:
    write("one.jsonl", pi("s1", "c1"))
    write("notes.jsonl", [{"note": 1}])
    write("x.truth.json", [{"calls": []}])
    write("list.jsonl", [b"[1]\n"])
    write("empty.jsonl", [])
    write("huge.jsonl", [b'{"a": "' + b"x" * 5_000_000])
    found = open_paths([tmp_path])
    assert [source.kind for source in found.sources] == ["pi"]
    assert found.problems == ()
    for name in ("notes.jsonl", "list.jsonl", "empty.jsonl"):
        with pytest.raises((NotRecognised, StoreDamaged)):
            open_source(tmp_path / name)


def test_a_folder_without_anything_says_so(tmp_path: Path, write: Write) -> None:
    write("notes.jsonl", [{"note": 1}])
    (problem,) = open_paths([tmp_path]).problems
    assert "without any database or transcript" in problem.line()


def test_no_permission_is_one_line(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("one.jsonl", pi("s1", "c1"))
    secret = write("two.jsonl", pi("s2", "c2"))

    def refused(path: Any, *rest: Any, **named: Any) -> Any:
        if os.fspath(path) == os.fspath(secret):
            raise PermissionError(13, "Permission denied", path)
        return builtins_open(path, *rest, **named)

    builtins_open = open
    monkeypatch.setattr("builtins.open", refused)
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != os.fspath(secret))
    found = open_paths([tmp_path])
    assert [source.kind for source in found.sources] == ["pi"]
    assert [problem.line() for problem in found.problems] == [
        f"{secret}: no permission to read it — check owner and mode"
    ]


def test_a_file_that_breaks_off_leaves_the_others(write: Write, tmp_path: Path) -> None:
    write("one.jsonl", pi("s1", "c1", second=1))
    gone = write("two.jsonl", pi("s2", "c2", second=2))
    reader = opened(tmp_path)
    ids = [session.id for session in reader.sessions()]
    assert ids == ["s2", "s1"]
    gone.unlink()
    read = []
    with pytest.raises(StoreUnreadable, match="no such file"):
        read += [call.session_id for call in reader.calls(ids)]
    calls = reader.calls(ids)
    assert next(calls).session_id == "s1"
    assert [session.id for session in reader.sessions()] == ["s1"]


def test_a_torn_end_is_a_trouble_and_no_step(write: Write) -> None:
    reader = opened(write("one.jsonl", [*pi("s1", "c1"), b'{"type": "mess']))
    assert StepKind.RAW not in {step.kind for step in reader.steps("s1")}
    assert [trouble.what for trouble in reader.troubles("s1")] == ["torn last line"]


def test_a_broken_line_is_shown(write: Write) -> None:
    reader = opened(write("one.jsonl", [*pi("s1", "c1"), b"no json\n", *pi("s1", "c9")[2:]]))
    assert [step.text for step in reader.steps("s1") if step.kind is StepKind.RAW] == ["no json"]
    assert [call.id for call in reader.calls()] == ["c1", "c9"]


def test_a_message_that_is_none_is_shown(data: Path, write: Write) -> None:
    part = {"claude_code": "message", "codex/main": "payload", "copilot_cli": "data", "pi": "message"}
    for name in (*part, "qwen_code"):
        source = sorted((data / name).rglob("*.jsonl"))[0]
        lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
        key = part.get(name, "message")
        kinds = ("assistant", "response_item", "tool.execution_complete", "message")
        index = next(n for n, line in enumerate(lines) if line["type"] in kinds and key in line)
        lines[index][key] = "lost"
        reader = opened(write(f"{name}/{source.name}", lines))
        (session,) = reader.sessions()
        raw = [step.text for step in reader.steps(session.id) if step.kind is StepKind.RAW]
        assert [json.loads(text)[key] for text in raw] == ["lost"]
        assert "unreadable line" in {trouble.what for trouble in reader.troubles(session.id)}


def test_ids_that_repeat_are_paired_by_occurrence(write: Write) -> None:
    lines = pi("s1", "c", "c", "c")
    lines[3]["message"]["content"][0]["text"] = "first"
    lines[5]["message"]["content"][0]["text"] = "second"
    calls = list(opened(write("one.jsonl", lines[:-1])).calls())
    assert [call.key for call in calls] == ["s1/c", "s1/c#2", "s1/c#3"]
    assert [call.result and call.result.text for call in calls] == ["first", "second", None]
    assert calls[2].flagged is None


def test_a_result_without_a_call_is_a_note(write: Write) -> None:
    lines = pi("s1", "c1")
    reader = opened(write("one.jsonl", [*lines[:2], lines[3]]))
    notes = [step.text for step in reader.steps("s1") if step.kind is StepKind.NOTE]
    assert notes == ["result without a call (c1): ok"]
    assert [trouble.what for trouble in reader.troubles("s1")] == ["orphan result"]


def test_a_forked_session_names_the_originals_of_its_calls(write: Write, tmp_path: Path) -> None:
    write("one.jsonl", pi("s1", "c1", "c2"))
    write("two.jsonl", [*pi("s2", "c1"), *pi("s2", "c3")[2:], {"type": "x", "timestamp": AT.format(9)}])
    reader = opened(tmp_path)
    copy = reader.session("s2")
    assert copy is not None
    assert copy.copy_of == "s1"
    assert [(call.key, call.copy_of) for call in reader.calls(["s2"])] == [("s2/c1", "s1/c1"), ("s2/c3", None)]
    assert [call.copy_of for call in reader.calls(["s1"])] == [None, None]


def test_a_copied_file_is_a_copy(write: Write, tmp_path: Path) -> None:
    write("one.jsonl", pi("s1", "c1"))
    write("one (copy).jsonl", pi("s1", "c1"))
    reader = opened(tmp_path)
    assert sorted(session.id for session in reader.sessions()) == ["s1", "s1@one"]
    calls = list(reader.calls())
    assert len({call.key for call in calls}) == 2
    assert [call.copy_of for call in calls if call.session_id != "s1"] == ["s1/c1"]


def test_new_and_grown_files_are_seen(write: Write, tmp_path: Path) -> None:
    path = write("one.jsonl", pi("s1", "c1"))
    past = time.time() - 100
    os.utime(tmp_path, (past, past))
    reader = opened(tmp_path)
    before = reader.data_version()
    _, mark = reader.changed_since(None, ())
    assert reader.data_version() == before
    assert reader.changed_since(mark, ())[0] == set()
    with open(path, "ab") as file:
        file.write(dumped({"type": "model_change", "id": "z", "parentId": None, "modelId": "m"}))
    assert reader.data_version() != before
    changed, mark = reader.changed_since(mark, ())
    assert changed == {"s1"}
    empty = write("two.jsonl", [])
    os.utime(tmp_path, (past + 9, past + 9))
    assert reader.changed_since(mark, ())[0] == set()
    empty.write_bytes(b"".join(dumped(line) for line in pi("s2", "c2", first="n")))
    assert reader.changed_since(mark, ())[0] == {"s2"}


def test_new_calls_are_followed(write: Write, tmp_path: Path) -> None:
    path = write("one.jsonl", pi("s1", "c1"))
    calls = CallFollower(open_source(tmp_path))
    assert calls.poll() == []
    more = pi("s1", "c2")[2:]
    more[0]["parentId"] = "c10r"
    with open(path, "ab") as file:
        file.write(b"".join(dumped(line) for line in more) + b'{"type":"mess')
    assert [call.id for call in calls.poll()] == ["c2"]
    new = [{name: value for name, value in line.items() if name != "timestamp"} for line in pi("s2", "c3", first="n")]
    write("new.jsonl", [pi("s2")[0], *new[1:]])
    assert [call.id for call in calls.poll()] == ["c3"]
    assert calls.notice is None


def test_a_scan_of_one_kind_in_a_folder(write: Write, tmp_path: Path) -> None:
    write("one.jsonl", pi("s1", "c1", "c2"))
    gemini = {"sessionId": "g", "projectHash": "p", "startTime": AT.format(0), "kind": "main"}
    write("session-1.jsonl", [gemini, {"id": "1", "type": "user", "content": "hello"}])
    sums = {one.session_id: one.counts.calls for one in ScanProcess(tmp_path, "pi")}
    assert sums == {"s1": 2}
    assert [one.session_id for one in ScanProcess(tmp_path, "gemini_cli")] == ["g"]


def test_an_empty_folder_is_said_beside_a_full_one(write: Write, tmp_path: Path) -> None:
    write("full/one.jsonl", pi("s1", "c1"))
    (tmp_path / "void").mkdir()
    found = open_paths([tmp_path / "full", tmp_path / "void", tmp_path / "full"])
    assert len(found.sources) == 1
    assert [problem.where for problem in found.problems] == [str(tmp_path / "void")]


def test_a_folder_and_a_file_in_it_are_read_once(write: Write, tmp_path: Path) -> None:
    path = write("one.jsonl", pi("s1", "c1"))
    found = open_paths([tmp_path, path])
    assert len(found.sources) == 1
    assert found.problems == ()


def test_reading_leaves_the_folder_as_it_was(write: Write, tmp_path: Path, snapshot: Any) -> None:
    write("one.jsonl", pi("s1", "c1"))
    before = snapshot(tmp_path)
    reader = opened(tmp_path)
    assert len(list(reader.calls())) == 1
    assert snapshot(tmp_path) == before

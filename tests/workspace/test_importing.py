"""Import: the same records before and after, from every store that ships with the tests, and back from records."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import StoreError
from reach_tui.model import Candidate, Result, Route, Session, Slot, Step, StepKind, ToolCall
from reach_tui.native.event import Event
from reach_tui.native.writer import NativeWriter
from reach_tui.workspace import Workspace
from reach_tui.workspace.call_records import RecordFile, holds_records
from reach_tui.workspace.importing import Importer, Story, stories
from reach_tui.workspace.records import call_record
from reach_tui.workspace.sources import Source, open_paths, open_source
from tests.cli.conftest import Run
from tests.native.test_native_migration import VERSION_1

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLES = DATA.parents[1] / "sample_traces"
PLACES = [*sorted(path for path in DATA.iterdir() if path.is_dir()), *sorted(SAMPLES.glob("*/*.db"))]
SOURCES = {
    f"{place.name}/{source.path.name}": source.path for place in PLACES for source in open_paths([place]).sources
}


def records(source: Source) -> dict[str, dict[str, Any]]:
    workspace = Workspace([source.path])
    found = [call_record(source, judged) for judged in workspace.judged_calls(source)]
    workspace.close()
    for record in found:
        del record["store"], record["path"]
    made = {str(record["call_key"]): record for record in found}
    assert len(made) == len(found)
    return made


def bring(source: Source, into: Path) -> Importer:
    with NativeWriter(into) as writer:
        importer = Importer(writer)
        for story in stories(Workspace([source.path]), source):
            importer.add(story, f"{source.kind}:{source.name}")
    return importer


def steps_of(source: Source) -> dict[str, list[Step]]:
    return {
        session.id: [replace(step, call=None) for step in source.reader.steps(session.id)]
        for session in source.reader.sessions()
    }


@pytest.fixture(params=sorted(SOURCES), ids=lambda name: name)
def source(request: pytest.FixtureRequest) -> Source:
    return open_source(SOURCES[request.param])


def test_the_same_records_sessions_and_steps_and_twice_doubles_nothing(source: Source, tmp_path: Path) -> None:
    into = tmp_path / "all.db"
    before = records(source)
    importer = bring(source, into)
    native = open_source(into)
    after = records(native)
    assert after.keys() == before.keys()
    for key, record in before.items():
        assert after[key] == record
    assert {one.id: one for one in native.reader.sessions()} == {
        one.id: replace(one, store="reach") for one in source.reader.sessions()
    }
    assert steps_of(native) == steps_of(source)
    assert importer.done.calls == len(before)
    assert importer.done.renamed == []
    first = dump(into)
    again = bring(source, into)
    assert (again.done.sessions, again.done.calls) == (0, 0)
    assert again.done.unchanged == len(list(source.reader.sessions()))
    assert dump(into) == first


def test_records_back_in_give_the_same_records(source: Source, tmp_path: Path, reach: Run) -> None:
    ran = reach("calls", source.path, "--jsonl")
    file, into = tmp_path / "calls.jsonl", tmp_path / "all.db"
    file.write_text(ran.out, encoding="utf-8")
    before = reach("calls", source.path, "--jsonl", "--no-infer").records
    if not before:
        return
    assert holds_records(file)  # with inferred routes and slots, which are not taken in as recorded ones
    assert reach("import", file, "--into", into).code == 0
    after = {record["call_key"]: record for record in reach("calls", into, "--jsonl", "--no-infer").records}
    for record in before:
        other = after.pop(record["call_key"])
        for name in ("store", "path"):
            del record[name], other[name]
        assert other == record
    assert after == {}
    first = dump(into)
    assert reach("import", file, "--into", into).code == 0
    assert dump(into) == first


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def digest(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def call(key: str, text: str = "ok", **more: Any) -> ToolCall:
    fields: dict[str, Any] = {"arguments": {"x": 1}, "flagged": False, "session_id": "s1"} | more
    return ToolCall(key=key, id=key, tool="read", result=Result(text, len(text)), **fields)


def story(*calls: ToolCall, session_id: str = "s1") -> Story:
    numbered = [replace(one, step=number, session_id=session_id) for number, one in enumerate(calls, 1)]
    return Story(Session("peri", session_id), [Step(one.step, 0, StepKind.CALL, call=one) for one in numbered])


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "all.db"


@pytest.fixture
def importer(into: Path) -> Iterator[Importer]:
    with NativeWriter(into) as writer:
        yield Importer(writer)


def keys(into: Path) -> list[tuple[str, str]]:
    return sorted((one.session_id, one.key) for one in open_source(into).reader.calls())


def test_a_changed_session_takes_the_place_of_the_old_one(importer: Importer, into: Path) -> None:
    importer.add(story(call("k1"), call("k2")), "peri:threads.db")
    importer.add(story(call("k1", "other"), call("k3")), "peri:threads.db")
    assert keys(into) == [("s1", "k1"), ("s1", "k3")]
    assert [one.result and one.result.text for one in open_source(into).reader.calls()] == ["other", "ok"]


def test_sessions_and_keys_of_the_same_name_from_other_stores_are_kept_apart(importer: Importer, into: Path) -> None:
    importer.add(story(call("k1")), "peri:a.db")
    importer.add(story(call("k1", "another")), "peri:b.db")
    importer.add(story(call("k1", "third"), session_id="s2"), "llm:logs.db")
    expected = [("s1", "k1"), ("s1@peri:b.db", "k1@peri:b.db"), ("s2", "k1@llm:logs.db")]
    assert keys(into) == expected
    assert importer.done.renamed == [("s1", "s1@peri:b.db")]
    importer.add(story(call("k1", "another")), "peri:b.db")
    importer.add(story(call("k1")), "peri:copy of a.db")
    assert keys(into) == expected
    assert importer.done.unchanged == 2


def test_a_session_that_fails_half_way_leaves_what_was_there(
    importer: Importer, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importer.add(story(call("k1")), "peri:a.db")
    before = keys(into)
    broken = story(call("k1"), *(call(f"n{number}") for number in range(3000)))
    bad = replace(broken, events=[Event("t", "execute", "s1", call_key="k1")])

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(NativeWriter, "add_event", fail)
        with pytest.raises(StoreError):
            importer.add(bad, "peri:a.db")
    assert keys(into) == before
    importer.add(broken, "peri:a.db")
    assert len(keys(into)) == 3001


def test_recorded_routes_slots_and_decisions_survive(importer: Importer, into: Path) -> None:
    route = Route("recorded", "find", (Candidate("read", 0.9, "fits"), Candidate("grep", 0.4)), "execute")
    slots = (Slot("path", "a.py", "user", "recorded", "step 1 · user", 1, 1, 0.9, "sure"),)
    no = Step(2, 1, StepKind.DECISION, "", route=Route("recorded", "?", (), "no_capability"))
    one = replace(call("k1", route=route, slots=slots, metadata={"error_type": "gremlins"}), step=1)
    two = replace(call("k2", metadata={"error_type": "time_out"}), step=3)
    steps = [Step(1, 1, StepKind.CALL, call=one), no, Step(3, 1, StepKind.CALL, call=two)]
    importer.add(Story(Session("x", "s1"), steps), "x:y")
    reader = open_source(into).reader
    first, second = reader.calls()
    assert (first.route, first.slots) == (route, slots)
    assert [step.kind for step in reader.steps("s1")] == [StepKind.CALL, StepKind.DECISION, StepKind.CALL]
    assert second.metadata["event"] == {"trace_id": "s1/0", "error_type": "timeout"}
    assert importer.done.unmapped == {"gremlins": 1}


def test_an_old_native_database_lists_what_it_could_not_map(tmp_path: Path, into: Path, reach: Run) -> None:
    path = tmp_path / "old" / "shop.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
    before = digest(path.parent)
    ran = reach("import", path, "--into", into, "--json")
    assert ran.code == 0
    assert "error type 'Weird-Thing' fits no member of the enumeration, 1 times" in ran.err
    assert ran.records[0]["unmapped"] == {"Weird-Thing": 1}
    assert ran.records[0]["labels"] == 1
    assert digest(path.parent) == before
    old, new = open_source(path).reader, open_source(into).reader
    assert list(old.steps("s1")) == list(new.steps("s1"))


def test_labels_come_along_once(tmp_path: Path, into: Path, reach: Run) -> None:
    path = tmp_path / "threads.db"
    shutil.copyfile(DATA / "peri" / "schema_17.db", path)
    key = next(open_source(path).reader.calls()).key
    assert reach("label", path, key, "stale_context", "--note", "mine", "--by", "dev").code == 0
    for expected in (1, 0):
        assert reach("import", path, "--into", into, "--json").records[0]["labels"] == expected
    before = {one["call_key"]: one["label"] for one in reach("calls", path, "--jsonl").records}
    after = {one["call_key"]: one["label"] for one in reach("calls", into, "--jsonl").records}
    assert after == before
    assert after[key]["note"] == "mine"


def test_the_source_is_never_written(tmp_path: Path, reach: Run) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(DATA / "peri", folder)
    os.chmod(folder / "schema_3.db", 0o444)
    before = digest(folder)
    assert reach("import", folder, "--into", tmp_path / "all.db").code == 0
    assert digest(folder) == before


def test_into_itself_and_nothing_at_all_are_one_line(tmp_path: Path, trace: Path, reach: Run) -> None:
    ran = reach("import", trace, "--into", trace)
    assert (ran.code, ran.out) == (2, "")
    assert "into itself" in ran.err
    ran = reach("import", tmp_path / "nothing", "--into", tmp_path / "all.db")
    assert ran.code == 2
    assert not (tmp_path / "all.db").exists()
    other = tmp_path / "notes.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE note (text)")
    ran = reach("import", trace, "--into", other)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert dump(other) == ["BEGIN TRANSACTION;", "CREATE TABLE note (text);", "COMMIT;"]


def test_lines_that_are_no_records_are_named_and_the_others_taken(tmp_path: Path, into: Path, reach: Run) -> None:
    good = {"session_id": "s", "call_key": "k\u2028", "tool": "read", "step": 3, "result": "a\u2028b\ud83d"}
    odd = {"session_id": "s", "call_key": "k2", "tool": "read", "step": "x", "result": 5, "flagged": "no"}
    lines = [json.dumps(good, ensure_ascii=True), "{", "[1]", '{"session_id": 5}', "", json.dumps(odd)]
    file = tmp_path / "calls.jsonl"
    file.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    ran = reach("import", file, "--into", into)
    assert ran.code == 2
    assert [line.split(": ")[2] for line in ran.err.splitlines()] == ["line 2", "line 3", "line 4"]
    found = {record["call_key"]: record for record in reach("calls", into, "--jsonl").records}
    assert found["k\u2028"]["result"] == "a\u2028b\ufffd"
    assert "flagged: str" in found["k2"]["problem"]
    assert found["k2"]["result"] is None


def test_what_holds_no_records(tmp_path: Path) -> None:
    assert not holds_records(tmp_path)
    assert not holds_records(tmp_path / "absent")
    assert not holds_records(DATA / "peri" / "schema_3.db")
    other = tmp_path / "transcript.jsonl"
    other.write_text('{"type":"session","version":3}\n')
    assert not holds_records(other)
    os.mkfifo(tmp_path / "pipe")
    assert not holds_records(tmp_path / "pipe")


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        RecordFile(tmp_path / "absent.jsonl")

"""The side index: the same figures as a run from nothing, whatever happens to it or to the store."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.paths import cache_dir
from reach_tui.detect.engine import default_engine
from reach_tui.index.digest import Kind
from reach_tui.index.freshness import look
from reach_tui.index.places import index_path
from reach_tui.index.scanner import judge_sessions, scan, scan_without_index
from reach_tui.index.store import CallRow, Index
from reach_tui.index.words import index_words
from reach_tui.model import Glance, Result, Session, StepKind, ToolCall, Verdict
from reach_tui.native.writer import NativeWriter
from reach_tui.stores.reader import Reader
from reach_tui.workspace.sources import open_source

DATA = Path(__file__).resolve().parents[1] / "data"
STORES = ["opencode/opencode-1.2.20.db", "opencode/opencode-1.14.48.db", "peri/schema_17.db", "peri/schema_0.db"]
MISSED = "Error: old_string not found in file"


class Counting:
    """The detectors, counting how often they are asked; `version` may be another one."""

    def __init__(self, version: str | None = None) -> None:
        self.version = version or default_engine().version
        self.asked = 0

    def judge(self, call: Glance) -> Verdict:
        self.asked += 1
        return default_engine().judge(call)

    def judge_all(self, calls: Sequence[Glance]) -> list[Verdict]:
        self.asked += len(calls)
        return default_engine().judge_all(calls)


def copied(tmp_path: Path, name: str) -> Path:
    return Path(shutil.copy(DATA / name, tmp_path / Path(name).name))


def reader_of(path: Path) -> Reader:
    return open_source(path).reader


def from_nothing(path: Path) -> dict[str, SessionCounts]:
    return {sums.session_id: sums for sums in scan_without_index(reader_of(path), default_engine())}


def scanned(path: Path, engine: Counting | None = None) -> dict[str, SessionCounts]:
    return {sums.session_id: sums for sums in scan(reader_of(path), engine or Counting())}


def rows(path: Path) -> list[CallRow]:
    with Index.opened(reader_of(path), default_engine().version) as index:
        return sorted(index.calls(), key=lambda row: (row.session_id, row.key))


def call(session: str, number: int, text: str | None = "fine", tool: str = "edit") -> ToolCall:
    result = None if text is None else Result(text, len(text.encode()))
    return ToolCall(f"{session}/{number}", f"id{number}", session, tool, {"filePath": f"{number}.py"}, False, result)


def write(path: Path, sessions: int = 6, calls: int = 10) -> Path:
    with NativeWriter(path) as writer:
        for number in range(sessions):
            name = f"s{number}"
            writer.add_session(Session("reach", name, title=name, started_at=1_780_000_000_000 + number))
            writer.add_message(name, StepKind.USER, "go", turn=1)
            for one in range(calls):
                writer.add_call(call(name, one, MISSED if one % 3 == 0 else "fine"))
    return path


def aged(path: Path) -> Path:
    """The file as written an hour ago: no further write can hide in its times."""
    old = time.time() - 3600
    os.utime(path, (old, old))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write(tmp_path / "reach.db")


@pytest.mark.parametrize("name", STORES)
def test_figures_equal_those_without_an_index(tmp_path: Path, name: str) -> None:
    path = copied(tmp_path, name)
    before = path.read_bytes()
    engine = Counting()
    expected = from_nothing(path)
    assert scanned(path, engine) == expected
    assert engine.asked == sum(sums.counts.calls for sums in expected.values())
    assert scanned(path, engine) == expected
    assert engine.asked == sum(sums.counts.calls for sums in expected.values())  # nothing was judged again
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name]


@pytest.mark.parametrize("name", STORES)
def test_every_call_is_kept_with_its_verdict(tmp_path: Path, name: str) -> None:
    path = copied(tmp_path, name)
    scanned(path)
    engine = default_engine()
    expected = []
    for one in reader_of(path).calls():
        verdict = engine.judge(one)
        kind = Kind(
            one.tool, one.target, one.flagged, verdict.failed, verdict.soft, one.copy_of is not None,
            verdict.category, verdict.subcategory, verdict.rule, round(verdict.confidence, 3),
        )  # fmt: skip
        expected.append(CallRow(one.session_id, one.key, kind))
    assert rows(path) == sorted(expected, key=lambda row: (row.session_id, row.key))


def test_a_quiet_store_is_not_even_listed_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(store)
    expected = scanned(store)
    reader = reader_of(store)
    monkeypatch.setattr(type(reader), "sessions", lambda self: pytest.fail("listed"))
    assert {sums.session_id: sums for sums in scan(reader, Counting())} == expected


def test_new_calls_cost_their_sessions_only(store: Path) -> None:
    aged(store)
    scanned(store)
    with NativeWriter(store) as writer:
        writer.add_call(call("s2", 99, MISSED))
        writer.add_session(Session("reach", "new", started_at=1_790_000_000_000))
        writer.add_call(call("new", 1))
    engine = Counting()
    assert scanned(store, engine) == from_nothing(store)
    assert engine.asked == 12
    assert len(rows(store)) == 62


def test_calls_that_were_unfinished_and_rows_edited_in_place_are_seen(store: Path) -> None:
    with NativeWriter(store) as writer:
        writer.add_call(call("s1", 50, None))
    aged(store)
    assert scanned(store)["s1"].counts.unfinished == 1
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE tool_call SET result = ? WHERE result IS NULL", (MISSED,))
        connection.execute("UPDATE tool_call SET result = ? WHERE session_id = 's4' AND result = 'fine'", (MISSED,))
    assert scanned(store) == from_nothing(store)


def test_sessions_that_are_gone_are_forgotten(store: Path) -> None:
    scanned(store)
    with closing(sqlite3.connect(store)) as connection, connection:
        for table in ("tool_call", "message", "session"):
            column = "id" if table == "session" else "session_id"
            connection.execute(f"DELETE FROM {table} WHERE {column} = 's3'")
    scanned(store)
    assert scanned(store) == from_nothing(store)
    assert {row.session_id for row in rows(store)} == {"s0", "s1", "s2", "s4", "s5"}


def test_other_rules_judge_anew(store: Path) -> None:
    engine = Counting("one")
    scanned(store, engine)
    scanned(store, engine)
    assert engine.asked == 60
    other = Counting("two")
    list(index_words(reader_of(store), other))
    scanned(store, engine)
    assert engine.asked == 60  # only a scan replaces what was judged under other rules
    scanned(store, other)
    assert other.asked == 60


def test_a_deleted_index_is_built_again_also_while_it_is_open(store: Path) -> None:
    expected = from_nothing(store)
    scanned(store)
    shutil.rmtree(cache_dir())
    assert scanned(store) == expected
    running = scan(reader_of(write(store.with_name("other.db"), 300, 2)), Counting())
    first = next(running)
    shutil.rmtree(cache_dir())
    told = {sums.session_id: sums for sums in [first, *running]}
    assert told == from_nothing(store.with_name("other.db"))
    assert scanned(store.with_name("other.db")) == told


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_never_change_a_figure(store: Path, seed: int) -> None:
    expected = from_nothing(aged(store))
    scanned(store)
    list(index_words(reader_of(store), default_engine()))
    path = index_path(reader_of(store))
    chance = random.Random(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(1 + seed * 40):
        raw[chance.randrange(len(raw))] ^= chance.randrange(1, 256)
    path.write_bytes(raw)
    before = store.read_bytes()
    assert scanned(store) == expected
    assert scanned(store) == expected
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    "junk", [b"", b"no database", b"SQLite format 3\0" + bytes(4000)], ids=["empty", "text", "torn"]
)
def test_an_index_that_is_none_is_replaced(store: Path, junk: bytes) -> None:
    path = index_path(reader_of(store))
    path.parent.mkdir(parents=True)
    path.write_bytes(junk)
    assert scanned(store) == from_nothing(store)
    engine = Counting()
    assert scanned(aged(store), engine) == from_nothing(store)


def test_another_programs_database_in_its_place_is_replaced(store: Path) -> None:
    path = index_path(reader_of(store))
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE meta (a)")
    assert scanned(store) == from_nothing(store)


def test_without_a_place_to_write_the_scan_does_without(store: Path) -> None:
    cache_dir().parent.mkdir(parents=True, exist_ok=True)
    cache_dir().write_text("a file, no folder")
    assert scanned(store) == from_nothing(store)


def test_the_index_of_a_store_long_unseen_is_deleted(store: Path) -> None:
    scanned(store)
    old = index_path(reader_of(store))
    scanned(write(store.with_name("second.db")))
    assert old.exists()
    os.utime(old, (1_000_000_000, 1_000_000_000))
    scanned(write(store.with_name("third.db")))
    assert not old.exists()
    assert len(list(old.parent.glob("*.db"))) == 2


def test_two_scans_at_once_come_to_the_same(store: Path) -> None:
    write(store.with_name("big.db"), 120, 6)
    path = store.with_name("big.db")
    both = [scan(reader_of(path), Counting()), scan(reader_of(path), Counting())]
    told: list[dict[str, SessionCounts]] = [{}, {}]
    running = [0, 1]
    while running:
        for which in list(running):
            try:
                sums = next(both[which])
                told[which][sums.session_id] = sums
            except StopIteration:
                running.remove(which)
    expected = from_nothing(path)
    assert told == [expected, expected]
    assert scanned(path) == expected
    assert len(rows(path)) == 720


def test_what_is_read_before_a_change_is_stale_after_it(store: Path) -> None:
    """A scan that read a session before another look found it changed must not make it fresh."""
    engine = default_engine().version
    reader = reader_of(store)
    scanned(store)
    with Index.opened(reader, engine) as index:
        index.invalidate(look(reader, index.meta("mark")))
        late = judge_sessions(
            reader, Counting(), index, [session for session in reader.sessions() if session.id == "s0"]
        )
        with NativeWriter(store) as writer:
            writer.add_call(call("s0", 77, MISSED))
        with Index.opened(reader, engine) as other:
            other.invalidate(look(reader, other.meta("mark")))
        list(late)
    with Index.opened(reader, engine) as index:
        assert not index.known()["s0"].fresh
        assert index.known()["s1"].fresh
    assert scanned(store) == from_nothing(store)


def run_scan(path: Path, *flags: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "reach_tui.workspace.scan", *flags, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("seed", range(1))  # benchmarks/scan_kill.py does it fifty times
def test_a_killed_scan_resumes_and_comes_to_the_same(tmp_path: Path, seed: int) -> None:
    path = aged(write(tmp_path / "many.db", 400, 12))
    expected = from_nothing(path)
    chance = random.Random(seed)
    for number in range(5):
        process = run_scan(path, *(["--words"] if number == 3 else []))
        time.sleep(chance.uniform(0.2, 0.9))
        process.kill()
        process.communicate()
    assert scanned(path) == expected
    list(index_words(reader_of(path), default_engine()))
    once = rows(path)
    shutil.rmtree(cache_dir())
    scanned(path)
    list(index_words(reader_of(path), default_engine()))
    assert rows(path) == once
    with closing(sqlite3.connect(index_path(reader_of(path)))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

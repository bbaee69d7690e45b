"""Rows added, edited in place and deleted are found by the next look, also where no session says that it moved."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import deque
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.base.jsonio import dumps
from reach_tui.index.freshness import Whole, decode_mark, encode_mark
from reach_tui.index.places import index_path
from reach_tui.stores import growth
from reach_tui.stores.growth import Growing, Growth, Mark
from reach_tui.stores.opencode import OpencodeReader
from tests.index.test_index import aged, reader_of
from tests.index.test_totals import DATA, expected, summed

FAILED = '{"type":"tool","tool":"bash","callID":"x","state":{"status":"error","input":{"a":1},"error":"no such file"}}'
TOOLS = "data LIKE '%\"tool\"%'"
OPENCODE = {
    "edited": f"UPDATE part SET data = '{FAILED}', time_updated = time_updated + 1 WHERE rowid = "
    f"(SELECT rowid FROM part WHERE {TOOLS} LIMIT 1)",
    "deleted": f"DELETE FROM part WHERE rowid = (SELECT rowid FROM part WHERE {TOOLS} LIMIT 1)",
    "a session's deleted": "DELETE FROM part WHERE session_id = (SELECT session_id FROM part LIMIT 1)",
    "added": f"INSERT INTO part SELECT 'prt_zz', message_id, session_id, time_created, time_updated, '{FAILED}' "
    f"FROM part WHERE {TOOLS} LIMIT 1",
    "a message edited": "UPDATE message SET data = json_set(data, '$.error.name', 'MessageAbortedError'), "
    "time_updated = time_updated + 1 WHERE id IN (SELECT message_id FROM part)",
}
PERI = {
    "edited": "UPDATE messages SET excluded = 1 - excluded WHERE rowid = (SELECT max(rowid) FROM messages)",
    "deleted": "DELETE FROM messages WHERE rowid = (SELECT max(rowid) FROM messages WHERE role = 'tool')",
    "a thread's deleted": "DELETE FROM messages WHERE thread_id = (SELECT thread_id FROM messages LIMIT 1)",
}
CASES = [
    *(("opencode/opencode-1.14.48.db", edit) for edit in OPENCODE.values()),
    *(("peri/schema_17.db", edit) for edit in PERI.values()),
]
NAMES = [*(f"opencode, {name}" for name in OPENCODE), *(f"peri, {name}" for name in PERI)]


@pytest.mark.parametrize(("store", "edit"), CASES, ids=NAMES)
def test_what_no_session_tells_is_found(store: str, edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_BLOCK", 30)  # so that there is something to share
    path = aged(Path(shutil.copy(DATA / store, tmp_path / "store.db")))
    before = summed(path)
    assert before == expected(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(edit).rowcount > 0
    after = expected(path)
    assert summed(aged(path)) == after
    assert summed(path) == after, "and once more, from the index alone"


def test_threads_share_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(shutil.copy(DATA / "opencode" / "opencode-1.14.48.db", tmp_path / "store.db"))
    reader = reader_of(path)
    rows = OpencodeReader.growth
    with closing(sqlite3.connect(path)) as connection:
        highest = {table: connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0 for table in TABLES}
        sums = {
            table: connection.execute(f"SELECT count(*), sum(time_updated & 4294967295) FROM {table}").fetchone()
            for table in TABLES
        }
    expecting = {table: [highest[table], count, total or 0] for table, (count, total) in sums.items()}
    asked: list[int] = []
    real = Growth.whole

    def watched(self: Growth, where: Path, blocks: deque[tuple[Growing, int, int]]) -> dict[str, tuple[int, int]]:
        asked.append(len(blocks))
        return real(self, where, blocks)

    monkeypatch.setattr(Growth, "whole", watched)
    monkeypatch.setattr(growth, "_BLOCK", 7)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert Whole(reader, dumps(expecting)).unchanged()
    assert len(asked) == 2
    assert sum(end - start for _, start, end in rows.blocks(highest)) == sum(highest.values())
    expecting["part"][2] += 1
    assert not Whole(reader, dumps(expecting)).unchanged()


TABLES = ("part", "message", "session_message")


@pytest.mark.parametrize("store", ["opencode/opencode-1.2.20.db", "opencode/opencode-1.14.48.db", "kilo/kilo-7.7.9.db"])
def test_what_the_index_keeps_is_the_sum_over_all_rows(store: str, tmp_path: Path) -> None:
    path = aged(Path(shutil.copy(DATA / store, tmp_path / "store.db")))
    summed(path)
    reader = reader_of(path)
    with closing(sqlite3.connect(index_path(reader))) as connection:
        kept = connection.execute("SELECT value FROM meta WHERE key = 'whole'").fetchone()
    assert Whole(reader, kept[0]).unchanged()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE part SET time_updated = time_updated + 1 WHERE rowid = (SELECT min(rowid) FROM part)"
        )
    assert not Whole(reader, kept[0]).unchanged()


def test_a_store_that_cannot_be_read_is_not_unchanged(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "opencode" / "opencode-1.14.48.db", tmp_path / "store.db"))
    reader = reader_of(path)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    assert not Whole(reader, '{"part":[5,5,5],"message":[0,0,0],"session_message":[0,0,0]}').unchanged()


@pytest.mark.parametrize(
    "values",
    [(1, "title", None), (2**63 - 1, -1, ""), (1.5, float("inf"), b"\x00\xff"), ("\ud800", "é", 0), ()],
    ids=["plain", "large", "odd", "surrogates", "none"],
)
def test_marks_come_back(values: tuple[object, ...]) -> None:
    mark = Mark({"a": values, "b": (None,)}, {"part": 7})
    again = decode_mark(encode_mark(mark))
    assert isinstance(again, Mark)
    assert again.highest == mark.highest
    assert again.sessions["b"] == (None,)
    if not {float("inf"), "\ud800"} & set(values):  # those cannot be kept: their session counts as changed
        assert again.sessions["a"] == values

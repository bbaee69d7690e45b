"""Write-back adds one table of ours to a trace database and changes nothing else, or says why not."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.base.errors import LabelError
from reach_tui.base.sqlite import reading
from reach_tui.labels.write_back import TABLE, write_back
from reach_tui.model import Label
from reach_tui.stores.catalog import open_store

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT count(*) FROM thread").fetchone()
if sys.argv[2] == "write":
    connection.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.readline()
"""
DIE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("INSERT INTO thread VALUES ('late', 'only in the -wal')")
os.kill(os.getpid(), 9)
"""


def label(call: str | None = "c1", **other: object) -> Label:
    base = Label(
        "peri", "s1", call, "sha256:0", "timeout_or_limit", "timeout", "a \x00 note", "dev", 1_780_000_000_000,
        "reach-failure", 1, True, "rule", "0.1.0", 7, f"uid-{call}",
    )  # fmt: skip
    return replace(base, **other)  # type: ignore[arg-type]


@pytest.fixture(params=["delete", "wal"])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "folder of traces" / "threads.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {request.param}")
        connection.executescript(
            "CREATE TABLE thread (id TEXT PRIMARY KEY, title); CREATE INDEX by_title ON thread (title);"
            "INSERT INTO thread VALUES ('s1', 'one'), ('s2', x'ff00'); PRAGMA user_version = 5;"
        )
    return path


def everything_else(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        found: list[object] = [
            connection.execute(f"PRAGMA {name}").fetchall() for name in ("journal_mode", "user_version", "encoding")
        ]
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name <> ? ORDER BY name"
        found.append(schema := connection.execute(query, (TABLE,)).fetchall())
        found += [
            connection.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall()
            for kind, name, *_ in schema
            if kind == "table"
        ]
        found.append(connection.execute("PRAGMA integrity_check").fetchall())
        return found


def written(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {TABLE} ORDER BY uid").fetchall()


@contextmanager
def held(path: Path, how: str) -> Iterator[None]:
    command = [sys.executable, "-c", HOLD, str(path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.communicate("\n", timeout=30)


def test_one_table_is_added_and_nothing_else_changes(trace: Path) -> None:
    before = everything_else(trace)
    assert write_back(trace, [label("c1"), label("c2", by="eve"), label(None, verdict=None)]) == 3
    assert everything_else(trace) == before
    assert os.listdir(trace.parent) == ["threads.db"], "no -wal, -shm or -journal stays behind"
    with closing(sqlite3.connect(trace)) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute(f"SELECT * FROM {TABLE} WHERE call_key = 'c1'").fetchone())
    assert row["category"] == "timeout_or_limit"
    assert row["note"] == "a \x00 note"
    assert (row["by"], row["verdict"], row["uid"]) == ("dev", 1, "uid-c1")


def test_writing_twice_gives_the_same_rows(trace: Path) -> None:
    given = [label("c1"), label("c2"), label(None)]
    write_back(trace, given)
    first = written(trace)
    write_back(trace, given)
    assert written(trace) == first
    assert len(first) == 3


def test_a_changed_label_replaces_and_a_cleared_one_leaves(trace: Path) -> None:
    write_back(trace, [label("c1"), label("c2"), label("c1", by="eve", uid="eve")])
    assert write_back(trace, [label("c1", category="loop_repetition", uid="new"), label("c2", category=None)]) == 1
    assert sorted(str(row[-1]) for row in written(trace)) == ["eve", "new"]


def test_refused_while_another_process_uses_it(trace: Path) -> None:
    content = everything_else(trace)
    wal = content[0] == [("wal",)]
    with held(trace, "read" if wal else "write"), pytest.raises(LabelError) as caught:
        write_back(trace, [label()])
    assert "no label was written back" in caught.value.line()
    assert everything_else(trace) == content
    assert write_back(trace, [label()]) == 1


def test_refused_while_this_program_reads_it(trace: Path) -> None:
    with reading(trace), pytest.raises(LabelError, match="being read by this program"):
        write_back(trace, [label()])
    assert write_back(trace, [label()]) == 1


def test_rows_in_the_wal_of_a_killed_program_survive(trace: Path) -> None:
    subprocess.run([sys.executable, "-c", DIE, str(trace)], check=False)
    assert write_back(trace, [label()]) == 1
    assert os.listdir(trace.parent) == ["threads.db"]
    with closing(sqlite3.connect(f"file:{trace}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM thread").fetchone() == (3,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_another_s_table_of_that_name_is_left_alone(trace: Path) -> None:
    with closing(sqlite3.connect(trace)) as connection:
        connection.execute(f"CREATE TABLE {TABLE} (x)")
    before = everything_else(trace)
    with pytest.raises(LabelError, match="not ours"):
        write_back(trace, [label()])
    assert everything_else(trace) == before
    assert written_columns(trace) == ["x"]


def written_columns(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({TABLE})")]


def test_all_or_nothing(trace: Path) -> None:
    before = trace.read_bytes()
    with pytest.raises(LabelError, match="no label was written back"):
        write_back(trace, [label("c1"), label("c2", uid="uid-c1")])
    with closing(sqlite3.connect(trace)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone() == (0,)
    assert len(trace.read_bytes()) == len(before)


def test_no_database_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text("{}\n")
    with pytest.raises(LabelError, match="not an SQLite database"):
        write_back(path, [label()])
    assert path.read_text() == "{}\n"
    with pytest.raises(LabelError, match="no such file"):
        write_back(tmp_path / "none.db", [label()])


@pytest.mark.parametrize("name", ["opencode/opencode-1.18.33.db", "peri/threads.db", "reach/shop.db"])
def test_the_readers_see_the_same_store_as_before(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "trace.db"
    shutil.copyfile(Path(__file__).resolve().parents[2] / "sample_traces" / name, copy)
    before = open_store(copy).reader
    calls, content = list(before.calls()), everything_else(copy)
    first = calls[0]
    assert write_back(copy, [label(first.key, store=before.kind, session_id=first.session_id)]) == 1
    assert everything_else(copy) == content
    assert list(open_store(copy).reader.calls()) == calls


@pytest.mark.shared
@pytest.mark.parametrize("name", ["opencode-1.2.20.db", "opencode-1.18.33.db"])
def test_recorded_databases_keep_every_row(shared: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / name
    shutil.copyfile(shared / "real_traces" / "opencode" / name, copy)
    before = everything_else(copy)
    assert write_back(copy, [label()]) == 1
    assert everything_else(copy) == before

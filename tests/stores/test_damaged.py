"""Bad input: one line each that says what, where and what to do; quickly, and nothing is written."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reach_tui.base.errors import (
    NotRecognised,
    ReachError,
    SchemaUnknown,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreUnreadable,
)
from reach_tui.stores.catalog import open_store
from reach_tui.stores.discover import find_traces

Snapshot = Callable[[Path], object]
Make = Callable[[Path], None]
SECONDS = 5.0


def whole(data: Path) -> bytes:
    return (data / "opencode" / "opencode-1.2.20.db").read_bytes()


def write(body: bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(body)

    return make


def cut(size: int) -> Make:
    return lambda path: write(whole(SAMPLE)[:size])(path)


def overwritten(start: int, stop: int) -> Make:
    def make(path: Path) -> None:
        body = bytearray(whole(SAMPLE))
        body[start:stop] = random.Random(1).randbytes(stop - start)
        path.write_bytes(body)

    return make


def schema(*statements: str) -> Make:
    def make(path: Path) -> None:
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 17")
        connection.commit()
        connection.close()

    return make


def orphan_wal(path: Path) -> None:
    shutil.copyfile(SAMPLE / "opencode" / "killed" / "opencode.db-wal", f"{path}-wal")


def impossible_page_size(path: Path) -> None:
    body = bytearray(whole(SAMPLE))
    body[16:18] = b"\x00\x03"
    path.write_bytes(body)


def missing_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


SAMPLE = Path(__file__).resolve().parents[1] / "data"
PERI_17 = (
    "CREATE TABLE threads (id, title, cwd, created_at, updated_at, message_count)",
    "CREATE TABLE messages (message_id, thread_id, role, content_ref, transcript_seq)",
)
CASES: dict[str, tuple[Make, type[ReachError], str]] = {
    "nothing there": (lambda path: None, StoreUnreadable, "no such file"),
    "a link to nothing": (missing_link, StoreUnreadable, "no such file"),
    "0 bytes": (write(b""), StoreDamaged, "an empty file, 0 bytes"),
    "a text": (write(b"Dear diary, nothing happened.\n" * 20), StoreDamaged, "not an SQLite database"),
    "one byte": (write(b"x"), StoreDamaged, "not an SQLite database"),
    "random bytes": (write(random.Random(0).randbytes(8192)), StoreDamaged, "encrypted, or overwritten"),
    "cut in the magic": (cut(7), StoreDamaged, "torn: cut off inside the header"),
    "cut in the header": (cut(60), StoreDamaged, "torn: cut off inside the header"),
    "cut after the header": (cut(100), StoreDamaged, "bytes are missing"),
    "cut in a page": (cut(100_001), StoreDamaged, "bytes are missing"),
    "half of it": (cut(169_984), StoreDamaged, "bytes are missing"),
    "an impossible page size": (impossible_page_size, StoreDamaged, "impossible page size"),
    "no schema page": (overwritten(100, 4096), StoreDamaged, "damaged database"),
    "no tables": (schema(), NotRecognised, "without any tables"),
    "other tables": (schema("CREATE TABLE invoices (id)"), NotRecognised, "no known agent (tables: invoices)"),
    "plural tables": (
        schema("CREATE TABLE sessions (id)", "CREATE TABLE messages (id)", "CREATE TABLE parts (id)"),
        SchemaUnknown,
        "plural tables",
    ),
    "no part data": (
        schema("CREATE TABLE session (id)", "CREATE TABLE message (id, session_id, data)", "CREATE TABLE part (id)"),
        SchemaUnknown,
        "columns missing: data, message_id, session_id",
    ),
    "Peri without payloads": (schema(*PERI_17), SchemaUnknown, "neither in messages.content nor in session_payloads"),
    "Peri without messages": (schema(PERI_17[0]), SchemaUnknown, "no table messages"),
    "a pipe": (os.mkfifo, StoreUnreadable, "not a regular file (a pipe or device)"),
    "a folder": (Path.mkdir, StoreUnreadable, "a folder, not a file"),
    "only a -wal": (orphan_wal, StoreUnreadable, "the database is gone, only its -wal is left"),
}


def read_everything(path: Path) -> None:
    reader = open_store(path).reader
    list(reader.sessions())
    list(reader.calls())


def complaint(path: Path) -> ReachError:
    """The error that opening and reading everything ends with."""
    started = time.monotonic()
    with pytest.raises(ReachError) as caught:
        read_everything(path)
    assert time.monotonic() - started < SECONDS
    line = caught.value.line()
    assert "\n" not in line
    assert str(path) in line
    assert " — " in line, "no word about what to do"
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_each_fault_has_its_line(tmp_path: Path, snapshot: Snapshot, name: str) -> None:
    make, kind, words = CASES[name]
    path = tmp_path / "agent.db"
    make(path)
    before = snapshot(tmp_path)
    error = complaint(path)
    assert type(error) is kind
    assert words in error.what
    assert snapshot(tmp_path) == before


def test_the_lines_tell_the_faults_apart(tmp_path: Path) -> None:
    said = set()
    for number, (make, _, _) in enumerate(CASES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / "agent.db")
        said.add(complaint(folder / "agent.db").what)
    assert len(said) >= 18


def test_a_folder_of_bad_files_reports_each(tmp_path: Path) -> None:
    names = [name for name in CASES if name != "nothing there"]
    for number, name in enumerate(names):
        CASES[name][0](tmp_path / f"{number:02}.db")
    found = find_traces([tmp_path])
    assert [path.name for path in found] == [f"{number:02}.db" for number in range(len(names))]
    for path in found:
        complaint(path)


def test_garbage_in_the_middle_is_named_when_its_rows_are_read(data: Path, tmp_path: Path, snapshot: Snapshot) -> None:
    """Every page in turn: the rows come whole, or with an error of ours; never another exception, never a crash."""
    body = whole(data)
    path = tmp_path / "agent.db"
    faults = []
    for page in range(1, len(body) // 4096, 7):
        broken = bytearray(body)
        broken[page * 4096 : (page + 1) * 4096] = random.Random(page).randbytes(4096)
        path.write_bytes(broken)
        before = snapshot(tmp_path)
        try:
            read_everything(path)
        except StoreError as error:
            faults.append(error)
        assert snapshot(tmp_path) == before
    assert len(faults) > 3
    assert all(type(error) is StoreDamaged and error.where == str(path) for error in faults)


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("CREATE TABLE IF NOT EXISTS held (n)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold() -> Iterator[Callable[[Path], None]]:
    """Another process holds the database under BEGIN EXCLUSIVE until the test ends."""
    held: list[subprocess.Popen[str]] = []

    def start(path: Path) -> None:
        command = [sys.executable, "-c", HOLDER, str(path)]
        held.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        stdout = held[-1].stdout
        assert stdout is not None
        assert stdout.readline().strip() == "held"

    yield start
    for process in held:
        process.kill()
        process.communicate()


def test_a_lock_for_longer_than_we_wait(
    data: Path, tmp_path: Path, snapshot: Snapshot, hold: Callable[[Path], None]
) -> None:
    path = tmp_path / "agent.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (n)")
    connection.close()
    hold(path)
    before = snapshot(tmp_path)
    started = time.monotonic()
    error = complaint(path)
    assert type(error) is StoreLocked
    assert error.what == "locked by another process"
    assert time.monotonic() - started > 1.0
    assert snapshot(tmp_path) == before


def test_a_name_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="not a possible file name"):
        open_store(tmp_path / "a\x00b.db")
    with pytest.raises(StoreUnreadable, match="too long"):
        open_store(tmp_path / ("x" * 5000 + ".db"))


def test_a_reader_of_others_that_fails_is_passed_over(
    build_peri: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reach_tui.stores.catalog.plugin_targets", lambda: {"broken": "no.such.module:Reader"})
    path = build_peri([])
    assert open_store(path).reader.kind == "peri"
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE threads")
    connection.close()
    with pytest.raises(NotRecognised):
        open_store(path)
    assert "store plugin broken (no.such.module:Reader) failed: ModuleNotFoundError" in capsys.readouterr().err

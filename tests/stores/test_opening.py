"""Opening never writes: rows are right and the folder is as before, whatever state the agent left it in."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reach_tui.base.errors import StoreError
from reach_tui.base.sqlite import Access, access_of, open_owned, reading
from reach_tui.base.sqlite_access import held_by_another, wal_grows

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
Snapshot = Callable[[Path], object]

# Holds the database open, commits a row for every line it gets, answers with the count; "quit" closes it cleanly.
WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("CREATE TABLE IF NOT EXISTS t (n)")
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    connection.execute(line.strip() if line[0].isupper() else "INSERT INTO t VALUES (1)")
    print(connection.total_changes, flush=True)
connection.close()
print("closed", flush=True)
"""
READER = """
import fcntl, os, shutil, sys, tempfile
from pathlib import Path
import reach_tui.base.text
from reach_tui.base.sqlite import access_of, reading
from reach_tui.base.errors import ReachError
path = Path(sys.argv[1])
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))  # Python may be root's own
try:
    with reading(path) as connection:
        print(connection.execute("SELECT count(*) FROM t").fetchone()[0], access_of(path).name)
except ReachError as error:
    print(type(error).__name__, error.line())
"""


class Writer:
    """Another process that has the database open."""

    def __init__(self, path: Path, journal: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), journal], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.answer() == "ready"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str = "insert") -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self, *, kill: bool = False) -> None:
        if self.process.poll() is None:
            self.process.kill() if kill else self.tell("quit")
        self.process.communicate()


@contextmanager
def writer(path: Path, journal: str = "WAL") -> Iterator[Writer]:
    held = Writer(path, journal)
    try:
        yield held
    finally:
        held.end(kill=True)


def leave(folder: Path, state: str) -> Path:
    """A database with three rows in table `t`, left in a state."""
    path = folder / "agent.db"
    if state == "hot journal":
        return leave_hot_journal(folder)
    with writer(path, "DELETE" if state == "rollback journal" else "WAL") as other:
        for _ in range(3):
            other.tell()
        other.end(kill=state.startswith("killed"))
    if state == "killed, no -shm":
        os.remove(f"{path}-shm")
    if state == "killed, empty -wal":
        Path(f"{path}-wal").unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS t (n)")
            connection.execute("INSERT INTO t VALUES (1), (2), (3)")
        connection.close()
        Path(f"{path}-wal").touch()
    return path


def leave_hot_journal(folder: Path) -> Path:
    """As after a crash in a commit: rows half written to the file, what they replaced in the journal."""
    path = folder / "agent.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA cache_size = 5; CREATE TABLE t (n, filler); INSERT INTO t VALUES (1, ''), (2, ''), (3, '');"
    )
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("BEGIN IMMEDIATE")
    for n in range(2000):
        connection.execute("INSERT INTO t VALUES (?, ?)", (n, "x" * 500))
    copies = {name: (folder / name).read_bytes() for name in ("agent.db", "agent.db-journal")}
    connection.execute("ROLLBACK")
    connection.close()
    for name, body in copies.items():
        (folder / name).write_bytes(body)
    return path


STATES = {
    "closed": Access.FROZEN,
    "killed": Access.QUIET,
    "killed, no -shm": Access.PRIVATE,
    "killed, empty -wal": Access.FROZEN,
    "rollback journal": Access.LIVE,
}


def count(path: Path) -> int:
    with reading(path) as connection:
        return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


@pytest.mark.parametrize(("state", "access"), STATES.items())
def test_nothing_changes_and_no_row_is_missed(tmp_path: Path, snapshot: Snapshot, state: str, access: Access) -> None:
    path = leave(tmp_path, state)
    before = snapshot(tmp_path)
    assert access_of(path) is access
    assert [count(path), count(path)] == [3, 3]
    assert snapshot(tmp_path) == before


def test_a_hot_journal_is_rolled_back_in_a_copy_only(tmp_path: Path, snapshot: Snapshot) -> None:
    path = leave(tmp_path, "hot journal")
    before = snapshot(tmp_path)
    with reading(path) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone()[0] == 3
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert access_of(path) is Access.PRIVATE
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_live_writer_is_seen_and_not_disturbed(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "agent.db"
    with writer(path, journal) as other:
        other.tell()
        if journal == "WAL":
            assert held_by_another(path)
        assert access_of(path) is Access.LIVE
        before = set(os.listdir(tmp_path))
        for wanted in range(1, 6):
            assert count(path) == wanted
            assert other.tell() == str(wanted + 1)
        assert set(os.listdir(tmp_path)) == before
        other.end()
    assert set(os.listdir(tmp_path)) == {"agent.db"}
    assert count(path) == 6
    assert set(os.listdir(tmp_path)) == {"agent.db"}


def test_rows_appear_while_a_connection_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with writer(path) as other:
        other.tell()
        with reading(path) as connection:
            seen = []
            for _ in range(3):
                seen.append(connection.execute("SELECT count(*) FROM t").fetchone()[0])
                other.tell()
        assert seen == [1, 2, 3]


def test_no_long_read_transaction_holds_the_wal(tmp_path: Path) -> None:
    """Between chunks nothing is open, so that the writer's checkpoint can reset its `-wal`."""
    path = tmp_path / "agent.db"
    with writer(path) as other:
        other.tell()
        assert count(path) == 1
        other.tell("PRAGMA wal_checkpoint(TRUNCATE)")
        assert os.path.getsize(f"{path}-wal") == 0


def test_a_killed_holder_no_longer_counts(tmp_path: Path) -> None:
    path = leave(tmp_path, "killed")
    assert os.path.exists(f"{path}-shm")
    assert not held_by_another(path)


def test_an_agent_that_starts_again_is_followed(tmp_path: Path) -> None:
    path = leave(tmp_path, "killed, no -shm")
    assert count(path) == 3
    with writer(path) as other:
        other.tell()
        assert access_of(path) is Access.LIVE
        assert count(path) == 4


def test_a_copy_is_renewed_when_the_file_changes(tmp_path: Path) -> None:
    path = leave(tmp_path, "killed, no -shm")
    assert count(path) == 3
    with writer(path) as other:
        other.tell()
        other.end(kill=True)
    os.remove(f"{path}-shm")
    assert access_of(path) is Access.PRIVATE
    assert count(path) == 4


def test_the_own_database_keeps_its_locks(tmp_path: Path) -> None:
    """Probing a file with plain reads would drop this process's locks on it."""
    path = tmp_path / "own.db"
    own = open_owned(path)
    own.execute("CREATE TABLE t (n)")
    own.execute("BEGIN IMMEDIATE")
    own.execute("INSERT INTO t VALUES (1)")
    assert access_of(path) is Access.LIVE
    assert count(path) == 0
    script = "import sqlite3,sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    blocked = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert "locked" in blocked.stderr
    own.execute("COMMIT")
    assert count(path) == 1
    own.close()
    assert access_of(path) is Access.FROZEN


def read_as_other(path: Path, user: int = NOBODY) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path), str(user)], capture_output=True, text=True, env=environment, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def foreign_folder() -> Iterator[Path]:
    """A folder that another user can enter (pytest's own are closed to others)."""
    if os.name != "posix" or os.getuid() != 0:
        pytest.skip("another user can only be played by root")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize("state", [*STATES, "hot journal"])
def test_a_folder_that_may_not_be_written(foreign_folder: Path, snapshot: Snapshot, state: str) -> None:
    path = leave(foreign_folder, state)
    for file in foreign_folder.iterdir():
        file.chmod(0o444)
    foreign_folder.chmod(0o555)
    before = snapshot(foreign_folder)
    assert read_as_other(path).split()[0] == "3"
    assert snapshot(foreign_folder) == before


@pytest.mark.parametrize(("mode", "way"), [(0o644, "LIVE"), (0o600, "PRIVATE")])
def test_a_live_agent_of_another_user(foreign_folder: Path, mode: int, way: str) -> None:
    """With the `-shm` out of reach only a copy of file and `-wal` remains."""
    path = foreign_folder / "agent.db"
    with writer(path) as other:
        for _ in range(3):
            other.tell()
        for name in ("", "-wal"):
            os.chmod(f"{path}{name}", 0o644)
        os.chmod(f"{path}-shm", mode)
        assert read_as_other(path) == f"3 {way}"
        assert other.tell() == "4"


def test_no_permission_is_said_in_one_line(foreign_folder: Path) -> None:
    path = leave(foreign_folder, "closed")
    path.chmod(0o600)
    assert read_as_other(path) == f"StoreUnreadable {path}: no permission to read it — check owner and mode"


def test_no_permission_for_the_wal_names_the_wal(foreign_folder: Path) -> None:
    path = leave(foreign_folder, "killed, no -shm")
    path.chmod(0o644)
    os.chmod(f"{path}-wal", 0o600)
    assert read_as_other(path) == f"StoreUnreadable {path}-wal: no permission to read it — check owner and mode"


def test_recorded_kill(data: Path, tmp_path: Path, snapshot: Snapshot) -> None:
    """Five of the six sessions are in the file, the last one in the `-wal` alone."""
    shutil.copytree(data / "opencode" / "killed", tmp_path / "k")
    before = snapshot(tmp_path)
    with reading(tmp_path / "k" / "opencode.db") as connection:
        assert connection.execute("SELECT count(*) FROM session").fetchone()[0] == 6
    assert snapshot(tmp_path) == before


def test_nothing_is_written_through_the_connection(tmp_path: Path) -> None:
    for state in ("closed", "killed, no -shm"):
        folder = tmp_path / state.replace(", ", "-")
        folder.mkdir()
        with pytest.raises(StoreError), reading(leave(folder, state)) as connection:
            connection.execute("INSERT INTO t VALUES (9)")


def test_file_names_with_signs_of_an_address(tmp_path: Path) -> None:
    for name in ("a b.db", "a?mode=rw.db", "a#b.db", "100%.db", "数据.db", os.fsdecode(b"\xff.db")):
        path = tmp_path / name
        shutil.copyfile(leave(tmp_path, "closed"), path)
        assert count(path) == 3
        (tmp_path / "agent.db").unlink()


def test_a_growing_wal_is_noticed(tmp_path: Path) -> None:
    """Then readers wait a moment, so that the writer's checkpoint finds the file without them."""
    path = tmp_path / "agent.db"

    def asked() -> bool:
        os.utime(f"{path}-wal")  # the clock of a file may tick once in ten milliseconds
        return wal_grows(path, str(path))

    with closing(sqlite3.connect(path, isolation_level=None)) as writer, closing(sqlite3.connect(path)) as reader:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (x)")
        assert not asked()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM t").fetchone()
        for _ in range(6):
            writer.execute("INSERT INTO t VALUES (zeroblob(1000000))")
        assert asked()
        assert asked()
        assert not wal_grows(path, str(path))  # nothing was written since
        reader.rollback()
        for _ in range(3):
            writer.execute("INSERT INTO t VALUES (1)")
        assert os.path.getsize(f"{path}-wal") > 6_000_000
        assert not asked()  # the log has begun anew, in a file as long as before


@pytest.mark.parametrize("state", ["killed", "killed, no -shm", "closed", "rollback journal"])
def test_many_threads_at_once(tmp_path: Path, snapshot: Snapshot, state: str) -> None:
    path = leave(tmp_path, state)
    before = snapshot(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, [path] * 40)) == [3] * 40
    assert snapshot(tmp_path) == before

"""The index beside a program that writes: no lock for it, no growing -wal, and the right figures in the end."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from reach_tui.detect.engine import default_engine
from reach_tui.index.scanner import scan, scan_without_index
from reach_tui.index.words import index_words
from reach_tui.workspace.sources import open_source

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
  data TEXT);
CREATE INDEX part_session ON part (session_id);
CREATE INDEX part_message ON part (message_id, id);
"""
START = 1_780_000_000_000
_WAL_LIMIT = 2 * 4_200_000


def part(number: int, status: str, output: str) -> str:
    state = f'{{"status":"{status}","input":{{"command":"step {number}"}},"output":"{output}"}}'
    return f'{{"type":"tool","callID":"c{number}","tool":"bash","state":{state}}}'


class Agent(threading.Thread):
    """Writes parts, some running first, into twenty sessions until told to stop; keeps what went wrong."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ready = threading.Event()
        self.enough = threading.Event()
        self.error: Exception | None = None
        self.rows = 0
        self.largest_wal = 0

    def run(self) -> None:
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=1)) as connection:
                self._write(connection)
        except sqlite3.Error as error:
            self.error = error
        self.ready.set()

    def _write(self, connection: sqlite3.Connection) -> None:
        connection.executescript(SCHEMA)
        for number in range(20):
            session = (f"s{number}", None, "t", START + number, START)
            connection.execute("INSERT INTO session VALUES (?,?,?,?,?)", session)
            message = (f"m{number}", f"s{number}", START, START, '{"role":"assistant"}')
            connection.execute("INSERT INTO message VALUES (?,?,?,?,?)", message)
        while not self.enough.is_set():
            number = self.rows = self.rows + 1
            home = number % 20
            name = f"p{number:07}"
            running = number % 3 == 0
            body = part(number, "running" if running else "completed", "x" * 900)
            values = (name, f"m{home}", f"s{home}", START, START, body)
            connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)
            if running:
                body = part(number, "completed", "bash: foo: command not found" if number % 2 else "ok")
                connection.execute(
                    "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE id = ?", (body, name)
                )
            if number == 2_000:
                self.ready.set()
            if number % 200 == 0:
                self.largest_wal = max(self.largest_wal, Path(f"{self.path}-wal").stat().st_size)


def test_scans_beside_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    agent = Agent(path)
    agent.start()
    try:
        assert agent.ready.wait(60)
        reader = open_source(path).reader
        for _ in range(3):
            assert {sums.session_id for sums in scan(reader, default_engine())} == {f"s{n}" for n in range(20)}
            list(index_words(reader, default_engine()))
    finally:
        agent.enough.set()
        agent.join()
    assert agent.error is None
    assert agent.largest_wal <= _WAL_LIMIT
    found = {sums.session_id: sums for sums in scan(reader, default_engine())}
    assert found == {sums.session_id: sums for sums in scan_without_index(reader, default_engine())}
    assert sum(sums.counts.calls for sums in found.values()) == agent.rows

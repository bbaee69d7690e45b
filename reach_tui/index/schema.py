"""What an index file holds: its tables, its version, and the checksums by which changed bytes are noticed."""

from __future__ import annotations

from zlib import crc32

from reach_tui.base.errors import ReachError
from reach_tui.base.sqlite import Connection

FORMAT = 1
"""`PRAGMA user_version` of an index; another one is dropped and built anew."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT, crc INTEGER) WITHOUT ROWID;
CREATE TABLE name (no INTEGER PRIMARY KEY, text TEXT UNIQUE, crc INTEGER);
CREATE TABLE session (
  no INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, stale_since INTEGER NOT NULL, fresh_as_of INTEGER NOT NULL,
  turns INTEGER, calls INTEGER, flagged INTEGER, failed INTEGER, hidden INTEGER, soft INTEGER, unfinished INTEGER,
  unreadable INTEGER, first_pass INTEGER, tools TEXT, state TEXT, crc INTEGER, last_id INTEGER, words_to INTEGER
);
CREATE TABLE call (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, key TEXT, call_id TEXT, step INTEGER, turn INTEGER,
  tool INTEGER, target INTEGER, flagged INTEGER, failed INTEGER, soft INTEGER, copied INTEGER, category INTEGER,
  subcategory INTEGER, rule INTEGER, started_at INTEGER, duration_ms INTEGER, result_bytes INTEGER, text INTEGER,
  crc INTEGER
);
CREATE INDEX call_session ON call (session);
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2');
"""
"""`call.text` is a checksum of what is searched; a call whose text changed gets a new `id`: `words` forgets nothing."""

COUNTS = ("turns", "calls", "flagged", "failed", "hidden", "soft", "unfinished", "unreadable")
"""The fields of `Counts` as columns of `session`."""

_KEPT = frozenset(
    {5, 6, 7, 8, 10, 13, 14}
)  # busy, locked, no memory, read-only, disk, full, cannot open (rescode.html)


class IndexBroken(ReachError):
    """The index cannot be used. `rebuild`: its content is wrong, a new one may be built in its place."""

    def __init__(self, what: str, rebuild: bool = True) -> None:
        super().__init__(what)
        self.rebuild = rebuild


def broken(error: Exception) -> IndexBroken:
    """The `IndexBroken` for an SQLite or operating system error."""
    if isinstance(error, IndexBroken):
        return error
    code = int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    return IndexBroken(str(error), rebuild=not isinstance(error, OSError) and code not in _KEPT)


def checksum(*values: object) -> int:
    """CRC-32 over values as SQLite gives them back (numbers, text, None)."""
    return crc32(repr(values).encode("utf-8", "replace"))


def create(connection: Connection) -> None:
    """Make the tables, all or none."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        for statement in TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")

"""What an index file holds: its tables, its version, and the checksums by which changed bytes are noticed."""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

from reach_tui.base.errors import ReachError
from reach_tui.base.sqlite import Connection

FORMAT = 4
"""`PRAGMA user_version` of an index; another one is dropped and built anew."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT, crc INTEGER) WITHOUT ROWID;
CREATE TABLE session (
  no INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, stale_since INTEGER NOT NULL, fresh_as_of INTEGER NOT NULL,
  unfinished INTEGER, about INTEGER, state TEXT, sums BLOB, mark BLOB, crc INTEGER
);
CREATE TABLE page (no INTEGER PRIMARY KEY, figures BLOB, calls BLOB, crc INTEGER);
CREATE TABLE total (mark BLOB PRIMARY KEY, used INTEGER, figures BLOB, crc INTEGER);
CREATE TABLE worded (no INTEGER PRIMARY KEY, as_of INTEGER NOT NULL, calls BLOB, crc INTEGER);
CREATE TABLE span (first INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE INDEX span_session ON span (session);
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2');
"""
"""`session.mark` is a hash of `page.figures`; `total` holds sums of figures under a hash of their marks. `worded` says
under which numbers a session's calls are in `words`; `span` to which session numbers from `first` on belong."""

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
    """CRC-32 over values as SQLite gives them back (numbers, text, None, short bytes)."""
    return crc32(repr(values).encode("utf-8", "replace"))


def mark_of(*packed: bytes) -> bytes:
    """A hash of packed values, 12 bytes: the same mark, the same content."""
    return blake2b(b"".join(packed), digest_size=12).digest()


def create(connection: Connection) -> None:
    """Make the tables, all or none."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        for statement in TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")

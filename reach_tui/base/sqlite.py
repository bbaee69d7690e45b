"""The one place that opens SQLite files: other programs' read-only and without a trace, our own durable.

A foreign file is opened in the first way that is both right and leaves its folder as it was:

* WAL file that nobody has open and whose `-wal` is absent or empty: `immutable=1` (a plain `mode=ro` would leave `-wal`
  and `-shm` behind).
* WAL file with rows in its `-wal` and no process holding it (the agent was killed): `mode=ro&readonly_shm=1`, by which
  SQLite keeps its index of the `-wal` in memory and leaves the `-shm` alone; without a readable `-shm` a private copy
  of file and `-wal`, kept until the file changes or the program ends.
* everything else, a live agent's file above all: `mode=ro`, which sees every commit and never blocks the writer.
* where that fails for lack of write permission beside a needed `-wal` or a hot `-journal`: a private copy.

Measured for SQLite 3.40; sources: the store notes on opencode and Peri, SQLite's wal.html.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from reach_tui.base.errors import StoreDamaged, StoreError, StoreLocked, StoreUnreadable
from reach_tui.base.sqlite_access import (
    MAGIC,
    REGISTRY,
    Access,
    Opened,
    check_file,
    choose,
    held_by_another,
    in_wal_mode,
    is_sqlite,
    os_error,
    private_copy,
    real_path,
    stamp,
    wal_grows,
    written_lately,
)
from reach_tui.base.text import scrub_surrogates

__all__ = [
    "BUSY_SECONDS",
    "MAGIC",
    "Access",
    "Connection",
    "DatabaseError",
    "IntegrityError",
    "Row",
    "Schema",
    "access_of",
    "check_file",
    "columns_of",
    "is_sqlite",
    "open_owned",
    "reading",
    "schema_of",
    "selection",
    "stamp",
    "text_of",
    "translate",
    "writing_once",
    "written_lately",
]

BUSY_SECONDS = 3.0
"""How long a reader waits for another process's lock before it gives up with a clear line."""
_GIVE_WAY_SECONDS = 0.02
_GIVE_WAY_TIMES = 20
"""How long, and how often at most, a live writer gets for a checkpoint without readers while its `-wal` grows."""
_MODES = {
    Access.LIVE: "mode=ro",
    Access.FROZEN: "mode=ro&immutable=1",
    Access.QUIET: "mode=ro&readonly_shm=1",
    Access.PRIVATE: "mode=rw",
}

Connection = sqlite3.Connection
Row = sqlite3.Row
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError


@contextmanager
def reading(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Iterator[Connection]:
    """A read-only connection to another program's database, closed on leaving.

    Text that is not UTF-8 is decoded with replacement. Not shared between threads. Raises a `StoreError` with one clear
    line for whatever goes wrong, also when a query inside the block meets a damaged page or a lock.
    """
    path = Path(path)
    real = real_path(path)
    with REGISTRY.lock:
        entry = REGISTRY.open.get(real)
        if entry is None:
            access = choose(path)
            private = private_copy(path) if access is Access.PRIVATE else None
            entry = REGISTRY.open[real] = Opened(access, private, stamp(path))
        entry.count += 1
    connection: Connection | None = None
    try:
        _give_way(path, real, entry)
        connection = _connect(path, entry, busy_seconds)
        yield connection
    except sqlite3.Error as error:
        raise _fault(error, path, entry) from error
    except UnicodeDecodeError as error:  # the driver's own, over a message that names what stands in a damaged schema
        raise StoreDamaged("damaged database (names in its schema are no text)", path, "restore a copy") from error
    finally:
        if connection is not None:
            connection.close()
        REGISTRY.release(real)


def way_giver(path: Path) -> Callable[[], None]:
    """To be called between two queries over one connection: lets a writer begin its log anew, where reads hinder it."""
    real = real_path(path)
    entry = REGISTRY.open.get(real)
    return lambda: None if entry is None else _give_way(path, real, entry)


def _give_way(path: Path, real: str, entry: Opened) -> None:
    if entry.access is Access.LIVE:
        for _ in range(_GIVE_WAY_TIMES):
            if not wal_grows(path, real):
                break
            time.sleep(_GIVE_WAY_SECONDS)


def _fault(error: sqlite3.Error, path: Path, entry: Opened) -> StoreError:
    settled = entry.access in (Access.FROZEN, Access.QUIET)  # ways that take for granted that nobody writes
    if settled and _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and stamp(path) != entry.stamp:
        return StoreLocked("its program has begun to write to it", path, "try again")
    return translate(error, path)


def access_of(path: Path) -> Access:
    """How `reading` opens the file now. Raises the `StoreError` that `reading` would raise."""
    with REGISTRY.lock:
        entry = REGISTRY.open.get(real_path(path))
        return entry.access if entry else choose(Path(path))


def _connect(path: Path, entry: Opened, busy_seconds: float) -> Connection:
    try:
        return _try_connect(entry.private or path, entry.access, busy_seconds)
    except sqlite3.OperationalError as error:
        in_place = entry.access in (Access.LIVE, Access.QUIET)
        if not in_place or _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        with REGISTRY.lock:
            try:
                entry.private = entry.private or private_copy(path)
            except OSError as gone:
                raise os_error(gone, path) from None
            entry.access = Access.PRIVATE
        return _try_connect(entry.private, Access.PRIVATE, busy_seconds)


def _try_connect(path: Path, access: Access, busy_seconds: float) -> Connection:
    uri = f"file:{quote(os.fsencode(path.absolute()))}?{_MODES[access]}"
    connection = sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None)
    try:
        connection.text_factory = _decode
        connection.execute("PRAGMA query_only = 1")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def translate(error: sqlite3.Error, path: Path | str) -> StoreError:
    """The `StoreError` for an SQLite error: locked, damaged, encrypted or unreadable, with what to do."""
    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked("locked by another process", path, "wait until it has finished writing, then try again")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreDamaged("not a readable SQLite file: encrypted or damaged", path, "restore a copy")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreDamaged(f"damaged database ({error})", path, "copy it again with its -wal")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreUnreadable(f"cannot be opened ({error})", path, "check the permissions of file and folder")
    if code == sqlite3.SQLITE_IOERR:
        return StoreDamaged(f"read error ({error})", path, "check the disk or the mount")
    return StoreDamaged(f"cannot be read ({error})", path, "run its integrity check, or restore a copy")


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of a database with their columns, and `user_version`."""

    tables: dict[str, frozenset[str]]
    user_version: int

    def has(self, table: str, *columns: str) -> bool:
        """True if the table is there with all these columns."""
        return table in self.tables and self.tables[table].issuperset(columns)


def schema_of(connection: Connection) -> Schema:
    """The schema of an open database; views count as tables."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    tables = {}
    for name in names:
        quoted = str(name).replace('"', '""')
        try:
            rows = connection.execute(f'PRAGMA table_info("{quoted}")').fetchall()
        except sqlite3.DatabaseError as error:  # a virtual table whose module we lack, or whose own data are damaged
            if not isinstance(error, sqlite3.OperationalError) and "vtable constructor" not in str(error):
                raise
            rows = []
        tables[str(name)] = frozenset(str(row[1]) for row in rows)
    version = connection.execute("PRAGMA user_version").fetchone()
    return Schema(tables, int(version[0]))


class _Owned(sqlite3.Connection):
    """A connection of ours that others in this process know about while it is open."""

    registered: str | None = None

    def register(self, path: Path) -> None:
        self.registered = real_path(path)
        with REGISTRY.lock:
            entry = REGISTRY.open.setdefault(self.registered, Opened(Access.LIVE))
            entry.access, entry.private = Access.LIVE, None
            entry.count += 1

    def close(self) -> None:
        super().close()
        registered, self.registered = self.registered, None
        if registered is not None:
            REGISTRY.release(registered)


def columns_of(connection: Connection, table: str) -> frozenset[str]:
    """The names of a table's columns; empty if there is no such table."""
    quoted = table.replace('"', '""')
    return frozenset(str(row[1]) for row in connection.execute(f'PRAGMA table_info("{quoted}")'))


def selection(columns: frozenset[str], *wanted: str) -> str:
    """The list of a SELECT: each wanted column, NULL in its place where the table lacks it."""
    return ", ".join(f'"{name}"' if name in columns else f'NULL AS "{name}"' for name in wanted)


def open_owned(path: Path, *, busy_seconds: float = 10.0, any_thread: bool = False) -> Connection:
    """A read-write connection to a database of ours: WAL, every commit flushed to disk (`synchronous=FULL`).

    The folder is made (mode 0700). With `any_thread` the caller keeps threads apart by a lock of its own. Raises
    `sqlite3.Error`, `OSError` or `UnicodeError`; the caller says what it meant to write.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=not any_thread, factory=_Owned
    )
    try:
        connection.register(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except (sqlite3.Error, UnicodeError):  # a damaged schema makes messages that are no text
        connection.close()
        raise
    return connection


@contextmanager
def writing_once(path: Path) -> Iterator[Connection]:
    """One exclusive transaction in another program's database, on the person's request; all of it or nothing.

    Nothing but what the block writes changes: not the journal mode, and no `-wal` or `-shm` stays behind. Raises
    `StoreLocked` at once while another process has the file open (WAL) or locked (rollback journal), or while this one
    is reading it, and another `StoreError` for what cannot be written.
    """
    real = real_path(path)
    with REGISTRY.lock:
        if real in REGISTRY.open:
            raise StoreLocked("being read by this program at the moment", path, "try again when the scan has finished")
        check_file(path)
        if not os.access(path, os.W_OK):
            raise StoreUnreadable("read-only: nothing can be written to it", path, "check owner and mode")
        if in_wal_mode(path) and held_by_another(path):
            raise StoreLocked("in use by another process", path, "close its program first, then try again")
        REGISTRY.open[real] = Opened(Access.LIVE, count=1)
    connection: Connection | None = None
    try:
        uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
        connection.text_factory = _decode
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        if connection is not None:
            connection.close()
        REGISTRY.release(real)


def text_of(value: object) -> str:
    """A column's value as text: None is empty, bytes are decoded, lone surrogates replaced."""
    if isinstance(value, str) and value.isascii():
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return scrub_surrogates(str(value))

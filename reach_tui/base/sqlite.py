"""The one place that opens SQLite files: other programs' read-only and without a trace, our own durable.

A foreign file is opened in the first way that is both right and leaves its folder as it was:

* WAL file that nobody has open and whose `-wal` is absent or empty: `immutable=1` (a plain `mode=ro` would leave `-wal`
  and `-shm` behind).
* WAL file with rows in its `-wal` and no process holding it (the agent was killed): a private copy of file and `-wal`;
  opening in place would rewrite the `-shm`. The copy is kept until the file changes or the program ends.
* everything else, a live agent's file above all: `mode=ro`, which sees every commit and never blocks the writer.
* where that fails for lack of write permission beside a needed `-wal` or a hot `-journal`: a private copy.

Measured for SQLite 3.40; sources: the store notes on opencode and Peri, SQLite's wal.html and its -shm lock bytes.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import stat
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from reach_tui.base.errors import StoreDamaged, StoreError, StoreLocked, StoreUnreadable
from reach_tui.base.text import scrub_surrogates

MAGIC = b"SQLite format 3\x00"
BUSY_SECONDS = 3.0
"""How long a reader waits for another process's lock before it gives up with a clear line."""
_SHM_DEADMAN = 128  # every live WAL connection holds a shared lock on this byte of the -shm file
_COPY_LIMIT = 8 << 30
_COPIED = ("", "-wal", "-journal")

Connection = sqlite3.Connection
Row = sqlite3.Row
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError


class Access(StrEnum):
    """How a foreign file was opened."""

    LIVE = "mode=ro"
    FROZEN = "immutable"
    PRIVATE = "private copy"


@dataclass(slots=True)
class _Open:
    count: int
    access: Access
    private: Path | None


_lock = threading.Lock()
# Opening and closing a file with plain I/O drops this process's POSIX locks on it, so a file is probed only while none of
# our own connections is open on it; the way found then is shared until the last one closes.
_open: dict[str, _Open] = {}
_copies: dict[str, tuple[tuple[int, ...], Path]] = {}


def _in_use(path: Path) -> bool:
    """True if this process has a connection to the file: then it must not be opened and closed by plain I/O."""
    return os.path.realpath(path) in _open


def is_sqlite(path: Path) -> bool:
    """True if the file starts like an SQLite database. False for anything that cannot be read."""
    if _in_use(path):
        return True
    try:
        return stat.S_ISREG(path.stat().st_mode) and _head(path)[:16] == MAGIC
    except OSError:
        return False


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(100)


def check_file(path: Path) -> None:
    """Raise the `StoreError` that says what is wrong with a file before SQLite touches it.

    Raises `StoreUnreadable` (missing, folder, pipe, no permission) or `StoreDamaged` (empty, not a database, torn).
    """
    if _in_use(path):
        return
    try:
        info = path.stat()
    except FileNotFoundError:
        raise StoreUnreadable("no such file", path, "check the path") from None
    except OSError as error:
        raise _os_error(error, path) from None
    if stat.S_ISDIR(info.st_mode):
        raise StoreUnreadable("a folder, not a file", path, "name a database in it") from None
    if not stat.S_ISREG(info.st_mode):
        raise StoreUnreadable("not a regular file (a pipe or device)", path, "name a database file")
    if info.st_size == 0 and not _wal_bytes(path):
        raise StoreDamaged("an empty file, 0 bytes", path, "the agent has written nothing here yet, or a copy failed")
    try:
        head = _head(path)
    except OSError as error:
        raise _os_error(error, path) from None
    if head[:16] != MAGIC:
        raise StoreDamaged(*_not_sqlite(path, head))
    if len(head) < 100:
        raise StoreDamaged("torn: cut off inside the header", path, "copy the file again, with its -wal")
    _check_size(path, head, info.st_size)


def _not_sqlite(path: Path, head: bytes) -> tuple[str, Path, str]:
    if path.suffix in {".db", ".sqlite", ".sqlite3", ".vscdb"} and len(head) >= 64 and len(set(head)) > 48:
        return "not a plain SQLite file: encrypted, or overwritten", path, "open it decrypted, or restore a copy"
    return "not an SQLite database", path, "name an agent's database or a folder of them"


def _check_size(path: Path, head: bytes, size: int) -> None:
    page_size = struct.unpack(">H", head[16:18])[0]
    page_size = 65536 if page_size == 1 else page_size
    if page_size < 512 or page_size & (page_size - 1):
        raise StoreDamaged("damaged header: impossible page size", path, "restore a copy")
    pages = struct.unpack(">I", head[28:32])[0]
    counted = head[24:28] == head[92:96]  # the page count in the header is valid only then
    if counted and pages and pages * page_size > size and not _wal_bytes(path):
        missing = pages * page_size - size
        raise StoreDamaged(f"torn: {missing} of {pages * page_size} bytes are missing", path, "copy the file again")


def _os_error(error: OSError, path: Path) -> StoreUnreadable:
    if isinstance(error, PermissionError):
        return StoreUnreadable("no permission to read it", path, "check owner and mode")
    return StoreUnreadable(error.strerror or type(error).__name__, path, "check the path")


def _wal_bytes(path: Path) -> int:
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:
        return 0


def _held_by_another(path: Path) -> bool:
    """True if a live process has this WAL database open (or we cannot tell and a `-shm` is there)."""
    shm = f"{path}-shm"
    if not os.path.exists(shm):
        return False
    if sys.platform not in ("linux", "darwin"):
        return True
    import fcntl

    layout = "hhqqi4x" if sys.platform == "linux" else "qqihh"
    wanted = (
        struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, _SHM_DEADMAN, 1, 0)
        if sys.platform == "linux"
        else struct.pack(layout, _SHM_DEADMAN, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
    )
    try:
        with open(shm, "rb") as file:
            answer = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
    except OSError:
        return True
    kind = answer[0] if sys.platform == "linux" else answer[3]
    return bool(kind != fcntl.F_UNLCK)


def _choose(path: Path) -> tuple[Access, Path | None]:
    check_file(path)
    if os.stat(path).st_size and _head(path)[18:20] != b"\x02\x02":  # rollback journal
        return Access.LIVE, None
    if _held_by_another(path):
        return Access.LIVE, None
    return (Access.PRIVATE, _private_copy(path)) if _wal_bytes(path) else (Access.FROZEN, None)


def stamp(path: Path) -> tuple[int, ...]:
    """Sizes and modification times of the file, its `-wal` and `-journal`: unchanged means the copy still holds."""
    parts: list[int] = []
    for suffix in _COPIED:
        try:
            info = os.stat(f"{path}{suffix}")
            parts += (info.st_size, info.st_mtime_ns)
        except OSError:
            parts.append(-1)
    return tuple(parts)


def _forget_copies() -> None:
    for _, copy in _copies.values():
        shutil.rmtree(copy.parent, ignore_errors=True)


atexit.register(_forget_copies)


def _private_copy(path: Path) -> Path:
    """A copy of the database with its `-wal` or `-journal` in a private folder, made once for each state of the file."""
    real, now = os.path.realpath(path), stamp(path)
    if (known := _copies.get(real)) and known[1].exists():
        if known[0] == now:
            return known[1]
        shutil.rmtree(known[1].parent, ignore_errors=True)
    if os.stat(path).st_size > min(_COPY_LIMIT, shutil.disk_usage(tempfile.gettempdir()).free):
        raise StoreUnreadable("too large for the private copy that reading its -wal needs", path, "close its program cleanly")
    folder = Path(tempfile.mkdtemp(prefix="reach-tui-"))
    try:
        for suffix in _COPIED:
            source = f"{path}{suffix}"
            if os.path.exists(source):
                shutil.copyfile(source, folder / f"copy.db{suffix}")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _os_error(error, path) from None
    _copies[real] = (now, folder / "copy.db")
    return folder / "copy.db"


@contextmanager
def reading(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Iterator[Connection]:
    """A read-only connection to another program's database, closed on leaving.

    Text that is not UTF-8 is decoded with replacement. Not shared between threads. Raises a `StoreError` with one clear
    line for whatever goes wrong, also when a query inside the block meets a damaged page or a lock.
    """
    real = os.path.realpath(path)
    with _lock:
        entry = _open.get(real)
        if entry is None:
            access, private = _choose(Path(path))
            entry = _open[real] = _Open(0, access, private)
        entry.count += 1
    connection: Connection | None = None
    try:
        connection = _connect(Path(path), entry, busy_seconds)
        yield connection
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        if connection is not None:
            connection.close()
        with _lock:
            entry.count -= 1
            if entry.count == 0:
                del _open[real]


def access_of(path: Path) -> Access:
    """How `reading` opens the file now."""
    real = os.path.realpath(path)
    with _lock:
        if entry := _open.get(real):
            return entry.access
        check_file(path)
        if os.stat(path).st_size and _head(path)[18:20] != b"\x02\x02":
            return Access.LIVE
        if _held_by_another(path):
            return Access.LIVE
        return Access.PRIVATE if _wal_bytes(path) else Access.FROZEN


def _connect(path: Path, entry: _Open, busy_seconds: float) -> Connection:
    try:
        return _try_connect(entry.private or path, entry.access, busy_seconds)
    except sqlite3.OperationalError as error:
        needs_copy = entry.access is Access.LIVE and _code(error) in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
        )
        if not needs_copy:
            raise
        with _lock:
            entry.access, entry.private = Access.PRIVATE, entry.private or _private_copy(path)
        return _try_connect(entry.private, Access.PRIVATE, busy_seconds)


def _try_connect(path: Path, access: Access, busy_seconds: float) -> Connection:
    mode = {Access.LIVE: "mode=ro", Access.FROZEN: "mode=ro&immutable=1", Access.PRIVATE: "mode=rw"}[access]
    uri = f"file:{quote(os.fspath(path.absolute()))}?{mode}"
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
        return StoreDamaged("not a readable SQLite file: encrypted or damaged", path, "open it decrypted, or restore a copy")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreDamaged(f"damaged database ({error})", path, "copy it again with its -wal, or recover it with sqlite3 .recover")
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
        except sqlite3.OperationalError:  # a virtual table whose module we lack
            rows = []
        tables[str(name)] = frozenset(str(row[1]) for row in rows)
    version = connection.execute("PRAGMA user_version").fetchone()
    return Schema(tables, int(version[0]))


class _Owned(sqlite3.Connection):
    """A connection of ours that others in this process know about while it is open."""

    registered: str | None = None

    def register(self, path: Path) -> None:
        self.registered = os.path.realpath(path)
        with _lock:
            entry = _open.setdefault(self.registered, _Open(0, Access.LIVE, None))
            entry.access, entry.private = Access.LIVE, None
            entry.count += 1

    def close(self) -> None:
        super().close()
        registered, self.registered = self.registered, None
        if registered is not None:
            with _lock:
                _open[registered].count -= 1
                if _open[registered].count == 0:
                    del _open[registered]


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
    `sqlite3.Error` or `OSError`; the caller says what it meant to write.
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
    except sqlite3.Error:
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
    real = os.path.realpath(path)
    with _lock:
        if real in _open:
            raise StoreLocked("being read by this program at the moment", path, "try again when the scan has finished")
        check_file(path)
        if not os.access(path, os.W_OK):
            raise StoreUnreadable("read-only: nothing can be written to it", path, "check owner and mode")
        if _head(path)[18:20] == b"\x02\x02" and _held_by_another(path):
            raise StoreLocked("in use by another process", path, "close its program first, then try again")
        _open[real] = _Open(1, Access.LIVE, None)
    connection: Connection | None = None
    try:
        uri = f"file:{quote(os.fspath(path.absolute()))}?mode=rw"
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
        with _lock:
            _open[real].count -= 1
            if _open[real].count == 0:
                del _open[real]


def text_of(value: object) -> str:
    """A column's value as text: None is empty, bytes are decoded, lone surrogates replaced."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return scrub_surrogates(str(value))

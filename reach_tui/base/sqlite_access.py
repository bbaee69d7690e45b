"""How a foreign SQLite file can be read without a trace: probing it, choosing the way, and private copies.

Plain reads of a database file or its `-shm` (open, then close) drop this process's POSIX locks on it. So files are
probed only while no connection of this process is open on them; `Registry` knows which are. Sources: SQLite's wal.html,
walformat.html (lock bytes of the `-shm`), fileformat.html (header), and measurements with SQLite 3.40.
"""

from __future__ import annotations

import atexit
import os
import stat
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from reach_tui.base.errors import StoreDamaged, StoreError, StoreLocked, StoreUnreadable

MAGIC = b"SQLite format 3\x00"
SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3", ".vscdb"})
"""Endings by which a database is known even where its head says nothing."""
_SHM_DEADMAN = 128  # every live WAL connection holds a shared lock on this byte of the -shm file
_USUAL_FRAMES = 1010  # a checkpoint is tried at the commit that reaches 1,000 pages
_COPY_LIMIT = 8 << 30
_COPIED = ("", "-wal", "-journal")
_COPY_TRIES = 3


class Access(StrEnum):
    """How a foreign file is opened."""

    LIVE = "mode=ro"
    FROZEN = "immutable"
    QUIET = "mode=ro, -shm untouched"
    PRIVATE = "private copy"


@dataclass(slots=True)
class Opened:
    """A file that connections of ours have open, and how."""

    access: Access
    private: Path | None = None
    stamp: tuple[int, ...] = ()
    count: int = 0


@dataclass(slots=True)
class Registry:
    """Which files this process has open. Guard every use with `lock`."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    open: dict[str, Opened] = field(default_factory=dict)
    """By real path. The way found first is shared until the last connection closes."""
    copies: dict[str, tuple[tuple[int, ...], Path]] = field(default_factory=dict)

    wals: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Size and time of each live `-wal` when last asked."""

    def release(self, real: str) -> None:
        """One connection less on the file (a real path)."""
        with self.lock:
            self.open[real].count -= 1
            if self.open[real].count == 0:
                del self.open[real]

    def forget_copies(self) -> None:
        """Delete the private copies."""
        if not self.copies:
            return
        import shutil

        for _, copy in self.copies.values():
            shutil.rmtree(copy.parent, ignore_errors=True)
        self.copies.clear()


REGISTRY = Registry()
atexit.register(REGISTRY.forget_copies)


def real_path(path: Path) -> str:
    """The path without links; as it is where that cannot be said."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.fspath(path)


def is_sqlite(path: Path) -> bool:
    """True if the file starts like an SQLite database. False for anything that cannot be read."""
    try:
        with REGISTRY.lock:
            if real_path(path) in REGISTRY.open:
                return True
            return stat.S_ISREG(path.stat().st_mode) and _head(path)[:16] == MAGIC
    except (OSError, ValueError):
        return False


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(100)


def check_file(path: Path) -> None:
    """Raise the `StoreError` that says what is wrong with a file before SQLite touches it.

    Raises `StoreUnreadable` (missing, folder, pipe, no permission) or `StoreDamaged` (empty, not a database, torn).
    """
    size = check_kind(path)
    if size == 0 and not wal_bytes(path):
        raise StoreDamaged("an empty file, 0 bytes", path, "the agent has written nothing here yet, or a copy failed")
    if real_path(path) in REGISTRY.open:
        return
    try:
        head = _head(path)
    except OSError as error:
        raise os_error(error, path) from None
    if not head:
        return  # everything is in the -wal
    if head[:16] != MAGIC[: len(head)]:
        raise StoreDamaged(*_not_sqlite(path, head))
    if len(head) < 100:
        raise StoreDamaged("torn: cut off inside the header", path, "copy the file again, with its -wal")
    _check_size(path, head, size)


def check_kind(path: Path) -> int:
    """The size of a regular file in bytes, without opening it. Raises `StoreUnreadable` for anything else."""
    try:
        info = path.stat()
    except FileNotFoundError:
        if wal_bytes(path):
            hint = "copy the database to its -wal, which is still there"
            raise StoreUnreadable("the database is gone, only its -wal is left", path, hint) from None
        raise StoreUnreadable("no such file", path, "check the path") from None
    except OSError as error:
        raise os_error(error, path) from None
    except ValueError:
        raise StoreUnreadable("not a possible file name", path, "check the path") from None
    if stat.S_ISDIR(info.st_mode):
        raise StoreUnreadable("a folder, not a file", path, "name a database in it")
    if not stat.S_ISREG(info.st_mode):
        raise StoreUnreadable("not a regular file (a pipe or device)", path, "name a database file")
    return info.st_size


def _not_sqlite(path: Path, head: bytes) -> tuple[str, Path, str]:
    if path.suffix.lower() in SUFFIXES and len(head) >= 64 and len(set(head)) > 48:
        return "not a plain SQLite file: encrypted, or overwritten", path, "open it decrypted, or restore a copy"
    return "not an SQLite database", path, "name an agent's database or a folder of them"


def _check_size(path: Path, head: bytes, size: int) -> None:
    page_size = struct.unpack(">H", head[16:18])[0]
    page_size = 65536 if page_size == 1 else page_size
    if page_size < 512 or page_size & (page_size - 1):
        raise StoreDamaged("damaged header: impossible page size", path, "restore a copy")
    pages = struct.unpack(">I", head[28:32])[0]
    counted = head[24:28] == head[92:96]  # the page count in the header is valid only then
    if counted and pages and pages * page_size > size and not wal_bytes(path):
        missing = pages * page_size - size
        raise StoreDamaged(f"torn: {missing} of {pages * page_size} bytes are missing", path, "copy the file again")


def os_error(error: OSError, path: Path) -> StoreUnreadable:
    """The error of the operating system, for the file it is about."""
    if error.filename and os.fspath(error.filename) == f"{path}-wal":
        path = Path(f"{path}-wal")
    if isinstance(error, PermissionError):
        return StoreUnreadable("no permission to read it", path, "check owner and mode")
    return StoreUnreadable(error.strerror or type(error).__name__, path, "check the path")


def wal_bytes(path: Path) -> int:
    """Size of the `-wal` beside a database, 0 without one."""
    try:
        return os.stat(f"{path}-wal").st_size
    except (OSError, ValueError):
        return 0


def written_lately(path: Path, seconds: float) -> bool:
    """True if something was written to the database's `-wal` within so many seconds."""
    try:
        return time.time() - os.stat(f"{path}-wal").st_mtime < seconds
    except (OSError, ValueError):
        return False


def wal_grows(path: Path, real: str) -> bool:
    """True if a live `-wal` was written since last asked and holds more than SQLite's usual checkpoint leaves.

    Then its writer found a reader each time that it could have begun anew at the start of the file.
    """
    try:
        info = os.stat(f"{path}-wal")
    except (OSError, ValueError):
        return False
    seen = info.st_size, info.st_mtime_ns
    known = REGISTRY.wals.get(real, seen)
    REGISTRY.wals[real] = seen
    return seen != known and info.st_size > _USUAL_FRAMES * 512 and _is_long(path)


def _is_long(path: Path) -> bool:
    """True if the frame after the usual ones belongs to the log's present round: the file keeps what older ones left.

    By the salts in the log's header and in each frame's (SQLite, "WAL-mode file format").
    """
    try:
        with open(f"{path}-wal", "rb") as file:
            head = file.read(32)
            if len(head) < 32:
                return False
            page_size = int.from_bytes(head[8:12], "big")
            file.seek(32 + _USUAL_FRAMES * (24 + page_size))
            frame = file.read(24)
    except OSError:
        return False
    return len(frame) == 24 and frame[8:16] == head[16:24]


def held_by_another(path: Path) -> bool:
    """True if a live process has this WAL database open (or we cannot tell and a `-shm` is there)."""
    shm = f"{path}-shm"
    if not os.path.exists(shm):
        return False
    if sys.platform not in ("linux", "darwin"):
        return True
    import fcntl

    linux = sys.platform == "linux"
    layout = "hhqqi4x" if linux else "qqihh"
    wanted = (
        struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, _SHM_DEADMAN, 1, 0)
        if linux
        else struct.pack(layout, _SHM_DEADMAN, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
    )
    try:
        with open(shm, "rb") as file:
            answer = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
    except OSError:
        return True
    return bool(answer[0 if linux else 3] != fcntl.F_UNLCK)


def in_wal_mode(path: Path) -> bool:
    """True if the header says WAL, or everything is still in the `-wal`. Raises `OSError`."""
    head = _head(path)
    return not head or head[18:20] == b"\x02\x02"


def choose(path: Path) -> Access:
    """The way to open a file that none of our connections has open. Raises a `StoreError` for what cannot be opened."""
    check_file(path)
    try:
        wal = in_wal_mode(path)
    except OSError as error:
        raise os_error(error, path) from None
    if not wal or held_by_another(path):
        return Access.LIVE
    if not wal_bytes(path):
        return Access.FROZEN
    return Access.QUIET if os.access(f"{path}-shm", os.R_OK) else Access.PRIVATE


def stamp(path: Path) -> tuple[int, ...]:
    """Sizes and modification times of the file, its `-wal` and `-journal`: unchanged means that the content is, too."""
    parts: list[int] = []
    for suffix in _COPIED:
        parts += _stamp_of(f"{path}{suffix}")
    return tuple(parts)


def _stamp_of(name: str) -> tuple[int, int]:
    try:
        info = os.stat(name)
    except (OSError, ValueError):
        return -1, -1
    return info.st_size, info.st_mtime_ns


def private_copy(path: Path) -> Path:
    """A copy of the database with its `-wal` or `-journal` in a private folder, made once for each state of the file.

    Call with the registry's lock held. Raises `StoreUnreadable`, or `StoreLocked` where the file keeps changing.
    """
    import shutil  # with tempfile about 4 ms of start-up that few runs need
    import tempfile

    real, now = real_path(path), stamp(path)
    if (known := REGISTRY.copies.get(real)) and known[1].exists():
        if known[0] == now:
            return known[1]
        shutil.rmtree(known[1].parent, ignore_errors=True)
    if os.stat(path).st_size > min(_COPY_LIMIT, shutil.disk_usage(tempfile.gettempdir()).free):
        raise StoreUnreadable("too large for the private copy that reading it needs", path, "close its program cleanly")
    folder = Path(tempfile.mkdtemp(prefix="reach-tui-"))
    try:
        now = _copy_whole(path, folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise os_error(error, path) from None
    except StoreError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    REGISTRY.copies[real] = (now, folder / "copy.db")
    return folder / "copy.db"


def _copy_whole(path: Path, folder: Path) -> tuple[int, ...]:
    """Copy file, `-wal` and `-journal`; a `-wal` may grow meanwhile, but the file itself must stay as it was."""
    import shutil

    for _ in range(_COPY_TRIES):
        now = stamp(path)
        for suffix in _COPIED:
            source = f"{path}{suffix}"
            if os.path.exists(source):
                shutil.copyfile(source, folder / f"copy.db{suffix}")
        if now[:2] == _stamp_of(f"{path}"):
            return now
    raise StoreLocked("changes faster than it can be copied", path, "wait until its program is idle, then try again")

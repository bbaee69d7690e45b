"""The write-ahead queue of the events: segments of JSON lines beside the database, each owned by one process.

A record is acknowledged when the operating system has it (`write(2)`): it survives the death of the process, however
sudden. With `power_safe` it is flushed to the disk first and survives the death of the machine, too.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from reach_tui.base.errors import StoreUnreadable
from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads, shallow

SEGMENT_BYTES = 4_000_000
"""A segment is closed at this size, so that what is written to the database can be removed."""

SUFFIX = ".queue"
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)

Unlock: TypeAlias = Callable[[], None]


def folder_of(database: Path) -> Path:
    """Where the segments of a database stand."""
    return database.with_name(f"{database.name}-queue")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict | list):
        return shallow(value)
    return value


def line_of(kind: str, value: object) -> str:
    """One record, a dataclass of the model, as a line. What is no JSON in it is said to be none, the rest is kept."""
    try:
        text = msgspec.json.encode([kind, value]).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):  # surrogates, depth, integers beyond 64 bits, …
        text = dumps([kind, {name: _forced(item) for name, item in _plain(value).items()}])
    return text + "\n"


def _forced(value: Any) -> JsonValue:
    try:
        return loads(dumps(value))
    except (TypeError, ValueError, RecursionError):
        return f"no JSON: {type(value).__name__}"


@dataclass(frozen=True, slots=True)
class Record:
    """One line read back: what it is, its facts, and where the next one begins."""

    kind: str
    value: dict[str, Any]
    end: int


def records(path: Path, start: int, most: int) -> Iterator[Record | int]:
    """At most `most` whole lines from byte `start`; for a line that is no record, only where it ends.

    A last line without its end is not given: it is being written, or its process died in it and never acknowledged it.
    """
    with path.open("rb") as file:
        file.seek(start)
        at = start
        for _ in range(most):
            line = file.readline()
            if not line.endswith(b"\n"):
                return
            at += len(line)
            try:
                value = loads(line)
            except BadJson:
                value = None
            if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
                yield Record(value[0], value[1], at)
            else:
                yield at


class Journal:
    """The segments of this process. `append` may be called from any thread."""

    def __init__(self, database: Path, *, power_safe: bool = False, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder_of(database)
        self.power_safe = power_safe
        self._segment_bytes = segment_bytes
        self._name = uuid.uuid4().hex[:16]
        self._lock = threading.Lock()
        self._number = 0
        self._size = 0
        self._file = -1
        self._unlocks: dict[Path, Unlock] = {}
        self.segments: list[Path] = []
        """Those not yet written to the database, oldest first; the last one is appended to."""

    def append(self, lines: bytes) -> None:
        """Keep whole lines; acknowledged when this returns. Raises `StoreUnreadable` where they cannot be kept."""
        with self._lock:
            try:
                if self._file < 0 or self._size >= self._segment_bytes:
                    self._begin()
                written = 0
                while written < len(lines):
                    written += os.write(self._file, lines[written:])
                if self.power_safe:
                    os.fsync(self._file)
                self._size += len(lines)
            except OSError as error:
                self._repair()
                raise StoreUnreadable(
                    f"the event queue cannot be written ({error.strerror})", self.folder, "check space and permissions"
                ) from error

    def _begin(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            self._number += 1
            path = self.folder / f"{self._name}-{self._number:06d}{SUFFIX}"
            file = os.open(path, _APPENDING, 0o600)
            if (unlock := lock(path)) is not None:
                break
            os.close(file)  # another process that begins now has taken it for a dead one's: it is empty, let it go
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size = file, 0
        self._unlocks[path] = unlock
        self.segments.append(path)

    def _repair(self) -> None:
        """After a write that was cut short: what of it stands there must not become part of the next line."""
        if self._file >= 0:
            try:
                os.ftruncate(self._file, self._size)
            except OSError:
                self._size = self._segment_bytes  # this segment takes no more

    def finished(self, path: Path) -> bool:
        """True if nothing more will be appended to the segment."""
        with self._lock:
            return not self.segments or path != self.segments[-1] or self._file < 0

    def remove(self, path: Path) -> None:
        """Remove a segment whose records all stand in the database."""
        with self._lock:
            if path in self.segments:
                self.segments.remove(path)
            self._unlocks.pop(path, lambda: None)()  # first: Windows removes no open file
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Append no more. Segments that are left are taken over by whoever opens the database next."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def release(self) -> None:
        """Let others have the segments that are left, and remove the folder if there are none."""
        with self._lock:
            for unlock in self._unlocks.values():
                unlock()
            self._unlocks.clear()
            try:
                self.folder.rmdir()
            except OSError:
                return  # segments of another process, or already gone


def lock(path: Path) -> Unlock | None:
    """Take a segment for this process until it dies or unlocks; None where another process has it, or it is gone."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        _lock_file(file)
    except OSError:
        os.close(file)
        return None
    return lambda: os.close(file)


def _lock_file(file: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: one byte far beyond the end, so that reading is not hindered
        import msvcrt

        os.lseek(file, 1 << 40, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def leftovers(database: Path) -> Iterator[tuple[Path, Unlock]]:
    """The segments of dead processes, oldest first, each now locked by this one."""
    folder = folder_of(database)
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError:
        return
    for path in found:
        unlock = lock(path)
        if unlock is not None:
            yield path, unlock

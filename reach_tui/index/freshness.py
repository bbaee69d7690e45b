"""Whether a store is still what it was when it was scanned: a fingerprint of its files, and a mark of its sessions.

Quiet store: nothing but the fingerprint is looked at. Else the reader says which sessions changed since the mark (new
rows, moved columns), and what it cannot tell so, rows edited in place, shows in a sum over all old rows; where that has
moved, each session's rows are summed up.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from reach_tui.base.errors import ReachError
from reach_tui.base.jsonio import BadJson, dumps, encode_fast, loads
from reach_tui.stores.growth import Block, Grown, Growth, Mark, RowState
from reach_tui.stores.reader import Followed, ManyFiles, Reader

_THREADS = 2  # more than two do not pay beside the thread that judges
_SETTLED_NS = 2_000_000_000  # a file written within one tick of its clock may keep size and time


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a store found, before anything of it was read."""

    fingerprint: str
    settled: bool
    """False while a further write might leave the same fingerprint."""
    changed: frozenset[str] | None
    """The sessions that changed since the mark; None: nobody knows, all of them."""
    mark: str | None
    """To be kept for the next look; None where the reader has none."""
    highest: dict[str, int]
    """The highest rowid of each table that grows; empty where the reader does not say."""


def fingerprint(reader: Reader) -> str:
    """A hash of place, sizes and times of the store's files. Raises `StoreError`."""
    try:
        info = os.stat(reader.path)
        place = (info.st_dev, info.st_ino)
    except (OSError, ValueError):
        place = (0, 0)
    return hashlib.sha256(repr((place, reader.data_version())).encode("utf-8", "replace")).hexdigest()[:32]


def _settled(reader: Reader) -> bool:
    files = reader.files() if isinstance(reader, ManyFiles) else [reader.path]
    newest = 0
    for path in files:
        for name in (os.fspath(path), f"{path}-wal"):
            try:
                newest = max(newest, os.stat(name).st_mtime_ns)
            except (OSError, ValueError):
                continue
    return newest < time.time_ns() - _SETTLED_NS


def look(reader: Reader, mark: str | None, seen: str | None = None) -> Look:
    """Compare a store with the mark of an earlier look; `seen`: its fingerprint just now. Raises `StoreError`."""
    seen, settled = seen or fingerprint(reader), _settled(reader)
    if not isinstance(reader, Followed):
        return Look(seen, settled, None, None, {})
    before = decode_mark(mark)
    changed, now = reader.changed_since(before, ())
    highest = now.highest if isinstance(now, Mark) else {}
    return Look(seen, settled, None if before is None else frozenset(changed), encode_mark(now), highest)


def rows_of(reader: Reader, session_ids: Sequence[str]) -> dict[str, list[RowState]]:
    """What of each session's rows moves with every change of them; nothing for readers whose mark already says all.

    Raises `StoreError`.
    """
    return reader.growth.row_states(reader.path, session_ids) if isinstance(reader, Grown) and session_ids else {}


def row_states(reader: Reader, session_ids: Sequence[str]) -> dict[str, str]:
    """The same as it is kept. Raises `StoreError`."""
    return {name: state_of(rows) for name, rows in rows_of(reader, session_ids).items()}


def state_of(rows: Sequence[RowState]) -> str:
    """The state of a session's rows as it is kept."""
    return msgspec.json.encode(rows).decode()


class Whole:
    """Count and sum over the old rows of a store, by table: the same as before means that none was edited in place.

    SQLite adds up in threads of its own while others work (a third of the time of reading the rows).
    """

    def __init__(self, reader: Reader, before: str | None) -> None:
        self._before = _whole(before)
        self._found: list[dict[str, tuple[int, int]]] = []
        self._next: dict[str, list[int]] = {}
        self._threads: list[threading.Thread] = []
        if isinstance(reader, Grown) and self._before:
            blocks = reader.growth.blocks({table: row for table, (row, _, _) in self._before.items()})
            for _ in range(max(1, min(_THREADS, os.cpu_count() or 1, len(blocks)))):
                given = (reader.growth, reader.path, blocks)
                self._threads.append(threading.Thread(target=self._add_up, args=given, daemon=True))
            for thread in self._threads:
                thread.start()

    def _add_up(self, growth: Growth, path: Path, blocks: deque[Block]) -> None:
        with contextlib.suppress(ReachError):  # then nothing is known, and every session is looked at
            self._found.append(growth.whole(path, blocks))

    def unchanged(self) -> bool:
        """True if no old row was edited or deleted; waits for the sum."""
        for thread in self._threads:
            thread.join()
        if not self._threads or len(self._found) < len(self._threads):
            return False
        for table, (_, count, total) in self._before.items():  # a reader may know tables that this store lacks
            some = [found[table] for found in self._found]
            if (sum(one for one, _ in some), sum(one for _, one in some)) != (count, total):
                return False
        return True

    def see(self, reader: Reader, highest: dict[str, int]) -> None:
        """Add up the rows that are new, before any of them is judged: what is edited later then shows next time."""
        if isinstance(reader, Grown) and self._before and highest.keys() == self._before.keys():
            after = {table: row for table, (row, _, _) in self._before.items()}
            added = reader.growth.whole(reader.path, reader.growth.blocks(highest, after))
            self._next = {
                table: [max(row, highest[table]), count + added[table][0], total + added[table][1]]
                for table, (row, count, total) in self._before.items()
            }

    def advanced(self) -> str | None:
        """What to compare with next time, if nothing old has changed."""
        return dumps(self._next) if self._next and self.unchanged() else None


def _whole(text: str | None) -> dict[str, tuple[int, int, int]]:
    try:
        value = loads(text) if text else None
    except BadJson:
        return {}
    found: dict[str, tuple[int, int, int]] = {}
    for table, numbers in value.items() if isinstance(value, dict) else ():
        match numbers:
            case [int(row), int(count), int(total)]:
                found[table] = row, count, total
    return found


def whole_of(reader: Reader, highest: dict[str, int], states: Iterable[str | None]) -> str | None:
    """What `Whole` compares with next time: the sum of all sessions' states, up to these rows.

    Wrong where rows belong to no session or came meanwhile; that only costs a look at every session.
    """
    if not isinstance(reader, Grown) or not all(one.timed for one in reader.growth.rows):
        return None
    tables = [one.table for one in reader.growth.rows if one.table in highest]
    sums = {table: [highest[table], 0, 0] for table in tables}
    for state in states:
        rows = _states.decode(state) if state else []
        if len(rows) != len(tables):
            return None
        for table, (count, _, total, _) in zip(tables, rows, strict=True):
            sums[table][1] += count
            sums[table][2] += total
    return dumps(sums)


_states = msgspec.json.Decoder(list[RowState])


def encode_mark(mark: object) -> str | None:
    """A reader's mark as JSON; None for one that cannot be kept."""
    kept = ["growth", mark.sessions, mark.highest] if isinstance(mark, Mark) else ["plain", mark, {}]
    if not isinstance(kept[1], dict):
        return None
    try:
        if isinstance(mark, Mark) and {type(value) for state in mark.sessions.values() for value in state} <= _PLAIN:
            return encode_fast(kept)
        return dumps([kept[0], {name: _plain(value) for name, value in kept[1].items()}, kept[2]])
    except (TypeError, RecursionError):
        return None


_PLAIN = {str, int, type(None)}
_growth_mark = msgspec.json.Decoder(tuple[Literal["growth"], dict[str, tuple[str | int | None, ...]], dict[str, int]])


def decode_mark(text: str | None) -> object:
    """The mark in a text of `encode_mark`; None if there is none."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
        if text and text.startswith('["growth"'):
            _, found, rows = _growth_mark.decode(text)
            return Mark({**found}, rows)
    try:
        value = loads(text) if text else None
    except BadJson:
        return None
    match value:
        case ["growth", dict(sessions), dict(highest)]:
            return Mark({name: _tuples(state) for name, state in sessions.items()}, dict(highest))  # type: ignore[misc,arg-type]
        case ["plain", dict(sessions), _]:
            return {name: _tuples(state) for name, state in sessions.items()}
    return None


def _plain(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def _tuples(value: object) -> object:
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    if isinstance(value, dict):
        return bytes.fromhex(str(value.get("bytes", "")))
    return value

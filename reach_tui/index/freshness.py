"""Whether a store is still what it was when it was scanned: a fingerprint of its files, and a mark of its sessions.

Quiet store: nothing but the fingerprint is looked at. Else the reader says which sessions changed since the mark (new
rows, moved columns), sessions whose calls were unfinished are summed up row by row, and once a start all of them are.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from reach_tui.base.jsonio import BadJson, dumps, loads
from reach_tui.stores.growth import Mark
from reach_tui.stores.reader import Followed, ManyFiles, Reader

_SETTLED_NS = 2_000_000_000  # a file written within one tick of its clock may keep size and time
_SLICE = 500  # sessions summed up in one query: SQLite before 3.32 binds 999 values


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


def look(reader: Reader, mark: str | None) -> Look:
    """Compare a store with the mark of an earlier look. Raises `StoreError`."""
    seen, settled = fingerprint(reader), _settled(reader)
    if not isinstance(reader, Followed):
        return Look(seen, settled, None, None)
    before = decode_mark(mark)
    changed, now = reader.changed_since(before, ())
    return Look(seen, settled, None if before is None else frozenset(changed), encode_mark(now))


def row_states(reader: Reader, session_ids: Iterable[str]) -> Iterator[dict[str, str]]:
    """A value for each session that changes with its rows, also those edited in place; a few hundred at a time.

    Nothing for readers whose mark already says all. Raises `StoreError`.
    """
    waiting = iter(session_ids)
    while isinstance(reader, Followed) and (some := list(islice(waiting, _SLICE))):
        _, mark = reader.changed_since(None, some)
        if not isinstance(mark, Mark):
            return
        yield {name: repr(mark.sums.get(name, ())) for name in some}


def row_state(reader: Reader, session_ids: Sequence[str]) -> dict[str, str]:
    """`row_states` in one dictionary."""
    found: dict[str, str] = {}
    for states in row_states(reader, session_ids):
        found |= states
    return found


def encode_mark(mark: object) -> str | None:
    """A reader's mark as JSON; None for one that cannot be kept."""
    kept = ["growth", mark.sessions, mark.highest] if isinstance(mark, Mark) else ["plain", mark, {}]
    if not isinstance(kept[1], dict):
        return None
    try:
        return dumps([kept[0], {name: _plain(value) for name, value in kept[1].items()}, kept[2]])
    except (TypeError, RecursionError):
        return None


def decode_mark(text: str | None) -> object:
    """The mark in a text of `encode_mark`; None if there is none."""
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

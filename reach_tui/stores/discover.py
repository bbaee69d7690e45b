"""Where traces are: databases in a folder, and the known stores of this person's home."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from reach_tui.base.errors import StoreUnreadable
from reach_tui.base.sqlite import is_sqlite
from reach_tui.base.sqlite_access import SUFFIXES, real_path

MAX_DEPTH = 6
"""Folders below the named one that are looked into."""
_SKIPPED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
_BESIDE = ("-wal", "-shm", "-journal")
_TRANSCRIPT = re.compile(r".+\.jsonl|session-.+\.json", re.IGNORECASE | re.DOTALL)
_SIDE_DATABASE = re.compile(r"(?:logs|goals|memories|queue)_\d+\.sqlite")  # of Codex, beside its state_N.sqlite


def find_traces(paths: Sequence[Path]) -> list[Path]:
    """Candidate databases, sorted, each once: a file stands for itself, a folder for every candidate in it.

    A candidate ends in .db, .sqlite, .sqlite3 or .vscdb, whatever it is (empty, unreadable, a pipe, gone but for its
    `-wal`: opening it says so), or starts like an SQLite file. Transcripts are not among them: those are what
    `transcript_candidates` finds. Links to folders already seen are not followed. Raises `StoreUnreadable` for a named
    folder that cannot be listed.
    """
    found: dict[str, Path] = {}
    for path in paths:
        candidates = _in_folder(path) if path.is_dir() else [path]
        for candidate in candidates:
            found.setdefault(real_path(candidate), candidate)
    return sorted(found.values())


def _in_folder(folder: Path) -> Iterator[Path]:
    try:
        os.listdir(folder)
    except OSError as error:
        what = f"the folder cannot be listed ({error.strerror})"
        raise StoreUnreadable(what, folder, "check owner and mode") from None
    for entry in _below(folder):
        path = Path(entry.path)
        if _is_folder(entry):
            if entry.name.lower().endswith(tuple(SUFFIXES)) and not _entries(path):
                yield path  # an empty folder named like a database: opening it says what it is
        elif (orphan := _left_alone(path)) is not None:
            yield orphan
        elif _is_candidate(entry, path):
            yield path


def transcript_candidates(folder: Path, folders: list[str] | None = None) -> list[Path]:
    """Files in a folder that may be transcripts by their names, sorted; each real file once.

    `folders` is given every folder that was looked into: while none of them changes, the answer stays the same.
    """
    found: dict[str, str] = {}
    for entry in _below(folder, folders):
        if _TRANSCRIPT.fullmatch(entry.name) and not _is_folder(entry):
            found.setdefault(real_path(Path(entry.path)) if entry.is_symlink() else entry.path, entry.path)
    return [Path(path) for path in sorted(found.values())]


def _below(folder: Path, folders: list[str] | None = None) -> Iterator[os.DirEntry[str]]:
    """Everything in a folder and the folders below it."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting:
        current, depth = waiting.pop()
        if folders is not None:
            folders.append(os.fspath(current))
        for entry in _entries(current):
            yield entry
            if _is_folder(entry) and depth < MAX_DEPTH and entry.name not in _SKIPPED:
                path = Path(entry.path)
                if _first_time(path, seen):
                    waiting.append((path, depth + 1))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # a folder below that may not be read hides what is in it, and nothing else
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _first_time(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        info = folder.stat()
    except OSError:
        return False
    place = (info.st_dev, info.st_ino)
    new = place not in seen
    seen.add(place)
    return new


def _left_alone(path: Path) -> Path | None:
    """The missing database of a `-wal` that was left, or copied, alone."""
    database = path.with_name(path.name.removesuffix("-wal"))
    orphan = path.name.endswith("-wal") and database.suffix.lower() in SUFFIXES and not os.path.lexists(database)
    return database if orphan else None


def _is_candidate(entry: os.DirEntry[str], path: Path) -> bool:
    if entry.name.endswith(_BESIDE) or _TRANSCRIPT.fullmatch(entry.name):
        return False
    if _SIDE_DATABASE.fullmatch(entry.name) and any(path.parent.glob("state_*.sqlite")):
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        regular = stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return False
    return regular and is_sqlite(path)


def default_locations() -> list[Path]:
    """The stores of known agents that exist in this person's home, each once, and our own native one."""
    from reach_tui.stores.locations import places

    found: dict[str, Path] = {}
    for place in places():
        for path in place.found:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())

"""Finding and opening trace files: what was found, and for what could not be opened one clear line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reach_tui.base.errors import ReachError, StoreUnreadable
from reach_tui.base.sqlite import Access, access_of
from reach_tui.stores.catalog import open_store
from reach_tui.stores.discover import default_locations, find_traces
from reach_tui.stores.reader import Reader


@dataclass(frozen=True, slots=True)
class Source:
    """One trace file with the reader that understands it."""

    path: Path
    kind: str
    title: str
    version: str
    access: Access
    reader: Reader

    @property
    def name(self) -> str:
        """The file's base name: the contract's `path`."""
        return self.path.name

    @property
    def notice(self) -> str | None:
        """What a person must know about how the file was opened: that what they see stands still."""
        if self.access is Access.PRIVATE:
            return "frozen: read from a private copy, because its program was killed or the folder cannot be written"
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """The sources that opened, in the order given, and what did not."""

    sources: tuple[Source, ...]
    problems: tuple[ReachError, ...]
    named: bool
    """True if the person named the paths."""


def open_source(path: Path) -> Source:
    """One file as a source. Raises `StoreError`."""
    opened = open_store(path)
    return Source(path, opened.reader.kind, opened.reader.title, opened.version, access_of(path), opened.reader)


def open_paths(paths: Sequence[Path]) -> Found:
    """Open every path: a file, or all databases in a folder. Without paths: the default places of agents' stores."""
    sources: list[Source] = []
    problems: list[ReachError] = []
    for path in paths or default_locations():
        try:
            if not path.exists():
                raise StoreUnreadable("no such file or folder", path, "check the path")
            candidates = find_traces([path])
            if not candidates:
                raise StoreUnreadable(
                    "a folder without any database", path, "name a folder or file with an agent's sessions"
                )
        except OSError as error:
            problems.append(StoreUnreadable(error.strerror or str(error), path, "check the path"))
            continue
        except ReachError as error:
            if paths:
                problems.append(error)
            continue
        _open_all(candidates, sources, problems)
    return Found(tuple(sources), tuple(problems), bool(paths))


def _open_all(candidates: Iterable[Path], sources: list[Source], problems: list[ReachError]) -> None:
    known = {source.path.resolve() for source in sources}
    for candidate in candidates:
        if candidate.resolve() in known:
            continue
        try:
            sources.append(open_source(candidate))
        except ReachError as error:
            problems.append(error)

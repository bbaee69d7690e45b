"""Finding and opening trace files: what was found, and for what could not be opened one clear line each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
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
    opened = list(open_each(paths))
    sources = tuple(one for one in opened if isinstance(one, Source))
    return Found(sources, tuple(one for one in opened if not isinstance(one, Source)), bool(paths))


def open_each(paths: Sequence[Path]) -> Iterator[Source | ReachError]:
    """What `open_paths` finds, one by one, as soon as it is open; what does not open comes as its error."""
    known: set[Path] = set()
    for path in paths or default_locations():
        try:
            candidates = _candidates(path)
        except ReachError as error:
            if paths:  # a default place without anything in it is no news
                yield error
            continue
        for candidate in candidates:
            real = candidate.resolve()
            if real in known:
                continue
            try:
                source = open_source(candidate)
            except ReachError as error:
                yield error
            else:
                known.add(real)
                yield source


def _candidates(path: Path) -> list[Path]:
    try:
        if not path.exists():
            raise StoreUnreadable("no such file or folder", path, "check the path")
        candidates = find_traces([path])
    except OSError as error:
        raise StoreUnreadable(error.strerror or str(error), path, "check the path") from None
    if not candidates:
        raise StoreUnreadable("a folder without any database", path, "name a folder or file with an agent's sessions")
    return candidates


def all_covered(named: Iterable[Path], whole: Collection[Path]) -> bool:
    """True if every named file is among the files read, and every named folder holds one of them."""
    return all(_covered(path, whole) for path in named)


def _covered(named: Path, whole: Iterable[Path]) -> bool:
    if not named.is_dir():
        return any(path == named or path.resolve() == named.resolve() for path in whole)
    return any(path.is_relative_to(named) or path.resolve().is_relative_to(named.resolve()) for path in whole)

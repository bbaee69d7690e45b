"""Finding and opening trace files: what was found, and for what could not be opened one clear line each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reach_tui.base.answering import await_answer, is_silent
from reach_tui.base.errors import ReachError, StoreUnreadable
from reach_tui.base.sqlite import Access, access_of, is_sqlite
from reach_tui.base.sqlite_access import SUFFIXES
from reach_tui.stores.catalog import Opened, open_store
from reach_tui.stores.discover import default_locations, find_traces, transcript_candidates
from reach_tui.stores.reader import ManyFiles, Reader


@dataclass(frozen=True, slots=True)
class Source:
    """One trace with the reader that understands it: a database, or the transcripts of one program in a folder."""

    path: Path
    """The database, the transcript, or the folder of transcripts."""
    kind: str
    title: str
    version: str
    access: Access | None
    """How a database was opened; None for transcripts."""
    reader: Reader
    verified: bool = True
    """False where nobody has held what the reader reads against the program itself."""

    @property
    def name(self) -> str:
        """Base name of file or folder."""
        return self.path.name or str(self.path.resolve())

    def file_of(self, session_id: str) -> str:
        """Base name of the file that holds a session: the contract's `path`."""
        return self.reader.file_of(session_id).name if isinstance(self.reader, ManyFiles) else self.path.name

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        return self.reader.files() if isinstance(self.reader, ManyFiles) else [self.path]

    @property
    def notice(self) -> str | None:
        """What a person must know about how the file was opened: that what they see stands still."""
        if self.access is Access.PRIVATE:
            return "frozen: read from a private copy, because its program was killed or the folder cannot be written"
        return None


@dataclass(frozen=True, slots=True)
class Companion:
    """A database that only accompanies transcripts (names, an index): read with them, not a source of its own."""

    path: Path
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Found:
    """The sources that opened, in the order given, and what did not."""

    sources: tuple[Source, ...]
    problems: tuple[ReachError, ...]
    named: bool
    """True if the person named the paths."""
    companions: tuple[Companion, ...] = ()
    """Databases that only accompany transcripts which are among the sources."""


def open_source(path: Path, kind: str | None = None) -> Source:
    """One file, or the transcripts of that kind in a folder, as a source. Raises `StoreError`."""
    if path.is_dir():
        for one in _transcripts_in(path):
            if isinstance(one, Source) and kind in (None, one.kind):
                return one
    elif path.suffix.lower() not in SUFFIXES and not is_sqlite(path):
        from reach_tui.stores.transcripts.opening import open_file

        if (opened := open_file(path)) is not None:
            return _source(path, opened)
    return _source(path, open_store(path))


def _source(path: Path, opened: Opened) -> Source:
    reader = opened.reader
    access = None if isinstance(reader, ManyFiles) else access_of(path)
    return Source(path, reader.kind, reader.title, opened.version, access, reader, opened.verified)


def _transcripts_in(folder: Path) -> Iterator[Source | ReachError]:
    if not transcript_candidates(folder):
        return
    from reach_tui.stores.transcripts.opening import open_folder

    for opened in open_folder(folder):
        yield _source(folder, opened) if isinstance(opened, Opened) else opened


def open_paths(paths: Sequence[Path]) -> Found:
    """Open every path: a file, or all databases in a folder. Without paths: the default places of agents' stores."""
    opened = list(open_each(paths))
    return Found(
        tuple(one for one in opened if isinstance(one, Source)),
        tuple(one for one in opened if isinstance(one, ReachError)),
        bool(paths),
        tuple(one for one in opened if isinstance(one, Companion)),
    )


def open_each(paths: Sequence[Path]) -> Iterator[Source | Companion | ReachError]:
    """What `open_paths` finds, one by one, as soon as it is open; what does not open comes as its error."""
    known: set[Path] = set()
    for path in paths or default_locations():
        try:
            yield from _open_in(path, known)
        except ReachError as error:
            if paths:  # a default place without anything in it is no news
                yield error


def _open_in(path: Path, known: set[Path]) -> Iterator[Source | Companion | ReachError]:
    """The sources in one path that are not known yet; they are then."""
    await_answer(path)
    covered: set[str] = set()
    empty = True
    if path.is_dir():
        for one in _transcripts_in(path):
            empty = False
            if isinstance(one, Source):
                covered.add(one.kind)
                files = {file.absolute() for file in one.files}
                if files <= known:
                    continue
                known |= files
            yield one
    candidates = _candidates(path)
    if empty and not candidates:
        what = "a folder without any database or transcript"
        raise StoreUnreadable(what, path, "name a folder or file with an agent's sessions")
    for candidate in candidates:
        real = candidate.resolve()
        if real in known or candidate.absolute() in known:
            continue
        try:
            source = open_source(candidate)
        except ReachError as error:
            yield error
            continue
        known.add(real)
        if isinstance(source.reader, ManyFiles) and candidate != path and source.kind in covered:
            yield Companion(candidate, source.kind, source.title)  # its transcripts came from the folder already
            continue
        yield source


def _candidates(path: Path) -> list[Path]:
    try:
        if not path.exists():
            raise StoreUnreadable("no such file or folder", path, "check the path")
        return find_traces([path])
    except OSError as error:
        raise StoreUnreadable(error.strerror or str(error), path, "check the path") from None


def all_covered(named: Iterable[Path], whole: Collection[Path]) -> bool:
    """True if every named file is among the files read, and every named folder holds one of them."""
    return all(_covered(path, whole) for path in named)


def _covered(named: Path, whole: Iterable[Path]) -> bool:
    if is_silent(named):
        return False
    if not named.is_dir():
        return any(path == named or path.resolve() == named.resolve() for path in whole)
    return any(path.is_relative_to(named) or path.resolve().is_relative_to(named.resolve()) for path in whole)

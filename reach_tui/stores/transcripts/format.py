"""What a program's transcript format has to say; `TranscriptReader` does the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import as_int
from reach_tui.model import Session, Tokens
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line
from reach_tui.stores.transcripts.story import Story


@dataclass(frozen=True, slots=True)
class Summary:
    """A session as the beginning and the end of its file tell it."""

    session: Session
    lineage: str | None = None
    """Equal in files that begin with the same messages: a resumed or forked session repeats its history."""
    origin: str | None = None
    """Base name of the file that this one says it was forked from."""


class Teller(Protocol):
    """Turns the lines of one file into steps of a story."""

    def tell(self, line: Line) -> None:
        """The next line; adds what it says to the story. Any JSON object may come."""

    def end(self) -> None:
        """After the last line."""


class Format(Protocol):
    """One program's transcripts."""

    kind: ClassVar[str]
    title: ClassVar[str]
    flag_meaning: ClassVar[str]
    versions_tried: ClassVar[tuple[str, ...]]
    not_recorded: ClassVar[str]
    verified: ClassVar[bool]

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """None if these first objects are of some other program."""

    def summary(self, excerpt: Excerpt) -> Summary:
        """The session in a file, from its beginning and end."""

    def teller(self, path: Path, story: Story) -> Teller:
        """What tells the story of one file."""

    def files_beside(self, path: Path) -> Iterator[Path]:
        """Files that may be transcripts, for a database of this program that somebody named."""

    def without_file(self, files: Sequence[Path]) -> Iterator[tuple[Path, Session]]:
        """Sessions that a database beside the files lists, and the database; they have no file."""

    def state_beside(self, path: Path) -> Sequence[Path]:
        """Databases that say more about a transcript: a change in one is a change in the session."""


class Usage:
    """Token sums over a session's answers."""

    def __init__(self) -> None:
        self._input: int | None = None
        self._output: int | None = None

    def add(self, usage: JsonObject, inputs: Sequence[str], output: str) -> None:
        """One answer's usage: the fields that count as read, and the one that counts as written."""
        read = [count for name in inputs if (count := as_int(usage.get(name))) is not None]
        if read:
            self._input = (self._input or 0) + sum(read)
        if (written := as_int(usage.get(output))) is not None:
            self._output = (self._output or 0) + written

    def sums(self, excerpt: Excerpt) -> Tokens:
        """The sums; unknown where only the file's ends were read."""
        return Tokens(self._input, self._output) if excerpt.whole else Tokens()


class PlainFormat:
    """What most formats share: nothing but the transcripts themselves."""

    def files_beside(self, path: Path) -> Iterator[Path]:
        """No database of this program stands for transcripts."""
        return iter(())

    def state_beside(self, path: Path) -> Sequence[Path]:
        """No database says more."""
        return ()

    def without_file(self, files: Sequence[Path]) -> Iterator[tuple[Path, Session]]:
        """No session without a file."""
        return iter(())


def line_time(line: JsonObject) -> int | None:
    """The time of a line, in milliseconds since 1970 UTC."""
    return parse_time(line.get("timestamp"))


def last_time(excerpt: Excerpt, first: int | None) -> int | None:
    """The time of the last line that has one; `first` where none has."""
    return next((at for line in excerpt.tail() if (at := line_time(line)) is not None), first)


def short_title(text: str) -> str | None:
    """A prompt as a title: its first line with anything in it."""
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), None)

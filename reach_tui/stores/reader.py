"""The interface every store reader fulfils. To add a store: one module with one class like this, one entry point.

A reader turns rows into the canonical model and nothing else: no verdicts, no display. It never writes, loads one
session (or streams calls) at a time, and says what it could not read instead of dropping it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from reach_tui.base.sqlite import Schema
from reach_tui.model import Glance, Session, Step, StepKind, ToolCall
from reach_tui.stores.growth import Growth, RowState

FIRST_PAGE = 128
"""Sessions read in a query of their own, so that a list shows the newest before all the others are read."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """A reader's answer to a schema it knows: it can read it, or it knows the store and not this layout."""

    version: str
    """The version or layout seen, for people: `1.18.33`, `user_version 17`."""
    unsupported: str | None = None
    """Set where the store is known and this layout cannot be read: what is missing, in words."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in a store that could not be read as it should."""

    what: str
    """Kind, countable: `unreadable message`, `orphan result`, `malformed call`, `conflicting double write`."""
    where: str
    """Row or message it is about."""
    session_id: str | None = None


class Reader(Protocol):
    """One open trace store. Methods open short connections of their own, so they may run in any thread."""

    @property
    def kind(self) -> str:
        """Id of the store kind, as in the contract's `store` field."""

    @property
    def title(self) -> str:
        """Name of the program for people."""

    @property
    def flag_meaning(self) -> str:
        """What counts as flagged in this store, one sentence, for the docs."""

    path: Path

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first, from the session table alone: cheap on a million calls."""

    def session(self, session_id: str) -> Session | None:
        """One session, None if the store has none of that id."""

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session in order, calls paired with results. What cannot be parsed comes as RAW steps."""

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls of the given sessions (of all: newest first), in order within each; streams, the same as `steps`."""

    def troubles(self, session_id: str) -> list[Trouble]:
        """What of a session could not be read, or paired, as it should."""

    def data_version(self) -> object:
        """A value that changes when the file's content may have changed (for live follow and caches)."""


@runtime_checkable
class Followed(Protocol):
    """A reader that can tell cheaply which sessions changed; those of others are found by listing the sessions."""

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Ids of the sessions that changed since `mark` (None: all of them), and the mark for the next time.

        Rows updated in place need to be noticed in the `active` sessions only.
        """


@dataclass(frozen=True, slots=True)
class Told:
    """What of a session counts: its calls, and how much else there is."""

    session_id: str
    calls: Sequence[Glance]
    """Those of `calls`, in the same order, but for `step`, which may be 0, and `visible`, which says nothing."""
    turns: int = 0
    """USER steps that are not inherited."""
    unreadable: int = 0
    """RAW steps."""
    rows: Sequence[RowState] = ()
    """As `Growth.row_states` gives them, of the rows as they were read or were before; what is edited later shows."""


def told(session_id: str, steps: Iterable[Step], rows: Sequence[RowState] = ()) -> Told:
    """The same of a session's steps, where no step is a decision or a note about rows without a partner."""
    calls: list[ToolCall] = []
    turns = unreadable = 0
    for step in steps:
        turns += step.kind is StepKind.USER and not step.inherited
        unreadable += step.kind is StepKind.RAW
        if step.call is not None:
            calls.append(step.call)
    return Told(session_id, calls, turns, unreadable, rows)


@runtime_checkable
class Scanned(Protocol):
    """A reader with a faster way to the calls, for counting them; its sessions hold no decisions without a call.

    It says where its store grows, and tells the state of the rows it reads.
    """

    growth: Growth

    def scan(self, session_ids: Sequence[str]) -> Iterator[Told]:
        """Every session given, once, in any order."""


class DatabaseReader(Reader, Protocol):
    """A reader of one database file, chosen by its schema."""

    kind: ClassVar[str]
    title: ClassVar[str]
    flag_meaning: ClassVar[str]
    versions_tried: ClassVar[tuple[str, ...]]
    """Versions of the program whose own databases were read and compared."""
    not_recorded: ClassVar[str]
    """What a person may miss because the program does not keep it, one sentence."""
    verified: ClassVar[bool]
    """False where the layout is known from source or documents alone."""

    def __init__(self, path: Path) -> None: ...

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """None if this is some other store; decided from the schema alone (the path may break ties)."""


@runtime_checkable
class ManyFiles(Protocol):
    """A reader over many files, one session a file or more."""

    def files(self) -> list[Path]:
        """The files there are now."""

    def file_of(self, session_id: str) -> Path:
        """The file that holds a session."""

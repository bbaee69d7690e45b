"""Readers that tell a session in two passes: pair everything first, then number the steps.

The session is a list of `Said` and `Asked`; whoever builds it fills in answers as it finds them, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from reach_tui.base.jsonio import BadJson, JsonValue, loads
from reach_tui.base.sqlite import Connection, reading, stamp
from reach_tui.model import Route, Session, Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, result_of
from reach_tui.stores.reader import Trouble


@dataclass(slots=True)
class Said:
    """A step that is no call. A USER step begins a turn."""

    kind: StepKind
    text: str
    at: int | None = None
    visible: bool = True
    inherited: bool = False
    route: Route | None = None
    trouble: str | None = None
    """Kind of trouble to remember, and `where` it is."""
    where: str = ""


@dataclass(slots=True)
class Asked:
    """A call on its way to becoming a step; `answer` fills in its result."""

    place: str
    """Row or message that made it, part of the key."""
    id: str
    tool: str
    arguments: JsonValue = None
    at: int | None = None
    flagged: bool | None = None
    text: str | None = None
    """The result's text; None: no result."""
    ended: int | None = None
    took: int | None = None
    """Duration in milliseconds where the store has it; else `ended` minus `at`."""
    status: str | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)
    visible: bool = True
    problem: str | None = None
    copy_of: str | None = None
    route: Route | None = None

    @property
    def duration_ms(self) -> int | None:
        """How long it took, None where unknown."""
        if self.took is not None or self.at is None or self.ended is None:
            return self.took
        return self.ended - self.at if self.ended >= self.at else None


def decoded(raw: bytes | str | None) -> JsonValue | BadJson:
    """JSON of a column; the fault as a value where it is none. NULL and empty are None."""
    if not raw:
        return None
    try:
        return loads(raw)
    except BadJson as fault:
        return fault


def object_arguments(value: JsonValue) -> tuple[JsonValue, str | None]:
    """Arguments as an object and what is wrong with them: text of a JSON object is decoded, any other stays text."""
    if not isinstance(value, str):
        return value, None
    if not value.strip():
        return {}, None
    try:
        found = loads(value)
    except BadJson:
        return value, "the arguments are not valid JSON"
    return (found, None) if isinstance(found, dict) else (value, "the arguments are no JSON object")


def narrate(narrator: Narrator, story: Iterable[Said | Asked]) -> Iterator[Step]:
    """Steps in the order of `story`; keys are `session/place/id`, with `#n` where one occurs again."""
    seen: dict[str, int] = {}
    for one in story:
        if isinstance(one, Said):
            if one.trouble:
                narrator.trouble(one.trouble, one.where)
            if one.kind is StepKind.USER and not one.inherited:
                narrator.turn += 1
            narrator.number += 1
            yield Step(
                narrator.number, narrator.turn, one.kind, one.text, one.at,
                route=one.route, visible=one.visible, inherited=one.inherited,
            )  # fmt: skip
            continue
        name = "/".join((narrator.session_id, *filter(None, (one.place, one.id))))
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name}#{seen[name]}"
        if one.problem:
            narrator.trouble("incomplete call", f"{one.place}: {one.problem}")
        yield narrator.call(
            ToolCall(
                key=name,
                id=one.id,
                session_id=narrator.session_id,
                tool=one.tool,
                arguments=one.arguments,
                flagged=one.flagged,
                result=None if one.text is None else result_of(one.text),
                step=narrator.number + 1,
                turn=narrator.turn,
                started_at=one.at,
                duration_ms=one.duration_ms,
                status=one.status,
                metadata=one.metadata,
                route=one.route,
                copy_of=one.copy_of,
                visible=one.visible,
                problem=one.problem,
            )
        )


T = TypeVar("T")


class Remembered(Generic[T]):
    """Something small about a whole file, built again when the file changes: where its sessions are."""

    def __init__(self, path: Path, build: Callable[[Connection], T]) -> None:
        self._path = path
        self._build = build
        self._known: tuple[object, T] | None = None

    def __call__(self) -> T:
        """The value for the file as it is now. Raises `StoreError`."""
        now, known = stamp(self._path), self._known
        if known is not None and known[0] == now:
            return known[1]
        with reading(self._path) as connection:
            value = self._build(connection)
        self._known = (now, value)
        return value


class TellingReader:
    """What readers of this kind share; a subclass has `sessions`, `session` and `_tell`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first."""
        raise NotImplementedError

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        """The steps of the narrator's session; the file is not open while one is out."""
        raise NotImplementedError

    def data_version(self) -> object:
        """Sizes and times of the file and its `-wal`."""
        return stamp(self.path)

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session in order."""
        return self._tell(Narrator(session_id))

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first; one session is in memory at a time."""
        ids = [session.id for session in self.sessions()] if session_ids is None else session_ids
        for identifier in ids:
            for step in self._tell(Narrator(identifier)):
                if step.call is not None:
                    yield step.call

    def troubles(self, session_id: str) -> list[Trouble]:
        """What of one session could not be read or paired."""
        narrator = Narrator(session_id)
        for _step in self._tell(narrator):
            pass
        return narrator.troubles


def newest_first(found: Iterable[Session]) -> list[Session]:
    """Sessions by falling start, then id."""
    return sorted(found, key=lambda session: (session.started_at or 0, session.id), reverse=True)

"""opencode's calls for counting: tool parts alone, by session, without the steps around them.

In a fifth of the time of `calls`: no step numbers, nothing about what was undone or compacted; the rest is the same.
Every part is decoded once, to a type that keeps no more than counting asks for; what fits none is read by
`opencode_parts`, as `calls` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import attrgetter, or_
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_text
from reach_tui.base.sqlite import Connection, columns_of, text_of
from reach_tui.model import Glance, Result, Route, StepKind, ToolCall
from reach_tui.stores.content import Narrator, json_text, result_of
from reach_tui.stores.opencode_forks import FORK
from reach_tui.stores.opencode_parts import (
    KNOWN,
    NOTICE_WITHIN,
    SHELLS,
    SILENT,
    Message,
    Part,
    by_user,
    decode_message,
    decode_object,
    duration,
    facts_of,
    flag,
    text_of_part,
    tool_call,
    typed_by_user,
)
from reach_tui.stores.reader import Told

_PLACEHOLDER = "invalid"
_LOOKED_INTO = SHELLS | {_PLACEHOLDER}
_FORKS = "SELECT id, title FROM session WHERE id IN ({marks}) AND title LIKE '%(fork #%'"
_SECOND = "SELECT DISTINCT session_id FROM session_message WHERE session_id IN ({marks})"
_MESSAGES = """SELECT session_id, id, time_created, CAST(data AS BLOB)
FROM message WHERE session_id IN ({marks}) ORDER BY session_id, time_created, id"""
_PARTS = """SELECT rowid, message_id, id, CAST(data AS BLOB) FROM part
WHERE session_id = ? AND rowid > ? ORDER BY rowid LIMIT ?"""
_FIRST = -(2**63)
_ROWS_AT_ONCE = 1000
"""Some 10 ms: no reader should hold up a writer's checkpoint for longer."""


class _State(msgspec.Struct, gc=False):
    status: str | None = None
    input: dict[str, Any] | None = None
    output: str | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None
    attachments: list[Any] | None = None
    time: dict[str, Any] | None = None


class _ToolPart(msgspec.Struct, gc=False):
    type: str
    tool: str
    state: _State
    callID: str | None = None
    metadata: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_ToolPart).decode


class _Facts(msgspec.Struct, gc=False):
    """Metadata of a plain call: an exit status, and nothing else that tells how it ended."""

    exit: int | None = None
    exitCode: int | None = None
    exit_code: None = None
    timed_out: None = None
    interrupted: None = None
    notice: None = None


class _OuterFacts(msgspec.Struct, gc=False):
    """The part's own metadata, where the state's come first."""

    exit: None = None
    exitCode: None = None
    exit_code: None = None
    timed_out: None = None
    interrupted: None = None
    notice: None = None


class _PlainState(msgspec.Struct, gc=False):
    status: Literal["completed"]
    input: Annotated[dict[str, Any], msgspec.Meta(min_length=1)]
    output: str
    metadata: _Facts | None = None


class _PlainPart(msgspec.Struct, gc=False, tag_field="type", tag="tool"):
    """A call that the store holds for a success; others do not fit and are read by `_call`."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    state: _PlainState
    callID: str | None = None
    metadata: _OuterFacts | None = None


def _mute(kind: str) -> type[msgspec.Struct]:
    """A part of that kind, of which nothing is kept."""
    return msgspec.defstruct("_Mute", [], tag_field="type", tag=kind, gc=False)


class _Words(msgspec.Struct, gc=False):
    """What a person typed."""

    type: Literal["text"]
    text: str
    synthetic: None = None


class _Silent(msgspec.Struct, gc=False):
    """A message that says nothing about its calls."""

    role: Literal["assistant"]
    error: None = None


_Part: Any = reduce(or_, [_PlainPart, *map(_mute, sorted((KNOWN | SILENT) - {"tool"}))])
_decode_part = msgspec.json.Decoder(_Part).decode
_decode_words = msgspec.json.Decoder(_Words).decode
_decode_silent = msgspec.json.Decoder(_Silent).decode
_UNREAD = (msgspec.DecodeError, UnicodeError, RecursionError)

_Place: TypeAlias = tuple[int, object, str | None]
"""What a message says about the calls in it: the turn, its time, the name of its error."""


class _Glance(msgspec.Struct, gc=False, eq=False):
    """A call that ended as `completed`, and no more of it than counting looks at."""

    session_id: str
    part: bytes
    page: _Page
    number: int
    data: bytes
    id: str
    tool: str
    arguments: JsonValue
    text: str
    exit_code: int | None
    made: ToolCall | None = None
    flagged: ClassVar[bool | None] = False
    plain: ClassVar[bool] = True
    step: ClassVar[int] = 0
    target: ClassVar[str | None] = None
    route: ClassVar[Route | None] = None
    copy_of: ClassVar[str | None] = None
    problem: ClassVar[str | None] = None

    @property
    def key(self) -> str:
        return f"{self.session_id}/{text_of(self.part)}"

    @property
    def turn(self) -> int:
        return self.page.turns_at[self.number]

    @property
    def shown_tool(self) -> str:
        return self.tool

    @property
    def result(self) -> Result | None:
        return result_of(self.text)

    def whole(self) -> ToolCall:
        if self.made is not None:
            return self.made
        call = _call(self.session_id, self.page.place(self.number), self.part, self.data)
        assert isinstance(call, ToolCall)  # what fits the plain form is a call
        self.made = call
        return call


class _Odd(NamedTuple):
    """A row that must be read more exactly."""

    number: int
    part: bytes
    data: bytes | None


@dataclass(slots=True)
class _Page:
    """A session on its way: its messages, and what was found so far."""

    session: str
    numbers: dict[object, int] = field(default_factory=dict)
    """The place of each message in the session."""
    times: list[object] = field(default_factory=list)
    """By that place."""
    turns_at: list[int] = field(default_factory=list)
    """The same, once all parts are read; one more for parts whose message is gone."""
    errors: dict[int, str] = field(default_factory=dict)
    users: set[object] = field(default_factory=set)
    """Ids of the user's messages."""
    said: dict[int, int] = field(default_factory=dict)
    """Those of them that a person wrote, with how many steps of the person's each makes."""
    unreadable: int = 0
    found: list[_Glance | _Odd] = field(default_factory=list)
    in_order: bool = True

    def place(self, number: int) -> _Place:
        """What the message there says."""
        if number == len(self.times):
            return self.turns_at[number], None, None
        return self.turns_at[number], self.times[number], self.errors.get(number)

    def add(self, rows: Iterable[tuple[int, object, object, bytes | None]]) -> tuple[int, int]:
        """The next rows of `part`, their texts as bytes. Returns how many they were, and the last one's rowid."""
        session, place, users, found = self.session, self.numbers.get, self.users, self.found
        decode, append = _decode_part, found.append
        gone = len(self.times)
        before, name_before = (found[-1].number, found[-1].part) if found else (-1, b"")
        count, row = 0, _FIRST
        for row, message, part, text in rows:  # noqa: B007 - the last one's is returned
            count += 1
            data = text or b""
            try:
                read = decode(data)
            except _UNREAD:
                read = None
            plain = type(read) is _PlainPart
            if not plain:
                if message in users:
                    self._hear(self.numbers[message], data)
                if read is not None:
                    continue
            number = place(message, gone)
            name = part if type(part) is bytes else text_of(part).encode()
            if number <= before and (number < before or name < name_before):
                self.in_order = False
            before, name_before = number, name
            if plain and (read.tool not in _LOOKED_INTO or _whole(read)):
                state = read.state
                own = state.metadata
                code = None if own is None else own.exitCode if own.exit is None else own.exit
                call_id, tool = read.callID or "", read.tool
                append(_Glance(session, name, self, number, data, call_id, tool, state.input, state.output, code))
            else:
                append(_Odd(number, name, data))
        return count, row

    def _hear(self, number: int, data: bytes | None) -> None:
        """A part of a user's message."""
        try:
            said = steps = bool(_decode_words(data or b"").text.strip())
        except _UNREAD:
            part = Part("", decode_object(data))
            said, steps = by_user(part), _told_by_user(part)
        if said:
            self.said[number] = self.said.get(number, 0) + steps

    def told(self) -> Told:
        """All of it, in order. The page lets go of the calls, which hold it: the collector does not look at them."""
        found, self.found = self.found, []
        if not self.in_order:
            found.sort(key=attrgetter("number", "part"))
        self.turns_at = self._turns()
        calls: list[Glance] = []
        for call in found:
            if type(call) is _Glance:
                calls.append(call)
                continue
            exact = _call(self.session, self.place(call.number), call.part, call.data)
            if isinstance(exact, bool):
                self.unreadable += exact
            else:
                calls.append(exact)
        return Told(self.session, calls, sum(self.said.values()), self.unreadable)

    def _turns(self) -> list[int]:
        turns: list[int] = []
        for turn, number in enumerate(sorted(self.said)):
            turns += [turn] * (number - len(turns))
        return turns + [len(self.said)] * (len(self.times) + 1 - len(turns))


def scannable(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of the sessions that `Scan` can read: with rows of the first interface only, and no forks."""
    if not columns_of(connection, "part") or not {"session_id", "time_created"} <= columns_of(connection, "message"):
        return set()
    rows = connection.execute(_FORKS.format(marks=_marks(ids)), ids).fetchall()
    out = {text_of(row[0]) for row in rows if FORK.match(text_of(row[1]))}
    if columns_of(connection, "session_message"):
        out.update(text_of(row[0]) for row in connection.execute(_SECOND.format(marks=_marks(ids)), ids))
    return set(ids) - out


class Scan:
    """Some sessions, a few thousand rows at a time, so that the file is open only while rows are fetched."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._waiting = list(reversed(ids))
        self._after = _FIRST
        """The waiting session's last row that was read."""
        self._pages: dict[str, _Page] | None = None
        self.exact: list[str] = []
        """Sessions that cannot be read this way, known after the first `read`."""

    @property
    def done(self) -> bool:
        """True if every session was read."""
        return not self._waiting

    def read(self, connection: Connection) -> list[Told]:
        """The next sessions that are whole; a large one takes several reads."""
        if self._pages is None:
            fit = scannable(connection, self._waiting)
            self.exact = [name for name in reversed(self._waiting) if name not in fit]
            self._waiting = [name for name in self._waiting if name in fit]
        connection.text_factory = bytes  # saves a call of Python a column
        if self._pages is None:
            self._pages = _pages(connection, self._waiting)
        found: list[Told] = []
        left = _ROWS_AT_ONCE
        while self._waiting and left > 0:
            session = self._waiting[-1]
            page = self._pages.get(session) or self._pages.setdefault(session, _Page(session))
            count, last = page.add(connection.execute(_PARTS, (session, self._after, left)))
            if count < left:
                found.append(page.told())
                del self._pages[session]
                self._waiting.pop()
                self._after = _FIRST
            else:
                self._after = last
            left -= count
        return found


def _pages(connection: Connection, ids: Sequence[str]) -> dict[str, _Page]:
    """The sessions with what their messages say."""
    pages: dict[str, _Page] = {}
    last: object = None
    page = _Page("")
    for session, identifier, created, data in connection.execute(_MESSAGES.format(marks=_marks(ids)), ids).fetchall():
        if session != last:
            last = session
            page = pages[text_of(session)] = _Page(text_of(session))
        page.numbers[identifier] = len(page.times)
        page.times.append(created)
        try:
            _decode_silent(data or b"")
        except _UNREAD:
            _tell(page, identifier, decode_message(0, "", None, data))
    return pages


def _tell(page: _Page, identifier: object, message: Message) -> None:
    """A message that says something about its calls."""
    page.unreadable += message.raw is not None
    if message.role == "user":
        page.users.add(identifier)
    if error := as_text(message.error.get("name")):
        page.errors[page.numbers[identifier]] = error


def _told_by_user(part: Part) -> bool:
    value = part.value or {}
    kind, text = text_of_part(Message(0, "", None, "user"), json_text(value.get("type")), value)
    return kind is StepKind.USER and bool(text.strip())


def _whole(read: _PlainPart) -> bool:
    """False where the call, or a notice in its text, must be read more exactly."""
    tool = read.tool
    if tool in SHELLS:
        return read.state.output.find("_metadata>", -NOTICE_WITHIN) < 0
    return tool != _PLACEHOLDER


def _call(session: str, place: _Place, part: bytes, data: bytes | None) -> ToolCall | bool:
    """The call; True for a part that cannot be read, False for any other."""
    try:
        read = _decode(data or b"")
    except _UNREAD:
        return _untyped(session, place, part, data)
    if read.type != "tool" or not read.tool:
        return _untyped(session, place, part, data)
    state, tool, call_id = read.state, read.tool, read.callID or ""
    arguments: JsonValue = state.input
    if not arguments or tool == _PLACEHOLDER:  # the arguments may stand elsewhere
        return _untyped(session, place, part, data)
    status = state.status
    text = state.error if status == "error" else None if status in ("pending", "running") else state.output
    result = None if text is None else result_of(text)
    facts = facts_of(tool, state.metadata or {}, read.metadata, state.attachments, result)
    turn, created, error = place
    if error:
        facts["message_error"] = error
    if typed_by_user(call_id):
        facts["typed_by_user"] = True
    times = state.time or {}
    start = times.get("start")
    started, length = parse_time(start) or parse_time(created), duration(start, times.get("end"))
    return ToolCall(
        f"{session}/{text_of(part)}", call_id, session, tool, arguments, flag(status, result), result, 0, turn,
        started, length, status, None, facts,
    )  # fmt: skip


def _untyped(session: str, place: _Place, part: bytes, data: bytes | None) -> ToolCall | bool:
    value = decode_object(data)
    kind = None if value is None else value.get("type")
    if kind != "tool":
        return not isinstance(kind, str) or kind not in KNOWN | SILENT
    turn, created, error = place
    narrator = Narrator(session)
    narrator.number, narrator.turn = -1, turn
    return tool_call(narrator, Message(0, "", parse_time(created)), Part(text_of(part), value), True, error)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))

"""opencode's calls for counting: tool parts alone, by session, without the steps around them.

In less than half of the time of `calls`: no step numbers, nothing about what was undone or compacted; the rest is the
same. What does not fit the typed form is read by `opencode_parts`, as `calls` reads it. Of other parts SQLite says
whether they can be read; only those that cannot come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

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
_FORKS = "SELECT id, title FROM session WHERE id IN ({marks}) AND title LIKE '%(fork #%'"
_SECOND = "SELECT DISTINCT session_id FROM session_message WHERE session_id IN ({marks})"
_MESSAGES = """SELECT session_id, id, time_created, CAST(data AS BLOB)
FROM message WHERE session_id IN ({marks}) ORDER BY session_id, time_created, id"""
_PARTS_OF = "SELECT message_id, id, CAST(data AS BLOB) FROM part WHERE message_id IN ({marks})"
_READABLE = ", ".join(f"'{kind}'" for kind in sorted(KNOWN | SILENT))
_TOOLS = f"""SELECT rowid, message_id, id, CAST(data AS BLOB) FROM part
WHERE session_id = ? AND rowid > ? AND CASE WHEN data LIKE '%"tool"%' OR typeof(data) <> 'text' THEN 1
WHEN NOT json_valid(data) THEN 1 ELSE coalesce(json_extract(data, '$.type') NOT IN ({_READABLE}), 1) END
ORDER BY rowid LIMIT ?"""
"""Tool parts, and those that nothing can be made of."""
_AT_ONCE = 500  # values of one IN
_CALLS_AT_ONCE = 1000
_LAST = 1 << 62  # parts whose message is gone come at the end


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


class _PlainPart(msgspec.Struct, gc=False):
    """A call that the store holds for a success; others do not fit and are read by `_call`."""

    type: Literal["tool"]
    tool: Annotated[str, msgspec.Meta(min_length=1)]
    state: _PlainState
    callID: str | None = None
    metadata: _OuterFacts | None = None


class _Silent(msgspec.Struct, gc=False):
    """A message that says nothing about its calls."""

    role: Literal["assistant"]
    error: None = None


_decode_plain = msgspec.json.Decoder(_PlainPart).decode
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
    turn: int
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
    def shown_tool(self) -> str:
        return self.tool

    @property
    def result(self) -> Result | None:
        return result_of(self.text)

    def whole(self) -> ToolCall:
        call = _call(self.session_id, self.page.place(self.number), self.part, self.data)
        assert isinstance(call, ToolCall)  # what fits the plain form is a call
        return call


@dataclass(slots=True)
class _Page:
    """A session on its way: its messages, and what was found so far."""

    session: str
    numbers: dict[object, int] = field(default_factory=dict)
    """The place of each message in the session."""
    turns_at: list[int] = field(default_factory=list)
    """By that place."""
    times: list[object] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    turns: int = 0
    """USER steps."""
    unreadable: int = 0
    calls: list[Glance] = field(default_factory=list)
    order: list[tuple[int, bytes]] = field(default_factory=list)
    """By what the calls are ordered: the message's place, the part's id."""
    in_order: bool = True

    def place(self, number: int) -> _Place:
        """What the message there says; `_LAST` is none."""
        if number == _LAST:
            return (self.turns_at[-1] if self.turns_at else 0), None, None
        return self.turns_at[number], self.times[number], self.errors.get(number)

    def add(self, rows: Iterable[tuple[int, object, object, bytes | None]]) -> tuple[int, int]:
        """The next rows of `part`, their texts as bytes: how many there were, and the number of the last."""
        numbers = self.numbers
        last = self.order[-1] if self.order else (-1, b"")
        count = reached = 0
        for row, message, part, data in rows:  # decoded while it is in the processor's cache
            count, reached = count + 1, row
            number = numbers.get(message, _LAST)
            name = part if type(part) is bytes else text_of(part).encode()
            call = _glance(self, number, name, data or b"")
            if isinstance(call, bool):
                self.unreadable += call
                continue
            here = (number, name)
            if here < last:
                self.in_order = False
            last = here
            self.order.append(here)
            self.calls.append(call)
        return count, reached

    def told(self) -> Told:
        """All of it, in order. The page lets go of the calls, which hold it: the collector does not look at them."""
        calls, self.calls = self.calls, []
        if not self.in_order:
            calls = [call for _, call in sorted(zip(self.order, calls, strict=True), key=itemgetter(0))]
        return Told(self.session, calls, self.turns, self.unreadable)


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
    """Some sessions, a few hundred calls at a time, so that the file is open only while rows are fetched."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._waiting = list(reversed(ids))
        self._after = -(2**63)
        """Row of the waiting session's last call that was read."""
        self._pages: dict[str, _Page] | None = None

    @property
    def done(self) -> bool:
        """True if every session was read."""
        return not self._waiting

    def read(self, connection: Connection) -> list[Told]:
        """The next sessions that are whole; a large one takes several reads."""
        connection.text_factory = bytes  # saves a call of Python a column
        if self._pages is None:
            self._pages = _pages(connection, self._waiting)
        found: list[Told] = []
        left = _CALLS_AT_ONCE
        while self._waiting and left > 0:
            session = self._waiting[-1]
            page = self._pages.setdefault(session, _Page(session))
            count, row = page.add(connection.execute(_TOOLS, (session, self._after, left)))
            if count < left:
                found.append(page.told())
                del self._pages[session]
                self._waiting.pop()
                self._after = -(2**63)
            else:
                self._after = row
            left -= count
        return found


def _pages(connection: Connection, ids: Sequence[str]) -> dict[str, _Page]:
    """The sessions with turn and error of their messages."""
    rows = connection.execute(_MESSAGES.format(marks=_marks(ids)), ids).fetchall()
    decoded: dict[object, Message] = {}
    for _, identifier, _, data in rows:
        try:
            _decode_silent(data or b"")
        except _UNREAD:
            decoded[identifier] = decode_message(0, "", None, data)
    said = _said(connection, [text_of(identifier) for identifier, message in decoded.items() if message.role == "user"])
    pages: dict[str, _Page] = {}
    for session, group in groupby(rows, itemgetter(0)):
        page = pages[text_of(session)] = _Page(text_of(session))
        some = list(group)
        identifiers = [row[1] for row in some]
        page.times = [row[2] for row in some]
        page.numbers = dict(zip(identifiers, range(len(identifiers)), strict=True))
        turn = at = 0
        for number in sorted(page.numbers[name] for name in decoded.keys() & page.numbers.keys()):
            identifier = identifiers[number]
            message = decoded[identifier]
            if identifier in said:
                page.turns_at += [turn] * (number - at)
                turn, at = turn + 1, number
            page.turns += said.get(identifier, 0)
            page.unreadable += message.raw is not None
            if error := as_text(message.error.get("name")):
                page.errors[number] = error
        page.turns_at += [turn] * (len(identifiers) - at)
    return pages


def _said(connection: Connection, asked: Sequence[object]) -> dict[object, int]:
    """Those of the user's messages that a person wrote, with how many steps of the person's each makes."""
    said: dict[object, int] = {}
    for some in _batches(asked):
        for message, identifier, data in connection.execute(_PARTS_OF.format(marks=_marks(some)), some):
            part = Part(text_of(identifier), decode_object(data))
            if by_user(part):
                said[message] = said.get(message, 0) + _told_by_user(part)
    return said


def _told_by_user(part: Part) -> bool:
    value = part.value or {}
    kind, text = text_of_part(Message(0, "", None, "user"), json_text(value.get("type")), value)
    return kind is StepKind.USER and bool(text.strip())


def _glance(page: _Page, number: int, part: bytes, data: bytes) -> Glance | bool:
    """The call; True for a part that cannot be read, False for any other."""
    try:
        read = _decode_plain(data)
        if not data.isascii():
            str(data, "utf-8")  # what was skipped was not looked at
    except _UNREAD:
        return _call(page.session, page.place(number), part, data)
    tool, state = read.tool, read.state
    text, own = state.output, state.metadata
    if tool == _PLACEHOLDER or (tool in SHELLS and text.find("_metadata>", -NOTICE_WITHIN) >= 0):
        return _call(page.session, page.place(number), part, data)
    code = None if own is None else own.exitCode if own.exit is None else own.exit
    turn = page.turns_at[number] if number < _LAST else page.place(number)[0]
    return _Glance(page.session, part, page, number, data, read.callID or "", tool, state.input, text, code, turn)


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


def _batches(values: Sequence[object]) -> Iterator[Sequence[object]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]

"""opencode's calls for counting: tool parts alone, by session, without the steps around them.

In a fifth of the time of `calls`: no step numbers, nothing about what was undone or compacted; the rest is the same.
Every part is decoded once, to a type that keeps no more than counting asks for; what fits none is read by
`opencode_parts`, as `calls` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_text
from reach_tui.base.sqlite import Connection, columns_of, text_of
from reach_tui.model import Glance, Result, Route, StepKind, ToolCall
from reach_tui.stores.content import Narrator, json_text, result_of
from reach_tui.stores.growth import NO_ROWS, Growth, RowState, moving
from reach_tui.stores.opencode_forks import FORK
from reach_tui.stores.opencode_forms import UNREAD, PlainPart, decode_call, decode_part, decode_silent, decode_words
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
_MESSAGES = """SELECT session_id, rowid, id, time_created, {moving}, CAST(data AS BLOB)
FROM message WHERE session_id IN ({marks}) ORDER BY session_id, time_created, id"""
_PARTS = """SELECT rowid, message_id, id, {moving}, CAST(data AS BLOB) FROM part
WHERE session_id = ? AND rowid > ? ORDER BY rowid LIMIT ?"""
_FIRST = -(2**63)
_ROWS_AT_ONCE = 300
"""A millisecond: no read should hold up a writer's checkpoint for longer. They stay in the processor's cache."""


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
    rows: RowState = NO_ROWS
    """Of `part`, as far as they were read."""
    own_rows: RowState = NO_ROWS
    """Of `message`."""
    found: list[_Glance | _Odd] = field(default_factory=list)
    in_order: bool = True

    def place(self, number: int) -> _Place:
        """What the message there says."""
        if number == len(self.times):
            return self.turns_at[number], None, None
        return self.turns_at[number], self.times[number], self.errors.get(number)

    def hear(self, row: int, identifier: object, created: object, moved: int, data: bytes | None) -> None:
        """The next row of `message`."""
        count, highest, total, more = self.own_rows
        self.own_rows = (count + 1, row if row > highest else highest, total + moved, more)
        number = self.numbers[identifier] = len(self.times)
        self.times.append(created)
        try:
            decode_silent(data or b"")
        except UNREAD:
            message = decode_message(0, "", None, data)
            self.unreadable += message.raw is not None
            if message.role == "user":
                self.users.add(identifier)
            if error := as_text(message.error.get("name")):
                self.errors[number] = error

    def add(self, rows: Sequence[tuple[int, object, object, int | None, bytes | None]]) -> None:
        """The next rows of `part`, their texts as bytes."""
        session, place, users, found = self.session, self.numbers.get, self.users, self.found
        decode, append = decode_part, found.append
        gone = len(self.times)
        before, name_before = (found[-1].number, found[-1].part) if found else (-1, b"")
        total = 0
        for _, message, part, moved, text in rows:
            total += moved or 0
            data = text or b""
            try:
                read = decode(data)
            except UNREAD:
                read = None
            plain = type(read) is PlainPart
            if not plain:
                if message in users:
                    self._hear_part(self.numbers[message], data)
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
        if rows:
            count, _, before_these, more = self.rows
            self.rows = (count + len(rows), rows[-1][0], before_these + total, more)

    def _hear_part(self, number: int, data: bytes | None) -> None:
        """A part of a user's message."""
        try:
            said = steps = bool(decode_words(data or b"").text.strip())
        except UNREAD:
            part = Part("", decode_object(data))
            said, steps = by_user(part), _told_by_user(part)
        if said:
            self.said[number] = self.said.get(number, 0) + steps

    def told(self, tables: Sequence[str]) -> Told:
        """All of it, in order, with the state of its rows in those tables.

        The page lets go of the calls, which hold it: the collector does not look at them."""
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
        states = {"part": self.rows, "message": self.own_rows}
        rows = [states.get(table, NO_ROWS) for table in tables]
        return Told(self.session, calls, sum(self.said.values()), self.unreadable, rows)

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

    def __init__(self, ids: Sequence[str], growth: Growth) -> None:
        self._growth = growth
        self._tables: list[str] = []
        """Those that grow, in the order of their states."""
        self._parts = ""
        """The query for a session's parts."""
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
            self._pages = self._prepared(connection)
        connection.text_factory = bytes  # saves a call of Python a column
        found: list[Told] = []
        left = _ROWS_AT_ONCE
        while self._waiting and left > 0:
            session = self._waiting[-1]
            if (page := self._pages.get(session)) is None:
                page = self._pages[session] = _Page(session)
            # fetched first: while it is looked at, no read keeps the writer from beginning its log anew
            rows = connection.execute(self._parts, (session, self._after, _ROWS_AT_ONCE)).fetchall()
            page.add(rows)
            left -= len(rows)
            if len(rows) < _ROWS_AT_ONCE:
                found.append(page.told(self._tables))
                del self._pages[session]
                self._waiting.pop()
                self._after = _FIRST
            else:
                self._after = rows[-1][0]
        return found

    def _prepared(self, connection: Connection) -> dict[str, _Page]:
        """The waiting sessions with what their messages say."""
        columns = {one.table: columns_of(connection, one.table) for one in self._growth.rows}
        self._tables = [one.table for one in self._growth.rows if one.session in columns[one.table]]
        moved = {one.table: moving(one, columns[one.table]) for one in self._growth.rows}
        self._parts = _PARTS.format(moving=moved["part"])
        query = _MESSAGES.format(moving=moved["message"], marks=_marks(self._waiting))
        connection.text_factory = bytes
        pages: dict[str, _Page] = {}
        last: object = None
        page = _Page("")
        for session, row, identifier, created, time, data in connection.execute(query, self._waiting).fetchall():
            if session != last:
                last = session
                page = pages[text_of(session)] = _Page(text_of(session))
            page.hear(row, identifier, created, time or 0, data)
        return pages


def _told_by_user(part: Part) -> bool:
    value = part.value or {}
    kind, text = text_of_part(Message(0, "", None, "user"), json_text(value.get("type")), value)
    return kind is StepKind.USER and bool(text.strip())


def _whole(read: PlainPart) -> bool:
    """False where the call, or a notice in its text, must be read more exactly."""
    tool = read.tool
    if tool in SHELLS:
        return read.state.output.find("_metadata>", -NOTICE_WITHIN) < 0
    return tool != _PLACEHOLDER


def _call(session: str, place: _Place, part: bytes, data: bytes | None) -> ToolCall | bool:
    """The call; True for a part that cannot be read, False for any other."""
    try:
        read = decode_call(data or b"")
    except UNREAD:
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

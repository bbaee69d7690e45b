"""opencode's calls for counting: tool parts alone, by session, without the steps around them.

In less than half of the time of `calls`: no step numbers, nothing about what was undone or compacted; the rest is the
same. What does not fit the typed form is read by `opencode_parts`, as `calls` reads it. Of other parts SQLite says
whether they can be read; only those that cannot come here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import msgspec

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_text
from reach_tui.base.sqlite import Connection, columns_of, text_of
from reach_tui.model import StepKind, ToolCall
from reach_tui.stores.content import Narrator, json_text, result_of
from reach_tui.stores.opencode_forks import FORK
from reach_tui.stores.opencode_parts import (
    KNOWN,
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
_MESSAGES = """SELECT session_id, id, time_created,
CASE WHEN data NOT LIKE '%"role":"assistant"%' OR data LIKE '%"error"%' OR typeof(data) <> 'text'
OR NOT json_valid(data) THEN coalesce(CAST(data AS BLOB), x'') END
FROM message WHERE session_id IN ({marks}) ORDER BY session_id, time_created, id"""
_PARTS_OF = "SELECT message_id, id, CAST(data AS BLOB) FROM part WHERE message_id IN ({marks})"
_READABLE = ", ".join(f"'{kind}'" for kind in sorted(KNOWN | SILENT))
_TOOLS = f"""SELECT rowid, message_id, id, CAST(data AS BLOB) FROM part
WHERE session_id = ? AND rowid > ? AND CASE WHEN data LIKE '%"tool"%' OR typeof(data) <> 'text' THEN 1
WHEN NOT json_valid(data) THEN 1 ELSE coalesce(json_extract(data, '$.type') NOT IN ({_READABLE}), 1) END
ORDER BY rowid LIMIT ?"""
"""Tool parts, and those that nothing can be made of."""
_AT_ONCE = 500  # values of one IN
_CALLS_AT_ONCE = 500
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


class _Place:
    """What a message says about the calls in it."""

    __slots__ = ("at", "error", "order", "turn")

    def __init__(self, order: int, turn: int, at: int | None, error: str | None) -> None:
        self.order = order
        self.turn = turn
        self.at = at
        self.error = error


@dataclass(slots=True)
class _Page:
    """A session on its way: its messages, and what was found so far."""

    places: dict[object, _Place] = field(default_factory=dict)
    last_turn: int = 0
    turns: int = 0
    unreadable: int = 0
    calls: list[tuple[int, str, ToolCall]] = field(default_factory=list)
    """With what they are ordered by: the message's place, the part's id."""

    def told(self, session: str) -> Told:
        """All of it, in order."""
        self.calls.sort(key=itemgetter(0, 1))
        return Told(session, [call for _, _, call in self.calls], self.turns, self.unreadable)


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
        if self._pages is None:
            self._pages = _pages(connection, self._waiting)
        found: list[Told] = []
        left = _CALLS_AT_ONCE
        while self._waiting and left > 0:
            session = self._waiting[-1]
            rows = connection.execute(_TOOLS, (session, self._after, left)).fetchall()
            page = self._pages.setdefault(session, _Page())
            _add(page, session, rows)
            if len(rows) < left:
                found.append(page.told(session))
                del self._pages[session]
                self._waiting.pop()
                self._after = -(2**63)
            else:
                self._after = rows[-1][0]
            left -= len(rows)
        return found


def _add(page: _Page, session: str, rows: Sequence[tuple[int, object, object, bytes | None]]) -> None:
    stray = _Place(_LAST, page.last_turn, None, None)
    for _, message, part, data in rows:
        place = page.places.get(message) or stray
        name = text_of(part)
        call = _call(session, place, name, data)
        if isinstance(call, ToolCall):
            page.calls.append((place.order, name, call))
        else:
            page.unreadable += call


def _pages(connection: Connection, ids: Sequence[str]) -> dict[str, _Page]:
    """The sessions with turn and error of their messages."""
    rows = connection.execute(_MESSAGES.format(marks=_marks(ids)), ids).fetchall()
    decoded = {identifier: decode_message(0, "", None, data) for _, identifier, _, data in rows if data is not None}
    asked = [identifier for identifier, message in decoded.items() if message.role == "user"]
    people = set()
    said = Counter[object]()
    for some in _batches(asked):
        for message, identifier, data in connection.execute(_PARTS_OF.format(marks=_marks(some)), some):
            part = Part(text_of(identifier), decode_object(data))
            if by_user(part):
                people.add(message)
                said[message] += _told_by_user(decoded[message], part)
    pages: dict[str, _Page] = {}
    for session, identifier, created, _ in rows:
        page = pages.setdefault(text_of(session), _Page())
        page.last_turn += identifier in people
        page.turns += said[identifier]
        known = decoded.get(identifier)
        page.unreadable += known is not None and known.raw is not None
        error = as_text(known.error.get("name")) if known else None
        page.places[identifier] = _Place(len(page.places), page.last_turn, parse_time(created), error)
    return pages


def _told_by_user(message: Message, part: Part) -> bool:
    kind, text = text_of_part(message, json_text((part.value or {}).get("type")), part.value or {})
    return kind is StepKind.USER and bool(text.strip())


def _call(session: str, place: _Place, part: str, data: bytes | None) -> ToolCall | bool:
    """The call; True for a part that cannot be read, False for any other."""
    try:
        read = _decode(data or b"")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
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
    if place.error:
        facts["message_error"] = place.error
    if typed_by_user(call_id):
        facts["typed_by_user"] = True
    times = state.time or {}
    start = times.get("start")
    started, length = parse_time(start) or place.at, duration(start, times.get("end"))
    return ToolCall(
        f"{session}/{part}", call_id, session, tool, arguments, flag(status, result), result, 0, place.turn,
        started, length, status, None, facts,
    )  # fmt: skip


def _untyped(session: str, place: _Place, part: str, data: bytes | None) -> ToolCall | bool:
    value = decode_object(data)
    kind = None if value is None else value.get("type")
    if kind != "tool":
        return not isinstance(kind, str) or kind not in KNOWN | SILENT
    narrator = Narrator(session)
    narrator.number, narrator.turn = -1, place.turn
    return tool_call(narrator, Message(0, "", place.at), Part(part, value), True, place.error)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]

"""opencode's calls for counting: tool parts alone, by session, without the steps around them.

In less than half of the time of `calls`: no step numbers, nothing about what was undone or compacted; the rest is the
same. What does not fit the typed form is read by `opencode_parts`, as `calls` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_text
from reach_tui.base.sqlite import Connection, columns_of, text_of
from reach_tui.model import ToolCall
from reach_tui.stores.content import Narrator, result_of
from reach_tui.stores.opencode_forks import FORK
from reach_tui.stores.opencode_parts import (
    Message,
    Part,
    by_user,
    decode_message,
    decode_object,
    duration,
    facts_of,
    flag,
    tool_call,
    typed_by_user,
)

_PLACEHOLDER = "invalid"
_FORKS = "SELECT id, title FROM session WHERE id IN ({marks}) AND title LIKE '%(fork #%'"
_SECOND = "SELECT DISTINCT session_id FROM session_message WHERE session_id IN ({marks})"
_MESSAGES = """SELECT session_id, id, time_created,
CASE WHEN data LIKE '%"user"%' OR data LIKE '%"error"%' OR typeof(data) = 'blob' THEN CAST(data AS BLOB) END
FROM message WHERE session_id IN ({marks}) ORDER BY session_id, time_created, id"""
_PARTS_OF = "SELECT message_id, id, CAST(data AS BLOB) FROM part WHERE message_id IN ({marks})"
_TOOLS = """SELECT rowid, message_id, id, CAST(data AS BLOB) FROM part
WHERE session_id = ? AND rowid > ? AND (data LIKE '%"tool"%' OR typeof(data) = 'blob') ORDER BY rowid LIMIT ?"""
_AT_ONCE = 500  # values of one IN
_CALLS_AT_ONCE = 500


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

    __slots__ = ("at", "error", "turn")

    def __init__(self, turn: int, at: int | None, error: str | None) -> None:
        self.turn = turn
        self.at = at
        self.error = error


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
    """The calls of some sessions, a few hundred at a time, so that the file is open only while rows are fetched."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._waiting = list(reversed(ids))
        self._after = -(2**63)
        """Row of the waiting session's last call that was read."""
        self._places: dict[str, dict[object, _Place]] | None = None
        self._last: dict[str, int] = {}

    @property
    def done(self) -> bool:
        """True if every session was read."""
        return not self._waiting

    def read(self, connection: Connection) -> list[tuple[str, list[ToolCall]]]:
        """The next calls, session by session; the last one may go on in the next read."""
        if self._places is None:
            self._places, self._last = _places(connection, self._waiting)
        found: list[tuple[str, list[ToolCall]]] = []
        left = _CALLS_AT_ONCE
        while self._waiting and left > 0:
            session = self._waiting[-1]
            rows = connection.execute(_TOOLS, (session, self._after, left)).fetchall()
            found.append((session, self._calls(session, rows)))
            if len(rows) < left:
                self._waiting.pop()
                self._after = -(2**63)
            else:
                self._after = rows[-1][0]
            left -= len(rows)
        return found

    def _calls(self, session: str, rows: Sequence[tuple[int, object, object, bytes | None]]) -> list[ToolCall]:
        assert self._places is not None
        known = self._places.get(session, {})
        stray = _Place(self._last.get(session, 0), None, None)
        calls = [_call(session, known.get(message) or stray, text_of(part), data) for _, message, part, data in rows]
        return [call for call in calls if call is not None]


def _places(connection: Connection, ids: Sequence[str]) -> tuple[dict[str, dict[object, _Place]], dict[str, int]]:
    """Turn and error of the messages of each session, and the session's last turn."""
    rows = connection.execute(_MESSAGES.format(marks=_marks(ids)), ids).fetchall()
    decoded = {identifier: decode_message(0, "", None, data) for _, identifier, _, data in rows if data is not None}
    asked = [identifier for identifier, message in decoded.items() if message.role == "user"]
    people = set()
    for some in _batches(asked):
        for message, part, data in connection.execute(_PARTS_OF.format(marks=_marks(some)), some):
            if by_user(Part(text_of(part), decode_object(data))):
                people.add(message)
    places: dict[str, dict[object, _Place]] = {}
    last: dict[str, int] = {}
    for session, identifier, created, _ in rows:
        name = text_of(session)
        turn = last[name] = last.get(name, 0) + (identifier in people)
        message = decoded.get(identifier)
        error = as_text(message.error.get("name")) if message else None
        places.setdefault(name, {})[identifier] = _Place(turn, parse_time(created), error)
    return places, last


def _call(session: str, place: _Place, part: str, data: bytes | None) -> ToolCall | None:
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


def _untyped(session: str, place: _Place, part: str, data: bytes | None) -> ToolCall | None:
    value = decode_object(data)
    if value is None or value.get("type") != "tool":
        return None
    narrator = Narrator(session)
    narrator.number, narrator.turn = -1, place.turn
    return tool_call(narrator, Message(0, "", place.at), Part(part, value), True, place.error)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]

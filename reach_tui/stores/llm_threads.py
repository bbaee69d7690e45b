"""llm's message store (store notes on llm): a chain of content-addressed messages that threads share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.base.sqlite import Connection, columns_of, selection, text_of
from reach_tui.model import StepKind
from reach_tui.stores.content import json_text
from reach_tui.stores.llm_responses import shown_attachment
from reach_tui.stores.openai_messages import Answer, Entry, Request

_SPEAKERS = {"user": StepKind.USER, "assistant": StepKind.ASSISTANT, "system": StepKind.SYSTEM}


@dataclass(slots=True)
class _Turn:
    """One model request: which messages went in and came out, and when."""

    parent: str
    tip: str
    started: int | None
    ended: int | None


@dataclass(slots=True)
class _Line:
    """The messages of a thread on their way to entries."""

    order: list[str] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str | None] = field(default_factory=dict)
    """None: there is no such message."""


class Threads:
    """Reads threads from one open file."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @cached_property
    def parts(self) -> frozenset[str]:
        """Columns of `parts`."""
        return columns_of(self.connection, "parts")

    def among(self, ids: Sequence[str]) -> set[str]:
        """Which of the ids are threads."""
        if "tip_message_hash" not in columns_of(self.connection, "threads"):
            return set()
        query = f"SELECT id FROM threads WHERE id IN ({','.join('?' * len(ids))})"
        return {text_of(row[0]) for row in self.connection.execute(query, list(ids))}

    def entries(self, thread: str, older: Sequence[Entry]) -> list[Entry]:
        """The messages of a thread in order; not those that repeat `older`, rows of the older layout."""
        if not {"message_hash", "type", "payload"} <= self.parts:
            return []
        row = self.connection.execute("SELECT tip_message_hash FROM threads WHERE id = ?", (thread,)).fetchone()
        if row is None:
            return []
        turns = self._turns(thread)
        line, tip = _Line(), text_of(row[0])
        for end in (*(turn.tip for turn in turns), tip):
            self._walk(line, end)
        current = set(_back(line, tip))
        foreign = self._foreign(thread, line, turns)
        times = {turn.parent: turn.started for turn in turns} | {turn.tip: turn.ended for turn in turns}
        before = set(_back(line, line.parents.get(turns[0].parent, ""))) if turns and older else set()
        repeated = _Repeated(older)
        made = []
        for name in line.order:
            entry = self._entry(name, line.roles[name], times.get(name))
            entry.visible = not tip or name in current
            if (origin := foreign.get(name)) is not None:
                entry.original = f"{origin}/{name}"
            if name not in before or not repeated.holds(entry):
                made.append(entry)
        return made

    def _turns(self, thread: str) -> list[_Turn]:
        columns = columns_of(self.connection, "turns")
        if "thread_id" not in columns:
            return []
        picked = selection(columns, "parent_message_hash", "tip_message_hash", "datetime_utc", "duration_ms")
        query = f"SELECT {picked} FROM turns WHERE thread_id = ? ORDER BY id"
        found = []
        for parent, tip, started, took in self.connection.execute(query, (thread,)).fetchall():
            at = parse_time(started)
            ended = None if at is None else at + (as_int(took) or 0)
            found.append(_Turn(text_of(parent), text_of(tip), at, ended))
        return found

    def _walk(self, line: _Line, name: str) -> None:
        """Add a message and its ancestors, as far as they are not there yet; so a cycle ends, too."""
        path = []
        while name and name not in line.roles:
            row = self.connection.execute("SELECT parent_hash, role FROM messages WHERE hash = ?", (name,)).fetchone()
            line.roles[name] = text_of(row[1]) if row else None
            line.parents[name] = text_of(row[0]) if row else ""
            path.append(name)
            name = line.parents[name]
        line.order += reversed(path)

    def _foreign(self, thread: str, line: _Line, turns: Sequence[_Turn]) -> dict[str, str]:
        """The thread whose request brought a message that this one only shares (a fork, or a replayed history)."""
        own = {turn.tip for turn in turns}
        shared = [name for name in line.order if line.roles[name] == "assistant" and name not in own]
        found: dict[str, str] = {}
        for start in range(0, len(shared), 500):
            some = shared[start : start + 500]
            marks = ",".join("?" * len(some))
            query = (
                f"SELECT tip_message_hash, thread_id FROM turns WHERE tip_message_hash IN ({marks}) "
                "AND thread_id <> ? ORDER BY id DESC"
            )
            rows = self.connection.execute(query, [*some, thread])
            found.update((text_of(tip), text_of(other)) for tip, other in rows)
        return found

    def _entry(self, name: str, role: str | None, at: int | None) -> Entry:
        if role is None:
            return Entry(name, at, fault="the message is missing")
        entry = Entry(name, at)
        picked = selection(self.parts, "tool_name", "text")
        order = "position, id" if {"position", "id"} <= self.parts else "rowid"
        query = f"SELECT type, CAST(payload AS BLOB), {picked} FROM parts WHERE message_hash = ? ORDER BY {order}"
        for kind, payload, tool, text in self.connection.execute(query, (name,)).fetchall():
            self._part(entry, role, text_of(kind), payload, text_of(tool), text_of(text))
        return entry

    def _part(self, entry: Entry, role: str, kind: str, payload: bytes | None, tool: str, text: str) -> None:
        raw = (payload or b"").decode("utf-8", "replace")
        value: dict[str, JsonValue] = {}
        broken = False
        if payload:
            try:
                value = as_object(loads(payload))
            except BadJson:
                broken = True
        if kind == "tool_call":
            problem = "its JSON is broken" if broken else None
            request = Request(as_text(value.get("tool_call_id")) or "", as_text(value.get("name")) or tool)
            request.arguments, request.problem = raw if broken else value.get("arguments"), problem
            request.metadata = _facts(value)
            entry.requests.append(request)
        elif kind == "tool_result":
            entry.answers.append(self._answer(value, raw if broken else None, tool))
        elif kind in ("text", "reasoning", "attachment") and not broken:
            speaker = StepKind.REASONING if kind == "reasoning" else _SPEAKERS.get(role, StepKind.NOTE)
            entry.said.append((speaker, text or self._text(value)))
        else:
            what = "the JSON of a part is broken" if broken else f"unknown part {kind!r}"
            entry.fault = f"{entry.fault}, {what}" if entry.fault else what
            entry.raw += raw or text

    def _answer(self, value: dict[str, JsonValue], broken: str | None, tool: str) -> Answer:
        name = as_text(value.get("name")) or tool
        if broken is not None:
            return Answer("", broken, name, metadata={"broken_json": True})
        text = json_text(value.get("output"))
        attached = value.get("attachments")
        for one in attached if isinstance(attached, list) else []:
            text += shown_attachment(self.connection, as_text(as_object(one).get("id")) or "")
        exception = value.get("exception")
        answer = Answer(as_text(value.get("tool_call_id")) or "", text, name, exception is not None)
        answer.metadata = _facts(value)
        return answer

    def _text(self, value: dict[str, JsonValue]) -> str:
        """Text put together from fragments and literal pieces, an attachment, or a thought that was withheld."""
        if "attachment" in value:
            return shown_attachment(self.connection, as_text(as_object(value["attachment"]).get("id")) or "")
        if value.get("redacted") is True:
            return "[withheld]"
        pieces = value.get("text_ref")
        text = ""
        for piece in pieces if isinstance(pieces, list) else []:
            fields = as_object(piece)
            if "fragment" in fields:
                number = as_int(fields["fragment"])
                row = self.connection.execute("SELECT content FROM fragments WHERE id = ?", (number,)).fetchone()
                text += text_of(row[0]) if row else f"[fragment {number}]"
            else:
                text += json_text(fields.get("literal"))
        return text


def _facts(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value[name] for name in ("exception", "server_executed") if value.get(name) is not None}


def _back(line: _Line, name: str) -> list[str]:
    """A message and its ancestors among those read; a cycle ends it."""
    found: dict[str, None] = {}
    while name in line.roles and name not in found:
        found[name] = None
        name = line.parents[name]
    return list(found)


class _Repeated:
    """What stands in rows of the older layout: a thread that continues a conversation begins with a copy of it."""

    def __init__(self, older: Sequence[Entry]) -> None:
        self.said = {text.strip() for one in older for _, text in one.said}
        self.asked = {(request.id, request.name) for one in older for request in one.requests}
        self.answered = {answer.call_id for one in older for answer in one.answers}

    def holds(self, entry: Entry) -> bool:
        """True if all of the message stands there."""
        return (
            entry.fault is None
            and all(text.strip() in self.said for _, text in entry.said)
            and all((request.id, request.name) in self.asked for request in entry.requests)
            and all(answer.call_id in self.answered for answer in entry.answers)
        )

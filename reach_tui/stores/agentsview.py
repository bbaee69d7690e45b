"""agentsview's `sessions.db`: its archive of other programs' sessions (store notes on agentsview)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, loads
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, stamp, text_of
from reach_tui.model import Session, Step, StepKind, Tokens, ToolCall
from reach_tui.stores.content import Narrator, result_of
from reach_tui.stores.kin import cut, rings
from reach_tui.stores.reader import FIRST_PAGE, Recognition, Trouble

_SESSION_COLUMNS = (
    "id", "agent", "project", "cwd", "first_message", "display_name", "session_name", "started_at", "ended_at",
    "parent_session_id", "relationship_type", "total_output_tokens", "outcome", "tool_failure_signal_count",
    "user_message_count", "is_truncated",
)  # fmt: skip
_MESSAGE_COLUMNS = (
    "id", "ordinal", "role", "content", "thinking_text", "timestamp", "is_system", "is_compact_boundary",
)  # fmt: skip
_CALL_COLUMNS = (
    "id", "message_id", "tool_use_id", "tool_name", "input_json", "call_index", "subagent_session_id", "result_content",
    "result_content_length", "observed_outcome",
)  # fmt: skip
_EVENT_COLUMNS = (
    "tool_use_id", "tool_call_message_ordinal", "call_index", "status", "content", "content_length", "timestamp",
)  # fmt: skip
_FLAGS = {"errored": True, "cancelled": True, "": False, "completed": False}
_SAME_WORK = frozenset({"continuation", "fork"})

Row = dict[str, Any]


@dataclass(slots=True)
class _Events:
    """Result events of one session: each call takes its own, what nobody takes is left."""

    exact: dict[tuple[str, object, object], list[Row]] = field(default_factory=lambda: defaultdict(list))

    def add(self, row: Row) -> None:
        self.exact[text_of(row["tool_use_id"]), row["tool_call_message_ordinal"], row["call_index"]].append(row)

    def take(self, call_id: str, ordinal: object, index: object) -> list[Row]:
        """By id and place; by the id alone where the place differs, by the place alone where there is no id."""
        other_place = [key for key in self.exact if call_id and key[0] == call_id]
        for key in ((call_id, ordinal, index), *other_place[:1], ("", ordinal, index)):
            if (found := self.exact.pop(key, None)) is not None:
                return found
        return []

    def left(self) -> Iterator[Row]:
        for rows in self.exact.values():
            yield from rows


class AgentsviewReader:
    """Reads one `sessions.db` of agentsview."""

    kind: ClassVar[str] = "agentsview"
    title: ClassVar[str] = "agentsview"
    flag_meaning: ClassVar[str] = "The call's last `tool_result_events.status` is `errored` or `cancelled`."
    versions_tried: ClassVar[tuple[str, ...]] = ("0.46.1",)
    not_recorded: ClassVar[str] = (
        "The text of many results (file reads, everything of some programs): such a call stays open unless flagged."
    )
    verified: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """agentsview has `sessions` (agent, transcript_revision), `tool_calls` and `tool_result_events`."""
        if not (schema.has("sessions", "id", "agent") and "tool_result_events" in schema.tables):
            return None
        version = f"user_version {schema.user_version}"
        needed = {
            "messages": ("id", "session_id", "ordinal", "role", "content"),
            "tool_calls": ("session_id", "message_id", "tool_name", "input_json"),
            "tool_result_events": ("session_id", "status", "content"),
        }
        for table, columns in needed.items():
            if not schema.has(table, *columns):
                return Recognition(version, f"no table {table} with {', '.join(columns)}")
        return Recognition(version)

    def data_version(self) -> object:
        """Sizes and times of the file and its `-wal`."""
        return stamp(self.path)

    def sessions(self) -> Iterator[Session]:
        """Every session that was not deleted there, newest first."""
        first = self._page(FIRST_PAGE)
        yield from first
        if len(first) == FIRST_PAGE:
            seen = {session.id for session in first}
            yield from (session for session in self._page() if session.id not in seen)

    def _page(self, limit: int = -1) -> list[Session]:
        with reading(self.path) as connection:
            ringed = _rings(connection)
            found = [cut(_session(row), ringed) for row in _session_rows(connection, limit=limit)]
        return sorted(found, key=lambda session: (session.started_at or 0, session.id), reverse=True)

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        with reading(self.path) as connection:
            found = (cut(_session(row), _rings(connection)) for row in _session_rows(connection, session_id))
            return next(found, None)

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session; calls stand after the message that made them."""
        yield from self._tell(Narrator(session_id))

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first."""
        ids = [session.id for session in self.sessions()] if session_ids is None else session_ids
        for session_id in ids:
            for step in self._tell(Narrator(session_id)):
                if step.call is not None:
                    yield step.call

    def troubles(self, session_id: str) -> list[Trouble]:
        """Arguments that are no JSON, results without a call, calls without a message."""
        narrator = Narrator(session_id)
        for _ in self._tell(narrator):
            pass
        return narrator.troubles

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        with reading(self.path) as connection:
            if not _session_rows(connection, narrator.session_id):
                return
            messages = _rows(connection, "messages", _MESSAGE_COLUMNS, narrator.session_id, "ordinal, id")
            calls = _rows(connection, "tool_calls", _CALL_COLUMNS, narrator.session_id, "call_index, id")
            events = _Events()
            order = "event_index, id" if "event_index" in columns_of(connection, "tool_result_events") else "rowid"
            for row in _rows(connection, "tool_result_events", _EVENT_COLUMNS, narrator.session_id, order):
                events.add(row)
        yield from _Story(narrator, events).tell(messages, calls)


def _rings(connection: Connection) -> frozenset[str]:
    has_parents = "parent_session_id" in columns_of(connection, "sessions")
    return rings(connection, "sessions", "id", "parent_session_id") if has_parents else frozenset()


def _session_rows(connection: Connection, session_id: str | None = None, limit: int = -1) -> list[Row]:
    columns = columns_of(connection, "sessions")
    where = ["deleted_at IS NULL"] if "deleted_at" in columns else []
    values: list[object] = []
    if session_id is not None:
        where.append("id = ?")
        values.append(session_id)
    query = f"SELECT {selection(columns, *_SESSION_COLUMNS)} FROM sessions"
    if where:
        query += f" WHERE {' AND '.join(where)}"
    if session_id is None and "started_at" in columns:
        query += " ORDER BY started_at DESC"
    rows = connection.execute(f"{query} LIMIT ?", (*values, limit)).fetchall()
    return [dict(zip(_SESSION_COLUMNS, row, strict=True)) for row in rows]


def _rows(connection: Connection, table: str, wanted: Sequence[str], session_id: str, order: str) -> list[Row]:
    columns = columns_of(connection, table)
    known = ", ".join(name for name in order.split(", ") if name in columns) or "rowid"
    query = f"SELECT {selection(columns, *wanted)} FROM {table} WHERE session_id = ? ORDER BY {known}"
    return [dict(zip(wanted, row, strict=True)) for row in connection.execute(query, (session_id,)).fetchall()]


def _session(row: Row) -> Session:
    notes = [f"recorded by {agent}"] if (agent := text_of(row["agent"])) else []
    if agent == "opencode":
        notes.append("the archive keeps no results of this program: hidden failures cannot be seen")
    if row["is_truncated"]:
        notes.append("cut short by the archive")
    if failures := as_int(row["tool_failure_signal_count"]):
        notes.append(f"agentsview itself counts {failures} failed")
    parent, relation = text_of(row["parent_session_id"]) or None, text_of(row["relationship_type"])
    titles = (text_of(row[name]) for name in ("display_name", "session_name", "first_message"))
    return Session(
        store="agentsview",
        id=text_of(row["id"]),
        parent_id=parent,
        title=next((title for title in titles if title), None),
        project=text_of(row["cwd"]) or text_of(row["project"]) or None,
        started_at=parse_time(row["started_at"]),
        ended_at=parse_time(row["ended_at"]),
        tokens=Tokens(output=as_int(row["total_output_tokens"]) or None),
        outcome=text_of(row["outcome"]) or None,
        own_work=parent is None or relation in _SAME_WORK,
        notes=tuple(notes),
        turns=as_int(row["user_message_count"]),
    )


class _Story:
    """One session's rows on their way to becoming steps."""

    def __init__(self, narrator: Narrator, events: _Events) -> None:
        self.narrator = narrator
        self.events = events
        self.seen: dict[str, int] = {}

    def tell(self, messages: Sequence[Row], calls: Sequence[Row]) -> Iterator[Step]:
        by_message: dict[object, list[Row]] = defaultdict(list)
        for row in calls:
            by_message[row["message_id"]].append(row)
        for message in messages:
            mine = by_message.pop(message["id"], [])
            yield from self._text(message, mine)
            for row in mine:
                yield self._call(row, message["ordinal"], parse_time(message["timestamp"]))
        for rows in by_message.values():
            for row in rows:
                self.narrator.trouble("call without its message", f"tool_calls {row['id']}")
                yield self._call(row, None, None)
        for event in self.events.left():
            where = text_of(event["tool_use_id"]) or f"message {event['tool_call_message_ordinal']}"
            self.narrator.trouble("orphan result", where)
            text = f"result without a call ({where}): {text_of(event['content'])}"
            yield self.narrator.step(StepKind.NOTE, text, parse_time(event["timestamp"]))

    def _text(self, message: Row, calls: Sequence[Row]) -> Iterator[Step]:
        at = parse_time(message["timestamp"])
        if thinking := text_of(message["thinking_text"]):
            yield self.narrator.step(StepKind.REASONING, thinking, at)
        text = _without_calls(text_of(message["content"]), [text_of(row["tool_name"]) for row in calls])
        if not text.strip():
            return
        role = text_of(message["role"])
        kind = {"user": StepKind.USER, "assistant": StepKind.ASSISTANT}.get(role, StepKind.SYSTEM)
        if message["is_compact_boundary"]:
            kind = StepKind.NOTE
        elif message["is_system"]:
            kind = StepKind.SYSTEM
        if kind is StepKind.USER:
            self.narrator.turn += 1
        yield self.narrator.step(kind, text, at)

    def _call(self, row: Row, ordinal: object, at: int | None) -> Step:
        identifier = text_of(row["tool_use_id"])
        name = identifier or f"{text_of(ordinal)}.{text_of(row['call_index'])}"
        self.seen[name] = self.seen.get(name, 0) + 1
        suffix = f"#{self.seen[name]}" if self.seen[name] > 1 else ""
        arguments, problem = _arguments(row["input_json"])
        if problem:
            self.narrator.trouble("malformed call", f"{name}: {problem}")
        events = self.events.take(identifier, ordinal, row["call_index"])
        status = text_of(events[-1]["status"]) if events else None
        texts = [text for event in events if (text := text_of(event["content"]))] or [text_of(row["result_content"])]
        text = "\n".join(texts)
        size = sum(as_int(event["content_length"]) or 0 for event in events) or as_int(row["result_content_length"])
        metadata: dict[str, JsonValue] = {}
        if outcome := text_of(row["observed_outcome"]):
            metadata["observed_outcome"] = outcome
        if child := text_of(row["subagent_session_id"]):
            metadata["subagent_session_id"] = child
        lost = _lost(text, size, bool(events), outcome)
        if lost:
            metadata["result_kept"] = False
            problem = problem or lost
        answered = parse_time(events[-1]["timestamp"]) if events else None
        return self.narrator.call(
            ToolCall(
                key=f"{self.narrator.session_id}/{name}{suffix}",
                id=identifier,
                session_id=self.narrator.session_id,
                tool=text_of(row["tool_name"]),
                arguments=arguments,
                flagged=None if status is None else _FLAGS.get(status),
                result=None if lost else result_of(text),
                step=self.narrator.number + 1,
                turn=self.narrator.turn,
                started_at=at,
                duration_ms=answered - at if answered and at and answered >= at else None,
                status=status or None,
                metadata=metadata,
                problem=problem,
            )
        )


def _lost(text: str, size: int | None, answered: bool, outcome: str) -> str | None:
    """Why there is no text although there may have been a result; None for one that is there, be it empty."""
    if text:
        return None
    if size:
        return f"the archive did not keep the result ({size} bytes)"
    if not answered:
        return "no result in the archive, which keeps none of some tools and programs"
    known = outcome in ("", "content")  # its own verdict had nothing to go by
    return None if known else "the archive did not keep the result"


def _arguments(value: object) -> tuple[JsonValue, str | None]:
    text = text_of(value)
    if not text:
        return None, None
    try:
        return loads(text), None
    except BadJson as error:
        return text, f"arguments are not JSON: {error}"


def _without_calls(text: str, tools: Sequence[str]) -> str:
    """The message without the rendering of its calls that the archive writes after the text: `[Bash: …]`.

    Left whole where a paragraph follows that begins otherwise: it may be the model's own words.
    """
    starts = [at for tool in tools for mark in (f"[{tool}:", f"[{tool}]") if (at := f"\n{text}".find(f"\n{mark}")) >= 0]
    if not starts:
        return text
    rest = text[min(starts) :].strip()
    return text if rest.count("\n\n") > rest.count("\n\n[") else text[: min(starts)].rstrip()

"""Hermes Agent's `state.db` (store notes on Hermes): OpenAI-style messages; only a result's text tells of failure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, StepKind, Tokens
from reach_tui.stores.content import Narrator, content_text, first_line
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.kin import cut, rings
from reach_tui.stores.openai_messages import Answer, Entry, message_entry, tell
from reach_tui.stores.paging import PagingReader
from reach_tui.stores.reader import Recognition

_SESSION_COLUMNS = (
    "id", "source", "model", "model_config", "parent_session_id", "started_at", "ended_at", "end_reason", "title",
    "cwd", "archived", "input_tokens", "output_tokens",
)  # fmt: skip
_MESSAGE_COLUMNS = (
    "id", "role", "content", "tool_calls", "tool_call_id", "tool_name", "timestamp", "reasoning", "reasoning_content",
    "active", "compacted", "effect_disposition", "_compressed_summary",
)  # fmt: skip
_STRUCTURED = "\x00json:"
"""Before content that is a list of parts (hermes_state.py: a text cannot begin with NUL)."""
_TIMED_OUT = 124
"""The exit status that the terminal tool gives to a command it stopped (store notes)."""
_GROWTH = Growth("sessions", "id", ("title", "ended_at", "archived"), (Growing("messages", "session_id", "active"),))
_DEEPEST_LINEAGE = 1000
"""Ancestors looked at for copies; the program itself follows as many."""
_decoder = json.JSONDecoder(strict=False)


class HermesReader(PagingReader):
    """Reads one `state.db`."""

    kind: ClassVar[str] = "hermes"
    title: ClassVar[str] = "Hermes Agent"
    flag_meaning: ClassVar[str] = "The store has no error flag: every call is unknown, only the result's text tells."
    versions_tried: ClassVar[tuple[str, ...]] = ("0.19.0",)
    not_recorded: ClassVar[str] = "Any flag; durations; the tools that were offered."
    verified: ClassVar[bool] = True
    growth = _GROWTH

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """Hermes has `sessions` (source, started_at, end_reason) and `messages` (session_id, role, tool_call_id)."""
        if not schema.has("sessions", "id", "source", "started_at") or "messages" not in schema.tables:
            return None
        told = {"end_reason", "billing_provider", "model_config"} & schema.tables["sessions"]
        if not told or not schema.has("messages", "session_id", "tool_name"):
            return None
        version = "with delegations" if "async_delegations" in schema.tables else "without delegations"
        missing = {"id", "role", "content", "tool_calls", "tool_call_id"} - schema.tables["messages"]
        return Recognition(version, f"columns missing: {', '.join(sorted(missing))}" if missing else None)

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Sessions with new rows, moved columns or, among the active ones, rows switched off by a compaction."""
        return _GROWTH.changed_since(self.path, mark, active)

    def _sessions(self, connection: Connection, session_id: str | None = None, limit: int = -1) -> list[Session]:
        has_parents = "parent_session_id" in columns_of(connection, "sessions")
        ringed = rings(connection, "sessions", "id", "parent_session_id") if has_parents else frozenset()
        return [cut(_session(row), ringed) for row in _session_rows(connection, session_id, limit)]

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        return tell(narrator, self._entries(narrator.session_id))

    def _entries(self, session_id: str) -> list[Entry]:
        with reading(self.path) as connection:
            columns = columns_of(connection, "messages")
            query = f"SELECT {selection(columns, *_MESSAGE_COLUMNS)} FROM messages WHERE session_id = ? ORDER BY id"
            rows = [_Row(*row) for row in connection.execute(query, (session_id,)).fetchall()]
            lineage = _lineage(connection, session_id)
            older = _calls_of(connection, columns, lineage) if lineage else {}
        entries = []
        for row in rows:
            entry = _entry(row)
            if written := text_of(row.tool_calls):
                entry.original = older.get(written)
                if not entry.visible:  # compaction archives rows and puts copies of the last ones behind its summary
                    older.setdefault(written, f"{session_id}/{entry.key}")
            entries.append(entry)
        return entries


@dataclass(slots=True)
class _Row:
    """A row of `messages`, undecoded."""

    id: object
    role: object
    content: object
    tool_calls: object
    tool_call_id: object
    tool_name: object
    timestamp: object
    reasoning: object
    reasoning_content: object
    active: object
    compacted: object
    effect: object
    summary: object


def _session_rows(connection: Connection, session_id: str | None = None, limit: int = -1) -> list[dict[str, Any]]:
    """Session rows with the parent's end and the first thing the user said, newest first."""
    columns = columns_of(connection, "sessions")
    picked = ", ".join(f's."{name}"' if name in columns else f'NULL AS "{name}"' for name in _SESSION_COLUMNS)
    has_parents = {"parent_session_id", "end_reason"} <= columns
    parent = "(SELECT p.end_reason FROM sessions p WHERE p.id = s.parent_session_id)" if has_parents else "NULL"
    first = (
        "SELECT substr(content, 1, 400) FROM messages "
        "WHERE id = (SELECT min(+m.id) FROM messages m WHERE m.session_id = s.id AND m.role = 'user')"
    )
    untitled = "s.title IS NULL OR s.title = ''" if "title" in columns else "1"
    query = f"SELECT {picked}, {parent}, CASE WHEN {untitled} THEN ({first}) END FROM sessions s"
    if session_id is not None:
        cursor = connection.execute(f"{query} WHERE s.id = ?", (session_id,))
    else:
        cursor = connection.execute(f"{query} ORDER BY s.started_at DESC LIMIT ?", (limit,))
    names = (*_SESSION_COLUMNS, "parent_end", "asked")
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _session(row: dict[str, Any]) -> Session:
    parent = text_of(row["parent_session_id"]) or None
    config = _object(row["model_config"])
    branched = "_branched_from" in config  # set by the program on branches, `_delegate_from` on sub-agents' sessions
    continued = bool(parent) and text_of(row["parent_end"]) == "compression"
    delegated = "_delegate_from" in config or (bool(parent) and not branched and not continued)
    notes = [f"source: {source}"] if (source := text_of(row["source"])) not in ("", "cli") else []
    if branched:
        notes.append("branch: starts with a copy of another session")
    elif continued and not delegated:
        notes.append("goes on from a session that was compressed")
    if row["archived"]:
        notes.append("archived")
    tokens = Tokens(as_int(row["input_tokens"]), as_int(row["output_tokens"]))
    return Session(
        store=HermesReader.kind,
        id=text_of(row["id"]),
        parent_id=parent,
        title=text_of(row["title"]) or first_line(_content(row["asked"])),
        project=text_of(row["cwd"]) or None,
        model=text_of(row["model"]) or None,
        started_at=parse_time(row["started_at"]),
        ended_at=parse_time(row["ended_at"]),
        tokens=tokens if tokens.input or tokens.output else Tokens(),
        outcome=text_of(row["end_reason"]) or None,
        own_work=not delegated and source != "tool",
        copy_of=parent if branched else None,
        notes=tuple(notes),
    )


def _object(value: object) -> dict[str, JsonValue]:
    try:
        return as_object(loads(text_of(value)))
    except BadJson:
        return {}


def _content(value: object) -> JsonValue:
    """Content as it was before it was stored: text, or a list of parts."""
    text = text_of(value)
    if text.startswith(_STRUCTURED):
        try:
            return loads(text.removeprefix(_STRUCTURED))
        except BadJson:
            return text.removeprefix(_STRUCTURED)
    return text


def _lineage(connection: Connection, session_id: str) -> list[str]:
    """The ancestors of a session, nearest first; a cycle ends it."""
    if "parent_session_id" not in columns_of(connection, "sessions"):
        return []
    found: list[str] = []
    current = session_id
    while len(found) < _DEEPEST_LINEAGE:
        row = connection.execute("SELECT parent_session_id FROM sessions WHERE id = ?", (current,)).fetchone()
        current = text_of(row[0]) if row else ""
        if not current or current == session_id or current in found:
            break
        found.append(current)
    return found


def _calls_of(connection: Connection, columns: frozenset[str], lineage: Sequence[str]) -> dict[str, str]:
    """Session and row of the calls that ancestors made, by their stored text: ids in it make it one of its kind."""
    found: dict[str, str] = {}
    query = "SELECT id, tool_calls FROM messages WHERE session_id = ? AND tool_calls IS NOT NULL ORDER BY id"
    for ancestor in reversed(lineage):  # the oldest one has the original
        for row, written in connection.execute(query, (ancestor,)).fetchall():
            found.setdefault(text_of(written), f"{ancestor}/{text_of(row)}")
    return found


def _entry(row: _Row) -> Entry:
    key, at = text_of(row.id), parse_time(row.timestamp)
    role = text_of(row.role)
    visible = row.active != 0 and not row.compacted
    message: dict[str, JsonValue] = {
        "role": role,
        "content": _content(row.content),
        "tool_call_id": text_of(row.tool_call_id),
        "tool_name": text_of(row.tool_name),
        "reasoning": text_of(row.reasoning),
        "reasoning_content": text_of(row.reasoning_content),
    }
    broken = False
    if written := text_of(row.tool_calls):
        try:
            message["tool_calls"] = loads(written)
        except BadJson:
            broken = True
    entry = message_entry(key, message, at)
    if role == "session_meta" or row.summary:  # the program's own rows: what was set up, what a compaction left
        entry = Entry(key, at, [(StepKind.NOTE, content_text(message["content"]))])
    if broken:
        entry.fault, entry.raw = "its calls are not valid JSON", written
    entry.visible = visible
    for answer in entry.answers:
        _read_result(answer)
        if effect := text_of(row.effect):
            answer.metadata["effect_disposition"] = effect
    return entry


def _read_result(answer: Answer) -> None:
    """Facts from the JSON that most tools answer with; a bracketed warning of the loop guard may follow it."""
    text = answer.text
    if not text.startswith("{"):
        return
    try:
        value, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return
    code = as_int(value.get("exit_code"))
    if code is not None:
        answer.metadata["exit_code"] = code
        if code == _TIMED_OUT and "timed out" in (as_text(value.get("output")) or "")[-400:]:
            answer.metadata["timed_out"] = True
    if value.get("truncated") is True:
        answer.metadata["truncated"] = True
    if (rest := text[end:].strip()).startswith("["):
        answer.metadata["notice"] = rest

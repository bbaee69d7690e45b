"""Sessions of the OpenAI Agents SDK: SQLiteSession and AdvancedSQLiteSession (store notes on OpenAI Agents)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, loads
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, StepKind, Tokens
from reach_tui.stores.content import Narrator, first_line
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.openai_messages import Entry, item_entry, tell, unreadable
from reach_tui.stores.paging import PagingReader
from reach_tui.stores.reader import Recognition

_GROWTH = Growth("agent_sessions", "session_id", ("updated_at",), (Growing("agent_messages", "session_id"),))
_SESSION_COLUMNS = ("session_id", "created_at", "updated_at")
_MAIN = "main"
"""The branch that a session begins with."""
_ENCRYPTED = "__enc__"
"""Mark of the SDK's EncryptedSession in place of an item."""


class OpenaiAgentsReader(PagingReader):
    """Reads one database of sessions, of either class."""

    kind: ClassVar[str] = "openai_agents"
    title: ClassVar[str] = "OpenAI Agents SDK"
    flag_meaning: ClassVar[str] = (
        "The store has no error flag: calls are unknown, but for tools that the provider ran and that failed there."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("0.24.0",)
    not_recorded: ClassVar[str] = (
        "Any flag; durations; the tools that were offered; calls that were open when the program was killed."
    )
    verified: ClassVar[bool] = True
    growth = _GROWTH

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """The SDK has `agent_sessions` (session_id) and `agent_messages` (session_id, message_data)."""
        if not {"agent_sessions", "agent_messages"} <= schema.tables.keys():
            return None
        version = "advanced" if "message_structure" in schema.tables else "plain"
        if not schema.has("agent_sessions", "session_id"):
            return Recognition(version, "agent_sessions has no column session_id")
        missing = {"id", "session_id", "message_data"} - schema.tables["agent_messages"]
        return Recognition(version, f"columns missing: {', '.join(sorted(missing))}" if missing else None)

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Sessions with new rows or a moved `updated_at`; rows are never updated in place."""
        return _GROWTH.changed_since(self.path, mark, active)

    def _sessions(self, connection: Connection, session_id: str | None = None, limit: int = -1) -> list[Session]:
        return [_session(row) for row in _session_rows(connection, session_id, limit)]

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        entries = self._entries(narrator.session_id)
        return tell(narrator, entries, timed=False)  # times are whole seconds, of when a batch was written

    def _entries(self, session_id: str) -> list[Entry]:
        with reading(self.path) as connection:
            columns = columns_of(connection, "agent_messages")
            query = (
                f"SELECT id, CAST(message_data AS BLOB), {selection(columns, 'created_at')} FROM agent_messages "
                "WHERE session_id = ? ORDER BY id"
            )
            rows = connection.execute(query, (session_id,)).fetchall()
            branches = _branches(connection, session_id)
        entries = []
        current = _MAIN
        for row, data, created in rows:
            entry = _entry(text_of(row), data, parse_time(created))
            branch = branches.get(row, current)
            if branch != current:
                entries.append(Entry(f"{row}@{branch}", entry.at, [(StepKind.NOTE, f"branch: {branch}")]))
                current = branch
            if branch != _MAIN:
                for request in entry.requests:
                    request.metadata["branch_id"] = branch
            entries.append(entry)
        return entries


def _entry(key: str, data: bytes | None, at: int | None) -> Entry:
    raw = (data or b"").decode("utf-8", "replace")
    try:
        value = loads(data or b"")
    except BadJson:
        return unreadable(key, at, "not JSON", raw)
    if _ENCRYPTED in as_object(value):
        return unreadable(key, at, "encrypted", raw)
    entry = item_entry(key, value, at)
    entry.raw = raw if entry.fault else ""
    return entry


def _branches(connection: Connection, session_id: str) -> dict[int, str]:
    """The branch in which each row was written: branches that came later only point to the rows they share."""
    columns = columns_of(connection, "message_structure")
    if not {"session_id", "message_id", "branch_id"} <= columns:
        return {}
    query = "SELECT message_id, branch_id FROM message_structure WHERE session_id = ? ORDER BY rowid DESC"
    return {row: text_of(branch) for row, branch in connection.execute(query, (session_id,))}


def _session_rows(connection: Connection, session_id: str | None = None, limit: int = -1) -> list[dict[str, Any]]:
    """Session rows with the first item, token sums and number of branches."""
    columns = columns_of(connection, "agent_sessions")
    picked = ", ".join(f's."{name}"' if name in columns else "NULL" for name in _SESSION_COLUMNS)
    first = (
        "SELECT CAST(message_data AS BLOB) FROM agent_messages "
        "WHERE id = (SELECT min(+m.id) FROM agent_messages m WHERE m.session_id = s.session_id)"
    )
    usage = {"session_id", "input_tokens", "output_tokens"} <= columns_of(connection, "turn_usage")
    used = "(SELECT sum({}) FROM turn_usage u WHERE u.session_id = s.session_id)"
    tokens = f"{used.format('input_tokens')}, {used.format('output_tokens')}" if usage else "NULL, NULL"
    branched = {"session_id", "branch_id"} <= columns_of(connection, "message_structure")
    counted = "SELECT count(DISTINCT branch_id) FROM message_structure b WHERE b.session_id = s.session_id"
    query = f"SELECT {picked}, ({first}), {tokens}, {f'({counted})' if branched else 'NULL'} FROM agent_sessions s"
    if session_id is not None:
        cursor = connection.execute(f"{query} WHERE s.session_id = ?", (session_id,))
    else:
        order = "ORDER BY s.created_at DESC" if "created_at" in columns else ""
        cursor = connection.execute(f"{query} {order} LIMIT ?", (limit,))
    names = (*_SESSION_COLUMNS, "first", "input", "output", "branches")
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _session(row: dict[str, Any]) -> Session:
    branches = as_int(row["branches"]) or 1
    return Session(
        store=OpenaiAgentsReader.kind,
        id=text_of(row["session_id"]),
        title=_title(row["first"]),
        started_at=parse_time(row["created_at"]),
        ended_at=parse_time(row["updated_at"]),
        tokens=Tokens(as_int(row["input"]), as_int(row["output"])),
        notes=(f"{branches} branches",) if branches > 1 else (),
    )


def _title(data: bytes | None) -> str | None:
    try:
        item: JsonValue = loads(data or b"")
    except BadJson:
        return None
    message = as_object(item)
    return first_line(message.get("content")) if message.get("role") == "user" else None

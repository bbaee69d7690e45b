"""llm's `logs.db` (store notes on llm): threads of messages, and the conversations of older versions in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, as_int, loads
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, Tokens, ToolCall
from reach_tui.stores.content import Narrator, first_line
from reach_tui.stores.llm_responses import Responses
from reach_tui.stores.llm_threads import Threads
from reach_tui.stores.offered import OfferedTool
from reach_tui.stores.openai_messages import Entry, tell
from reach_tui.stores.reader import Recognition
from reach_tui.stores.telling import TellingReader, newest_first

_AT_ONCE = 200
"""Conversations read together: the tables of older versions have no index on them, each reading goes over all rows."""
_PARTS = ("message_hash", "type", "payload")


class LlmReader(TellingReader):
    """Reads one `logs.db`, of either layout or of both."""

    kind: ClassVar[str] = "llm"
    title: ClassVar[str] = "llm"
    flag_meaning: ClassVar[str] = (
        "The tool result has an `exception`; without one it is not flagged, and unknown before that column was there."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("0.27.1", "0.36")
    not_recorded: ClassVar[str] = (
        "Runs that were cut short or failed (a run is written when it is complete); durations of single calls."
    )
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """llm has `_llm_migrations`, and `threads` with `parts`, or `responses` with `conversations`, or both."""
        if "_llm_migrations" not in schema.tables or not {"threads", "responses"} & schema.tables.keys():
            return None  # its table of migrations is in the file of embeddings, too
        new = schema.has("threads", "id", "tip_message_hash") and schema.has("messages", "hash", "parent_hash", "role")
        new = new and schema.has("parts", *_PARTS)
        old = schema.has("responses", "id", "conversation_id", "response") and "conversations" in schema.tables
        if new:
            return Recognition("messages and responses" if old else "messages")
        if old and schema.has("tool_calls", "response_id", "name"):
            return Recognition("responses")
        if old:
            return Recognition("responses without tools")
        return Recognition("unknown tables", "neither threads with parts nor responses with conversations")

    def sessions(self) -> Iterator[Session]:
        """Every thread and conversation, newest first; one that goes on in the newer layout is one session."""
        with reading(self.path) as connection:
            found = _sessions(connection)
        yield from newest_first(found)

    def session(self, session_id: str) -> Session | None:
        """One thread or conversation by its id."""
        with reading(self.path) as connection:
            return next(iter(_sessions(connection, session_id)), None)

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first; some conversations of older versions are in memory at a time."""
        waiting = iter([one.id for one in self.sessions()] if session_ids is None else session_ids)
        while group := list(islice(waiting, _AT_ONCE)):
            for session_id, older, newer in self._rows(group):
                for step in tell(Narrator(session_id), self._whole(session_id, older) if newer else older):
                    if step.call is not None:
                        yield step.call

    def offered_tools(self, session_id: str) -> list[OfferedTool]:
        """The tools offered to the model in a session, with the JSON schema of their arguments."""
        with reading(self.path) as connection:
            columns = columns_of(connection, "tools")
            if not {"id", "name"} <= columns:
                return []
            wanted = [query for table, query in _OFFERS.items() if columns_of(connection, table)]
            if not wanted:
                return []
            picked = selection(columns, "name", "description", "input_schema", "plugin")
            query = f"SELECT {picked} FROM tools WHERE id IN ({' UNION '.join(wanted)}) ORDER BY id"
            rows = connection.execute(query, [session_id] * len(wanted)).fetchall()
        return [_tool(*row) for row in rows]

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        ((session_id, older, newer),) = self._rows([narrator.session_id])
        return tell(narrator, self._whole(session_id, older) if newer else older)

    def _rows(self, ids: Sequence[str]) -> list[tuple[str, list[Entry], bool]]:
        """Each session with its rows of the older layout, and whether it is a thread of the newer one."""
        with reading(self.path) as connection:
            older = Responses(connection).entries(ids)
            newer = Threads(connection).among(ids)
        return [(session_id, older[session_id], session_id in newer) for session_id in ids]

    def _whole(self, session_id: str, older: list[Entry]) -> list[Entry]:
        """All rows of a session; what a thread repeats of its conversation's older rows is left out."""
        with reading(self.path) as connection:
            return older + Threads(connection).entries(session_id, older)


_OFFERS = {
    "turn_tools": "SELECT o.tool_id FROM turn_tools o JOIN turns t ON t.id = o.turn_id WHERE t.thread_id = ?",
    "tool_responses": (
        "SELECT o.tool_id FROM tool_responses o JOIN responses r ON r.id = o.response_id WHERE r.conversation_id = ?"
    ),
}
"""Where it stands which tools were offered: by table, the query for their ids."""


def _tool(name: object, description: object, schema: object, plugin: object) -> OfferedTool:
    try:
        parsed = loads(text_of(schema))
    except BadJson:
        parsed = None
    return OfferedTool(text_of(name), text_of(description), parsed, text_of(plugin) or None)


def _sessions(connection: Connection, session_id: str | None = None) -> list[Session]:
    found = {one.id: one for one in _conversations(connection, session_id)}
    for thread in _threads(connection, session_id):
        older = found.get(thread.id)
        found[thread.id] = thread if older is None else _joined(older, thread)
    return list(found.values())


def _joined(older: Session, newer: Session) -> Session:
    """A conversation of an older version that went on as a thread of the same id."""
    return replace(
        newer,
        title=older.title or newer.title,
        started_at=older.started_at or newer.started_at,
        tokens=Tokens(_plus(older.tokens.input, newer.tokens.input), _plus(older.tokens.output, newer.tokens.output)),
    )


def _plus(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second


def _conversations(connection: Connection, session_id: str | None) -> Iterator[Session]:
    """Conversations of older versions; a response without one stands for itself."""
    columns = columns_of(connection, "responses")
    if not {"id", "conversation_id"} <= columns:
        return
    sums = ", ".join(
        f"{function}({name})" if name in columns else "NULL"
        for function, name in (
            ("min", "datetime_utc"), ("max", "datetime_utc"), ("sum", "input_tokens"), ("sum", "output_tokens"),
        )
    )  # fmt: skip
    first = selection(columns, "prompt", "model", "resolved_model")
    where = "" if session_id is None else "WHERE coalesce(conversation_id, id) = ?"
    query = (
        f"SELECT coalesce(conversation_id, id), min(id), {sums}, {first} FROM responses {where} "
        "GROUP BY coalesce(conversation_id, id)"
    )
    values = () if session_id is None else (session_id,)
    names = _names(connection, session_id)
    for identifier, _, started, ended, received, produced, prompt, model, resolved in connection.execute(
        query, values
    ).fetchall():
        key = text_of(identifier)
        name, of_conversation = names.pop(key, ("", ""))
        yield Session(
            store=LlmReader.kind,
            id=key,
            title=name or first_line(text_of(prompt)),
            model=text_of(resolved) or text_of(model) or of_conversation or None,
            started_at=parse_time(started),
            ended_at=parse_time(ended),
            tokens=Tokens(as_int(received), as_int(produced)),
        )
    for key, (name, model) in names.items():  # begun, and nothing came of it
        yield Session(store=LlmReader.kind, id=key, title=name or None, model=model or None)


def _names(connection: Connection, session_id: str | None) -> dict[str, tuple[str, str]]:
    """Names and models of conversations."""
    columns = columns_of(connection, "conversations")
    if "id" not in columns:
        return {}
    query = f"SELECT {selection(columns, 'id', 'name', 'model')} FROM conversations"
    if session_id is not None:
        query += " WHERE id = ?"
    rows = connection.execute(query, () if session_id is None else (session_id,))
    return {text_of(identifier): (text_of(name), text_of(model)) for identifier, name, model in rows.fetchall()}


def _threads(connection: Connection, session_id: str | None) -> Iterator[Session]:
    columns, turns = columns_of(connection, "threads"), columns_of(connection, "turns")
    if not {"id", "tip_message_hash"} <= columns:
        return
    sums = ", ".join(
        f"(SELECT {function} FROM turns t WHERE t.thread_id = threads.id)" if name in turns else "NULL"
        for function, name in (
            ("min(datetime_utc)", "datetime_utc"),
            ("max(datetime_utc)", "datetime_utc"),
            ("sum(input_tokens)", "input_tokens"),
            ("sum(output_tokens)", "output_tokens"),
            ("min(model)", "model"),
            ("min(resolved_model)", "resolved_model"),
        )
    )
    picked = selection(columns, "id", "name", "forked_from", "datetime_utc")
    where = "" if session_id is None else "WHERE id = ?"
    rows = connection.execute(
        f"SELECT {picked}, {sums} FROM threads {where}", () if session_id is None else (session_id,)
    ).fetchall()
    for identifier, name, forked, created, started, ended, received, produced, model, resolved in rows:
        origin = text_of(forked) or None
        yield Session(
            store=LlmReader.kind,
            id=text_of(identifier),
            title=text_of(name) or None,
            model=text_of(resolved) or text_of(model) or None,
            started_at=parse_time(started) or parse_time(created),
            ended_at=parse_time(ended) or parse_time(created),
            tokens=Tokens(as_int(received), as_int(produced)),
            copy_of=origin,
            notes=("fork: shares the beginning of another thread",) if origin else (),
        )

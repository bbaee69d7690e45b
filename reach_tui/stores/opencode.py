"""opencode's `opencode.db` from 1.2 to 1.18 (store notes on opencode): both interfaces in one session list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_int, as_text
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, stamp, text_of
from reach_tui.model import Session, Step, Tokens, ToolCall
from reach_tui.stores.content import Narrator
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.opencode_forks import FORK, Originals, copied_from, family_of
from reach_tui.stores.opencode_parts import (
    Message,
    Part,
    Undone,
    decode_message,
    decode_object,
    tell_message,
)
from reach_tui.stores.opencode_v2 import model_name, tell_row
from reach_tui.stores.reader import FIRST_PAGE, Recognition, Trouble

_SESSIONS_AT_ONCE = 20
_MESSAGES_AT_ONCE = 200
_PARTS_AT_ONCE = 250
_TOOL_PARTS = """SELECT id, CAST(data AS BLOB) FROM part WHERE session_id = ? AND data LIKE '%"tool"%'"""
_SESSION_COLUMNS = (
    "id", "parent_id", "title", "directory", "version", "model", "agent", "tokens_input", "tokens_output", "revert",
    "time_created", "time_updated", "time_archived",
)  # fmt: skip
_GROWTH = Growth(
    "session",
    "id",
    ("time_updated", "title", "revert", "time_archived"),
    (
        Growing("part", "session_id", "time_updated"),
        Growing("message", "session_id", "time_updated"),
        Growing("session_message", "session_id", "time_updated"),
    ),
)


@dataclass(slots=True)
class _Row:
    """A row of `message` (first interface) or `session_message` (second), in the session's order."""

    at: int
    message: Message | None
    second: tuple[int, str, str, object] | None = None
    """rowid, id, type and time of a `session_message` row."""


@dataclass(slots=True)
class _Chapter:
    """A session on its way to becoming steps."""

    narrator: Narrator
    rows: list[_Row] = field(default_factory=list)
    undone: Undone = field(default_factory=Undone)
    originals: Originals | None = None
    parts_left: int = 0
    """Rows of `part` that no message has claimed yet."""


class OpencodeReader:
    """Reads one `opencode.db`."""

    kind: ClassVar[str] = "opencode"
    title: ClassVar[str] = "opencode"
    flag_meaning: ClassVar[str] = "The tool part's `state.status` is `error`; pending and running calls have no flag."

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """opencode has `session`, `message` and `part` (message_id, session_id, data), and no `kilo_board`."""
        if "kilo_board" in schema.tables:
            return None
        if schema.has("session", "id") and schema.has("message", "session_id") and "part" in schema.tables:
            missing = {"id", "message_id", "session_id", "data"} - schema.tables["part"]
            if missing or not schema.has("message", "id", "data"):
                lacking = ", ".join(sorted(missing)) or "message.id, message.data"
                return Recognition("columns unknown", f"columns missing: {lacking}")
            return Recognition(_version(schema))
        if schema.has("session_message", "session_id", "type", "data"):
            if schema.has("session", "id"):
                return Recognition("second interface only")
            return Recognition("second interface", "the sessions are not in a table named session")
        if schema.has("sessions") and schema.has("messages") and schema.has("parts"):
            return Recognition("plural tables", "tables sessions, messages, parts instead of session, message, part")
        return None

    def data_version(self) -> object:
        """Sizes and times of the file and its `-wal`."""
        return stamp(self.path)

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Sessions with new rows, moved columns or, among the active ones, rows updated in place."""
        return _GROWTH.changed_since(self.path, mark, active)

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first; sub-agents' sessions are not own work."""
        first = self._session_page(FIRST_PAGE)
        if len(first) < FIRST_PAGE:
            yield from self._made(first, first)
            return
        if any(FORK.match(text_of(row["title"])) for row in first):
            first = []  # a fork's original may be anywhere: all at once
        yield from self._made(first, first)
        rest = self._session_page()
        seen = {row["id"] for row in first}
        yield from self._made([row for row in rest if row["id"] not in seen], rest)

    def _session_page(self, limit: int = -1) -> list[dict[str, Any]]:
        """Session rows, newest first; -1: all of them."""
        with reading(self.path) as connection:
            rows = self._session_rows(connection, limit=limit)
            models = self._models(connection, [row["id"] for row in rows if not row["model"]])
        for row in rows:
            row["model"] = row["model"] or models.get(row["id"])
        rows.sort(key=lambda row: (parse_time(row["time_created"]) or 0, text_of(row["id"])), reverse=True)
        return rows

    @staticmethod
    def _made(rows: list[dict[str, Any]], everything: list[dict[str, Any]]) -> Iterator[Session]:
        family = family_of(everything)
        for row in rows:
            yield _session(row, family, {})

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        with reading(self.path) as connection:
            rows = self._session_rows(connection, session_id)
            if not rows:
                return None
            fork = FORK.match(text_of(rows[0]["title"]))
            family = family_of(self._session_rows(connection)) if fork else {}
            models = {} if rows[0]["model"] else self._models(connection, [rows[0]["id"]])
        return _session(rows[0], family, models)

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session: its messages by time, the parts of each by id."""
        for _, step in self._tell([session_id]):
            yield step

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first; a few hundred messages are in memory at a time."""
        for _, step in self._tell(self._newest_first() if session_ids is None else session_ids):
            if step.call is not None:
                yield step.call

    def troubles(self, session_id: str) -> list[Trouble]:
        """Unreadable messages and parts, unknown types, incomplete calls of one session."""
        narrator = None
        for narrator, _step in self._tell([session_id]):  # noqa: B007 - the last one holds them all
            pass
        return [] if narrator is None else narrator.troubles

    def _session_rows(
        self, connection: Connection, session_id: str | None = None, limit: int = -1
    ) -> list[dict[str, Any]]:
        columns = columns_of(connection, "session")
        query = f"SELECT {selection(columns, *_SESSION_COLUMNS)} FROM session"
        if session_id is not None:
            cursor = connection.execute(f"{query} WHERE id = ?", (session_id,))
        else:
            order = "ORDER BY time_created DESC" if "time_created" in columns else ""
            cursor = connection.execute(f"{query} {order} LIMIT ?", (limit,))
        return [dict(zip(_SESSION_COLUMNS, row, strict=True)) for row in cursor]

    def _newest_first(self) -> list[str]:
        with reading(self.path) as connection:
            columns = columns_of(connection, "session")
            rows = connection.execute(f"SELECT {selection(columns, 'time_created', 'id')} FROM session").fetchall()
        return [name for _, name in sorted(((parse_time(at) or 0, text_of(name)) for at, name in rows), reverse=True)]

    def _models(self, connection: Connection, ids: Sequence[object]) -> dict[object, str | None]:
        """The model of sessions without one of their own, from their first message."""
        found: dict[object, str | None] = {}
        if "data" not in columns_of(connection, "message"):
            return found
        query = "SELECT CAST(data AS BLOB) FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT 1"
        for identifier in ids:
            row = connection.execute(query, (identifier,)).fetchone()
            value = (decode_object(row[0]) if row else None) or {}
            found[identifier] = model_name(value.get("model") or value)
        return found

    def _tell(self, ids: Iterable[str]) -> Iterator[tuple[Narrator, Step]]:
        waiting = iter(ids)
        while group := list(islice(waiting, _SESSIONS_AT_ONCE)):
            with reading(self.path) as connection:
                chapters = _Fetch(connection).chapters(group)
            yield from self._tell_group(chapters)

    def _tell_group(self, chapters: list[_Chapter]) -> Iterator[tuple[Narrator, Step]]:
        """Steps of some sessions. The file is open only while rows are fetched, never while a step is out."""
        places = ((chapter, row) for chapter in chapters for row in [*chapter.rows, None])
        while batch := list(islice(places, _MESSAGES_AT_ONCE)):
            with reading(self.path) as connection:
                fetch = _Fetch(connection)
                parts = fetch.parts([row.message.row for _, row in batch if row and row.message])
                bodies = fetch.bodies([row.second[0] for _, row in batch if row and row.second])
            for chapter, row in batch:
                yield from self._tell_row(chapter, row, parts, bodies)

    def _tell_row(
        self, chapter: _Chapter, row: _Row | None, parts: dict[int, list[Part]], bodies: dict[int, bytes | None]
    ) -> Iterator[tuple[Narrator, Step]]:
        narrator = chapter.narrator
        steps: Iterable[Step]
        if row is None:
            steps = self._strays(chapter) if chapter.parts_left > 0 else ()
        elif row.message is not None:
            own = parts.get(row.message.row, [])
            chapter.parts_left -= len(own)
            steps = tell_message(narrator, row.message, own, chapter.undone, chapter.originals)
        else:
            assert row.second is not None
            rowid, identifier, kind, created = row.second
            steps = tell_row(narrator, identifier, kind, created, bodies.get(rowid))
        for step in steps:
            yield narrator, step

    def _strays(self, chapter: _Chapter) -> Iterator[Step]:
        """Parts whose message is gone: shown at the end of their session."""
        with reading(self.path) as connection:
            parts = _Fetch(connection).strays(chapter.narrator.session_id)
        if parts:
            chapter.narrator.trouble("part without message", f"{len(parts)} parts")
            message = Message(0, "", None, role="unknown")
            yield from tell_message(chapter.narrator, message, parts, Undone(), chapter.originals)


class _Fetch:
    """Queries by rowid, so that ids that are no proper text lose no rows."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @cached_property
    def message(self) -> frozenset[str]:
        """Columns of `message`."""
        return columns_of(self.connection, "message")

    @cached_property
    def part(self) -> frozenset[str]:
        """Columns of `part`."""
        return columns_of(self.connection, "part")

    @cached_property
    def second(self) -> frozenset[str]:
        """Columns of `session_message`."""
        return columns_of(self.connection, "session_message")

    def chapters(self, ids: Sequence[str]) -> list[_Chapter]:
        """The sessions with their messages in order, without parts."""
        marks = ",".join("?" * len(ids))
        chapters = {identifier: _Chapter(Narrator(identifier)) for identifier in ids}
        self._heads(chapters, marks, ids)
        if self.message:
            columns = selection(self.message, "session_id", "id", "time_created")
            query = (
                f"SELECT rowid, {columns}, CAST(data AS BLOB) FROM message WHERE session_id IN ({marks}) "
                "ORDER BY session_id, time_created, id"
            )
            for row, session, identifier, created, data in self.connection.execute(query, ids).fetchall():
                message = decode_message(row, text_of(identifier), created, data)
                chapters[text_of(session)].rows.append(_Row(message.at or 0, message))
        if self.part:
            query = f"SELECT session_id, count(*) FROM part WHERE session_id IN ({marks}) GROUP BY session_id"
            for session, count in self.connection.execute(query, ids):
                chapters[text_of(session)].parts_left = count
        if self.second:
            self._second_rows(chapters, marks, ids)
        return list(chapters.values())

    def _heads(self, chapters: dict[str, _Chapter], marks: str, ids: Sequence[str]) -> None:
        columns = columns_of(self.connection, "session")
        picked = selection(columns, "id", "title", "revert", "directory", "time_created")
        for identifier, title, revert, directory, created in self.connection.execute(
            f"SELECT {picked} FROM session WHERE id IN ({marks})", ids
        ).fetchall():
            chapter = chapters[text_of(identifier)]
            if revert and (undone := decode_object(_as_bytes(revert))):
                chapter.undone = Undone(as_text(undone.get("messageID")), as_text(undone.get("partID")))
            if (fork := FORK.match(text_of(title))) and {"title", "time_created"} <= columns:
                chapter.originals = self._originals(fork[1], directory, created)

    def _originals(self, base: str, directory: object, created: object) -> Originals:
        """Tool parts of the earlier sessions that a fork of this title may come from, oldest first."""
        originals = Originals()
        same_folder = " AND directory IS ?" if "directory" in columns_of(self.connection, "session") else ""
        query = (
            "SELECT id FROM session WHERE time_created < ? AND (title = ? OR substr(title, 1, ?) = ?)"
            f"{same_folder} ORDER BY time_created, id"
        )
        prefix = f"{base} (fork #"
        values = (created, base, len(prefix), prefix, *((directory,) if same_folder else ()))
        for (session,) in self.connection.execute(query, values).fetchall():
            for identifier, data in self.connection.execute(_TOOL_PARTS, (session,)):
                originals.add(text_of(session), Part(text_of(identifier), decode_object(data)))
        return originals

    def _second_rows(self, chapters: dict[str, _Chapter], marks: str, ids: Sequence[str]) -> None:
        columns = selection(self.second, "session_id", "id", "type", "time_created")
        order = ["session_id", *(name for name in ("seq", "time_created", "id") if name in self.second)]
        where = f"session_id IN ({marks}) ORDER BY {', '.join(order)}"
        query = f"SELECT rowid, {columns} FROM session_message WHERE {where}"
        mixed = set()
        for row, session, identifier, kind, created in self.connection.execute(query, ids):
            chapter = chapters[text_of(session)]
            before = chapter.rows[-1].at if chapter.rows and chapter.rows[-1].second else 0
            at = max(parse_time(created) or 0, before)  # the sequence decides among themselves
            chapter.rows.append(_Row(at, None, (row, text_of(identifier), text_of(kind), created)))
            mixed.add(text_of(session))
        for session in mixed:
            if chapters[session].rows[0].message is not None:
                chapters[session].rows.sort(key=lambda row: row.at)

    def parts(self, messages: Sequence[int]) -> dict[int, list[Part]]:
        """The parts of messages (by rowid), each message's by id.

        A few hundred rows are read at a time and decoded between the reads: then a live writer can reset its `-wal`,
        however many parts a message has.
        """
        found: dict[int, list[Part]] = {}
        if not messages or not self.part:
            return found
        query = (
            "SELECT m.rowid, p.rowid FROM message m CROSS JOIN part p ON p.message_id = m.id "
            f"WHERE m.rowid IN ({','.join('?' * len(messages))}) ORDER BY m.rowid, p.id"
        )
        places = self.connection.execute(query, messages).fetchall()  # from the indexes alone
        for start in range(0, len(places), _PARTS_AT_ONCE):
            some = places[start : start + _PARTS_AT_ONCE]
            query = f"SELECT rowid, id, CAST(data AS BLOB) FROM part WHERE rowid IN ({','.join('?' * len(some))})"
            rows = self.connection.execute(query, [part for _, part in some]).fetchall()
            by_row = {row: _part(identifier, data) for row, identifier, data in rows}
            for message, part in some:
                if part in by_row:  # else deleted meanwhile
                    found.setdefault(message, []).append(by_row[part])
        return found

    def strays(self, session: str) -> list[Part]:
        """Parts of a session whose message is not in `message`."""
        query = (
            "SELECT p.id, CAST(p.data AS BLOB) FROM part p WHERE p.session_id = ? "
            "AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = p.message_id) ORDER BY p.id"
        )
        return [_part(identifier, data) for identifier, data in self.connection.execute(query, (session,))]

    def bodies(self, rows: Sequence[int]) -> dict[int, bytes | None]:
        """The JSON of `session_message` rows by rowid."""
        if not rows:
            return {}
        query = f"SELECT rowid, CAST(data AS BLOB) FROM session_message WHERE rowid IN ({','.join('?' * len(rows))})"
        return dict(self.connection.execute(query, rows).fetchall())


def _part(identifier: object, data: bytes | None) -> Part:
    value = decode_object(data)
    known = value is not None and value.get("type") in ("tool", "text", "reasoning", "step-start", "step-finish")
    return Part(text_of(identifier), value, "" if known else (data or b"").decode("utf-8", "replace"))


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else text_of(value).encode("utf-8", "replace")


def _version(schema: Schema) -> str:
    """The span of versions that have these columns (store notes, section 3)."""
    if "session_input" in schema.tables:
        return "1.16 or later"
    if schema.has("session", "tokens_input"):
        return "1.15"
    if "session_message" in schema.tables:
        return "1.4 to 1.14"
    return "1.2 to 1.3"


def _session(
    row: dict[str, Any], family: dict[tuple[str, str], list[tuple[int, str]]], models: dict[object, str | None]
) -> Session:
    parent = text_of(row["parent_id"]) or None
    notes = []
    if row["time_archived"]:
        notes.append("archived")
    if row["revert"]:
        notes.append("reverted: later messages are undone")
    if FORK.match(text_of(row["title"])):
        notes.append("fork: starts with a copy of another session")
    model = decode_object(_as_bytes(row["model"])) if row["model"] else None
    return Session(
        store="opencode",
        id=text_of(row["id"]),
        parent_id=parent,
        title=text_of(row["title"]) or None,
        project=text_of(row["directory"]) or None,
        model=model_name(model if model is not None else text_of(row["model"])) or models.get(row["id"]),
        started_at=parse_time(row["time_created"]),
        ended_at=parse_time(row["time_updated"]),
        tokens=_tokens(row["tokens_input"], row["tokens_output"]),
        own_work=parent is None,
        copy_of=copied_from(row, family),
        notes=tuple(notes),
    )


def _tokens(received: JsonValue, produced: JsonValue) -> Tokens:
    """The session's sums; two zeros mean that none were recorded."""
    first, second = as_int(received), as_int(produced)
    return Tokens(first, second) if first or second else Tokens()

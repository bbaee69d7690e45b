"""opencode's `opencode.db` from 1.2 to 1.18 (store notes on opencode): both interfaces in one session list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_int
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, stamp, text_of, way_giver
from reach_tui.model import Session, Step, Tokens, ToolCall
from reach_tui.stores.content import Narrator
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.kin import NOTE, rings, rings_of
from reach_tui.stores.opencode_forks import FORK, copied_from, family_of
from reach_tui.stores.opencode_parts import (
    Message,
    Part,
    Undone,
    decode_object,
    tell_message,
)
from reach_tui.stores.opencode_rows import Chapter, Fetch, Row, as_bytes
from reach_tui.stores.opencode_v2 import model_name, tell_row
from reach_tui.stores.reader import FIRST_PAGE, Recognition, Told, Trouble, told

_SESSIONS_AT_ONCE = 20
_SCANNED_AT_ONCE = 50
_MESSAGES_AT_ONCE = 200
_SESSION_COLUMNS = (
    "id", "parent_id", "title", "directory", "version", "model", "agent", "tokens_input", "tokens_output", "revert",
    "time_created", "time_updated", "time_archived",
)  # fmt: skip
_GROWTH = Growth(
    "session",
    "id",
    ("time_updated", "title", "revert", "time_archived"),
    (
        Growing("part", "session_id", "time_updated", timed=True),
        Growing("message", "session_id", "time_updated", timed=True),
        Growing("session_message", "session_id", "time_updated", timed=True),
    ),
)


_NO_TOKENS = Tokens()


class OpencodeReader:
    """Reads one `opencode.db`."""

    kind: ClassVar[str] = "opencode"
    title: ClassVar[str] = "opencode"
    flag_meaning: ClassVar[str] = "The tool part's `state.status` is `error`; pending and running calls have no flag."
    versions_tried: ClassVar[tuple[str, ...]] = ("1.2.20", "1.14.48", "1.18.33")
    not_recorded: ClassVar[str] = "The tools that were offered."
    verified: ClassVar[bool] = True
    growth = _GROWTH

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """opencode has `session`, `message` and `part` (message_id, session_id, data), and no `kilo_board`."""
        return None if "kilo_board" in schema.tables else cls._layout(schema)

    @staticmethod
    def _layout(schema: Schema) -> Recognition | None:
        """The layout, whichever program of the family wrote it."""
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

    def _made(self, rows: list[dict[str, Any]], everything: list[dict[str, Any]]) -> Iterator[Session]:
        family = family_of(everything)
        for row in rows:
            yield _session(self.kind, row, family, {})

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        with reading(self.path) as connection:
            rows = self._session_rows(connection, session_id)
            if not rows:
                return None
            fork = FORK.match(text_of(rows[0]["title"]))
            family = family_of(self._session_rows(connection)) if fork else {}
            models = {} if rows[0]["model"] else self._models(connection, [rows[0]["id"]])
        return _session(self.kind, rows[0], family, models)

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session: its messages by time, the parts of each by id."""
        for _, step in self._tell([session_id]):
            yield step

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first; a few hundred messages are in memory at a time."""
        for _, step in self._tell(self._newest_first() if session_ids is None else session_ids):
            if step.call is not None:
                yield step.call

    def scan(self, session_ids: Sequence[str]) -> Iterator[Told]:
        """What counts of each session: `step` of its calls is 0, and `visible` says nothing."""
        from reach_tui.stores.opencode_scan import Scan  # not for the list of sessions

        for start in range(0, len(session_ids), _SCANNED_AT_ONCE):
            some = session_ids[start : start + _SCANNED_AT_ONCE]
            rest = Scan(some, self.growth)
            with reading(self.path) as connection:  # no query is open while something is out
                give_way = way_giver(self.path)
                while not rest.done:
                    found = rest.read(connection)
                    while found:  # which is not to keep what was told
                        yield found.pop(0)
                    give_way()
            states = self.growth.row_states(self.path, rest.exact)
            for name in rest.exact:
                yield told(name, self.steps(name), states[name])

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
            if limit >= 0:  # sorting whole rows to keep a few takes three times as long
                query = f"{query} WHERE id IN (SELECT id FROM session {order} LIMIT ?)"
                cursor = connection.execute(f"{query} {order}", (limit,))
            else:
                cursor = connection.execute(f"{query} {order}")
        rows = [dict(zip(_SESSION_COLUMNS, row, strict=True)) for row in cursor.fetchall()]
        children = [row for row in rows if row["parent_id"]]
        if limit >= 0 or session_id is not None:  # of a few: only who is above them
            ringed = rings_of(connection, "session", "id", "parent_id", [row["id"] for row in children])
        else:
            ringed = rings(connection, "session", "id", "parent_id") if children else frozenset()
        for row in children:
            if text_of(row["id"]) in ringed:
                row["parent_id"], row["ring"] = None, (NOTE,)
        return rows

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
                chapters = Fetch(connection).chapters(group)
            yield from self._tell_group(chapters)

    def _tell_group(self, chapters: list[Chapter]) -> Iterator[tuple[Narrator, Step]]:
        """Steps of some sessions. The file is open only while rows are fetched, never while a step is out."""
        places = ((chapter, row) for chapter in chapters for row in [*chapter.rows, None])
        while batch := list(islice(places, _MESSAGES_AT_ONCE)):
            with reading(self.path) as connection:
                fetch = Fetch(connection)
                parts = fetch.parts([row.message.row for _, row in batch if row and row.message])
                bodies = fetch.bodies([row.second[0] for _, row in batch if row and row.second])
            for chapter, row in batch:
                yield from self._tell_row(chapter, row, parts, bodies)

    def _tell_row(
        self, chapter: Chapter, row: Row | None, parts: dict[int, list[Part]], bodies: dict[int, bytes | None]
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

    def _strays(self, chapter: Chapter) -> Iterator[Step]:
        """Parts whose message is gone: shown at the end of their session."""
        with reading(self.path) as connection:
            parts = Fetch(connection).strays(chapter.narrator.session_id)
        if parts:
            chapter.narrator.trouble("part without message", f"{len(parts)} parts")
            message = Message(0, "", None, role="unknown")
            yield from tell_message(chapter.narrator, message, parts, Undone(), chapter.originals)


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
    store: str,
    row: dict[str, Any],
    family: dict[tuple[str, str], list[tuple[int, str]]],
    models: dict[object, str | None],
) -> Session:
    parent = text_of(row["parent_id"]) or None
    notes = []
    if row["time_archived"]:
        notes.append("archived")
    if row["revert"]:
        notes.append("reverted: later messages are undone")
    if FORK.match(text_of(row["title"])):
        notes.append("fork: starts with a copy of another session")
    notes += (*row.get("notes", ()), *row.get("ring", ()))
    return Session(
        store=store,
        id=text_of(row["id"]),
        parent_id=parent,
        title=text_of(row["title"]) or None,
        project=_project(text_of(row["directory"])),
        model=_model(text_of(row["model"])) or models.get(row["id"]),
        started_at=parse_time(row["time_created"]),
        ended_at=parse_time(row["time_updated"]),
        tokens=_tokens(row["tokens_input"], row["tokens_output"]),
        own_work=parent is None,
        copy_of=copied_from(row, family),
        notes=tuple(notes),
    )


@lru_cache(maxsize=1024)
def _project(folder: str) -> str | None:
    """One object for one folder: ten thousands of sessions stand in a few."""
    return folder or None


@lru_cache(maxsize=1024)
def _model(text: str) -> str | None:
    """A model's name from the session's column: JSON, or the name itself."""
    model = decode_object(as_bytes(text)) if text else None
    return model_name(model if model is not None else text)


def _tokens(received: JsonValue, produced: JsonValue) -> Tokens:
    """The session's sums; two zeros mean that none were recorded."""
    first, second = as_int(received), as_int(produced)
    return Tokens(first, second) if first or second else _NO_TOKENS

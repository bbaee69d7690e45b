"""Queries for opencode's rows: sessions with their messages, parts, and the rows of the second interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import as_text
from reach_tui.base.sqlite import Connection, columns_of, selection, text_of
from reach_tui.stores.content import Narrator
from reach_tui.stores.opencode_forks import FORK, Originals
from reach_tui.stores.opencode_parts import Message, Part, Undone, decode_message, decode_object

_PARTS_AT_ONCE = 250
_TOOL_PARTS = """SELECT id, CAST(data AS BLOB) FROM part WHERE session_id = ? AND data LIKE '%"tool"%'"""


@dataclass(slots=True)
class Row:
    """A row of `message` (first interface) or `session_message` (second), in the session's order."""

    at: int
    message: Message | None
    second: tuple[int, str, str, object] | None = None
    """rowid, id, type and time of a `session_message` row."""


@dataclass(slots=True)
class Chapter:
    """A session on its way to becoming steps."""

    narrator: Narrator
    rows: list[Row] = field(default_factory=list)
    undone: Undone = field(default_factory=Undone)
    originals: Originals | None = None
    parts_left: int = 0
    """Rows of `part` that no message has claimed yet."""


class Fetch:
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

    def chapters(self, ids: Sequence[str]) -> list[Chapter]:
        """The sessions with their messages in order, without parts."""
        marks = ",".join("?" * len(ids))
        chapters = {identifier: Chapter(Narrator(identifier)) for identifier in ids}
        self._heads(chapters, marks, ids)
        if self.message:
            columns = selection(self.message, "session_id", "id", "time_created")
            query = (
                f"SELECT rowid, {columns}, CAST(data AS BLOB) FROM message WHERE session_id IN ({marks}) "
                "ORDER BY session_id, time_created, id"
            )
            for row, session, identifier, created, data in self.connection.execute(query, ids).fetchall():
                message = decode_message(row, text_of(identifier), created, data)
                chapters[text_of(session)].rows.append(Row(message.at or 0, message))
        if self.part:
            query = f"SELECT session_id, count(*) FROM part WHERE session_id IN ({marks}) GROUP BY session_id"
            for session, count in self.connection.execute(query, ids):
                chapters[text_of(session)].parts_left = count
        if self.second:
            self._second_rows(chapters, marks, ids)
        return list(chapters.values())

    def _heads(self, chapters: dict[str, Chapter], marks: str, ids: Sequence[str]) -> None:
        columns = columns_of(self.connection, "session")
        picked = selection(columns, "id", "title", "revert", "directory", "time_created")
        for identifier, title, revert, directory, created in self.connection.execute(
            f"SELECT {picked} FROM session WHERE id IN ({marks})", ids
        ).fetchall():
            chapter = chapters[text_of(identifier)]
            if revert and (undone := decode_object(as_bytes(revert))):
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

    def _second_rows(self, chapters: dict[str, Chapter], marks: str, ids: Sequence[str]) -> None:
        columns = selection(self.second, "session_id", "id", "type", "time_created")
        order = ["session_id", *(name for name in ("seq", "time_created", "id") if name in self.second)]
        where = f"session_id IN ({marks}) ORDER BY {', '.join(order)}"
        query = f"SELECT rowid, {columns} FROM session_message WHERE {where}"
        mixed = set()
        for row, session, identifier, kind, created in self.connection.execute(query, ids):
            chapter = chapters[text_of(session)]
            before = chapter.rows[-1].at if chapter.rows and chapter.rows[-1].second else 0
            at = max(parse_time(created) or 0, before)  # the sequence decides among themselves
            chapter.rows.append(Row(at, None, (row, text_of(identifier), text_of(kind), created)))
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


def as_bytes(value: object) -> bytes:
    """A column's value as bytes."""
    return value if isinstance(value, bytes) else text_of(value).encode("utf-8", "replace")

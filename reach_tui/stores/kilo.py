"""Kilo Code's `kilo.db` (store notes on Kilo): opencode's store with a board, and titles that say nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.sqlite import Connection, Schema, columns_of, text_of
from reach_tui.stores.content import first_line
from reach_tui.stores.opencode import OpencodeReader
from reach_tui.stores.opencode_parts import decode_object
from reach_tui.stores.reader import Recognition

_UNTITLED = re.compile(r"\A(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z\Z")
"""The title of a session for which no title was made."""
_ASKED = (
    "SELECT CAST(p.data AS BLOB) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ? "
    "AND m.data LIKE '%\"user\"%' AND p.data LIKE '%\"text\"%' ORDER BY m.time_created, m.id, p.id LIMIT 1"
)


class KiloReader(OpencodeReader):
    """Reads one `kilo.db`."""

    kind: ClassVar[str] = "kilo"
    title: ClassVar[str] = "Kilo Code"
    flag_meaning: ClassVar[str] = "The tool part's `state.status` is `error`; pending and running calls have no flag."
    versions_tried: ClassVar[tuple[str, ...]] = ("7.7.9",)
    not_recorded: ClassVar[str] = "The tools that were offered."
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """Kilo has opencode's tables and `kilo_board`; without a board (before 7.7) only its name or folder tells."""
        board = "kilo_board" in schema.tables
        if not board and not path.name.startswith("kilo") and path.parent.name != "kilo":
            return None
        found = cls._layout(schema)
        if found is None:
            return None
        return Recognition("7.7 or later" if board else f"as opencode {found.version}", found.unsupported)

    def _session_rows(
        self, connection: Connection, session_id: str | None = None, limit: int = -1
    ) -> list[dict[str, Any]]:
        """Session rows; those without a title get what was asked for first."""
        rows = super()._session_rows(connection, session_id, limit)
        boards: dict[str, tuple[str, int]] = {}
        if {"root_session_id", "objective", "message_count"} <= columns_of(connection, "kilo_board"):
            query = "SELECT root_session_id, objective, message_count FROM kilo_board"
            boards = {text_of(root): (text_of(asked), count) for root, asked, count in connection.execute(query)}
        for row in rows:
            objective, count = boards.get(text_of(row["id"]), ("", 0))
            if count:
                row["notes"] = (f"{count} notes between its agents",)
            if _UNTITLED.match(text_of(row["title"])):
                row["title"] = first_line(objective) or self._asked(connection, row["id"]) or row["title"]
        return rows

    @staticmethod
    def _asked(connection: Connection, session_id: object) -> str | None:
        if "data" not in columns_of(connection, "part"):
            return None
        found = connection.execute(_ASKED, (session_id,)).fetchone()
        value = (decode_object(found[0]) if found else None) or {}
        return first_line(value.get("text"))

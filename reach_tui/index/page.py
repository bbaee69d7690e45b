"""Writing one session into the index: its calls keep their numbers where their text is the same."""

from __future__ import annotations

from collections.abc import Sequence

from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.text import scrub_surrogates
from reach_tui.index.schema import checksum
from reach_tui.index.store import CALL, Index, short_key

Row = tuple[str, tuple[object, ...], tuple[str | None, ...]]
"""Key; call id, step, turn, flagged, failed, soft, copied, started, duration, bytes, text mark; tool, target, category,
subcategory, rule."""
_INSERT = f"INSERT INTO call (id, {', '.join(CALL)}, crc) VALUES (?{', ?' * (len(CALL) + 1)})"


class SessionPage:
    """A session on its way into the index, inside the open transaction."""

    def __init__(self, index: Index, session_id: str) -> None:
        self.index = index
        self.session_id = session_id
        self.no = 0
        """0: nothing is written, since a later look's outcome is there, or the id cannot be kept as it is."""
        self._known: dict[str, tuple[int, int, tuple[object, ...]]] = {}
        if scrub_surrogates(session_id) != session_id:
            return
        index.begin()
        with index.guarded():
            self._start(index)

    def _start(self, index: Index) -> None:
        execute = index.connection.execute
        row = execute("SELECT no, fresh_as_of FROM session WHERE id = ?", (self.session_id,)).fetchone()
        if row is None:
            values = (self.session_id, index.epoch)
            cursor = execute("INSERT INTO session (id, stale_since, fresh_as_of) VALUES (?, ?, -1)", values)
            self.no = int(cursor.lastrowid or 0)
        elif row[1] <= index.epoch:
            self.no = int(row[0])
            found = execute(
                "SELECT key, id, text, step, started_at, duration_ms, copied FROM call WHERE session = ?", (self.no,)
            ).fetchall()
            self._known = {row[0]: (row[1], row[2], row[3:]) for row in found}
            if found:
                execute("DELETE FROM call WHERE session = ?", (self.no,))

    def put(self, rows: Sequence[Row]) -> None:
        """Write some calls."""
        if self.no and rows:
            with self.index.guarded():
                self.index.connection.executemany(_INSERT, [self._values(*row) for row in rows])

    def _values(self, key: str, facts: tuple[object, ...], names: tuple[str | None, ...]) -> tuple[object, ...]:
        call_id, step, turn, flagged, failed, soft, copied, started, duration, size, text = facts
        tool, target, category, subcategory, rule = map(self.index.name, names)
        short = short_key(self.session_id, scrub_surrogates(key))
        number, known_text, exact = self._known.pop(short, (None, None, ()))
        if number is not None and known_text != text:
            number = None
        elif step is None and exact:
            step, started, duration, copied = exact
        values = (
            self.no, short, call_id, step, turn, tool, target, flagged, failed, soft, copied, category, subcategory,
            rule, started, duration, size, text,
        )  # fmt: skip
        return (number, *values, checksum(*values))

    def finish(self, sums: SessionCounts, state: str | None) -> None:
        """Keep the sums."""
        if self.no:
            self.index.finish(self.no, sums, state)

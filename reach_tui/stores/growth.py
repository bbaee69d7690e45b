"""Which sessions of a growing SQLite store changed: by new rows, moved session columns and edits in place.

New rows are those above the highest rowid seen. Rows that a program updates in place (running, then completed) move no
rowid, so the sessions named as active are summed up row by row, through the index on their session column. Measured on
a store of a million calls: 2 ms for new rows, 5 to 8 ms for one session's sums, 20 ms for 20,000 session rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from reach_tui.base.sqlite import Connection, columns_of, reading, text_of


@dataclass(frozen=True, slots=True)
class Growing:
    """A table whose rows belong to sessions."""

    table: str
    session: str
    """Its column with the session's id."""
    edited: str | None = None
    """A column that moves when a row is updated in place (a time, or the text itself: its length is summed)."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a store had been seen."""

    sessions: dict[str, tuple[object, ...]] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    sums: dict[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Growth:
    """Where a store of this kind grows."""

    table: str
    """The table of sessions."""
    key: str
    """Its column with the session's id."""
    moving: tuple[str, ...]
    """Its columns that move with the session: a time of update, a count."""
    rows: tuple[Growing, ...]

    def changed_since(self, path: Path, mark: object, active: Collection[str]) -> tuple[set[str], Mark]:
        """Ids of the sessions that changed since `mark` (anything else than a `Mark`: all), and the new mark.

        Raises `StoreError`.
        """
        known = mark if isinstance(mark, Mark) else Mark()
        changed: set[str] = set()
        now = Mark()
        with reading(path) as connection:
            now.sessions.update(self._sessions(connection))
            for one in self.rows:
                columns = columns_of(connection, one.table)
                if one.session not in columns:
                    continue
                highest = connection.execute(f"SELECT max(rowid) FROM {one.table}").fetchone()[0] or 0
                now.highest[one.table] = highest
                before = known.highest.get(one.table, 0)
                if mark is not None and highest > before:
                    query = f'SELECT "{one.session}" FROM {one.table} NOT INDEXED WHERE rowid > ?'
                    changed.update(text_of(row[0]) for row in connection.execute(query, (before,)))
                for session_id, sums in _sums(connection, one, columns, active):
                    now.sums[session_id] = (*now.sums.get(session_id, ()), sums)
        changed.update(name for name, state in now.sessions.items() if known.sessions.get(name) != state)
        changed.update(name for name in known.sessions if name not in now.sessions)
        changed.update(name for name, sums in now.sums.items() if known.sums.get(name, sums) != sums)
        return changed, now

    def _sessions(self, connection: Connection) -> dict[str, tuple[object, ...]]:
        columns = columns_of(connection, self.table)
        moving = [name for name in self.moving if name in columns]
        picked = ", ".join(f'"{name}"' for name in (self.key, *moving))
        rows = connection.execute(f"SELECT {picked} FROM {self.table}").fetchall()
        return {text_of(row[0]): tuple(row[1:]) for row in rows}


def _sums(
    connection: Connection, one: Growing, columns: frozenset[str], active: Collection[str]
) -> list[tuple[str, tuple[object, ...]]]:
    if not active:
        return []
    edited = "0"
    if one.edited in columns:
        edited = f'max("{one.edited}"), total(length("{one.edited}")), count("{one.edited}")'
    marks = ",".join("?" * len(active))
    query = (
        f'SELECT "{one.session}", count(*), max(rowid), {edited} FROM {one.table} '
        f'WHERE "{one.session}" IN ({marks}) GROUP BY 1'
    )
    found = {text_of(row[0]): tuple(row[1:]) for row in connection.execute(query, tuple(active))}
    return [(name, found.get(name, ())) for name in active]

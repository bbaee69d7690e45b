"""The whole log out and in: every label, undo and redo of some sessions, in the order they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

from reach_tui.base.sqlite import Connection
from reach_tui.labels.log import LOG, SELECT, LogRow, append, is_late, label_of
from reach_tui.labels.store import LabelStore


def events(store: LabelStore, kind: str, sessions: Set[str]) -> Iterator[LogRow]:
    """Every row of the log for these sessions of a kind of store, oldest first. Raises `LabelError`."""
    for row in store.rows(f"SELECT {SELECT}, {', '.join(LOG)} FROM label WHERE store = ? ORDER BY id", (kind,)):
        label = label_of(row)
        if label.session_id in sessions:
            yield LogRow(label, str(row[-4]), row[-3], row[-2], bool(row[-1]))


def take_events(store: LabelStore, rows: Sequence[LogRow]) -> int:
    """Append another log's rows that are not here yet, in one transaction; how many. Raises `LabelError`.

    A person of whom this log knows nothing else goes on where they stopped there, undo included. Of anybody else the
    rows are history: what is newer here stays in force, and undo does not reach into them.
    """

    def write(connection: Connection) -> int:
        theirs: dict[str, set[str | None]] = defaultdict(set)
        for row in rows:
            theirs[row.label.by].add(row.label.uid)
        goes_on = {by: _uids(connection, by) <= uids for by, uids in theirs.items()}
        return sum(_take(connection, row, goes_on[row.label.by]) for row in rows)

    return store.transaction(write)


def _uids(connection: Connection, by: str) -> set[str | None]:
    return {str(row[0]) for row in connection.execute('SELECT uid FROM label WHERE "by" = ?', (by,))}


def _take(connection: Connection, row: LogRow, goes_on: bool) -> int:
    if connection.execute("SELECT 1 FROM label WHERE uid = ?", (row.label.uid,)).fetchone():
        return 0
    late = row.late or (not goes_on and is_late(connection, row.label))
    action = row.action if goes_on else "import"
    append(connection, row.label, action, refers=row.refers, batch=row.batch, late=late)
    return 1

"""The label log: append-only, durable before `save` returns, two people side by side, undo and redo as rows.

A row carries the state it leads to: an undo repeats the label that is in force again (or none), so the newest row of a
target and person is always the truth, for us and for anybody who reads the table. Rows are never updated or deleted.
Durability: WAL, `synchronous=FULL`, one transaction a label (docs/performance.md has what that takes).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from reach_tui.base.errors import LabelError, StoreError
from reach_tui.base.paths import data_dir
from reach_tui.base.sqlite import Connection, DatabaseError, columns_of, open_owned, stamp
from reach_tui.base.text import scrub_surrogates
from reach_tui.labels.database import fault, prepare_for_writing, reading_labels
from reach_tui.labels.log import (
    FIELDS as FIELDS,
)
from reach_tui.labels.log import (
    FIRST_VERSION,
    LOG,
    NEWEST,
    SELECT,
    LogRow,
    append,
    clean,
    fresh,
    label_of,
    merge,
    stacks,
    step,
)
from reach_tui.model import Label
from reach_tui.taxonomy import FAILURE
from reach_tui.taxonomy import UNCODED as UNCODED

T = TypeVar("T")


def default_path() -> Path:
    """The person's label database, over all stores."""
    return data_dir() / "labels.db"


class LabelStore:
    """A label database, or the label table of a native Reach database. Its methods may be called from any thread.

    Nothing is created or written before the first label; until then reading leaves file and folder as they are.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.codebook = FAILURE
        """Id of the codebook that is worked with: its labels come before those of others on the same call."""
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._labelled: tuple[tuple[int, ...], frozenset[tuple[str, str]]] | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """The label store at `path`, which need not exist yet. Raises `LabelError` if it is something else."""
        store = cls(path)
        if path.exists():
            with store._reading():
                pass
        return store

    def close(self) -> None:
        """Close the connection; the store opens it again when needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """Open for writing now (create, or migrate with a backup), so that the first label waits for nothing.

        Raises `LabelError`.
        """
        with self._lock, self._faults():
            self._writer()

    # Writing

    def save(self, label: Label) -> Label:
        """Append a label; it is on disk when this returns, with its `id` and `uid`. Category None clears the label.

        Raises `LabelError` with one line where it could not be made durable; then nothing was written.
        """
        return self.transaction(lambda connection: append(connection, fresh(label), "label"))

    def save_many(self, labels: Sequence[Label]) -> list[Label]:
        """Append labels in one transaction, as one step for `undo`. Raises `LabelError`; then none was written."""
        batch = uuid.uuid4().hex

        def write(connection: Connection) -> list[Label]:
            return [append(connection, fresh(label), "label", batch=batch) for label in labels]

        return self.transaction(write)

    def undo(self, by: str) -> Label | None:
        """Take back the last label (or batch) of a person that is not taken back yet; None if there is none.

        Returns the row written: the label in force again, with category None where there is none. Raises `LabelError`.
        """
        return next(iter(self.undo_all(by)), None)

    def undo_all(self, by: str) -> list[Label]:
        """The same, with every row written: several for a batch, none where there is nothing to take back."""
        return self.transaction(lambda connection: step(connection, scrub_surrogates(by), "undo"))

    def redo(self, by: str) -> Label | None:
        """Give the last label (or batch) taken back again; None after a new label, or if nothing was taken back."""
        return next(iter(self.redo_all(by)), None)

    def redo_all(self, by: str) -> list[Label]:
        """The same, with every row written."""
        return self.transaction(lambda connection: step(connection, scrub_surrogates(by), "redo"))

    def merge(self, labels: Sequence[Label]) -> int:
        """Append other logs' rows that are not here yet (by `uid`), in one transaction; returns how many were new.

        A row older than what the same person has in force for the same target goes into the history only.
        Raises `LabelError`.
        """
        return self.transaction(lambda connection: sum(merge(connection, label) for label in labels))

    # Reading

    def in_force(self, store: str, session_id: str) -> dict[tuple[str | None, str], Label]:
        """The labels in force in a session by (call key, person); key None is the session's own label.

        Of a person who labelled a call and later settled it, the later of both; of one who labelled it with two
        codebooks, the label of the one that is worked with.
        """
        if not self._may_have_labels(store, session_id):
            return {}
        rows = self.rows(
            f"SELECT {SELECT} FROM label WHERE id IN ({NEWEST} AND store = ? AND session_id = ? "
            'GROUP BY call_key, "by", role, taxonomy) AND category IS NOT NULL ORDER BY taxonomy = ?, id',
            (store, session_id, self.codebook),
        )
        return {(label.call_key, label.by): label for label in map(label_of, rows)}

    def all_in_force(self, store: str | None = None, *, by: str | None = None, cleared: bool = False) -> list[Label]:
        """Every label in force, one a target, person, role and codebook, oldest first; `cleared`: also those gone."""
        where = ""
        values: list[str] = []
        for column, value in (("store", store), ("by", by)):
            if value is not None:
                where += f' AND "{column}" = ?'
                values.append(value)
        rows = self.rows(
            f'SELECT {SELECT} FROM label WHERE id IN ({NEWEST}{where} GROUP BY store, session_id, call_key, "by", '
            f"role, taxonomy)"
            f"{'' if cleared else ' AND category IS NOT NULL'} ORDER BY id",
            values,
        )
        return [label_of(row) for row in rows]

    def of_call(self, store: str, session_id: str, call_key: str) -> list[Label]:
        """Everybody's labels in force on a call, oldest first; one who settled a disagreement may have two."""
        rows = self.rows(
            f"SELECT {SELECT} FROM label WHERE id IN ({NEWEST} AND store = ? AND session_id = ? AND call_key = ? "
            'GROUP BY "by", role, taxonomy) AND category IS NOT NULL ORDER BY id',
            (store, session_id, call_key),
        )
        return [label_of(row) for row in rows]

    def targets(self, by: str, role: str | None = None, queue: str | None = None) -> set[tuple[str, str, str]]:
        """The calls a person labelled with this codebook (in that role, that queue), as store, session, call key."""
        rows = self.rows(
            f'SELECT store, session_id, call_key, role, shown FROM label WHERE id IN ({NEWEST} AND "by" = ? '
            "AND taxonomy = ? GROUP BY store, session_id, call_key, role) "
            "AND category IS NOT NULL AND call_key IS NOT NULL",
            (by, self.codebook),
        )
        return {
            (one[0], one[1], one[2])
            for one in rows
            if role in (None, one[3]) and (queue is None or (one[4] is not None and queue in one[4]))
        }

    def last_shown(self, by: str, count: int) -> list[Label]:
        """The last labels a person gave in any queue, newest first."""
        rows = self.rows(
            f"SELECT {SELECT} FROM label WHERE \"by\" = ? AND action = 'label' AND shown IS NOT NULL "
            "ORDER BY id DESC LIMIT ?",
            (by, count),
        )
        return [label_of(row) for row in rows]

    def last_step(self, by: str, *, redo: bool = False) -> int | None:
        """When the label was given that undo would take back next (redo: give again); None if there is none."""
        with self._reading() as connection:
            if connection is None:
                return None
            standing, undone, _ = stacks(connection, scrub_surrogates(by))
            stack = undone if redo else standing
            if not stack:
                return None
            newest = 'SELECT max("at") FROM label WHERE "by" = ?' if redo else 'SELECT "at" FROM label WHERE uid = ?'
            row = connection.execute(newest, (scrub_surrogates(by) if redo else stack[-1],)).fetchone()
            return int(row[0])

    def counts_by_session(self, store: str) -> dict[str, int]:
        """How many calls of each session carry a label in force, whoever gave it."""
        rows = self.rows(
            f"SELECT session_id, count(DISTINCT call_key) FROM label WHERE id IN ({NEWEST} AND store = ? "
            'GROUP BY session_id, call_key, "by", role, taxonomy) AND category IS NOT NULL AND call_key IS NOT NULL '
            "GROUP BY session_id",
            (store,),
        )
        return {str(session_id): int(count) for session_id, count in rows}

    def history(self, store: str, session_id: str, call_key: str | None = None) -> list[LogRow]:
        """Every row ever written for a target, oldest first."""
        rows = self.rows(
            f"SELECT {SELECT}, {', '.join(LOG)} FROM label "
            "WHERE store = ? AND session_id = ? AND call_key IS ? ORDER BY id",
            (store, session_id, call_key),
        )
        return [LogRow(label_of(row), str(row[-4]), row[-3], row[-2], bool(row[-1])) for row in rows]

    # The connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, OSError) as error:
            self.close()
            raise fault(error, self.path) from error
        except StoreError as error:
            raise LabelError(error.what, error.where, error.hint) from error

    def _writer(self) -> Connection:
        if self._connection is None:
            prepare_for_writing(self.path)
            self._connection = open_owned(self.path, any_thread=True)
        return self._connection

    def transaction(self, write: Callable[[Connection], T]) -> T:
        """Run `write` in one transaction, durable when this returns. Raises `LabelError`; then nothing was written."""
        with self._lock, self._faults():
            connection = self._writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                answer = write(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return answer

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        with self._lock, self._faults():
            if self._connection is not None:
                yield self._connection
            else:
                with reading_labels(self.path) as connection:
                    yield connection

    def _may_have_labels(self, store: str, session_id: str) -> bool:
        """False where a file we do not write has no row for the session: spares opening it for each of thousands."""
        with self._lock:
            if self._connection is not None:
                return True
            now = stamp(self.path)
            if self._labelled is None or self._labelled[0] != now:
                pairs = self.rows("SELECT DISTINCT store, session_id FROM label", ())
                self._labelled = now, frozenset((str(one), str(other)) for one, other in pairs)
            return (store, scrub_surrogates(session_id)) in self._labelled[1]

    def rows(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file yet. Raises `LabelError`."""
        with self._reading() as connection:
            if connection is None:
                return []
            if self._connection is None and "role" not in columns_of(connection, "label"):
                sql = sql.replace(" FROM label", f" FROM {FIRST_VERSION}")  # it is not written for being read
            return connection.execute(sql, [clean(value) for value in values]).fetchall()

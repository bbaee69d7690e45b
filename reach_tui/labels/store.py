"""The label log: append-only, durable before `save` returns, two people side by side, undo and redo as rows.

A row carries the state it leads to: an undo repeats the label that is in force again (or none), so the newest row of a
target and person is always the truth, for us and for anybody who reads the table. Rows are never updated or deleted.
Durability: WAL, `synchronous=FULL`, one transaction a label (0.3-0.4 ms; measured in the performance notes).
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import LabelError, StoreError
from reach_tui.base.jsonio import dumps
from reach_tui.base.paths import data_dir
from reach_tui.base.sqlite import Connection, DatabaseError, columns_of, open_owned, stamp
from reach_tui.base.text import scrub_surrogates
from reach_tui.labels.database import fault, prepare_for_writing, reading_labels
from reach_tui.model import Label

T = TypeVar("T")
UNCODED = "uncoded"
"""Category of a note that has no class yet (open coding): a label in force, and no judgement of failed or not."""
FIELDS = (
    "store",
    "session_id",
    "call_key",
    "content_hash",
    "category",
    "subcategory",
    "note",
    "by",
    "at",
    "taxonomy",
    "taxonomy_version",
    "verdict",
    "rule",
    "tool_version",
    "role",
    "first_cause",
    "shown",
    "id",
    "uid",
)
_FIRST_VERSION = "(SELECT *, 'annotator' AS role, 0 AS first_cause, NULL AS shown FROM label) label"
"""The table with the columns that label databases of the first version lack."""
_SELECT = ", ".join(f'"{name}"' for name in FIELDS)
_LOG = ("action", "refers", "batch", "late")
_INSERT = (
    f"INSERT INTO label ({', '.join(f'{chr(34)}{name}{chr(34)}' for name in (*FIELDS[:-2], 'uid', *_LOG))}) "
    f"VALUES ({', '.join('?' * (len(FIELDS) - 1 + len(_LOG)))})"
)
_NEWEST = "SELECT max(id) FROM label WHERE late = 0"


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row of the log as it was written."""

    label: Label
    action: str
    """label, undo, redo or import."""
    refers: str | None
    """For an undo or redo: the uid of the label it takes back or gives again."""
    batch: str | None
    """Common to labels given in one step, which are undone in one step."""
    late: bool
    """Imported after a newer label of the same person for the same target: history only."""


def default_path() -> Path:
    """The person's label database, over all stores."""
    return data_dir() / "labels.db"


class LabelStore:
    """A label database, or the label table of a native Reach database. Its methods may be called from any thread.

    Nothing is created or written before the first label; until then reading leaves file and folder as they are.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
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
        return self.transaction(lambda connection: _append(connection, _fresh(label), "label"))

    def save_many(self, labels: Sequence[Label]) -> list[Label]:
        """Append labels in one transaction, as one step for `undo`. Raises `LabelError`; then none was written."""
        batch = uuid.uuid4().hex

        def write(connection: Connection) -> list[Label]:
            return [_append(connection, _fresh(label), "label", batch=batch) for label in labels]

        return self.transaction(write)

    def undo(self, by: str) -> Label | None:
        """Take back the last label (or batch) of a person that is not taken back yet; None if there is none.

        Returns the row written: the label in force again, with category None where there is none. Raises `LabelError`.
        """
        return next(iter(self.undo_all(by)), None)

    def undo_all(self, by: str) -> list[Label]:
        """The same, with every row written: several for a batch, none where there is nothing to take back."""
        return self.transaction(lambda connection: _step(connection, scrub_surrogates(by), "undo"))

    def redo(self, by: str) -> Label | None:
        """Give the last label (or batch) taken back again; None after a new label, or if nothing was taken back."""
        return next(iter(self.redo_all(by)), None)

    def redo_all(self, by: str) -> list[Label]:
        """The same, with every row written."""
        return self.transaction(lambda connection: _step(connection, scrub_surrogates(by), "redo"))

    def merge(self, labels: Sequence[Label]) -> int:
        """Append other logs' rows that are not here yet (by `uid`), in one transaction; returns how many were new.

        A row older than what the same person has in force for the same target goes into the history only.
        Raises `LabelError`.
        """
        return self.transaction(lambda connection: sum(_merge(connection, label) for label in labels))

    # Reading

    def in_force(self, store: str, session_id: str) -> dict[tuple[str | None, str], Label]:
        """The labels in force in a session by (call key, person); key None is the session's own label.

        Of a person who labelled a call and later settled it, the later of both.
        """
        if not self._may_have_labels(store, session_id):
            return {}
        rows = self.rows(
            f"SELECT {_SELECT} FROM label WHERE id IN ({_NEWEST} AND store = ? AND session_id = ? "
            'GROUP BY call_key, "by", role) AND category IS NOT NULL ORDER BY id',
            (store, session_id),
        )
        return {(label.call_key, label.by): label for label in map(_label, rows)}

    def all_in_force(self, store: str | None = None, *, by: str | None = None, cleared: bool = False) -> list[Label]:
        """Every label in force, one a target, person and role, oldest first; `cleared` adds those taken away."""
        where = ""
        values: list[str] = []
        for column, value in (("store", store), ("by", by)):
            if value is not None:
                where += f' AND "{column}" = ?'
                values.append(value)
        rows = self.rows(
            f'SELECT {_SELECT} FROM label WHERE id IN ({_NEWEST}{where} GROUP BY store, session_id, call_key, "by")'
            f"{'' if cleared else ' AND category IS NOT NULL'} ORDER BY id",
            values,
        )
        return [_label(row) for row in rows]

    def of_call(self, store: str, session_id: str, call_key: str) -> list[Label]:
        """Everybody's labels in force on a call, oldest first; one who settled a disagreement may have two."""
        rows = self.rows(
            f"SELECT {_SELECT} FROM label WHERE id IN ({_NEWEST} AND store = ? AND session_id = ? AND call_key = ? "
            'GROUP BY "by", role) AND category IS NOT NULL ORDER BY id',
            (store, session_id, call_key),
        )
        return [_label(row) for row in rows]

    def targets(self, by: str, role: str | None = None, queue: str | None = None) -> set[tuple[str, str, str]]:
        """The calls a person labelled (in that role, in that queue), as store, session, call key."""
        rows = self.rows(
            f'SELECT store, session_id, call_key, role, shown FROM label WHERE id IN ({_NEWEST} AND "by" = ? '
            "GROUP BY store, session_id, call_key, role) AND category IS NOT NULL AND call_key IS NOT NULL",
            (by,),
        )
        return {
            (one[0], one[1], one[2])
            for one in rows
            if role in (None, one[3]) and (queue is None or (one[4] is not None and queue in one[4]))
        }

    def last_shown(self, by: str, count: int) -> list[Label]:
        """The last labels a person gave in any queue, newest first."""
        rows = self.rows(
            f"SELECT {_SELECT} FROM label WHERE \"by\" = ? AND action = 'label' AND shown IS NOT NULL "
            "ORDER BY id DESC LIMIT ?",
            (by, count),
        )
        return [_label(row) for row in rows]

    def last_step(self, by: str, *, redo: bool = False) -> int | None:
        """When the label was given that undo would take back next (redo: give again); None if there is none."""
        with self._reading() as connection:
            if connection is None:
                return None
            standing, undone, _ = _stacks(connection, scrub_surrogates(by))
            stack = undone if redo else standing
            if not stack:
                return None
            newest = 'SELECT max("at") FROM label WHERE "by" = ?' if redo else 'SELECT "at" FROM label WHERE uid = ?'
            row = connection.execute(newest, (scrub_surrogates(by) if redo else stack[-1],)).fetchone()
            return int(row[0])

    def counts_by_session(self, store: str) -> dict[str, int]:
        """How many calls of each session carry a label in force, whoever gave it."""
        rows = self.rows(
            f"SELECT session_id, count(DISTINCT call_key) FROM label WHERE id IN ({_NEWEST} AND store = ? "
            'GROUP BY session_id, call_key, "by", role) AND category IS NOT NULL AND call_key IS NOT NULL '
            "GROUP BY session_id",
            (store,),
        )
        return {str(session_id): int(count) for session_id, count in rows}

    def history(self, store: str, session_id: str, call_key: str | None = None) -> list[LogRow]:
        """Every row ever written for a target, oldest first."""
        rows = self.rows(
            f"SELECT {_SELECT}, {', '.join(_LOG)} FROM label "
            "WHERE store = ? AND session_id = ? AND call_key IS ? ORDER BY id",
            (store, session_id, call_key),
        )
        return [LogRow(_label(row), str(row[-4]), row[-3], row[-2], bool(row[-1])) for row in rows]

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
                sql = sql.replace(" FROM label", f" FROM {_FIRST_VERSION}")  # it is not written for being read
            return connection.execute(sql, [_clean(value) for value in values]).fetchall()


def _clean(value: Any) -> Any:
    return scrub_surrogates(value) if isinstance(value, str) else value


def _fresh(label: Label) -> Label:
    """The label as it can be stored: no lone surrogates, a name, no id of its own."""
    if not label.by.strip():
        raise LabelError("a label needs the name of who gives it", hint="set `by` in the settings, or pass --by NAME")
    return replace(label, uid=uuid.uuid4().hex, id=None)


def _append(
    connection: Connection,
    label: Label,
    action: str,
    *,
    refers: str | None = None,
    batch: str | None = None,
    late: bool = False,
) -> Label:
    values: dict[str, Any] = {name: _clean(getattr(label, name)) for name in FIELDS}
    columns = [values[name] for name in (*FIELDS[:-2], "uid")]
    cursor = connection.execute(_INSERT, [*columns, action, refers, batch, late])
    return Label(**values | {"id": cursor.lastrowid})


def _label(row: Sequence[Any]) -> Label:
    values = dict(zip(FIELDS, row, strict=False))
    verdict = values["verdict"]
    values |= {"verdict": None if verdict is None else bool(verdict), "first_cause": bool(values["first_cause"])}
    return Label(**values)


def _stacks(connection: Connection, by: str) -> tuple[list[str], list[str], dict[str, str | None]]:
    """A person's labels that stand, those taken back since the last label, and the batch of each; newest last."""
    standing: list[str] = []
    undone: list[str] = []
    batches: dict[str, str | None] = {}
    for uid, action, refers, batch in connection.execute(
        "SELECT uid, action, refers, batch FROM label WHERE \"by\" = ? AND action <> 'import' ORDER BY id", (by,)
    ):
        if action == "label":
            standing.append(uid)
            batches[uid] = batch
            undone.clear()
        else:
            giver, taker = (standing, undone) if action == "undo" else (undone, standing)
            if giver and giver[-1] == refers:
                taker.append(giver.pop())
    return standing, undone, batches


def _step(connection: Connection, by: str, action: str) -> list[Label]:
    standing, undone, batches = _stacks(connection, by)
    stack = standing if action == "undo" else undone
    if not stack:
        return []
    batch = batches[stack[-1]]
    answer: list[Label] = []
    while stack and (not answer or (batch is not None and batches[stack[-1]] == batch)):
        uid = stack.pop()
        given = _label(connection.execute(f"SELECT {_SELECT} FROM label WHERE uid = ?", (uid,)).fetchone())
        state = _before(connection, given) if action == "undo" else given
        answer.append(_append(connection, replace(state, at=now_ms(), uid=uuid.uuid4().hex), action, refers=uid))
    return answer


def _before(connection: Connection, given: Label) -> Label:
    """What was in force for the label's target and person just before it; category None if nothing was."""
    row = connection.execute(
        f'SELECT {_SELECT} FROM label WHERE store = ? AND session_id = ? AND call_key IS ? AND "by" = ? AND role = ? '
        "AND late = 0 AND id < ? ORDER BY id DESC LIMIT 1",
        (given.store, given.session_id, given.call_key, given.by, given.role, given.id),
    ).fetchone()
    return _label(row) if row else replace(given, category=None, subcategory=None, note="")


def _merge(connection: Connection, label: Label) -> int:
    uid = label.uid or _derived_uid(label)
    if connection.execute("SELECT 1 FROM label WHERE uid = ?", (uid,)).fetchone():
        return 0
    newest = connection.execute(
        'SELECT "at" FROM label WHERE store = ? AND session_id = ? AND call_key IS ? AND "by" = ? AND role = ? '
        "AND late = 0 ORDER BY id DESC LIMIT 1",
        tuple(_clean(value) for value in (label.store, label.session_id, label.call_key, label.by, label.role)),
    ).fetchone()
    _append(connection, replace(label, uid=uid), "import", late=newest is not None and newest[0] > label.at)
    return 1


def _derived_uid(label: Label) -> str:
    """The same uid for the same label, where a file brings none."""
    body = dumps([getattr(label, name) for name in FIELDS[:-2]])
    return hashlib.sha256(body.encode("utf-8")).hexdigest()[:32]

"""The rows of the label log and how they follow from each other: append, undo and redo as rows, merging other logs.

A row carries the state it leads to: an undo repeats the label that is in force again (or none), so the newest row of a
target and person is always the truth, for us and for anybody who reads the table. Rows are never updated or deleted.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import LabelError
from reach_tui.base.jsonio import dumps
from reach_tui.base.sqlite import Connection
from reach_tui.base.text import scrub_surrogates
from reach_tui.model import Label

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
FIRST_VERSION = "(SELECT *, 'annotator' AS role, 0 AS first_cause, NULL AS shown FROM label) label"
"""The table with the columns that label databases of the first version lack."""
SELECT = ", ".join(f'"{name}"' for name in FIELDS)
LOG = ("action", "refers", "batch", "late")
_INSERT = (
    f"INSERT INTO label ({', '.join(f'{chr(34)}{name}{chr(34)}' for name in (*FIELDS[:-2], 'uid', *LOG))}) "
    f"VALUES ({', '.join('?' * (len(FIELDS) - 1 + len(LOG)))})"
)
TARGET = ("store", "session_id", "call_key", "by", "role", "taxonomy")
"""One label is in force for each of these."""
NEWEST = "SELECT max(id) FROM label WHERE late = 0"


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


def clean(value: Any) -> Any:
    return scrub_surrogates(value) if isinstance(value, str) else value


def fresh(label: Label) -> Label:
    """The label as it can be stored: no lone surrogates, a name, no id of its own."""
    if not label.by.strip():
        raise LabelError("a label needs the name of who gives it", hint="set `by` in the settings, or pass --by NAME")
    return replace(label, uid=uuid.uuid4().hex, id=None)


def append(
    connection: Connection,
    label: Label,
    action: str,
    *,
    refers: str | None = None,
    batch: str | None = None,
    late: bool = False,
) -> Label:
    values: dict[str, Any] = {name: clean(getattr(label, name)) for name in FIELDS}
    columns = [values[name] for name in (*FIELDS[:-2], "uid")]
    cursor = connection.execute(_INSERT, [*columns, action, refers, batch, late])
    return Label(**values | {"id": cursor.lastrowid})


def label_of(row: Sequence[Any]) -> Label:
    values = dict(zip(FIELDS, row, strict=False))
    verdict = values["verdict"]
    values |= {"verdict": None if verdict is None else bool(verdict), "first_cause": bool(values["first_cause"])}
    return Label(**values)


def stacks(connection: Connection, by: str) -> tuple[list[str], list[str], dict[str, str | None]]:
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


def step(connection: Connection, by: str, action: str) -> list[Label]:
    standing, undone, batches = stacks(connection, by)
    stack = standing if action == "undo" else undone
    if not stack:
        return []
    batch = batches[stack[-1]]
    answer: list[Label] = []
    while stack and (not answer or (batch is not None and batches[stack[-1]] == batch)):
        uid = stack.pop()
        given = label_of(connection.execute(f"SELECT {SELECT} FROM label WHERE uid = ?", (uid,)).fetchone())
        state = _before(connection, given) if action == "undo" else given
        answer.append(append(connection, replace(state, at=now_ms(), uid=uuid.uuid4().hex), action, refers=uid))
    return answer


def _before(connection: Connection, given: Label) -> Label:
    """What was in force for the label's target and person just before it; category None if nothing was."""
    row = connection.execute(
        f'SELECT {SELECT} FROM label WHERE store = ? AND session_id = ? AND call_key IS ? AND "by" = ? AND role = ? '
        "AND taxonomy = ? AND late = 0 AND id < ? ORDER BY id DESC LIMIT 1",
        (given.store, given.session_id, given.call_key, given.by, given.role, given.taxonomy, given.id),
    ).fetchone()
    return label_of(row) if row else replace(given, category=None, subcategory=None, note="")


def merge(connection: Connection, label: Label) -> int:
    """Append a label of another log unless it is here; 1 if it was new."""
    uid = label.uid or derived_uid(label)
    if connection.execute("SELECT 1 FROM label WHERE uid = ?", (uid,)).fetchone():
        return 0
    append(connection, replace(label, uid=uid), "import", late=is_late(connection, label))
    return 1


def is_late(connection: Connection, label: Label) -> bool:
    """Whether the same person has something newer for the same target."""
    newest = connection.execute(
        'SELECT "at" FROM label WHERE store = ? AND session_id = ? AND call_key IS ? AND "by" = ? AND role = ? '
        "AND taxonomy = ? AND late = 0 ORDER BY id DESC LIMIT 1",
        tuple(clean(getattr(label, name)) for name in TARGET),
    ).fetchone()
    return newest is not None and bool(newest[0] > label.at)


def derived_uid(label: Label) -> str:
    """The same uid for the same label, where a file brings none."""
    body = dumps([getattr(label, name) for name in FIELDS[:-2]])
    return hashlib.sha256(body.encode("utf-8")).hexdigest()[:32]

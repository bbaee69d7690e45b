"""Labels copied into the trace database itself: one table of ours, on the person's request only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reach_tui.base.errors import LabelError, StoreError
from reach_tui.base.sqlite import Connection, schema_of, writing_once
from reach_tui.labels.store import FIELDS
from reach_tui.model import Label

TABLE = "reach_label"
COLUMNS = tuple(name for name in FIELDS if name != "id")
_TYPES: dict[str, type] = {"at": int, "taxonomy_version": int, "verdict": int, "first_cause": int}
_LATER = {"role": "TEXT", "first_cause": "INTEGER", "shown": "TEXT"}
"""Columns that tables written by earlier versions lack."""
_REQUIRED = {
    "store",
    "session_id",
    "category",
    "note",
    "by",
    "at",
    "taxonomy",
    "taxonomy_version",
    "tool_version",
    "uid",
}


def write_back(trace: Path, labels: Sequence[Label]) -> int:
    """Copy labels into the table `reach_label` of a trace database; returns how many it holds of those given.

    One short transaction that touches no other table and leaves the journal mode as it was. A label replaces the one of
    the same person for the same target, one with category None removes it; so writing twice changes nothing. Raises
    `LabelError` while another process uses the file, and for a file that cannot be written.
    """
    try:
        with writing_once(trace) as connection:
            _create(connection, trace)
            return sum(_put(connection, label) for label in labels)
    except StoreError as error:
        raise LabelError(f"no label was written back: {error.what}", error.where, error.hint) from error


def _create(connection: Connection, trace: Path) -> None:
    schema = schema_of(connection)
    if TABLE in schema.tables:
        if not schema.has(TABLE, *(name for name in COLUMNS if name not in _LATER)):
            raise LabelError(f"has a table {TABLE} that is not ours", trace, "rename it, then try again")
        for name in (name for name in _LATER if not schema.has(TABLE, name)):
            connection.execute(f"ALTER TABLE {TABLE} ADD COLUMN {name} {_LATER[name]}")
        return
    import sqlite_utils

    database = sqlite_utils.Database(connection)
    types = {name: _TYPES.get(name, str) for name in COLUMNS}
    database.table(TABLE).create(types, pk="uid", not_null=_REQUIRED)


def _put(connection: Connection, label: Label) -> int:
    connection.execute(
        f'DELETE FROM {TABLE} WHERE store = ? AND session_id = ? AND call_key IS ? AND "by" = ? '
        "AND coalesce(role, 'annotator') = ? AND taxonomy = ?",
        (label.store, label.session_id, label.call_key, label.by, label.role, label.taxonomy),
    )
    if label.category is None:
        return 0
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    values = [getattr(label, name) for name in COLUMNS]
    connection.execute(f"INSERT INTO {TABLE} ({names}) VALUES ({', '.join('?' * len(values))})", values)
    return 1

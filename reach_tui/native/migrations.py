"""Older native databases, brought up to date: on a copy for reading, or in place after a backup for writing."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from reach_tui.base.errors import SchemaUnknown, StoreError
from reach_tui.base.sqlite import (
    Connection,
    DatabaseError,
    columns_of,
    open_owned,
    reading,
    schema_of,
    stamp,
    text_of,
    translate,
)
from reach_tui.native.error_types import map_error_type
from reach_tui.native.schema import EVENT, LABEL, MESSAGE, SESSION, SLOT, TOOL_CALL, VERSION, Table, is_native


@dataclass(slots=True)
class Migration:
    """What a migration did."""

    path: Path
    from_version: int
    backup: Path | None = None
    """The file as it was, where it was migrated in place."""
    unmapped: list[str] = field(default_factory=list)
    """Values that fit no closed enumeration: kept as text beside it, and listed here."""


Fill: TypeAlias = Callable[[Connection, Table, str, Migration], None]


def _to_version_2(connection: Connection, report: Migration) -> None:
    """Version 1 had free `error_type` strings, no thresholds, no slot notes, and labels without a log."""
    for table in (SESSION, MESSAGE, TOOL_CALL, EVENT, SLOT, LABEL):
        _rebuild(connection, table, report, _FILL_2[table.name])


def _to_version_3(connection: Connection, report: Migration) -> None:
    """Version 2 did not say where an imported session came from."""
    if not columns_of(connection, SESSION.name).issuperset(SESSION.names):  # tables made anew for version 2 have them
        _rebuild(connection, SESSION, report, _copy)


def _to_version_4(connection: Connection, report: Migration) -> None:
    """Version 3 knew neither adjudication nor first causes, and not how a labelled call was shown."""
    if not columns_of(connection, LABEL.name).issuperset(LABEL.names):
        _rebuild(connection, LABEL, report, _copy)


def _rebuild(connection: Connection, table: Table, report: Migration, fill: Fill) -> None:
    """Make a table anew in the current layout and fill it from the old one."""
    import sqlite_utils

    database = sqlite_utils.Database(connection)
    old = f"{table.name}_old"
    database.execute(f"ALTER TABLE {table.name} RENAME TO {old}")
    for (index,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (old,)
    ).fetchall():
        database.execute(f'DROP INDEX "{index}"')
    for statement in table.statements():
        database.execute(statement)
    fill(connection, table, old, report)
    database.execute(f"DROP TABLE {old}")


def _copy(connection: Connection, table: Table, old: str, _: Migration, **extra: str) -> None:
    """Copy the columns both layouts have; `extra` gives SQL expressions for new ones."""
    had = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({old})")}
    columns = {name: f'"{name}"' for name in table.names if name in had} | extra
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(columns.values())
    connection.execute(f"INSERT INTO {table.name} ({names}) SELECT {values} FROM {old} ORDER BY rowid")


def _messages(connection: Connection, table: Table, old: str, report: Migration) -> None:
    _copy(connection, table, old, report, kind="role", text="coalesce(text, '')")


def _slots(connection: Connection, table: Table, old: str, report: Migration) -> None:
    position = f"(SELECT count(*) FROM {old} AS other WHERE other.call_key = {old}.call_key AND other.id < {old}.id)"
    _copy(connection, table, old, report, position=position)


def _events(connection: Connection, table: Table, old: str, report: Migration) -> None:
    _copy(connection, table, old, report, error_type="NULL")
    for (raw,) in connection.execute(f"SELECT DISTINCT error_type FROM {old} WHERE error_type IS NOT NULL").fetchall():
        known = map_error_type(text_of(raw))
        detail = None if known else f"error_type: {text_of(raw)}"
        if known is None:
            report.unmapped.append(f"event.error_type: {text_of(raw)}")
        connection.execute(
            f"UPDATE event SET error_type = ?, detail = ? WHERE id IN (SELECT id FROM {old} WHERE error_type = ?)",
            (known, detail, raw),
        )


def _labels(connection: Connection, table: Table, old: str, report: Migration) -> None:
    # Two copies of one database must give a label the same uid, or an exchange between them would double it.
    _copy(
        connection,
        table,
        old,
        report,
        uid="'v1-' || id || '-' || \"at\" || '-' || lower(hex(session_id || coalesce(call_key, '')))",
        action="'label'",
        store="'reach'",
        note="coalesce(note, '')",
        taxonomy="'reach-failure'",
        taxonomy_version="1",
    )


_FILL_2: dict[str, Fill] = {
    "session": _copy,
    "message": _messages,
    "tool_call": _copy,
    "event": _events,
    "slot": _slots,
    "label": _labels,
}
STEPS: dict[int, Callable[[Connection, Migration], None]] = {2: _to_version_2, 3: _to_version_3, 4: _to_version_4}
"""By the version they lead to. Each runs in the one transaction of the whole migration."""


def _run(path: Path, report: Migration) -> None:
    try:
        connection = open_owned(path)
        try:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("PRAGMA legacy_alter_table = ON")
            connection.execute("BEGIN IMMEDIATE")
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])  # another process may have been first
            for version in range(found + 1, VERSION + 1):
                STEPS[version](connection, report)
                connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        finally:
            connection.close()
    except DatabaseError as error:
        raise translate(error, path) from error


def _version(path: Path) -> int:
    with reading(path) as connection:
        schema = schema_of(connection)
    if not is_native(schema):
        raise StoreError("not a native Reach database", path)
    if schema.user_version > VERSION:
        raise SchemaUnknown(f"a Reach database of a newer version ({schema.user_version})", path, "update reach-tui")
    return schema.user_version


def snapshot(path: Path, target: Path) -> None:
    """A whole and consistent copy, also of a database that is being written."""
    try:
        with reading(path) as source:
            copy = open_owned(target)
            try:
                copy.execute("PRAGMA journal_mode = DELETE")  # or a source of another page size could not be copied
                source.backup(copy)
            finally:
                copy.close()
    except OSError as error:
        raise StoreError(f"no copy can be made: {error.strerror}", target, "check space and permissions") from error


def migrate(path: Path) -> Migration:
    """Bring a native database up to date in place, after a backup beside it (`NAME.v1-backup`).

    Nothing is done, and no backup made, where it is current. Raises `StoreError`, `SchemaUnknown` for a newer one.
    """
    report = Migration(path, _version(path))
    if report.from_version == VERSION:
        return report
    report.backup = free_name(path.with_name(f"{path.name}.v{report.from_version}-backup"))
    snapshot(path, report.backup)
    _run(path, report)
    return report


def free_name(path: Path) -> Path:
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


_copies: dict[str, tuple[object, Path]] = {}


def _forget_copies() -> None:
    for _, copy in _copies.values():
        shutil.rmtree(copy.parent, ignore_errors=True)


atexit.register(_forget_copies)


def migrated_copy(path: Path) -> Path:
    """A private copy in the current version, made once for each state of the file, which stays as it is.

    Raises `StoreError`.
    """
    real, now = os.path.realpath(path), stamp(path)
    if (known := _copies.get(real)) and known[0] == now:
        return known[1]
    copy = Path(tempfile.mkdtemp(prefix="reach-tui-")) / path.name
    report = Migration(copy, _version(path))
    snapshot(path, copy)
    _run(copy, report)
    if known:
        shutil.rmtree(known[1].parent, ignore_errors=True)
    _copies[real] = (now, copy)
    return copy

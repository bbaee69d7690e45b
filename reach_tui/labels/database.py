"""The file under a label store: its own database, or a native Reach database; made, migrated and read with care."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reach_tui.base.errors import LabelError
from reach_tui.base.sqlite import Connection, Schema, open_owned, reading, schema_of
from reach_tui.native import migrations
from reach_tui.native.schema import LABEL, VERSION, Table, create_tables, is_native

LABELS_VERSION = 2
"""`PRAGMA user_version` of a label database of its own; its `label` table is that of the native schema."""
QUEUE = Table(
    "queue",
    (
        ("id", "TEXT PRIMARY KEY NOT NULL"),
        ("name", "TEXT NOT NULL"),
        ("by", "TEXT NOT NULL"),
        ("at", "INTEGER NOT NULL"),
        ("recipe", "TEXT NOT NULL"),
    ),
)
"""Work lists of calls to label, each with the recipe it was drawn by; a queue is never changed once it is made."""
QUEUE_ITEM = Table(
    "queue_item",
    (
        ("queue", "TEXT NOT NULL REFERENCES queue (id)"),
        ("position", "INTEGER NOT NULL"),
        ("store", "TEXT NOT NULL"),
        ("session_id", "TEXT NOT NULL"),
        ("call_key", "TEXT NOT NULL"),
        ("stratum", "TEXT NOT NULL"),
        ("source", "TEXT NOT NULL"),
    ),
    ("PRIMARY KEY (queue, position)",),
)
DEFERRAL = Table(
    "deferral",
    (
        ("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
        ("queue", "TEXT NOT NULL REFERENCES queue (id)"),
        ("position", "INTEGER NOT NULL"),
        ("by", "TEXT NOT NULL"),
        ("action", "TEXT NOT NULL CHECK (action IN ('defer', 'skip', 'return'))"),
        ("at", "INTEGER NOT NULL"),
    ),
    indexes=(("queue", "by"),),
)
"""What a person put off in a queue (comes back at its end) or skipped (does not); append-only, the newest counts."""
QUEUE_TABLES = (QUEUE, QUEUE_ITEM, DEFERRAL)
_ADDED_2 = ("role", "first_cause", "shown")  # columns of `label` that version 1 lacked
_OWN_TABLES = frozenset(["label", "sqlite_sequence", *(table.name for table in QUEUE_TABLES)])
_HINTS = {
    5: ("locked by another program", "wait until it has finished, then label again"),
    6: ("locked by another program", "wait until it has finished, then label again"),
    8: ("read-only", "check the permissions of file and folder, or name another file with --labels"),
    10: ("the disk reports an error", "check disk space and mount; the label was not saved"),
    11: ("the label database is damaged", "restore a copy, or recover it with sqlite3 .recover"),
    13: ("the disk is full", "make room, then label again"),
    14: ("cannot be opened or made", "check the permissions of the folder, or name another file with --labels"),
    26: ("not an SQLite database", "name another file with --labels"),
}
"""By SQLite's primary result code (rescode.html)."""


def fault(error: Exception, path: Path) -> LabelError:
    """The `LabelError` for an SQLite or operating system error: one line that the label was not saved, and why."""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        hint = "check the folder, or name another file with --labels"
        return LabelError(f"no label can be saved here: {reason}", path, hint)
    code = int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    what, hint = _HINTS.get(code, (str(error), "run `reach-tui labels list` to see what is saved"))
    return LabelError(f"the label was not saved: {what}", path, hint)


def _is_label_database(schema: Schema, path: Path) -> bool:
    """True for a label database of ours, False for a native database.

    Raises `LabelError` for any other database, and for one that a newer version made.
    """
    if is_native(schema):
        newest = VERSION
    elif schema.has("label", "uid", "refers", "late") and set(schema.tables) <= _OWN_TABLES:
        newest = LABELS_VERSION
    else:
        shown = ", ".join(sorted(schema.tables)[:4])
        raise LabelError(f"not a label database (tables: {shown})", path, "name another file with --labels")
    if schema.user_version > newest:
        raise LabelError(f"made by a newer reach-tui (version {schema.user_version})", path, "update reach-tui")
    return newest == LABELS_VERSION


def _is_blank(path: Path) -> bool:
    """True for a file that is not there, or that a crash left without a byte."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0 and not Path(f"{path}-wal").exists())


@contextmanager
def reading_labels(path: Path) -> Iterator[Connection | None]:
    """A read-only connection to the labels in a file, which stays as it is; None where there are none yet.

    An older native database is read through a migrated copy. Raises `LabelError` or `StoreError`.
    """
    if _is_blank(path):
        yield None
        return
    with reading(path) as connection:
        schema = schema_of(connection)
        blank = not schema.tables
        current = blank or _is_label_database(schema, path) or schema.user_version == VERSION
        if current:
            yield None if blank else connection
    if not current:
        with reading(migrations.migrated_copy(path)) as connection:
            yield connection


def prepare_for_writing(path: Path) -> None:
    """Create the label database, or migrate an older one or an older native one (with a backup), where needed.

    Raises `LabelError`, `StoreError`, `OSError` or an SQLite error.
    """
    if not _is_blank(path):
        with reading(path) as connection:
            schema = schema_of(connection)
        if schema.tables:
            own = _is_label_database(schema, path)
            if schema.user_version < (LABELS_VERSION if own else VERSION):
                (_migrate if own else migrations.migrate)(path)
            return
    connection = open_owned(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if not schema_of(connection).tables:  # another process may have been first
            create_tables(connection, (LABEL, *QUEUE_TABLES), LABELS_VERSION)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _migrate(path: Path) -> None:
    """Bring a label database of version 1 up to date, after a backup beside it (`NAME.v1-backup`)."""
    migrations.snapshot(path, migrations.free_name(path.with_name(f"{path.name}.v1-backup")))
    connection = open_owned(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if schema_of(connection).user_version < LABELS_VERSION:  # another process may have been first
            for name, column in LABEL.columns:
                if name in _ADDED_2:
                    connection.execute(f'ALTER TABLE label ADD COLUMN "{name}" {column}')
            create_tables(connection, QUEUE_TABLES, LABELS_VERSION)
        connection.execute("COMMIT")
    finally:
        connection.close()

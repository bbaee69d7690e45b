"""The native Reach database as data: tables, version, and the making of a new one.

Sources: the contract's section on the native database, and seed B's events (B12, B13). Times are milliseconds since
1970 UTC; truth values are 0, 1 or NULL for unknown; JSON stands in TEXT columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reach_tui.base.errors import StoreError, StoreUnreadable
from reach_tui.base.sqlite import Connection, DatabaseError, Schema, open_owned, schema_of, translate
from reach_tui.native.error_types import ERROR_TYPES

VERSION = 4
"""`PRAGMA user_version` of the layout below."""
EVENT_STEPS = ("route", "execute", "clarify", "fallback")
DECISIONS = ("execute", "clarify", "no_capability")
SLOT_SOURCES = ("user", "result", "dictionary", "default", "argument", "assistant", "composed", "none")
MESSAGE_KINDS = ("user", "assistant", "reasoning", "system", "error", "note", "raw")
"""The model's step kinds but `call`."""
LABEL_ACTIONS = ("label", "undo", "redo", "import")
LABEL_ROLES = ("annotator", "adjudicator")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: columns with their SQL types and checks, then the constraints over several columns."""

    name: str
    columns: tuple[tuple[str, str], ...]
    constraints: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, unquoted."""
        return tuple(name for name, _ in self.columns)

    def statements(self) -> list[str]:
        """CREATE TABLE, then one CREATE INDEX for each index."""
        lines = [f'  "{name}" {rest}' for name, rest in self.columns] + [f"  {rule}" for rule in self.constraints]
        table = f"CREATE TABLE {self.name} (\n" + ",\n".join(lines) + "\n)"
        return [table] + [
            f"CREATE INDEX {self.name}_{'_'.join(columns)} ON {self.name} ({', '.join(map(_quoted, columns))})"
            for columns in self.indexes
        ]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _one_of(column: str, values: Iterable[str]) -> str:
    return f'CHECK ("{column}" IN ({", ".join(repr(value) for value in values)}))'


def _flag(column: str) -> str:
    return f'INTEGER CHECK ("{column}" IN (0, 1))'


SESSION = Table(
    "session",
    (
        ("id", "TEXT PRIMARY KEY NOT NULL"),
        ("parent_id", "TEXT"),
        ("title", "TEXT"),
        ("project", "TEXT"),
        ("model", "TEXT"),
        ("started_at", "INTEGER"),
        ("ended_at", "INTEGER"),
        ("turns", "INTEGER"),
        ("tokens_input", "INTEGER"),
        ("tokens_output", "INTEGER"),
        ("outcome", "TEXT"),
        ("own_work", f"{_flag('own_work')} NOT NULL DEFAULT 1"),
        ("copy_of", "TEXT"),
        ("notes", "TEXT"),
        ("origin", "TEXT"),
        ("digest", "TEXT"),
    ),
    indexes=(("started_at",),),
)
MESSAGE = Table(
    "message",
    (
        ("session_id", "TEXT NOT NULL REFERENCES session (id)"),
        ("seq", "INTEGER NOT NULL"),
        ("turn", "INTEGER"),
        ("kind", f"TEXT NOT NULL {_one_of('kind', MESSAGE_KINDS)}"),
        ("text", "TEXT NOT NULL DEFAULT ''"),
        ("at", "INTEGER"),
        ("visible", f"{_flag('visible')} NOT NULL DEFAULT 1"),
        ("inherited", f"{_flag('inherited')} NOT NULL DEFAULT 0"),
    ),
    ("PRIMARY KEY (session_id, seq)",),
)
TOOL_CALL = Table(
    "tool_call",
    (
        ("key", "TEXT PRIMARY KEY NOT NULL"),
        ("call_id", "TEXT NOT NULL DEFAULT ''"),
        ("session_id", "TEXT NOT NULL REFERENCES session (id)"),
        ("seq", "INTEGER NOT NULL"),
        ("turn", "INTEGER"),
        ("tool", "TEXT NOT NULL"),
        ("target", "TEXT"),
        ("arguments", "TEXT"),
        ("result", "TEXT"),
        ("flagged", _flag("flagged")),
        ("status", "TEXT"),
        ("metadata", "TEXT"),
        ("started_at", "INTEGER"),
        ("duration_ms", "INTEGER CHECK (duration_ms >= 0)"),
        ("copy_of", "TEXT"),
        ("visible", f"{_flag('visible')} NOT NULL DEFAULT 1"),
        ("problem", "TEXT"),
    ),
    indexes=(("session_id", "seq"),),
)
EVENT = Table(
    "event",
    (
        ("id", "INTEGER PRIMARY KEY"),
        ("trace_id", "TEXT NOT NULL"),
        ("step", f"TEXT NOT NULL {_one_of('step', EVENT_STEPS)}"),
        ("session_id", "TEXT NOT NULL REFERENCES session (id)"),
        ("call_key", "TEXT REFERENCES tool_call (key)"),
        ("seq", "INTEGER"),
        ("intent", "TEXT"),
        ("candidates", "TEXT"),
        ("decision", f"TEXT {_one_of('decision', DECISIONS)}"),
        ("t1", "REAL"),
        ("gap", "REAL"),
        ("floor", "REAL"),
        ("param_valid", _flag("param_valid")),
        ("error_type", f"TEXT {_one_of('error_type', ERROR_TYPES)}"),
        ("retryable", _flag("retryable")),
        ("duration_ms", "INTEGER CHECK (duration_ms >= 0)"),
        ("at", "INTEGER"),
        ("detail", "TEXT"),
    ),
    indexes=(("session_id",), ("call_key",), ("trace_id",)),
)
SLOT = Table(
    "slot",
    (
        ("call_key", "TEXT NOT NULL REFERENCES tool_call (key)"),
        ("position", "INTEGER NOT NULL"),
        ("name", "TEXT NOT NULL"),
        ("value", "TEXT"),
        ("source", f"TEXT NOT NULL {_one_of('source', SLOT_SOURCES)}"),
        ("origin", "TEXT"),
        ("origin_step", "INTEGER"),
        ("matches", "INTEGER CHECK (matches >= 0)"),
        ("confidence", "REAL CHECK (confidence BETWEEN 0 AND 1)"),
        ("note", "TEXT NOT NULL DEFAULT ''"),
    ),
    ("PRIMARY KEY (call_key, position)",),
)
LABEL = Table(
    "label",
    (
        ("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
        ("uid", "TEXT NOT NULL UNIQUE"),
        ("action", f"TEXT NOT NULL {_one_of('action', LABEL_ACTIONS)}"),
        ("refers", "TEXT"),
        ("batch", "TEXT"),
        ("late", f"{_flag('late')} NOT NULL DEFAULT 0"),
        ("store", "TEXT NOT NULL"),
        ("session_id", "TEXT NOT NULL"),
        ("call_key", "TEXT"),
        ("content_hash", "TEXT"),
        ("category", "TEXT"),
        ("subcategory", "TEXT"),
        ("note", "TEXT NOT NULL DEFAULT ''"),
        ("by", "TEXT NOT NULL"),
        ("at", "INTEGER NOT NULL"),
        ("taxonomy", "TEXT NOT NULL"),
        ("taxonomy_version", "INTEGER NOT NULL"),
        ("verdict", _flag("verdict")),
        ("rule", "TEXT"),
        ("tool_version", "TEXT NOT NULL DEFAULT ''"),
        ("role", f"TEXT NOT NULL DEFAULT 'annotator' {_one_of('role', LABEL_ROLES)}"),
        ("first_cause", f"{_flag('first_cause')} NOT NULL DEFAULT 0"),
        ("shown", "TEXT"),
    ),
    indexes=(("store", "session_id", "call_key", "by"), ("by",)),
)
TABLES = (SESSION, MESSAGE, TOOL_CALL, EVENT, SLOT, LABEL)


def ddl() -> str:
    """The whole schema as SQL text, as the docs print it."""
    return "".join(f"{statement};\n" for table in TABLES for statement in table.statements())


def create_tables(connection: Connection, tables: Iterable[Table], version: int) -> None:
    """Create tables and set `user_version`, inside the caller's transaction."""
    import sqlite_utils

    database = sqlite_utils.Database(connection)
    for table in tables:
        for statement in table.statements():
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {version}")


def is_native(schema: Schema) -> bool:
    """True if the tables are those of a native Reach database, of whatever version."""
    return (
        schema.user_version >= 1
        and schema.has("session", "id", "started_at")
        and schema.has("tool_call", "key", "session_id", "arguments", "result")
        and schema.has("event", "trace_id", "step", "session_id")
        and schema.has("slot", "call_key", "name", "source")
    )


def missing_columns(schema: Schema) -> list[str]:
    """`table.column` of what this version's layout has and the database lacks."""
    return [
        f"{table.name}.{column}"
        for table in TABLES
        for column in table.names
        if column not in schema.tables.get(table.name, frozenset())
    ]


def create(path: Path) -> None:
    """Make an empty native database of the current version. Raises `StoreError` if the file holds anything already."""
    try:
        connection = open_owned(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if schema_of(connection).tables:
                connection.execute("ROLLBACK")
                raise StoreError("there is a database already", path, "name a new file")
            create_tables(connection, TABLES, VERSION)
            connection.execute("COMMIT")
        finally:
            connection.close()
    except DatabaseError as error:
        raise translate(error, path) from error
    except OSError as error:
        hint = "check the permissions of the folder"
        raise StoreUnreadable(f"cannot be made ({error.strerror})", path, hint) from error

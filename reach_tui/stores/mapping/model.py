"""What a mapping says, checked: which rows there are, and where session, message, call and result stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reach_tui.base.sqlite import Schema
from reach_tui.model import StepKind
from reach_tui.stores.mapping.expression import Expression, Value

_SECRET = re.compile(
    r"(?i)(?:^|_)(?:api_?keys?|secrets?|passwords?|passwd|credentials?|cookies?|auth|oauth2?"
    r"|(?:access|refresh|auth|reset|session|bearer)_tokens?|private_keys?)(?:_|$)"
)
_PEOPLE = frozenset({"user", "users", "account", "accounts"})


def looks_secret(name: str, *, table: bool = False) -> bool:
    """True for the name of a column or table that by its name holds keys or tokens; a table: also accounts."""
    return bool(_SECRET.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))) or (table and name.lower() in _PEOPLE)


@dataclass(frozen=True, slots=True)
class Join:
    """Another table's row beside each row: `table.column` equals `other`, a column of an earlier table."""

    table: str
    column: str
    other: Expression


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, with rows of others beside them: those of one session by `session`, in `order`."""

    name: str
    """As errors name it: `session`, `from.messages`."""
    table: str
    joins: tuple[Join, ...] = ()
    where: tuple[tuple[Expression, tuple[str, ...]], ...] = ()
    """Columns, and the words one of which each must be."""
    prefix: tuple[Expression, str] | None = None
    """A column and how it must begin; `{session}` in it is the session's id."""
    session: Expression | None = None
    order: tuple[Expression, ...] = ()
    time: Value = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """What the store recorded about success: words that mean failed, words that mean succeeded, else by presence."""

    value: Value
    failed: frozenset[str] = frozenset()
    succeeded: frozenset[str] = frozenset()
    when_present: bool | None = None
    when_missing: bool | None = None


@dataclass(frozen=True, slots=True)
class SessionMap:
    """Where a session's facts stand."""

    rows: Rows
    id: Expression
    grouped: bool = False
    """Several rows may be of the same session: the first title, the earliest start, the latest end count."""
    facts: Mapping[str, Value] = field(default_factory=dict)
    """title, project, parent, model, started, ended, tokens_input, tokens_output, outcome."""
    not_own_work: tuple[tuple[Value, frozenset[str]], ...] = ()
    notes: tuple[tuple[Value, frozenset[str], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What messages, calls and results have in common: the rows, and `each` item of a row if there are several."""

    rows: Rows
    each: Expression | None = None


@dataclass(frozen=True, slots=True)
class MessageMap(Part):
    """Where a message's text and role stand; `kind` fixes what it is."""

    text: Value = ()
    role: Value = ()
    kind: StepKind | None = None


@dataclass(frozen=True, slots=True)
class CallMap(Part):
    """Where a call's facts stand; a result in the same place too."""

    id: Value = ()
    key: Value = ()
    tool: Value = ()
    arguments: Value = ()
    result: Value = ()
    status: Value = ()
    started: Value = ()
    ended: Value = ()
    duration_ms: Value = ()
    flags: tuple[Flag, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultMap(Part):
    """Where results stand that are not beside their call: `call` is the call's id."""

    call: Value = ()
    text: Value = ()
    status: Value = ()
    ended: Value = ()
    flags: tuple[Flag, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreMapping:
    """One mapping file."""

    path: Path
    kind: str
    title: str
    flag_meaning: str
    not_recorded: str
    source: str
    """Where the facts in the file come from."""
    verified: bool
    basis: str
    """What an unverified one rests on: `read` in the program's source, or `told` by others."""
    recognise: Mapping[str, tuple[str, ...]]
    without: tuple[str, ...]
    version: str
    session: SessionMap
    messages: tuple[MessageMap, ...]
    calls: tuple[CallMap, ...]
    results: tuple[ResultMap, ...]
    roles: Mapping[str, StepKind]
    places: tuple[tuple[str, Rows, Expression], ...]
    """Every expression with its key and its rows, for checking against a schema."""
    digest: str
    """Changes when the file says something else: what was read by it before is then stale."""

    def recognises(self, schema: Schema) -> bool:
        """True if the tables and columns by which the mapping knows its store are all there."""
        return all(schema.has(table, *columns) for table, columns in self.recognise.items()) and not any(
            table in schema.tables for table in self.without
        )

    def missing(self, schema: Schema) -> Iterator[tuple[str, str, str]]:
        """What the mapping names and the schema lacks: key, what is missing, what there is instead."""
        for key, rows, expression in self.places:
            if expression.column is None or expression.optional:
                continue
            table = expression.table or rows.table
            if table not in schema.tables:
                named = "joins" if expression.table and expression.table != rows.table else "table"
                yield f"{rows.name}.{named}", f"there is no table {table}", "tables: " + _listed(schema.tables)
            elif expression.column != "rowid" and expression.column not in schema.tables[table]:
                have = _listed(schema.tables[table])
                yield key, f"table {table} has no column {expression.column}", f"columns: {have}"


def _listed(names: object) -> str:
    return ", ".join(sorted(str(name)[:60] for name in names)[:40])  # type: ignore[attr-defined]

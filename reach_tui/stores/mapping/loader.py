"""Mapping files: read, checked with messages that name file, key and column, and found for a database."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reach_tui.base.errors import ConfigError
from reach_tui.base.paths import config_dir
from reach_tui.base.sqlite import Schema
from reach_tui.model import StepKind
from reach_tui.stores.mapping.expression import BadExpression, Expression, Value, parse, word_of
from reach_tui.stores.mapping.model import (
    CallMap,
    Flag,
    Join,
    MessageMap,
    ResultMap,
    Rows,
    SessionMap,
    StoreMapping,
    looks_secret,
)

if TYPE_CHECKING:
    from reach_tui.stores.mapping import document

BUNDLED = Path(__file__).resolve().parent.parent / "mappings"
"""Mappings that ship with the package."""
_FACTS = (
    "title", "project", "parent", "model", "started", "ended", "tokens_input", "tokens_output", "outcome",
)  # fmt: skip
_ROLES = {
    "user": StepKind.USER,
    "human": StepKind.USER,
    "assistant": StepKind.ASSISTANT,
    "agent": StepKind.ASSISTANT,
    "model": StepKind.ASSISTANT,
    "ai": StepKind.ASSISTANT,
}


def load(path: Path) -> StoreMapping:
    """The mapping in a file. Raises `ConfigError` naming file, key and what is wrong with it."""
    return read(_document(path), path)


def read(raw: dict[str, Any], path: Path) -> StoreMapping:
    """The mapping in a parsed TOML document; `path` is for messages. Raises `ConfigError`."""
    from pydantic import ValidationError

    from reach_tui.stores.mapping.document import Document

    try:
        found = Document.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigError(f"key {key}: {first['msg']}", path, "docs/mapping.md lists the keys") from None
    return _Builder(path, found).mapping()


def recognised(folder: Path, schema: Schema) -> Iterator[StoreMapping]:
    """The mappings in a folder that know the schema. Raises `ConfigError` for one that knows it and is wrong."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.toml")):
        raw = _document(path)
        tables = raw.get("recognise")
        if not isinstance(tables, dict) or tables.keys() <= schema.tables.keys():
            mapping = read(raw, path)
            if mapping.recognises(schema):
                yield mapping


def own_folder() -> Path:
    """The person's own mappings."""
    return config_dir() / "mappings"


def bundled() -> list[StoreMapping]:
    """The mappings that ship with the package, by file name."""
    return [load(path) for path in sorted(BUNDLED.glob("*.toml"))]


def check(mapping: StoreMapping, schema: Schema) -> None:
    """Raises `ConfigError` for the first table or column that the mapping names and the database lacks."""
    for key, what, instead in mapping.missing(schema):
        raise ConfigError(
            f"key {key}: {what} in this database", mapping.path, f"{instead}; end the name in ? if it may be absent"
        )


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be read as TOML: {error}", path, "correct or remove the file") from None


class _Builder:
    """Turns a checked document into a mapping: expressions parsed, names of row sets resolved."""

    def __init__(self, path: Path, found: document.Document) -> None:
        self.path = path
        self.found = found
        self.places: list[tuple[str, Rows, Expression]] = []
        self.sets: dict[str, Rows] = {}

    def mapping(self) -> StoreMapping:
        found = self.found
        session = self._session(found.session)
        for name, table in found.from_.items():
            self.sets[name] = self._from(name, table)
        for known in found.recognise:
            self._harmless("recognise", known)
        messages = tuple(self._message(f"message {n}", one) for n, one in enumerate(found.message, 1))
        calls = tuple(self._call(f"call {n}", one) for n, one in enumerate(found.call, 1))
        results = tuple(self._result(f"result {n}", one) for n, one in enumerate(found.result, 1))
        return StoreMapping(
            path=self.path,
            kind=found.kind,
            title=found.title,
            flag_meaning=found.flag_meaning,
            not_recorded=found.not_recorded,
            source=found.source,
            verified=found.verified,
            basis=found.basis,
            recognise={table: tuple(columns) for table, columns in found.recognise.items()},
            without=tuple(found.without),
            version=found.version,
            session=session,
            messages=messages,
            calls=calls,
            results=results,
            roles={**_ROLES, **found.roles},
            places=tuple(self.places),
            digest=hashlib.sha256(found.model_dump_json().encode()).hexdigest()[:16],
        )

    def _fault(self, key: str, what: str, hint: str = "docs/mapping.md shows how") -> ConfigError:
        return ConfigError(f"key {key}: {what}", self.path, hint)

    def _harmless(self, key: str, name: str, *, table: bool = True) -> None:
        if looks_secret(name, table=table):
            raise self._fault(
                key, f"{name} may hold accounts, keys or tokens", "such tables and columns are never read"
            )

    def _expression(self, key: str, text: str, rows: Rows, each: Expression | None = None) -> Expression:
        try:
            expression = parse(text)
        except BadExpression as error:
            raise self._fault(key, str(error)) from None
        if expression.column is None and each is None:
            raise self._fault(key, f"{text!r} is a path into an item, and there is no `each`", f"write COLUMN:{text}")
        if expression.column is not None:
            self._harmless(key, expression.column, table=False)
            known = {rows.table, *(join.table for join in rows.joins)}
            if expression.table and expression.table not in known:
                raise self._fault(
                    key, f"table {expression.table} is not among {', '.join(sorted(known))}", "add a join"
                )
        self.places.append((key, rows, expression))
        return expression

    def _value(self, key: str, given: document.Text, rows: Rows, each: Expression | None = None) -> Value:
        texts = [given] if isinstance(given, str) else given
        return tuple(self._expression(key, text, rows, each) for text in texts)

    def _column(self, key: str, text: str, rows: Rows) -> Expression:
        expression = self._expression(key, text, rows)
        if expression.path is not None:
            raise self._fault(key, f"{text!r}: a plain column is needed here")
        return expression

    def _rows(self, name: str, table: document.RowsTable) -> Rows:
        self._harmless(f"{name}.table", table.table)
        rows = Rows(name, table.table)
        for text in table.joins:
            left, equals, right = text.partition("=")
            target, dot, column = left.strip().partition(".")
            if not (equals and dot):
                raise self._fault(f"{name}.joins", f"{text!r} is not TABLE.COLUMN = COLUMN")
            self._harmless(f"{name}.joins", target)
            other = self._column(f"{name}.joins", right.strip(), rows)
            rows = Rows(name, table.table, (*rows.joins, Join(target, column, other)))
            self._column(f"{name}.joins", left.strip(), rows)
        where = tuple(
            (self._column(f"{name}.where", column, rows), _words(words)) for column, words in table.where.items()
        )
        prefix = next(
            ((self._column(f"{name}.prefix", column, rows), start) for column, start in table.prefix.items()), None
        )
        return Rows(name, table.table, rows.joins, where, prefix)

    def _from(self, name: str, table: document.FromTable) -> Rows:
        key = f"from.{name}"
        rows = self._rows(key, table)
        if table.session is None and (rows.prefix is None or "{session}" not in rows.prefix[1]):
            raise self._fault(key, "no `session`: which column says whose rows they are?")
        session = None if table.session is None else self._column(f"{key}.session", table.session, rows)
        order = tuple(self._column(f"{key}.order", text, rows) for text in table.order)
        time = self._value(f"{key}.time", table.time, rows)
        return Rows(key, rows.table, rows.joins, rows.where, rows.prefix, session, order, time)

    def _session(self, table: document.SessionTable) -> SessionMap:
        rows = self._rows("session", table)
        facts = {name: self._value(f"session.{name}", getattr(table, name), rows) for name in _FACTS}
        notes = tuple(
            (self._value("session.note.value", note.value, rows), frozenset(_words(note.is_)), note.text)
            for note in table.note
        )
        others = tuple(
            (self._value("session.not_own_work", column, rows), frozenset(_words(words)))
            for column, words in table.not_own_work.items()
        )
        identity = self._column("session.id", table.id, rows)
        return SessionMap(rows, identity, table.grouped, facts, others, notes)

    def _part(self, key: str, name: str, each: str | None) -> tuple[Rows, Expression | None]:
        if name not in self.sets:
            known = ", ".join(sorted(self.sets)) or "none"
            raise self._fault(f"{key}.from", f"there is no [from.{name}] (there are: {known})")
        rows = self.sets[name]
        return rows, None if each is None else self._expression(f"{key}.each", each, rows)

    def _message(self, key: str, table: document.MessageTable) -> MessageMap:
        rows, each = self._part(key, table.from_, table.each)
        if table.kind is None and not table.role:
            raise self._fault(key, "neither `role` nor `kind`: who wrote the message?")
        if table.kind in (StepKind.CALL, StepKind.DECISION):
            raise self._fault(f"{key}.kind", f"a message cannot be a {table.kind.value}", "use [[call]]")
        text = self._value(f"{key}.text", table.text, rows, each)
        return MessageMap(rows, each, text, self._value(f"{key}.role", table.role, rows, each), table.kind)

    def _flags(
        self, key: str, tables: Iterable[document.FlagTable], rows: Rows, each: Expression | None
    ) -> tuple[Flag, ...]:
        meaning = {"failed": True, "succeeded": False, None: None}
        return tuple(
            Flag(
                self._value(f"{key}.flag.value", table.value, rows, each),
                frozenset(map(word_of, table.failed)),
                frozenset(map(word_of, table.succeeded)),
                meaning[table.when_present],
                meaning[table.when_missing],
            )
            for table in tables
        )

    def _call(self, key: str, table: document.CallTable) -> CallMap:
        rows, each = self._part(key, table.from_, table.each)

        def value(name: str) -> Value:
            return self._value(f"{key}.{name}", getattr(table, name), rows, each)

        return CallMap(
            rows, each, value("id"), value("key"), value("tool"), value("arguments"), value("result"), value("status"),
            value("started"), value("ended"), value("duration_ms"), self._flags(key, table.flag, rows, each),
            {name: self._value(f"{key}.metadata.{name}", text, rows, each) for name, text in table.metadata.items()},
        )  # fmt: skip

    def _result(self, key: str, table: document.ResultTable) -> ResultMap:
        rows, each = self._part(key, table.from_, table.each)

        def value(name: str) -> Value:
            return self._value(f"{key}.{name}", getattr(table, name), rows, each)

        return ResultMap(
            rows, each, value("call"), value("text"), value("status"), value("ended"),
            self._flags(key, table.flag, rows, each),
            {name: self._value(f"{key}.metadata.{name}", text, rows, each) for name, text in table.metadata.items()},
        )  # fmt: skip


def _words(given: document.Words) -> tuple[str, ...]:
    return tuple(word_of(word) for word in (given if isinstance(given, list) else [given]))

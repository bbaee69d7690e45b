"""Where a mapping finds a value: a column, or a path into the JSON that a column or an item holds.

`title`, `responses.model`, `data:$.state.output`, `$.input`; `?` after a column: it may be missing. Steps of a path are
`.key`, `["any key"]`, `[0]`, `[*]` (each item of a list or value of an object), `[type=text]` (the items whose `type`
is that). A string on the way that holds JSON is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads
from reach_tui.base.sqlite import text_of

Position: TypeAlias = tuple[int, ...]
Found: TypeAlias = tuple[Position, JsonValue]

_COLUMN = re.compile(r"(?:(?P<table>[\w-]+)\.)?(?P<column>[\w -]+?)(?P<optional>\?)?(?::(?P<path>\$.*))?")
_STEP = re.compile(
    r"""\.(?P<key>[\w$-]+) | \["(?P<odd>[^"]*)"\] | \[(?P<index>-?\d+)\] | (?P<each>\[\*\])
      | \[(?P<name>[\w.$-]+)=(?P<wanted>[^\]]*)\]""",
    re.VERBOSE,
)


class BadExpression(ValueError):
    """Not an expression, with the place where it stops being one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path; exactly one of `key`, `index`, `where` is set, or none of them: each item."""

    key: str | None = None
    index: int | None = None
    where: tuple[str, str] | None = None

    def take(self, value: JsonValue) -> Iterator[tuple[int | None, JsonValue]]:
        """What the step leads to, with its place among others where there may be several."""
        if self.key is not None:
            if isinstance(value, dict) and self.key in value:
                yield None, value[self.key]
        elif self.index is not None:
            if isinstance(value, list) and -len(value) <= self.index < len(value):
                yield None, value[self.index]
        else:
            items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
            for number, item in enumerate(items):
                if self.where is None or self._fits(item, *self.where):
                    yield number, item

    @staticmethod
    def _fits(item: JsonValue, name: str, wanted: str) -> bool:
        for part in name.split("."):
            item = opened(item)
            if not isinstance(item, dict) or part not in item:
                return False
            item = item[part]
        return word_of(item) == wanted


@dataclass(frozen=True, slots=True)
class Expression:
    """A place in a row: `column` (with its table if named), then `path` into its JSON; without a column, an item's."""

    text: str
    column: str | None = None
    table: str | None = None
    optional: bool = False
    path: tuple[Step, ...] | None = None

    def find(self, row: Row, item: JsonValue = None) -> Iterator[Found]:
        """Every value there, in order, with its position within the row. Raises `BadJson` for a column that is none."""
        if self.column is None:
            yield from walk(item, self.path or ())
        elif self.path is None:
            yield (), _scalar(row.values.get(self.name))
        else:
            yield from walk(row.json(self.name), self.path)

    @property
    def name(self) -> str:
        """The column as the mapping names it."""
        return f"{self.table}.{self.column}" if self.table else self.column or ""


Value: TypeAlias = tuple[Expression, ...]
"""Alternatives: the first that is there counts."""


@dataclass(slots=True)
class Row:
    """A row as selected; the JSON of a column is read once, when it is asked for."""

    values: dict[str, object]
    parsed: dict[str, JsonValue] = field(default_factory=dict)

    def json(self, name: str) -> JsonValue:
        """The JSON in a column, None for an empty one. Raises `BadJson`."""
        if name not in self.parsed:
            raw = self.values.get(name)
            self.parsed[name] = None if raw is None or raw == "" else loads(raw if isinstance(raw, bytes) else str(raw))
        return self.parsed[name]


def parse(text: str) -> Expression:
    """The expression in `text`. Raises `BadExpression`."""
    if text.startswith("$"):
        return Expression(text, path=_path(text))
    found = _COLUMN.fullmatch(text)
    if not found:
        raise BadExpression(f"{text!r} is neither a column nor a path")
    path = _path(found["path"]) if found["path"] else None
    return Expression(text, found["column"], found["table"], bool(found["optional"]), path)


def _path(text: str) -> tuple[Step, ...]:
    steps = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if not found:
            raise BadExpression(f"{text!r} cannot be read from {text[at:]!r} on")
        if found["each"]:
            steps.append(Step())
        elif found["name"]:
            steps.append(Step(where=(found["name"], found["wanted"])))
        elif found["index"]:
            steps.append(Step(index=int(found["index"])))
        else:
            steps.append(Step(key=found["key"] if found["key"] is not None else found["odd"]))
        at = found.end()
    return tuple(steps)


def walk(value: JsonValue, path: Sequence[Step]) -> Iterator[Found]:
    """Every value at the end of a path, in the order of the document."""
    found: list[Found] = [((), value)]
    for step in path:
        found = [
            (position if number is None else (*position, number), inner)
            for position, outer in found
            for number, inner in step.take(opened(outer))
        ]
    yield from found


def opened(value: JsonValue) -> JsonValue:
    """The JSON that a string holds; everything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return loads(value)
        except BadJson:
            return value
    return value


def first(value: Value, row: Row, item: JsonValue = None) -> JsonValue:
    """The first value that is there and not null, else None."""
    for expression in value:
        for _, found in expression.find(row, item):
            if found is not None:
                return found
    return None


def every(value: Value, row: Row, item: JsonValue = None) -> list[JsonValue]:
    """All values of the first alternative that has any but null."""
    for expression in value:
        found: list[JsonValue] = [one for _, one in expression.find(row, item) if one is not None]
        if found:
            return found
    return []


def word_of(value: JsonValue) -> str:
    """A value as mappings write it: strings as they are, `true`, `1`, JSON for the rest."""
    if isinstance(value, str):
        return value
    try:
        return dumps(value)
    except (RecursionError, ValueError):
        return ""


def _scalar(value: object) -> JsonValue:
    return value if value is None or isinstance(value, int | float) else text_of(value)

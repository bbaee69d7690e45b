"""What is wrong with one value under its JSON Schema: field, expected, received (the seed's feedback for models).

Lenient where `parameters` is strict: it judges single values under schemas that traces carry, which may be broken
themselves, and takes null, empty texts and unknown keywords as programs mean them, so it never blames a call that ran.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.reach.entities import accepts

_SHOWN = 80  # characters of a received value
_DEEPEST = 24  # levels of nesting that are looked at
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """A value that its schema does not allow."""

    field: str
    """The leaf, as in `edits[0].old_string`."""
    expected: str
    received: str

    @property
    def words(self) -> str:
        """`order_id: expected ^[0-9]{16}$, received "12"`."""
        return f"{self.field}: expected {self.expected}, received {self.received}"


@dataclass(frozen=True, slots=True)
class Missing:
    """Required fields that are not there; several where any one of them would do."""

    fields: tuple[str, ...]
    unless: tuple[str, ...] = ()
    """Fields that would make them needless."""


def properties(schema: object) -> Mapping[str, Mapping[str, JsonValue]]:
    """The properties that an object's schema declares, those of its `allOf`, `anyOf` and `oneOf` included."""
    found: dict[str, Mapping[str, JsonValue]] = {}
    for one in _parts(schema):
        declared = one.get("properties")
        if isinstance(declared, dict):
            for name, each in declared.items():
                found.setdefault(name, each if isinstance(each, dict) else {})
    return found


def required(schema: object) -> tuple[str, ...]:
    """The names that every object of this schema must have."""
    listed = schema.get("required") if isinstance(schema, Mapping) else None
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def missing(schema: object, value: Mapping[str, JsonValue]) -> list[Missing]:
    """What is required and absent, null or empty. Of alternatives (`anyOf`, `oneOf`) the first one's, if none holds."""
    gaps: list[Missing] = []
    for names, others in _demands(schema, value):
        unless = tuple(name for each in others for name in each if name not in names)
        known = {gap.fields for gap in gaps}
        gaps += [
            Missing((name,), unless) for name in names if is_gap(value.get(name), schema, name) and (name,) not in known
        ]
    return gaps


def needed(schema: object, value: Mapping[str, JsonValue]) -> frozenset[str]:
    """The names that this object must have, given what else it has: required ones, and those of what it chose."""
    return frozenset(name for names, _ in _demands(schema, value) for name in names)


def _demands(schema: object, value: Mapping[str, JsonValue]) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Names that must all be there, with the alternatives to them: of several ways the one taken, else the first."""
    if not isinstance(schema, Mapping):
        return
    yield required(schema), []
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        ways = [required(one) for one in options] if isinstance(options, list) else []
        if ways and all(ways):
            taken = [names for names in ways if not any(is_gap(value.get(name), schema, name) for name in names)]
            chosen = taken[0] if taken else ways[0]
            yield chosen, [names for names in ways if names is not chosen]
    conditions = schema.get("allOf")
    for one in [schema, *(conditions if isinstance(conditions, list) else [])]:
        for names in _conditional(one, value):
            yield names, []


def _conditional(schema: object, value: Mapping[str, JsonValue]) -> Iterator[tuple[str, ...]]:
    """`if`/`then`/`else` and `dependentRequired`, as far as they name required fields."""
    if not isinstance(schema, Mapping):
        return
    test = schema.get("if")
    if isinstance(test, Mapping):
        yield required(schema.get("then" if _meets(test, value) else "else"))
    dependent = schema.get("dependentRequired")
    for name, names in dependent.items() if isinstance(dependent, Mapping) else ():
        if name in value:
            yield required({"required": names})


def _meets(test: Mapping[str, JsonValue], value: Mapping[str, JsonValue]) -> bool:
    if any(name not in value for name in required(test)):
        return False
    return all(
        name not in value or next(faults(value[name], each, name), None) is None
        for name, each in properties(test).items()
    )


def is_gap(value: JsonValue, schema: object = None, name: str = "") -> bool:
    """True for absent, null and empty; null is a value where the schema allows it, "" where it names a free text."""
    if value is None:
        declared = properties(schema).get(name, {}) if schema is not None else {}
        return "null" not in _names(declared.get("type"))
    return isinstance(value, str) and not value.strip() and not _may_be_empty(name)


_MAY_BE_EMPTY = frozenset(
    (
        "newstring",
        "newstr",
        "newtext",
        "content",
        "contents",
        "filetext",
        "replacement",
        "text",
        "chars",
        "stdin",
        "body",
    )
)
"""Texts that are rightly empty: what an edit leaves, what a file holds, what is typed. Without blanks and marks."""


def _may_be_empty(name: str) -> bool:
    return "".join(c for c in name.lower() if c.isalpha()) in _MAY_BE_EMPTY


def faults(value: JsonValue, schema: object, field: str) -> Iterator[SchemaFault]:
    """What breaks type, enum, const, pattern, length or range, nested values included. Unknown keywords say nothing."""
    yield from _faults(value, schema, field, _DEEPEST)


def _faults(value: JsonValue, schema: object, field: str, levels: int) -> Iterator[SchemaFault]:
    if not isinstance(schema, Mapping) or levels == 0:
        return
    types = _names(schema.get("type"))
    if types and not any(_is(value, name) for name in types):
        yield SchemaFault(field, " or ".join(types), received(value))
        return
    options = schema.get("enum")
    if isinstance(options, list) and not any(_equal(value, one) for one in options):
        shown = ", ".join(dumps(one) for one in options[:8]) + (" …" if len(options) > 8 else "")
        yield SchemaFault(field, f"one of {shown}", received(value))
    elif "const" in schema and not _equal(value, schema["const"]):
        yield SchemaFault(field, received(schema["const"]), received(value))
    for key in ("anyOf", "oneOf"):
        alternatives = schema.get(key)
        if isinstance(alternatives, list) and alternatives and not isinstance(value, dict):
            found = [next(_faults(value, one, field, levels - 1), None) for one in alternatives]
            if all(found):
                yield next(one for one in found if one is not None)
    if isinstance(value, str):
        yield from _text(value, schema, field)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, field)
    elif isinstance(value, list):
        yield from _list(value, schema, field, levels)
    elif isinstance(value, dict):
        yield from _object(value, schema, field, levels)


def _text(value: str, schema: Mapping[str, JsonValue], field: str) -> Iterator[SchemaFault]:
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and accepts(pattern, value) is False:
        yield SchemaFault(field, pattern, received(value))
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if isinstance(shortest, int) and len(value) < shortest:
        yield SchemaFault(field, f"at least {shortest} characters", received(value))
    if isinstance(longest, int) and len(value) > longest:
        yield SchemaFault(field, f"at most {longest} characters", f"{len(value)} characters")
    if schema.get("format") == "uri" and "://" not in value:
        yield SchemaFault(field, "a URL with its scheme", received(value))


_LIMITS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("maximum", "at most", operator.le),
    ("exclusiveMinimum", "more than", operator.gt),
    ("exclusiveMaximum", "less than", operator.lt),
)


def _number(value: float, schema: Mapping[str, JsonValue], field: str) -> Iterator[SchemaFault]:
    for key, word, holds in _LIMITS:
        limit = schema.get(key)
        if isinstance(limit, int | float) and not isinstance(limit, bool) and not holds(value, limit):
            yield SchemaFault(field, f"{word} {limit}", received(value))


def _list(value: list[JsonValue], schema: Mapping[str, JsonValue], field: str, levels: int) -> Iterator[SchemaFault]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(least, int) and len(value) < least:
        yield SchemaFault(field, f"at least {least} items", f"{len(value)} items")
    if isinstance(most, int) and len(value) > most:
        yield SchemaFault(field, f"at most {most} items", f"{len(value)} items")
    for number, one in enumerate(value[:200]):
        yield from _faults(one, schema.get("items"), f"{field}[{number}]", levels - 1)


def _object(
    value: dict[str, JsonValue], schema: Mapping[str, JsonValue], field: str, levels: int
) -> Iterator[SchemaFault]:
    declared = properties(schema)
    prefix = f"{field}." if field else ""
    for name in required(schema) if field else ():  # of the whole call they are gaps
        if name not in value:
            yield SchemaFault(f"{prefix}{name}", "a value (required)", "nothing")
    for name, one in value.items():
        if name in declared:
            if one is None and name not in required(schema):
                continue  # null for an optional field is how many programs say nothing
            yield from _faults(one, declared[name], f"{prefix}{name}", levels - 1)
        elif schema.get("additionalProperties") is False and "patternProperties" not in schema:
            yield SchemaFault(f"{prefix}{name}", "no such parameter", received(one))


def received(value: JsonValue) -> str:
    """A value as it is shown in a fault: its JSON, cut."""
    try:
        text = dumps(value[: 2 * _SHOWN] if isinstance(value, str) else value)
    except RecursionError:
        text = f"{type(value).__name__}, nested too deep to show"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _names(types: object) -> tuple[str, ...]:
    listed = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    return tuple(name for name in listed if isinstance(name, str) and name in _TYPES)


def _equal(one: JsonValue, other: JsonValue) -> bool:
    """As JSON has it: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is(value: JsonValue, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _parts(schema: object, levels: int = 4) -> Iterator[Mapping[str, JsonValue]]:
    if not isinstance(schema, Mapping) or levels == 0:
        return
    yield schema
    for key in ("allOf", "anyOf", "oneOf"):
        listed = schema.get(key)
        for one in listed if isinstance(listed, list) else []:
            yield from _parts(one, levels - 1)

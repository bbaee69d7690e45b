"""JSON Schema of parameters: is it one, and a validator that neither fetches anything nor backtracks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from reach_tui.reach.problems import shortened

if TYPE_CHECKING:
    import jsonschema_rs

Path: TypeAlias = "tuple[str | int, ...]"

DRAFT = "https://json-schema.org/draft/2020-12/schema"
"""What a schema without `$schema` is read as, as JSON Schema's own tools do."""
DRAFTS = frozenset(
    {
        DRAFT,
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    }
)
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


def schema_mistakes(schema: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """What keeps `schema` from being the JSON Schema of a call's parameters: path inside it and the mistake."""
    draft = schema.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.removesuffix("#") not in DRAFTS:
        return [(("$schema",), "not a JSON Schema draft that is known here (4, 6, 7, 2019-09, 2020-12)")]
    found: dict[Path, str] = {}
    known = "a JSON Schema type: " + ", ".join(TYPES)
    for path, what, value in errors(_metaschema(draft.removesuffix("#")), dict(schema)):
        found.setdefault(path, shortened(f"{value!r} is not {known}") if path[-1:] == ("type",) else what)
    if schema.get("type") != "object":
        found.setdefault(("type",), 'must be "object": parameters have names')
    for path, target in _references(schema):
        if not target.startswith("#"):
            found.setdefault(path, f"points outside the schema ({shortened(target)!r}); only `#/…` is followed")
    if not found:
        try:
            validator(schema)
        except ValueError as error:  # a pattern that is no regular expression, a reference to nowhere
            found |= _bad_patterns(schema) or {(): shortened(str(getattr(error, "message", error)))}
    return sorted(found.items(), key=lambda item: ([str(part) for part in item[0]], item[1]))


def validator(schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
    """A validator of parameters. It fetches no reference and its patterns run in linear time (no look-around).

    Raises `ValueError` for what `schema_mistakes` names.
    """
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        dict(schema), retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=False
    )


def errors(check: jsonschema_rs.Validator, value: Any) -> Iterator[tuple[Path, str, Any]]:
    """Path, message and value of everything in `value` that does not hold; what no JSON can hold is one error."""
    try:
        for error in check.iter_errors(value):
            yield tuple(error.instance_path), shortened(error.message), error.instance
    except ValueError as error:  # a number beyond 64 bits (older releases), a lone surrogate
        yield (), shortened(str(error)), value


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


@cache
def _metaschema(draft: str) -> jsonschema_rs.Validator:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": draft, "$ref": draft}, retriever=_refuse)


def _references(schema: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for path, value in _nodes(schema):
        if path[-1:] and path[-1] in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
            yield path, value


def _bad_patterns(schema: Mapping[str, Any]) -> dict[Path, str]:
    """Where the patterns stand that do not compile."""
    found: dict[Path, str] = {}
    for path, value in _nodes(schema):
        patterns = list(value) if path[-1:] == ("patternProperties",) and isinstance(value, dict) else []
        if path[-1:] == ("pattern",) and isinstance(value, str):
            patterns = [value]
        for pattern in patterns:
            try:
                validator({"pattern": pattern})
            except ValueError:
                what = "is not a regular expression without look-around and back-references"
                found[path] = f"{shortened(pattern)!r} {what}"
    return found


def _nodes(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every value in the schema with its path, whatever its depth."""
    pending: list[tuple[Path, Any]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        yield path, node
        if isinstance(node, Mapping):
            pending += [((*path, key), value) for key, value in node.items()]
        elif isinstance(node, list):
            pending += [((*path, index), value) for index, value in enumerate(node)]

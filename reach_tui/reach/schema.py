"""JSON Schema of parameters: is it one, and a validator that neither fetches anything nor backtracks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from reach_tui.reach.problems import shortened

if TYPE_CHECKING:
    import jsonschema_rs

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


def schema_mistakes(schema: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    """What keeps `schema` from being the JSON Schema of a call's parameters: path inside it and the mistake."""
    draft = schema.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.removesuffix("#") not in DRAFTS:
        return [(("$schema",), "not a JSON Schema draft that is known here (4, 6, 7, 2019-09, 2020-12)")]
    found: dict[tuple[str | int, ...], str] = {}
    for error in _metaschema(draft.removesuffix("#")).iter_errors(dict(schema)):
        path = tuple(error.instance_path)
        known = "a JSON Schema type: " + ", ".join(TYPES)
        what = f"{error.instance!r} is not {known}" if path[-1:] == ("type",) else error.message
        found.setdefault(path, shortened(what))
    if schema.get("type") != "object":
        found.setdefault(("type",), 'must be "object": parameters have names')
    for path, target in _references(schema):
        if not target.startswith("#"):
            found.setdefault(path, f"points outside the schema ({shortened(target)!r}); only `#/…` is followed")
    if not found:
        try:
            validator(schema)
        except ValueError as error:  # a pattern that is no regular expression, a reference to nowhere
            found[tuple(getattr(error, "instance_path", ()))] = _first_line(error)
    return sorted(found.items(), key=lambda item: ([str(part) for part in item[0]], item[1]))


def validator(schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
    """A validator of parameters. It fetches no reference and its patterns run in linear time (no look-around).

    Raises `ValueError` for what `schema_mistakes` names.
    """
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        dict(schema), retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=False
    )


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


@cache
def _metaschema(draft: str) -> jsonschema_rs.Validator:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": draft, "$ref": draft}, retriever=_refuse)


def _references(schema: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    found: list[tuple[tuple[str | int, ...], str]] = []
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, Mapping):
            for key, value in node.items():
                if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                    found.append(((*path, key), value))
                pending.append(((*path, key), value))
        elif isinstance(node, list):
            pending += [((*path, index), value) for index, value in enumerate(node)]
    return found


def _first_line(error: Exception) -> str:
    message = shortened(str(getattr(error, "message", error)))
    return f"{message} (regular expressions have no look-around here)" if '"regex"' in message else message

"""Parameters held against a tool's schema (spec B10): every mistake with the field, what was expected and what came.

Strict where `schema_faults` is lenient: a whole call about to be sent must pass all that JSON Schema says, so the
validator of a checked registry decides and not a reading of single keywords.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from reach_tui.base.jsonio import JsonValue, shallow
from reach_tui.reach.feedback import Failure, Violation, cut, received
from reach_tui.reach.schema import validator
from reach_tui.reach.spec import ToolSpec

if TYPE_CHECKING:
    import jsonschema_rs

MOST = 20
"""So many mistakes are told at most; more would not be read."""


class Parameters:
    """Validators by tool, made when first used and anew when the tool changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ToolSpec, jsonschema_rs.Validator]] = {}

    def check(self, spec: ToolSpec, params: Mapping[str, JsonValue]) -> Failure | None:
        """None where the parameters are right, else all mistakes as one failure."""
        known = self._known.get(spec.name)
        if known is None or known[0] is not spec:
            try:
                known = (spec, validator(spec.params_schema))
            except ValueError as error:
                return Failure(spec.name, "tool_internal", f"its params_schema is none: {cut(str(error))}")
            self._known[spec.name] = known
        try:
            if known[1].is_valid(dict(params)):
                return None
            errors = sorted(known[1].iter_errors(dict(params)), key=lambda error: list(map(str, error.instance_path)))
        except (ValueError, RecursionError, OverflowError, TypeError) as error:  # nothing that JSON could carry
            what = Violation("", "a JSON object", f"{type(error).__name__}: no JSON")
            return Failure(spec.name, "invalid_param", violations=(what,))
        violations = [one for error in errors[:MOST] for one in _violations(spec, error)]
        return Failure(
            spec.name, "invalid_param", violations=tuple(violations[:MOST]), suggestion=_suggestion(spec, violations[0])
        )


def _violations(spec: ToolSpec, error: jsonschema_rs.ValidationError) -> list[Violation]:
    path = ".".join(str(part) for part in error.instance_path)
    facts: dict[str, Any] = error.kind.as_dict()
    name = error.kind.name
    if name == "required":
        field = _join(path, facts.get("property"))
        return [Violation(field, _expected(spec, field, "a value"), "nothing")]
    if name == "additionalProperties":
        known = ", ".join(spec.properties) if not path else "the fields of its schema"
        return [
            Violation(_join(path, one), f"no such field; there are {known}", "an unknown field")
            for one in facts.get("unexpected", ())
        ]
    expected = {
        "type": lambda: f"type {_words(facts)}",
        "pattern": lambda: f"the pattern {facts.get('pattern')}",
        "enum": lambda: f"one of {_words(facts)}",
        "minLength": lambda: f"at least {_words(facts)} characters",
        "maxLength": lambda: f"at most {_words(facts)} characters",
        "minimum": lambda: f"at least {_words(facts)}",
        "maximum": lambda: f"at most {_words(facts)}",
    }.get(name, lambda: cut(error.message, 160))()
    return [Violation(path, _expected(spec, path, expected), received(shallow(cast("JsonValue", error.instance))))]


def _words(facts: Mapping[str, Any]) -> str:
    values = [value for fact in facts.values() for value in (fact if isinstance(fact, list) else [fact])]
    return cut(", ".join(map(str, values)))


def _join(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


def _expected(spec: ToolSpec, field: str, rule: str) -> str:
    """The rule with what the schema says about the parameter, which often names where its value comes from."""
    schema = spec.properties.get(field.partition(".")[0], {})
    if rule == "a value":
        rule = " ".join(str(schema[key]) for key in ("type", "pattern") if key in schema) or rule
    words = schema.get("description") or schema.get("desc")
    return f"{rule} ({cut(words)})" if isinstance(words, str) and words else rule


def _suggestion(spec: ToolSpec, first: Violation) -> str:
    """Where a right value comes from, as far as the registry declares it: the next step (seed 6.2)."""
    name = first.field.partition(".")[0]
    source = spec.slots.get(name)
    if source is not None and source.result_of is not None:
        tool, _, field = source.result_of.partition(".")
        return f"call {tool} first and use its {field} as {name}"
    if source is not None:
        return f"take {name} from: {', '.join(source.sources)}; never guess it"
    known: Sequence[str] = tuple(spec.properties)
    if name and name not in known:
        return f"leave {name} out; the parameters are {', '.join(known) or 'none'}"
    return f"correct {name} and call again" if name else ""

"""Fixed-format intents: an utterance that matches a pattern needs no score (seed 3.2, the third way)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Protocol, cast

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.spec import ToolSpec

_MOST_MEMORY = 8 << 20
_LONGEST = 2_000
"""Characters: a longer utterance is no fixed format."""


class _Match(Protocol):
    def groupdict(self) -> dict[str, str | None]: ...


class Pattern(Protocol):
    """What we use of a compiled RE2 pattern."""

    @property
    def groupindex(self) -> dict[str, int]: ...
    def fullmatch(self, text: str) -> _Match | None: ...


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> Pattern:
    """The pattern, compiled. Raises `ValueError` saying why RE2 does not read it."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        return cast("Pattern", re2.compile(pattern, options))
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise ValueError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from error


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A tool whose format the utterance has, with the parameters that follow."""

    tool: ToolSpec
    pattern: str
    params: dict[str, JsonValue]


class RuleIndex:
    """The fixed formats of all tools."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._rules = [(tool, rule, compiled(rule.pattern)) for tool in tools for rule in tool.intents]

    def matches(self, utterance: str) -> list[RuleMatch]:
        """The first matching rule of each tool, in the tools' order."""
        if not self._rules:
            return []
        text = utterance.strip()
        if not text or len(text) > _LONGEST:
            return []
        found: dict[str, RuleMatch] = {}
        for tool, rule, pattern in self._rules:
            if tool.name not in found and (match := pattern.fullmatch(text)):
                params: dict[str, JsonValue] = dict(rule.params)
                for name, value in match.groupdict().items():
                    if value is not None:
                        params[name] = _typed(value, tool.properties.get(name, {}))
                found[tool.name] = RuleMatch(tool, rule.pattern, params)
        return list(found.values())


def _typed(text: str, schema: dict[str, Any]) -> JsonValue:
    """The text as the number or truth value that the schema wants; as it is where it is none."""
    kind = schema.get("type")
    try:
        if kind == "integer":
            return int(text)
        if kind == "number" and isfinite(number := float(text)):
            return number
    except ValueError:
        return text
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text

"""Identifiers in an utterance that parameters of the registry's tools take: `R260601000042` is a refund's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reach_tui.reach.entities import accepts, tokens
from reach_tui.reach.spec import ToolSpec

_NO_IDENTIFIERS = ("a", "1", "word", "some-word", "a_b.txt", "2nd")
"""A pattern that accepts one of these does not tell an identifier from any other word."""
_MARKS = frozenset("0123456789@")
"""An identifier has a digit, an address an `@`."""
_MOST = 20
"""Identifiers of one utterance that are looked at."""
_LONGEST, _LONGEST_PATTERN, _MOST_PATTERNS = 20_000, 500, 500
"""Characters of an utterance and of a pattern, and patterns of a registry that are looked at: a trace may bring any."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier of an utterance; tools by their place in the registry."""

    value: str
    patterns: frozenset[str]
    """Of the parameters that take it."""
    required: frozenset[int]
    """Tools with a required parameter of this form."""
    optional: frozenset[int]
    """Tools with an optional one only."""


class Identifiers:
    """The patterns of all tools' parameters. What is no regular expression, or takes any word, is left out."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._takes: dict[str, dict[int, bool]] = {}
        """By pattern: the tools with a parameter of it, true where one is required."""
        self._needs: dict[int, list[str]] = {}
        """The patterns of each tool's required parameters."""
        for place, tool in enumerate(tools):
            for name, schema in tool.properties.items():
                pattern = schema.get("pattern")
                if isinstance(pattern, str) and (pattern in self._takes or self._is_one(pattern)):
                    takes = self._takes.setdefault(pattern, {})
                    takes[place] = takes.get(place, False) or name in tool.required
                    if name in tool.required:
                        self._needs.setdefault(place, []).append(pattern)

    def _is_one(self, pattern: str) -> bool:
        short = len(pattern) <= _LONGEST_PATTERN and len(self._takes) < _MOST_PATTERNS
        return short and all(accepts(pattern, word) is False for word in _NO_IDENTIFIERS)

    def split(self, text: str) -> tuple[str, list[Identifier]]:
        """The text without the identifiers that some tool takes, and these, each value once."""
        found: dict[str, Identifier] = {}
        rest, upto = [], 0
        for value, start in tokens(text[:_LONGEST]) if self._takes else ():
            if _MARKS.isdisjoint(value) or len(found) == _MOST:
                continue
            known = found.get(value) or self._known(value)
            if known is not None:
                found[value] = known
                rest.append(text[upto:start])
                upto = start + len(value)
        return " ".join([*rest, text[upto:]]) if rest else text, list(found.values())

    def _known(self, value: str) -> Identifier | None:
        patterns = frozenset(pattern for pattern in self._takes if accepts(pattern, value))
        takes = [one for pattern in patterns for one in self._takes[pattern].items()]
        required = frozenset(place for place, needed in takes if needed)
        optional = frozenset(place for place, _ in takes) - required
        return Identifier(value, patterns, required, optional) if patterns else None

    def fit(self, place: int, named: Sequence[Identifier]) -> float:
        """Of the identifiers that were named or that the tool requires: the share that was named and that it takes."""
        taken = sum(place in one.required or place in one.optional for one in named)
        missing = sum(not any(pattern in one.patterns for one in named) for pattern in self._needs.get(place, ()))
        return taken / (len(named) + missing) if named else 1.0

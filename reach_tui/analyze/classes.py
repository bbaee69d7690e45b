"""Failure classes per tool (seed A4), and what share of them a better description would avoid (A5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze.intervals import share
from reach_tui.analyze.pairs import Pairs, Wanted, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.model import is_hidden
from reach_tui.taxonomy import Taxonomy

SEED_MISUSE = frozenset(
    {"agent.subagent_type_missing_foreground", "agent.subagent_type_missing_background", "agent.background_limit"}
)
SEED_FAULTS = frozenset({"agent.definition_not_found", "agent.prompt_missing"})
"""The seed's own split of its 45 sub-agent failures: 41 parameter misuse, 4 system faults. It counts the missing prompt
among the faults and the limit among the misuse, unlike the taxonomy (42 of 45); it says nothing about other tools."""


class FailureClass(NamedTuple):
    """Tool, level 1, level 2 and rule of a failure."""

    tool: str
    category: str | None
    subcategory: str | None
    rule: str | None


@dataclass(slots=True)
class Classes(Sum):
    """How many calls failed in which class, and how many of these the store does not call failed."""

    failed: Counter[FailureClass] = field(default_factory=Counter)
    hidden: Counter[FailureClass] = field(default_factory=Counter)

    def include(self, other: Classes) -> None:
        """Add another one to this."""
        add_up(self.failed, other.failed)
        add_up(self.hidden, other.hidden)

    def of_tool(self, tool: str) -> list[tuple[FailureClass, int]]:
        """The classes of one tool, the most frequent first."""
        found = [(kind, count) for kind, count in self.failed.items() if kind.tool == tool]
        return sorted(found, key=lambda item: (-item[1], *(part or "" for part in item[0])))


def of_session(pairs: Pairs, wanted: Wanted = originals) -> Classes:
    """The failure classes of one session."""
    classes = Classes()
    for call, verdict in pairs:
        if verdict.failed is True and wanted(call):
            kind = FailureClass(call.tool, verdict.category, verdict.subcategory, verdict.rule)
            classes.failed[kind] += 1
            if is_hidden(call, verdict):
                classes.hidden[kind] += 1
    return classes


@dataclass(frozen=True, slots=True)
class Avoidable:
    """How many of a tool's failures a better description would avoid."""

    count: int
    of: int
    by: str
    """Whose grouping: `taxonomy` or `seed`."""

    @property
    def share(self) -> float | None:
        """0..1; None without failures."""
        return share(self.count, self.of)


def avoidable(classes: Classes, tool: str, taxonomy: Taxonomy) -> Avoidable:
    """By the taxonomy: the classes that a description avoids."""
    found = classes.of_tool(tool)
    chosen = described((kind for kind, _ in found), taxonomy)
    return Avoidable(
        sum(count for kind, count in found if kind in chosen), sum(count for _, count in found), "taxonomy"
    )


def described(kinds: Iterable[FailureClass], taxonomy: Taxonomy) -> frozenset[FailureClass]:
    """Those of these classes that a description avoids, by the taxonomy."""
    by_description = {
        (category.id, one.id)
        for category in taxonomy.categories
        for one in category.subcategories
        if one.avoidable_by == "description"
    }
    return frozenset(kind for kind in kinds if (kind.category, kind.subcategory) in by_description)


def avoidable_by_seed(classes: Classes, tool: str) -> Avoidable | None:
    """By the seed's own grouping; None for a tool of which it says nothing."""
    found = classes.of_tool(tool)
    chosen = misused(kind for kind, _ in found)
    count = sum(count for kind, count in found if kind in chosen)
    of = count + sum(count for kind, count in found if kind.rule in SEED_FAULTS)
    return Avoidable(count, of, "seed") if of else None


def misused(kinds: Iterable[FailureClass]) -> frozenset[FailureClass]:
    """Those of these classes that a description avoids, by the seed's own grouping."""
    return frozenset(kind for kind in kinds if kind.rule in SEED_MISUSE)

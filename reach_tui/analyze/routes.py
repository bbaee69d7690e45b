"""How inferred routes agree with what was called, and what followed where they did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reach_tui.analyze.intervals import share, wilson
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.model import Route, ToolCall, Verdict

WITHIN = 5
"""Ranks that count as found: the router's default number of candidates (seed 3.2)."""


@dataclass(slots=True)
class Agreement(Sum):
    """Sums over calls with an inferred route."""

    calls: int = 0
    unknown: int = 0
    """Calls of a tool that is not among the tools scored: a name made up, or a tool nobody described."""
    silent: int = 0
    """Calls whose request shares no word with any tool: nothing can be said about them."""
    first: int = 0
    """The tool that was called is the router's first."""
    within: int = 0
    """… is among its first five."""
    guess: float = 0.0
    """Sum of 1 / number of tools: what picking at random would have reached."""
    decisions: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    """Calls with a verdict, by decision."""
    failed: Counter[str] = field(default_factory=Counter)
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(called, router's first) where they differ."""
    confused_failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def include(self, other: Agreement) -> None:
        """Add another one to this."""
        self.calls += other.calls
        self.unknown += other.unknown
        self.silent += other.silent
        self.first += other.first
        self.within += other.within
        self.guess += other.guess
        for name in ("decisions", "judged", "failed", "confused", "confused_failed"):
            add_up(getattr(self, name), getattr(other, name))

    @property
    def ranked(self) -> int:
        """Calls whose tool was scored."""
        return self.calls - self.unknown

    @property
    def top1(self) -> float | None:
        """Share of the ranked calls whose tool came first."""
        return share(self.first, self.ranked)

    @property
    def top5(self) -> float | None:
        """Share of the ranked calls whose tool came among the first five."""
        return share(self.within, self.ranked)

    @property
    def chance(self) -> float | None:
        """Share that picking one of the tools at random would have got right."""
        return self.guess / self.ranked if self.ranked else None

    def failure_rate(self, decision: str) -> tuple[float, tuple[float, float]] | None:
        """Failed of the judged calls with this decision, with its 95 % interval; None without any."""
        of = self.judged[decision]
        interval = wilson(self.failed[decision], of)
        return None if interval is None else (self.failed[decision] / of, interval)


def of_calls(routed: Iterable[tuple[ToolCall, Verdict, Route | None]], tools: int) -> Agreement:
    """The sums over calls with their routes; `tools`: how many tools there were to choose from."""
    found = Agreement()
    for _, verdict, route in routed:
        if route is None or route.basis != "inferred":
            continue
        found.calls += 1
        found.decisions[route.decision] += 1
        found.judged[route.decision] += verdict.failed is not None
        found.failed[route.decision] += verdict.failed is True
        if route.chosen is None or route.rank is None:
            found.unknown += 1
            continue
        found.guess += 1 / max(1, tools)
        top = route.candidates[0] if route.candidates else None
        if top is None or top.score <= 0:
            found.silent += 1
            continue
        found.first += route.rank == 1
        found.within += route.rank <= WITHIN
        if route.rank > 1:
            pair = (route.chosen.name, top.name)
            found.confused[pair] += 1
            found.confused_failed[pair] += verdict.failed is True
    return found

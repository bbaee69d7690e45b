"""Calls and failures per tool: by the store's flag, by content, and what neither settles (seed A2, A3)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reach_tui.analyze.intervals import share, wilson
from reach_tui.analyze.pairs import Pairs, Wanted, answered, has_result, originals
from reach_tui.analyze.sums import Sum
from reach_tui.model import is_hidden


@dataclass(slots=True)
class ToolCounts(Sum):
    """What the calls of one tool add up to."""

    calls: int = 0
    results: int = 0
    """Calls with a result."""
    ended: int = 0
    """Calls with a result, or failed without one: the denominator of `rate_failed`."""
    known: int = 0
    """Calls for which the store recorded success or failure: the denominator of `rate_flagged`."""
    flagged: int = 0
    hidden: int = 0
    failed: int = 0
    soft: int = 0
    unknown: int = 0
    """Neither failed nor fine, and no rule spoke: mostly calls without a result."""
    checks: int = 0
    """Checks that ran and reported findings: fine, and shown apart."""
    false_flags: int = 0
    """Flagged, and neither failed nor such a check."""

    def include(self, other: ToolCounts) -> None:
        """Add another one to this."""
        self.calls += other.calls
        self.results += other.results
        self.ended += other.ended
        self.known += other.known
        self.flagged += other.flagged
        self.hidden += other.hidden
        self.failed += other.failed
        self.soft += other.soft
        self.unknown += other.unknown
        self.checks += other.checks
        self.false_flags += other.false_flags

    @property
    def rate_flagged(self) -> float | None:
        """Share of the calls with a known flag that the store calls failed; None without any."""
        return share(self.flagged, self.known)

    @property
    def rate_failed(self) -> float | None:
        """Share of the ended calls that failed by our verdict; None without any."""
        return share(self.failed, self.ended)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval of `rate_failed`."""
        return wilson(self.failed, self.ended)


@dataclass(slots=True)
class Rates(Sum):
    """Counts by tool name, as the model wrote it."""

    tools: dict[str, ToolCounts] = field(default_factory=dict)

    def include(self, other: Rates) -> None:
        """Add another one to this."""
        for tool, counts in other.tools.items():
            if (known := self.tools.get(tool)) is None:
                known = self.tools[tool] = ToolCounts()
            known.include(counts)

    @property
    def total(self) -> ToolCounts:
        """All tools together."""
        total = ToolCounts()
        for counts in self.tools.values():
            total.include(counts)
        return total


def of_session(pairs: Pairs, wanted: Wanted = originals) -> Rates:
    """The rates of one session."""
    tools: dict[str, ToolCounts] = {}
    fine: list[str] = []
    for call, verdict in pairs:
        if not wanted(call):
            continue
        if call.plain and verdict.failed is False and verdict.subcategory is None:
            fine.append(call.tool)
            continue
        counts = tools.get(call.tool)
        if counts is None:
            counts = tools[call.tool] = ToolCounts()
        counts.calls += 1
        counts.results += has_result(call)
        counts.ended += answered(call, verdict)
        counts.known += call.flagged is not None
        counts.flagged += call.flagged is True
        counts.hidden += is_hidden(call, verdict)
        counts.failed += verdict.failed is True
        counts.soft += verdict.soft
        counts.unknown += verdict.failed is None and not verdict.soft
        counts.checks += verdict.check_reported
        counts.false_flags += call.flagged is True and verdict.failed is False and not verdict.check_reported
    for tool, count in Counter(fine).items():
        tools.setdefault(tool, ToolCounts()).include(ToolCounts(count, count, count, count))
    return Rates(tools)

"""Failures by the day on which their session began (UTC), by whose reach ended: how attribution moves over time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reach_tui.analyze.attribution import Attribution
from reach_tui.analyze.rates import ToolCounts
from reach_tui.analyze.sums import Sum, add_up

DAY = 86_400_000
"""Milliseconds."""


@dataclass(slots=True)
class OverTime(Sum):
    """Counts by day, numbered from 1970; sessions without a time are left out."""

    ended: Counter[int] = field(default_factory=Counter)
    """Calls that ended: the denominator."""
    hidden: Counter[int] = field(default_factory=Counter)
    causes: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Failed calls by day and reach."""

    def include(self, other: OverTime) -> None:
        """Add another one to this."""
        add_up(self.ended, other.ended)
        add_up(self.hidden, other.hidden)
        add_up(self.causes, other.causes)


def of_session(started_at: int | None, counts: ToolCounts, found: Attribution) -> OverTime:
    """The same counts as `rates` and `attribution` of one session, on its day."""
    days = OverTime()
    if started_at is not None and counts.ended:
        day = started_at // DAY
        days.ended[day] = counts.ended
        if counts.hidden:
            days.hidden[day] = counts.hidden
        for cause, count in found.failures.items():
            days.causes[day, cause.reach] += count
    return days

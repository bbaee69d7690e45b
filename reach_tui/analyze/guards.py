"""The runtime's guards, by the flag and by the truth (seed A7 to A9): what they saw and what they would have seen.

Definitions: store notes on Peri, section 5. `same_error` counts per (tool, exact text); a success of that tool clears
its counters; it speaks at every failure from the n-th on. `any_error` is one counter for all tools; any success clears
it; it speaks once, at the n-th. Both start anew with each session; a call that was never answered is no news to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze.pairs import Pairs, Wanted, answered, error_text, has_result, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.model import Glance

AFTER = (3, 5, 10)
SAME, ANY = "same_error", "any_error"
METRIC, ANALYZER = "error_metric", "analyzer"
"""Speak at every failure, and at every failure with a result."""
FLAG, TRUTH = "by_flag", "by_truth"
_KEPT = 20  # places a guard would have spoken at that are named


class Firing(NamedTuple):
    """A guard: its rule, after how many failures it speaks, and what it trusts."""

    rule: str
    after: int
    view: str


class Failure(NamedTuple):
    """A failure as the guards see it under one view, and how many there are in a row by then."""

    call: Glance
    view: str
    same: int
    """The same error of this tool."""
    run: int
    """Any error."""

    def fires(self, guard: Firing) -> bool:
        """True if that guard speaks at this call."""
        if guard.view != self.view:
            return False
        if guard.rule == SAME:
            return self.same >= guard.after
        if guard.rule == ANY:
            return self.run == guard.after
        return guard.rule == METRIC or has_result(self.call)


@dataclass(slots=True)
class Guards(Sum):
    """How often each of the three lines of defence spoke."""

    metric: Counter[str] = field(default_factory=Counter)
    """`tool.error` events: one a failure, as it happens, by view."""
    fired: Counter[Firing] = field(default_factory=Counter)
    analyzer: Counter[str] = field(default_factory=Counter)
    """Failures an offline analyzer finds among the paired results, by view."""
    where: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    """Keys of the first calls at which a guard (rule, after) would have spoken by the truth."""

    def include(self, other: Guards) -> None:
        """Add another one to this."""
        add_up(self.metric, other.metric)
        add_up(self.fired, other.fired)
        add_up(self.analyzer, other.analyzer)
        for guard, keys in other.where.items():
            self.where[guard] = (self.where.get(guard, ()) + keys)[:_KEPT]

    def fire(self, guard: Firing, call_key: str) -> None:
        """A guard speaks at a call."""
        self.fired[guard] += 1
        if guard.view == TRUTH:
            place = guard.rule, guard.after
            self.where[place] = (*self.where.get(place, ()), call_key)[:_KEPT]


class Failures:
    """Consecutive failures of one session under one view."""

    def __init__(self) -> None:
        self.same: dict[str, Counter[str]] = {}
        self.any = 0

    def add(self, tool: str, text: str) -> tuple[int, int]:
        """One more failure: how many of the same error of this tool in a row, and of any error."""
        texts = self.same.setdefault(tool, Counter())
        texts[text] += 1
        self.any += 1
        return texts[text], self.any

    def clear(self, tool: str) -> None:
        """A success of a tool."""
        if self.same:
            self.same.pop(tool, None)
        self.any = 0


def of_session(pairs: Pairs, wanted: Wanted = originals) -> Guards:
    """The guards of one session. Copies of calls are left out: they happened in another session."""
    guards = Guards()
    for one in failures(pairs, wanted):
        guards.metric[one.view] += one.fires(Firing(METRIC, 1, one.view))
        guards.analyzer[one.view] += one.fires(Firing(ANALYZER, 1, one.view))
        for rule in (SAME, ANY):
            for after in AFTER:
                if one.fires(guard := Firing(rule, after, one.view)):
                    guards.fire(guard, one.call.key)
    return guards


def failures(pairs: Pairs, wanted: Wanted = originals) -> Iterator[Failure]:
    """Every failure of wanted calls of one session under each view, in order."""
    counters = {FLAG: Failures(), TRUTH: Failures()}
    by_flag, by_truth = counters[FLAG], counters[TRUTH]
    for call, verdict in pairs:
        if call.plain and verdict.failed is False:  # most
            by_flag.clear(call.tool)
            by_truth.clear(call.tool)
            continue
        if call.copy_of is not None or not answered(call, verdict):
            continue
        counted = wanted(call)
        for view, failed in ((FLAG, call.flagged is True), (TRUTH, verdict.failed is True)):
            if not failed:
                counters[view].clear(call.tool)
                continue
            same, run = counters[view].add(call.tool, error_text(call))
            if counted:
                yield Failure(call, view, same, run)

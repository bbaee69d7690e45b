"""Time budgets (spec B10, B19; seed 4.3): a tool's timeout from its P99, and a chain's total shared among its steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

TIMEOUT_MARGIN = 1.3
"""A timeout is P99 times this: 30 % for jitter; more would hide slowness."""
STEPS_SHARE = 0.8
"""The steps together take at most this share of the chain's budget; the rest is for routing, questions, the answer."""


def p99(durations_ms: Sequence[float]) -> float:
    """The 99th percentile, nearest rank. Raises `ValueError` without durations."""
    if not durations_ms:
        raise ValueError("no durations")
    return sorted(durations_ms)[math.ceil(0.99 * len(durations_ms)) - 1]


def timeout_ms(p99_ms: float, margin: float = TIMEOUT_MARGIN) -> int:
    """The timeout that a tool with this P99 should have, in whole milliseconds, rounded up."""
    return max(1, math.ceil(round(p99_ms * margin, 6)))


def overrun_ms(step_budgets_ms: Iterable[float], chain_ms: float, share: float = STEPS_SHARE) -> float:
    """By how much the planned steps exceed their share of the chain's budget; 0 where they fit."""
    return max(0.0, sum(step_budgets_ms) - share * chain_ms)


class Lease:
    """A step's part of the chain's budget. Use it as a context: what the step did not need goes back on leaving."""

    __slots__ = ("_budget", "_started", "ms")

    def __init__(self, budget: ChainBudget, ms: float, started: float) -> None:
        self.ms = ms
        """Milliseconds the step may take."""
        self._budget = budget
        self._started = started

    @property
    def left_ms(self) -> float:
        """Milliseconds the step has left, never negative."""
        return max(0.0, self.ms - (self._budget.now() - self._started) * 1000)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.settle(self, (self._budget.now() - self._started) * 1000)


class ChainBudget:
    """A chain's total. What steps were granted and what they used never exceed `share` of it, nor its deadline.

    `now` gives seconds that never go back; the chain's clock runs from the making of this object.
    """

    def __init__(
        self, total_ms: float, *, share: float = STEPS_SHARE, now: Callable[[], float] = time.monotonic
    ) -> None:
        if not 0 < share <= 1 or not total_ms > 0:
            raise ValueError("a chain's budget is positive, the steps' share of it within 0 and 1")
        self.total_ms = total_ms
        self.share = share
        self.now = now
        self._began = now()
        self._used_ms = 0.0
        self._leases: set[Lease] = set()

    @property
    def left_ms(self) -> float:
        """What a further step may be granted now."""
        granted = sum(lease.ms for lease in self._leases)
        elapsed = (self.now() - self._began) * 1000
        return max(0.0, min(self.share * self.total_ms - self._used_ms - granted, self.total_ms - elapsed))

    @property
    def used_ms(self) -> float:
        """What finished steps took."""
        return self._used_ms

    def lease(self, wanted_ms: float) -> Lease:
        """A part of at most `wanted_ms`, less where less is left, 0 where nothing is."""
        lease = Lease(self, min(wanted_ms, self.left_ms), self.now())
        self._leases.add(lease)
        return lease

    def settle(self, lease: Lease, took_ms: float) -> None:
        """Close a lease with what was used; a second time changes nothing."""
        if lease in self._leases:
            self._leases.discard(lease)
            self._used_ms += took_ms

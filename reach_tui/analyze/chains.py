"""Chain decay (spec B18, seed 1.1): p per step over n steps, expected against actual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from reach_tui.analyze.intervals import share, wilson
from reach_tui.analyze.pairs import Pairs, Wanted, originals
from reach_tui.analyze.sums import Sum, add_up

BANDS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 50, 100)
"""Lengths at which a new band begins; a band holds the chains up to the next one."""


@dataclass(slots=True)
class Chains(Sum):
    """Chains: the calls that follow one request of the user, in order."""

    length: Counter[int] = field(default_factory=Counter)
    """Chains by how many calls they have."""
    whole: Counter[int] = field(default_factory=Counter)
    """Chains without any failed call, by length."""
    steps: int = 0
    """Calls whose verdict is not open."""
    good: int = 0

    def include(self, other: Chains) -> None:
        """Add another one to this."""
        add_up(self.length, other.length)
        add_up(self.whole, other.whole)
        self.steps += other.steps
        self.good += other.good

    @property
    def per_step(self) -> float | None:
        """p: the share of calls that did what they were asked; None without any."""
        return share(self.good, self.steps)


@dataclass(frozen=True, slots=True)
class Band:
    """Chains of about one length."""

    shortest: int
    longest: int
    chains: int
    whole: int
    """Chains without a failed call."""
    expected: float
    """The mean of p to the power of their lengths: what they would reach if failures fell at random."""
    actual: float
    interval: tuple[float, float]
    """95 % of `actual`."""


def expected(per_step: float, steps: int) -> float:
    """The chance that `steps` steps in a row succeed: 0.95 over 7 steps is 0.70. Raises `ValueError` outside 0..1."""
    if not 0 <= per_step <= 1 or steps < 0:
        raise ValueError(f"{per_step} over {steps} steps")
    return per_step**steps


def of_session(pairs: Pairs, wanted: Wanted = originals) -> Chains:
    """The chains of one session; a call without a verdict breaks none, and counts as no step."""
    found = Chains()
    decided = [(call.turn, verdict.failed) for call, verdict in pairs if wanted(call) and verdict.failed is not None]
    for _, group in groupby(decided, key=lambda one: one[0]):
        failed = [one for _, one in group]
        found.length[len(failed)] += 1
        found.whole[len(failed)] += not any(failed)
        found.steps += len(failed)
        found.good += failed.count(False)
    return found


def bands(chains: Chains) -> list[Band]:
    """Expected and actual success by length, shortest first; bands without chains are left out."""
    per_step = chains.per_step
    if per_step is None:
        return []
    found = []
    for place, start in enumerate(BANDS):
        end = BANDS[place + 1] - 1 if place + 1 < len(BANDS) else max(chains.length, default=start)
        lengths = [length for length in chains.length if start <= length <= end]
        if lengths:
            found.append(_band(chains, lengths, per_step))
    return found


def _band(chains: Chains, lengths: Iterable[int], per_step: float) -> Band:
    lengths = sorted(lengths)
    count = sum(chains.length[one] for one in lengths)
    whole = sum(chains.whole[one] for one in lengths)
    mean = sum(expected(per_step, one) * chains.length[one] for one in lengths) / count
    return Band(lengths[0], lengths[-1], count, whole, mean, whole / count, wilson(whole, count) or (0.0, 1.0))

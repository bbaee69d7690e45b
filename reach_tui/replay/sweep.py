"""The threshold sweep (seed B, 3.2): expected loss over labelled cases for every t1 and gap, and how sure the best is.

A case costs 0 where the decision was right, `wrong` where something was executed that should not have been, and `ask`
where a person was asked or turned away needlessly; the seed takes 5 : 1. Cases below the floor are refused whatever t1
and gap are: they cost the same everywhere.

The interval of the best threshold holds every value whose loss is not significantly above the least: the difference to
it, over resamples of the cases, at most 1.96 standard errors. (The percentiles of the resampled optimum itself are too
narrow: the least of a step function converges with the cube root of n. In simulations of a known loss model with 150 to
1,500 cases the plain percentiles held the truth in 88 to 100 of 100 runs, these intervals in 93 to 100.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reach_tui.analyze.intervals import Z95
from reach_tui.model import Thresholds

STEPS = 50
"""Steps of the grid between the floor and 1, for t1; of 0.01 for gap, from 0 to `GAP_HIGHEST`."""
GAP_HIGHEST = 0.4
RESAMPLES = 400
FEW = 30
"""Fewer cases than this whose outcome depends on the thresholds cannot carry a choice."""
_WIDE = 0.25
_SEED = 20_260_601
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Trial:
    """One labelled case as the router scored it."""

    top: float | None
    """Score of the first candidate, 0..1; None without any candidate."""
    gap: float | None
    """Distance to the second."""
    execute: float
    """Loss if the first candidate is executed."""
    clarify: float
    """Loss if the person is asked."""
    refuse: float
    """Loss if the answer is that there is no such tool."""


@dataclass(frozen=True, slots=True)
class Range:
    """The best value of one threshold with its 95 % interval."""

    best: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Point:
    """Mean loss a case at one t1, with the best gap for it, and with the gap in use."""

    t1: float
    loss: float
    loss_at_gap: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the cases say about the thresholds."""

    cases: int
    deciding: int
    """Cases above the floor: the thresholds decide about them."""
    curve: tuple[Point, ...]
    t1: Range
    gap: Range
    loss: float
    """Mean loss a case at the best thresholds."""
    now: float
    """Mean loss a case at the thresholds in use."""
    gain: tuple[float, float]
    """95 % interval of `now - loss`."""
    doubts: tuple[str, ...]
    """Why the data cannot support a choice; empty if they can."""

    @property
    def supported(self) -> bool:
        """True if the data can carry a choice of thresholds."""
        return not self.doubts


def loss_of(trial: Trial, thresholds: Thresholds) -> float:
    """What a case costs under these thresholds."""
    if trial.top is None:
        return trial.refuse
    if trial.top >= thresholds.t1 and (trial.gap or 0.0) >= thresholds.gap:  # asked first, as the router does
        return trial.execute
    return trial.refuse if trial.top < thresholds.floor else trial.clarify


class _Grid:
    """Losses over all (t1, gap) at once: a case counts as executed up to its own cell, so sums run over cells."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.t1 = [thresholds.floor + (1 - thresholds.floor) * step / STEPS for step in range(STEPS + 1)]
        self.gap = [step / 100 for step in range(round(GAP_HIGHEST * 100) + 1)]
        self.wide = len(self.gap)

    def cell(self, trial: Trial) -> int:
        """Number of the last cell in which the case is executed."""
        row = max(index for index, value in enumerate(self.t1) if value <= (trial.top or 0.0) + _TINY)
        column = max(index for index, value in enumerate(self.gap) if index == 0 or value <= (trial.gap or 0) + _TINY)
        return row * self.wide + column

    def losses(self, extras: dict[int, float], fixed: float) -> list[list[float]]:
        """Total loss at [t1][gap]: `fixed`, plus the extra loss of executing for all cases in or beyond the cell."""
        beyond = [0.0] * (self.wide + 1)
        rows: list[list[float]] = []
        for row in range(len(self.t1) - 1, -1, -1):
            along, here = 0.0, row * self.wide
            sums = [0.0] * (self.wide + 1)
            for column in range(self.wide - 1, -1, -1):
                along += extras.get(here + column, 0.0)
                sums[column] = beyond[column] + along
            beyond = sums
            rows.append([fixed + value for value in sums[:-1]])
        rows.reverse()
        return rows


def sweep(trials: Sequence[Trial], thresholds: Thresholds | None = None, *, resamples: int = RESAMPLES) -> Sweep:
    """Loss for every t1 and gap, the floor as it is; the same result from run to run. Raises `ValueError` on no cases.

    `thresholds` are the ones in use (the defaults: the seed's), held against the best.
    """
    if not trials:
        raise ValueError("no cases")
    used = thresholds or Thresholds()
    grid = _Grid(used)
    kinds: Counter[tuple[int | None, float, float, float]] = Counter()
    for one in trials:
        above = one.top is not None and one.top >= used.floor
        base = one.clarify if above else one.refuse
        cell = grid.cell(one) if above else None
        kinds[cell, one.execute - one.clarify if above else 0.0, base, loss_of(one, used)] += 1
    whole = _losses(grid, kinds)
    best_row, best_column = _least(whole)
    profiles = [_profiles(whole, whole[best_row][best_column])]
    gains: list[float] = []
    generator = random.Random(_SEED)
    names, weights = list(kinds), list(kinds.values())
    for _ in range(resamples):
        drawn = Counter(generator.choices(names, weights, k=len(trials)))
        losses = _losses(grid, drawn)
        profiles.append(_profiles(losses, losses[best_row][best_column]))
        gains.append(sum(kind[3] * n for kind, n in drawn.items()) - losses[best_row][best_column])
    count = len(trials)
    gains.sort()
    now = sum(loss_of(one, used) for one in trials) / count
    near = min(range(grid.wide), key=lambda index: abs(grid.gap[index] - used.gap))
    t1 = _range(grid.t1, best_row, [one[0] for one in profiles])
    gap = _range(grid.gap, best_column, [one[1] for one in profiles])
    gain = (gains[int(0.025 * (len(gains) - 1))] / count, gains[int(0.975 * (len(gains) - 1) + 0.5)] / count)
    deciding = sum(n for kind, n in kinds.items() if kind[0] is not None)
    curve = tuple(
        Point(round(value, 6), min(row) / count, row[near] / count) for value, row in zip(grid.t1, whole, strict=True)
    )
    doubts = _doubts(trials, deciding, t1, gain)
    return Sweep(count, deciding, curve, t1, gap, whole[best_row][best_column] / count, now, gain, doubts)


def _losses(grid: _Grid, kinds: Counter[tuple[int | None, float, float, float]]) -> list[list[float]]:
    extras: dict[int, float] = {}
    fixed = 0.0
    for (cell, extra, base, _), count in kinds.items():
        fixed += base * count
        if cell is not None:
            extras[cell] = extras.get(cell, 0.0) + extra * count
    return grid.losses(extras, fixed)


def _least(losses: list[list[float]]) -> tuple[int, int]:
    """The middle t1 of those with the least loss, then the middle gap."""
    lowest = min(map(min, losses))
    rows = [index for index, row in enumerate(losses) if min(row) <= lowest + _TINY]
    row = rows[len(rows) // 2]
    columns = [index for index, value in enumerate(losses[row]) if value <= lowest + _TINY]
    return row, columns[len(columns) // 2]


def _profiles(losses: list[list[float]], least: float) -> tuple[list[float], list[float]]:
    """For each t1 the loss with the best gap, for each gap with the best t1, both above the loss of the optimum."""
    return [min(row) - least for row in losses], [min(column) - least for column in zip(*losses, strict=True)]


def _range(values: list[float], best: int, profiles: list[list[float]]) -> Range:
    """All values whose loss is not significantly above the least; the first profile is that of the cases themselves."""
    seen, resampled = profiles[0], profiles[1:]
    kept = [best]
    for index in range(len(values)):
        spread = sum((one[index] - seen[index]) ** 2 for one in resampled) / max(1, len(resampled))
        if seen[index] <= Z95 * spread**0.5 + _TINY:
            kept.append(index)
    return Range(round(values[best], 6), round(values[min(kept)], 6), round(values[max(kept)], 6))


def _doubts(trials: Sequence[Trial], deciding: int, t1: Range, gain: tuple[float, float]) -> tuple[str, ...]:
    found = []
    if deciding < FEW:
        found.append(f"only {deciding} cases lie above the floor: at least {FEW} are needed")
    elif not any(one.execute > one.clarify for one in trials if one.top is not None):
        found.append("no case would be executed wrongly: any t1 at the floor is as good")
    elif t1.high - t1.low > _WIDE:
        found.append(f"every t1 from {t1.low:.2f} to {t1.high:.2f} fits: more cases are needed to tell them apart")
    if deciding and gain[0] <= 0:
        found.append("the thresholds in use are not significantly worse than the best")
    return tuple(found)

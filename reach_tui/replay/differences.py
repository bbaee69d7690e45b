"""Where a replayed session differs from what was recorded: decisions, guards, limits, breaker, retries."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reach_tui.reach.breaker import BreakerState
from reach_tui.replay.whatif import Moment, Replayed

_LOOKED_BACK = 2_000  # moments before the cursor in which the state of a tool's breaker is looked for


class Kind(StrEnum):
    """What differs."""

    FLIP = "flip"
    GUARD = "guard"
    KILLED_GOOD = "kills good"
    KILLED = "kills"
    BLOCKED = "blocked"
    RETRIED = "retried"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs at one step."""

    step: int
    kind: Kind
    words: str
    """What, in one line."""
    moment: Moment


def differences(replayed: Replayed) -> tuple[Difference, ...]:
    """Every difference in order; of one step the decision first."""
    return tuple(Difference(one.step, kind, words, one) for one in replayed.moments for kind, words in _of(one))


def _of(one: Moment) -> Iterator[tuple[Kind, str]]:
    if one.flip is not None:
        yield Kind.FLIP, f"{one.flip.before} → {one.flip.after} ({one.flip.why})"
    if (guard := one.guard) is not None and (guard.speaks_by_flag or guard.speaks_by_truth):
        who = "by flag and in truth" if guard.speaks_by_flag and guard.speaks_by_truth else (
            "by flag alone" if guard.speaks_by_flag else "in truth; by flag it stays silent"
        )  # fmt: skip
        yield (
            Kind.GUARD,
            f"the guard speaks {who}: {max(guard.by_flag, guard.by_truth)} failures of {one.tool} in a row",
        )
    if one.blocked:
        yield Kind.BLOCKED, f"the breaker of {one.tool} is open: not called"
    for killed, limit in ((one.timed_out, "time limit"), (one.over_budget, "budget")):
        if killed == "good":
            yield Kind.KILLED_GOOD, f"the {limit} would have killed {one.tool}, which succeeded"
        elif killed == "bad":
            yield Kind.KILLED, f"the {limit} would have ended {one.tool}, which did not succeed"
    if one.retried:
        yield Kind.RETRIED, f"{one.tool} failed in a way that passes, and may be sent again"


class Course:
    """A replayed session, to be asked at any step."""

    def __init__(self, replayed: Replayed) -> None:
        self.replayed = replayed
        found = differences(replayed)
        flips = [one for one in found if one.kind is Kind.FLIP]
        self.differences: Sequence[Difference] = [*flips, *(one for one in found if one.kind is not Kind.FLIP)]
        """The flips first, then what else differs; each in order."""
        self.counts: Counter[Kind] = Counter(one.kind for one in found)
        self.steps: Sequence[int] = sorted({one.step for one in found})
        """Steps at which something differs."""
        self.at: Mapping[int, Sequence[Difference]] = _by_step(found)
        self.moments: Mapping[int, Moment] = {one.step: one for one in replayed.moments}
        self._steps = [one.step for one in replayed.moments]
        self._guarded = [one for one in replayed.moments if one.guard is not None]
        self._guarded_steps = [one.step for one in self._guarded]
        self._speaks = [one.step for one in self._guarded if one.guard is not None and one.guard.speaks_by_truth]

    def guard(self, step: int) -> Moment | None:
        """The newest answered call up to a step: what a guard had counted."""
        place = bisect_right(self._guarded_steps, step)
        return self._guarded[place - 1] if place else None

    def next_guard(self, step: int) -> int | None:
        """The next step at which the guard would speak in truth."""
        place = bisect_right(self._speaks, step)
        return self._speaks[place] if place < len(self._speaks) else None

    def breakers(self, step: int) -> Mapping[str, BreakerState]:
        """The state of each tool's breaker before its newest call up to a step."""
        place = bisect_right(self._steps, step)
        states: dict[str, BreakerState] = {}
        for one in reversed(self.replayed.moments[max(0, place - _LOOKED_BACK) : place]):
            if one.tool is not None and one.breaker is not None:
                states.setdefault(one.tool, one.breaker)
        return states


def _by_step(found: Sequence[Difference]) -> Mapping[int, Sequence[Difference]]:
    steps: dict[int, list[Difference]] = defaultdict(list)
    for one in found:
        steps[one.step].append(one)
    return dict(steps)

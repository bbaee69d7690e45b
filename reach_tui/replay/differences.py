"""Where a replayed session differs from what was recorded: decisions, guards, limits, breaker, retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reach_tui.replay.whatif import Moment, Replayed


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


def counts(found: tuple[Difference, ...]) -> Counter[Kind]:
    """How many of each kind."""
    return Counter(one.kind for one in found)

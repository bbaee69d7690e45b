"""All analyses of a session in one value that can be added up, in any grouping, session by session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from reach_tui.analyze import (
    attribution,
    classes,
    guards,
    health,
    loops,
    metrics,
    over_time,
    rates,
    stale_edits,
    success_path,
)
from reach_tui.analyze.pairs import Pairs, Wanted, originals
from reach_tui.analyze.sums import Sum
from reach_tui.model import Session, Step


@dataclass(slots=True)
class Tally(Sum):
    """What the sessions fed in add up to; `+` is associative, an empty one changes nothing."""

    sessions: int = 0
    """Sessions fed in, without those that only repeat another."""
    rates: rates.Rates = field(default_factory=rates.Rates)
    classes: classes.Classes = field(default_factory=classes.Classes)
    stale_edits: stale_edits.StaleEdits = field(default_factory=stale_edits.StaleEdits)
    guards: guards.Guards = field(default_factory=guards.Guards)
    attribution: attribution.Attribution = field(default_factory=attribution.Attribution)
    success_path: success_path.SuccessPath = field(default_factory=success_path.SuccessPath)
    loops: loops.Loops = field(default_factory=loops.Loops)
    metrics: metrics.Metrics = field(default_factory=metrics.Metrics)
    health: health.Health = field(default_factory=health.Health)
    over_time: over_time.OverTime = field(default_factory=over_time.OverTime)

    def include(self, other: Tally) -> None:
        """Add another one to this."""
        self.sessions += other.sessions
        for name in _PARTS:
            getattr(self, name).include(getattr(other, name))

    def without_calls(self) -> Tally:
        """What stays of a session where none of its calls are wanted."""
        kept = Counter({what: n for what, n in self.health.counts.items() if what not in health.OF_WANTED})
        return Tally(self.sessions, metrics=self.metrics, health=health.Health(kept))


_PARTS = tuple(one.name for one in fields(Tally) if one.name != "sessions")


def of_session(
    session: Session,
    pairs: Pairs,
    steps: Sequence[Step] = (),
    wanted: Wanted = originals,
    unreadable: int | None = None,
) -> Tally:
    """Everything about one session: its calls with verdicts, in order, and its other steps where they were read.

    `unreadable` is the number of rows shown raw, where they are no steps.
    """
    folder = session.project
    odd = [pair for pair in pairs if not (pair[0].plain and pair[1].failed is False)]  # the others only count
    mere_copy = session.copy_of is not None and not any(originals(call) for call, _ in pairs)
    runs = loops.find(pairs)
    counts = rates.of_session(pairs, wanted)
    causes = attribution.of_session(pairs, folder, wanted, runs if wanted is originals else None)
    return Tally(
        0 if mere_copy else 1,
        counts,
        classes.of_session(odd, wanted),
        stale_edits.of_session(pairs if any(stale_edits.missed(one) for _, one in odd) else (), folder, wanted),
        guards.of_session(pairs if odd else (), wanted),
        causes,
        success_path.of_session(odd, wanted),
        loops.of_session(pairs, wanted, runs),
        metrics.of_session(pairs, steps),
        health.of_session(odd, session.started_at, wanted) + health.of_steps(steps, unreadable),
        over_time.of_session(session.started_at, counts.total, causes),
    )

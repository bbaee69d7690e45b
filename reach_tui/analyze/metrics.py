"""The four metrics of the seed (B14), as far as a trace alone can say; what it cannot is left open, never guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from reach_tui.analyze.pairs import Pairs, has_result, originals
from reach_tui.analyze.sums import Sum
from reach_tui.model import Glance, Route, Step


@dataclass(slots=True)
class Metrics(Sum):
    """Sessions with calls and those that passed at first; recorded routing decisions and those within reach."""

    sessions: int = 0
    first_pass: int = 0
    """No call failed, none was left unanswered, nothing had to be clarified."""
    routed: int = 0
    """Recorded routing decisions."""
    covered: int = 0
    """Decisions with at least one candidate at or above the threshold."""

    def include(self, other: Metrics) -> None:
        """Add another one to this."""
        self.sessions += other.sessions
        self.first_pass += other.first_pass
        self.routed += other.routed
        self.covered += other.covered


class Decided(NamedTuple):
    """A recorded routing decision, and the call or the step that holds it."""

    holder: Glance | Step
    covered: bool
    """A candidate reached the threshold."""


def of_session(pairs: Pairs, steps: Iterable[Step] = ()) -> Metrics:
    """The metrics of one session; `steps` adds the decisions that led to no call."""
    own = [pair for pair in pairs if originals(pair[0])]
    routes = [*_routes(pairs, steps)]
    recorded = decisions(routes)
    clarified = any(route.decision == "clarify" for _, route in routes)
    smooth = not clarified and next(spoiling(pairs), None) is None
    return Metrics(int(bool(own)), int(bool(own) and smooth), len(recorded), sum(one.covered for one in recorded))


def spoiling(pairs: Pairs) -> Iterator[Glance]:
    """The calls of one session that failed, or were never answered: with one of them it is no first pass."""
    for call, verdict in pairs:
        if originals(call) and (verdict.failed is True or not has_result(call)):
            yield call


def decided(pairs: Pairs, steps: Iterable[Step] = ()) -> list[Decided]:
    """The recorded decisions of one session: those of its calls, then those that led to none."""
    return decisions(_routes(pairs, steps))


def decisions(routes: Iterable[tuple[Glance | Step, Route]]) -> list[Decided]:
    """The recorded ones of these."""
    return [
        Decided(holder, any(candidate.score >= route.thresholds.t1 for candidate in route.candidates))
        for holder, route in routes
        if route.basis == "recorded"
    ]


def _routes(pairs: Pairs, steps: Iterable[Step]) -> Iterator[tuple[Glance | Step, Route]]:
    for call, _ in pairs:
        if call.route and originals(call):
            yield call, call.route
    for step in steps:
        if step.route and not step.inherited:
            yield step, step.route

"""The four metrics of the seed (B14), as far as a trace alone can say; what it cannot is left open, never guessed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reach_tui.analyze.pairs import Pairs, has_result, originals
from reach_tui.analyze.sums import Sum
from reach_tui.model import Step


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


def of_session(pairs: Pairs, steps: Iterable[Step] = ()) -> Metrics:
    """The metrics of one session; `steps` adds the decisions that led to no call."""
    own = [pair for pair in pairs if originals(pair[0])]
    routes = [call.route for call, _ in own if call.route]
    routes += [step.route for step in steps if step.route and not step.inherited]
    recorded = [route for route in routes if route.basis == "recorded"]
    smooth = all(verdict.failed is not True and has_result(call) for call, verdict in own)
    clarified = any(route.decision == "clarify" for route in routes)
    covered = sum(any(candidate.score >= route.thresholds.t1 for candidate in route.candidates) for route in recorded)
    return Metrics(int(bool(own)), int(bool(own) and smooth and not clarified), len(recorded), covered)

"""What stands behind a number of the report: which calls or steps of one session it counts.

Every number here is counted by the analysis that counts it in the report, and found by the function that this analysis
counts with: what `find` gives for the sessions of a report is as many as `count` says of their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from reach_tui.analyze import attribution, guards, health, loops, metrics, stale_edits
from reach_tui.analyze.attribution import Cause
from reach_tui.analyze.guards import ANALYZER, METRIC, Firing
from reach_tui.analyze.pairs import Pairs, Wanted, answered, originals
from reach_tui.analyze.tally import Tally
from reach_tui.model import Glance, Session, Step

Place: TypeAlias = Glance | Step
"""A call, or a step that is none."""


class Course(NamedTuple):
    """One session as it was read: its calls with verdicts and its other steps, in order; which calls are counted."""

    session: Session
    pairs: Pairs
    steps: Sequence[Step] = ()
    wanted: Wanted = originals


class Number(Protocol):
    """A number of the report."""

    def count(self, tally: Tally) -> int:
        """The number, of what was added up."""

    def find(self, course: Course) -> Iterable[Place]:
        """What it counts in one session, in order."""


@dataclass(frozen=True, slots=True)
class Fired:
    """The calls at which a guard speaks, or would."""

    guard: Firing

    def count(self, tally: Tally) -> int:
        """How often."""
        found, view = tally.guards, self.guard.view
        if self.guard.rule in (METRIC, ANALYZER):
            return (found.metric if self.guard.rule == METRIC else found.analyzer)[view]
        return found.fired[self.guard]

    def find(self, course: Course) -> Iterable[Place]:
        """The calls."""
        return [one.call for one in guards.failures(course.pairs, course.wanted) if one.fires(self.guard)]


@dataclass(frozen=True, slots=True)
class Ended:
    """The calls that ended: of a tool, or all (None)."""

    tool: str | None = None

    def count(self, tally: Tally) -> int:
        """How many."""
        tools = tally.rates.tools
        if self.tool is None:
            return sum(counts.ended for counts in tools.values())
        return tools[self.tool].ended if self.tool in tools else 0

    def find(self, course: Course) -> Iterable[Place]:
        """The calls."""
        for call, verdict in course.pairs:
            if course.wanted(call) and answered(call, verdict) and self.tool in (None, call.tool):
                yield call


NOT_FOUND, STALE, RE_READ, WRITTEN_ONLY = "not_found", "stale", "re_read", "written_only"


@dataclass(frozen=True, slots=True)
class Missed:
    """Edits of a tool whose text was not found: all of them, or those of a kind."""

    tool: str
    kind: str = NOT_FOUND

    def count(self, tally: Tally) -> int:
        """How many."""
        counts = tally.stale_edits
        of_kind = {
            NOT_FOUND: counts.not_found, STALE: counts.stale, RE_READ: counts.re_read,
            WRITTEN_ONLY: counts.written_only,
        }  # fmt: skip
        return of_kind[self.kind][self.tool]

    def find(self, course: Course) -> Iterable[Place]:
        """The edits."""
        for miss in stale_edits.misses(course.pairs, course.session.project, course.wanted):
            if miss.call.tool == self.tool and (self.kind == NOT_FOUND or getattr(miss, self.kind)):
                yield miss.call


@dataclass(frozen=True, slots=True)
class Decisive:
    """The calls that decided a session, of one cause."""

    cause: Cause

    def count(self, tally: Tally) -> int:
        """How many sessions."""
        return tally.attribution.sessions[self.cause]

    def find(self, course: Course) -> Iterable[Place]:
        """At most one call."""
        decided = attribution.decided_by(course.pairs, course.session.project, course.wanted)
        if decided is None or decided.cause != self.cause:
            return []
        return [call for call, _ in course.pairs if call.key == decided.call_key][:1]


LOOPS, CALLS, SESSIONS = "loops", "calls", "sessions"


@dataclass(frozen=True, slots=True)
class Looped:
    """Loops of a kind: the calls in them, the first call of each, or the first of each session."""

    what: str
    measure: str = CALLS

    def count(self, tally: Tally) -> int:
        """How many."""
        found = tally.loops
        counts = {LOOPS: found.count, CALLS: found.calls, SESSIONS: found.sessions}
        return counts[self.measure][self.what]

    def find(self, course: Course) -> Iterable[Place]:
        """The calls."""
        kept = [loop for loop in loops.begun(course.pairs, course.wanted) if loop.what == self.what]
        places = loops.places_in(kept) if self.measure == CALLS else [loop.first for loop in kept]
        own = loops.uncopied(course.pairs)
        return [own[place][0] for place in (places[:1] if self.measure == SESSIONS else places)]


@dataclass(frozen=True, slots=True)
class OddCalls:
    """Calls with something odd about their data."""

    what: str

    def count(self, tally: Tally) -> int:
        """How many."""
        return tally.health.counts[self.what]

    def find(self, course: Course) -> Iterable[Place]:
        """The calls."""
        return [call for what, call in health.odd_calls(course.pairs, course.wanted) if what == self.what]


@dataclass(frozen=True, slots=True)
class OddSteps:
    """What could not be read, or paired."""

    what: str

    def count(self, tally: Tally) -> int:
        """How many."""
        return tally.health.counts[self.what]

    def find(self, course: Course) -> Iterable[Place]:
        """The steps."""
        return [step for what, step in health.odd_steps(course.steps) if what == self.what]


@dataclass(frozen=True, slots=True)
class Routed:
    """Recorded routing decisions, those within reach or those out of it."""

    covered: bool

    def count(self, tally: Tally) -> int:
        """How many."""
        found = tally.metrics
        return found.covered if self.covered else found.routed - found.covered

    def find(self, course: Course) -> Iterable[Place]:
        """The calls and steps that hold them."""
        return [one.holder for one in metrics.decided(course.pairs, course.steps) if one.covered is self.covered]


class SessionNumber(Protocol):
    """A number that counts sessions, each by its own figures."""

    def count(self, tally: Tally) -> int:
        """The number; of a single session 1 or 0."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Sessions with calls that passed at first, or did not."""

    first: bool

    def count(self, tally: Tally) -> int:
        """How many."""
        found = tally.metrics
        return found.first_pass if self.first else found.sessions - found.first_pass

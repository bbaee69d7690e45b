"""How far the data itself can be trusted: what is unpaired, unreadable, not recorded, or recorded differently later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze.pairs import Pairs, Wanted, has_result, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.model import Glance, Session, Step, StepKind

UNANSWERED = "calls without a result"
PROBLEM = "calls whose row is not whole"
UNREADABLE = "unreadable rows"
COPIES = "copied calls, not counted"
TIMELESS = "sessions without a time"
OF_WANTED = frozenset({UNANSWERED, PROBLEM})
"""Counted of wanted calls alone."""
OF_CALLS = frozenset({UNANSWERED, PROBLEM, COPIES})
"""Said of calls; what else is counted is said of steps, or of sessions."""
_SESSIONS_WITH = "sessions with "
_HABIT = 3  # of each, before one can be said to have followed the other
_NOTED = re.compile(r"(orphan|malformed) \w+")


class Habit(NamedTuple):
    """A kind of error whose flag is watched: tool and rule."""

    tool: str
    rule: str


@dataclass(frozen=True, slots=True)
class Flagging:
    """How often an error was flagged and how often not, and the first and last time of each (ms, None: unknown)."""

    flagged: int = 0
    silent: int = 0
    flagged_span: tuple[int, int] | None = None
    silent_span: tuple[int, int] | None = None

    def __add__(self, other: Flagging) -> Flagging:
        return Flagging(
            self.flagged + other.flagged,
            self.silent + other.silent,
            _widest(self.flagged_span, other.flagged_span),
            _widest(self.silent_span, other.silent_span),
        )

    @property
    def changed(self) -> str | None:
        """`unflagged, later flagged` or the reverse where one habit replaced the other; `both` if mixed; else None."""
        if not self.flagged or not self.silent:
            return None
        if self.flagged_span and self.silent_span and min(self.flagged, self.silent) >= _HABIT:
            if self.silent_span[1] < self.flagged_span[0]:
                return "unflagged, later flagged"
            if self.flagged_span[1] < self.silent_span[0]:
                return "flagged, later unflagged"
        return "both"


@dataclass(slots=True)
class Health(Sum):
    """Countable oddities, and how each kind of error was flagged over time."""

    counts: Counter[str] = field(default_factory=Counter)
    habits: dict[Habit, Flagging] = field(default_factory=dict)

    def include(self, other: Health) -> None:
        """Add another one to this."""
        add_up(self.counts, other.counts)
        for habit, flagging in other.habits.items():
            known = self.habits.get(habit)
            self.habits[habit] = flagging if known is None else known + flagging

    def changes(self) -> list[tuple[Habit, Flagging, str]]:
        """The kinds of error that were flagged at one time and not at another, the most frequent first."""
        found = [(habit, one, said) for habit, one in self.habits.items() if (said := one.changed)]
        return sorted(found, key=lambda item: (-(item[1].flagged + item[1].silent), item[0]))


def _widest(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def of_session(pairs: Pairs, started_at: int | None = None, wanted: Wanted = originals) -> Health:
    """The health of one session's calls; `started_at` stands in for calls without a time (ms)."""
    found = Health()
    for what, _ in odd_calls(pairs, wanted):
        found.counts[what] += 1
    for call, verdict in pairs:
        if verdict.failed is True and verdict.rule and call.flagged is not None and wanted(call):
            habit, at = Habit(call.tool, verdict.rule), call.whole().started_at or started_at
            span = None if at is None else (at, at)
            one = Flagging(1, 0, span, None) if call.flagged else Flagging(0, 1, None, span)
            found.habits[habit] = found.habits.get(habit, Flagging()) + one
    return found


def odd_calls(pairs: Pairs, wanted: Wanted = originals) -> Iterator[tuple[str, Glance]]:
    """What is odd about a call of one session, and the call."""
    for call, _ in pairs:
        if call.copy_of is not None:
            yield COPIES, call
        if wanted(call):
            if not has_result(call):
                yield UNANSWERED, call
            if call.problem is not None:
                yield PROBLEM, call


def of_steps(steps: Iterable[Step], unreadable: int | None = None) -> Health:
    """What the reader could not read or pair: raw rows, and its own notes about orphan and malformed ones.

    `unreadable` is the number of raw rows where it is known without their steps.
    """
    found = Health(Counter(what for what, _ in odd_steps(steps)))
    if unreadable is not None:
        found.counts[UNREADABLE] = unreadable
    return found


def odd_steps(steps: Iterable[Step]) -> Iterator[tuple[str, Step]]:
    """What the reader could not read or pair, and the step that stands for it."""
    for step in steps:
        if step.kind is StepKind.RAW:
            yield UNREADABLE, step
        elif step.kind is StepKind.NOTE and (noted := _NOTED.match(step.text)):
            yield f"{noted[0]}s", step


def of_sessions(sessions: Iterable[Session]) -> Health:
    """What the sessions' own rows say: child sessions and notes such as `messages not recorded`."""
    return Health(Counter(what for session in sessions for what in oddities(session)))


def oddities(session: Session) -> Iterator[str]:
    """What is odd about a session by its own row."""
    for note in session.notes:
        if "not recorded" in note:
            yield f"{_SESSIONS_WITH}{note}"
    if session.started_at is None:
        yield TIMELESS


def of_sessions_rows(what: str) -> bool:
    """True for what is said of sessions by their own rows."""
    return what == TIMELESS or what.startswith(_SESSIONS_WITH)

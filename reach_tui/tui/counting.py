"""The counts of all sessions while they come in: their sums, how many are there, and how fast it goes."""

from __future__ import annotations

from collections import deque

from reach_tui.model import Counts
from reach_tui.tui.overview import Progress, State
from reach_tui.workspace import SessionCounts

_RATE_SECONDS = 4.0  # what the rate is taken over
_SURE_AFTER = 0.3  # a rate over fewer seconds says nothing


class Counting:
    """What is counted so far. Times are seconds of a clock that only goes on."""

    def __init__(self) -> None:
        self.sessions = 0
        """Those that have their counts."""
        self.total = Counts()
        self.hiding = 0
        """Sessions that hide errors."""
        self._marks: deque[tuple[float, int, int]] = deque(maxlen=64)
        """Times with the sessions and calls counted by then."""

    def exchange(self, old: SessionCounts | None, new: SessionCounts | None) -> None:
        """A session's counts are others now; None: it has none."""
        self.sessions += (new is not None) - (old is not None)
        for one, sign in ((new, 1), (old, -1)):
            if one is not None:
                self.total = _added(self.total, one.counts, sign)
                self.hiding += sign * (one.counts.hidden > 0)

    def start(self, now: float) -> None:
        """From here on the rate is taken."""
        self._marks.clear()
        self.mark(now)

    def mark(self, now: float) -> None:
        """Some counts have come."""
        self._marks.append((now, self.sessions, self.total.calls))
        while len(self._marks) > 2 and now - self._marks[0][0] > _RATE_SECONDS:
            self._marks.popleft()

    def progress(self, state: State, sessions: int) -> Progress:
        """How far it is, of so many sessions."""
        rate = left = None
        if state is State.SCANNING and len(self._marks) > 1:
            (first, counted, calls), (last, counted_now, calls_now) = self._marks[0], self._marks[-1]
            if last - first > _SURE_AFTER and counted_now > counted:
                rate = (calls_now - calls) / (last - first)
                left = (sessions - counted_now) * (last - first) / (counted_now - counted)
        return Progress(state, self.sessions, sessions, rate, left)


def _added(total: Counts, one: Counts, sign: int) -> Counts:
    return Counts(
        total.turns + sign * one.turns,
        total.calls + sign * one.calls,
        total.flagged + sign * one.flagged,
        total.failed + sign * one.failed,
        total.hidden + sign * one.hidden,
        total.soft + sign * one.soft,
        total.unfinished + sign * one.unfinished,
        total.unreadable + sign * one.unreadable,
    )

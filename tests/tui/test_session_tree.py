"""What sorts a session is one packed number: it orders as the figures do, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from reach_tui.model import Counts, Session
from reach_tui.tui.session_tree import SORTS, weigh
from reach_tui.workspace import JudgedSession, SessionCounts

FIGURE = st.integers(0, 3) | st.integers(0, 2**31)


@dataclass(frozen=True)
class Figures:
    """What a session is sorted by; `counted` False: nothing is known yet."""

    hidden: int
    failed: int
    flagged: int
    calls: int
    started: int
    counted: bool

    def judged(self) -> JudgedSession:
        """The session."""
        counts = Counts(calls=self.calls, flagged=self.flagged, failed=self.failed, hidden=self.hidden)
        sums = SessionCounts("s", counts, {}, None) if self.counted else None
        return JudgedSession(Session("peri", "s", started_at=self.started), sums)

    def key(self, sort: str) -> tuple[int, int, int]:
        """The figures in the order that counts."""
        if sort == "when":
            return self.started, 0, 0
        if not self.counted:
            return -1, 0, self.started
        if sort == "hidden":
            return self.hidden, self.failed, self.started
        return (self.flagged if sort == "flagged" else self.calls), self.hidden, self.started


SESSION = st.builds(Figures, FIGURE, FIGURE, FIGURE, FIGURE, st.integers(0, 2**45), st.booleans())


@given(SESSION, SESSION, st.sampled_from(SORTS))
def test_packed_figures_order_as_they_do_one_by_one(one: Figures, other: Figures, sort: str) -> None:
    packed = weigh(one.judged(), sort), weigh(other.judged(), sort)
    plain = one.key(sort), other.key(sort)
    assert (packed[0] < packed[1]) == (plain[0] < plain[1])
    assert (packed[0] == packed[1]) == (plain[0] == plain[1])


@given(st.integers(-(2**70), 2**70))
def test_impossible_times_stay_below_what_counts(started: int) -> None:
    odd = Figures(1, 0, 1, 1, started, counted=True)
    assert weigh(Figures(2, 0, 2, 2, 0, counted=True).judged(), "hidden") > weigh(odd.judged(), "hidden")
    assert weigh(odd.judged(), "hidden") > weigh(Figures(0, 0, 0, 0, 5, counted=False).judged(), "hidden")

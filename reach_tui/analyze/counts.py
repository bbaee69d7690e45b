"""What the calls of a session, or of a whole store, add up to."""

from __future__ import annotations

from collections import Counter as CountedBy
from collections.abc import Iterable
from dataclasses import dataclass, field

from reach_tui.analyze.pairs import answered
from reach_tui.model import Counts, Glance, Verdict


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """A session's sums, with the tools it used (name -> calls, hidden errors) for filters."""

    session_id: str
    counts: Counts
    tools: dict[str, tuple[int, int]] = field(default_factory=dict)
    first_pass: bool | None = None
    """True if no call failed and none was repeated after a clarification; None without calls (B14)."""


class Tally:
    """Adds up a session's judged calls one by one, so that none needs to stay in memory."""

    __slots__ = (
        "calls",
        "clarified",
        "failed",
        "flagged",
        "hidden",
        "last_turn",
        "soft",
        "tools",
        "unfinished",
        "unread",
    )

    def __init__(self) -> None:
        self.calls = self.flagged = self.failed = self.hidden = self.soft = self.unfinished = self.unread = 0
        self.last_turn = 0
        """The highest turn with a call in it."""
        self.clarified = False
        self.tools: dict[str, tuple[int, int]] = {}

    def add(self, call: Glance, verdict: Verdict) -> None:
        """One more call."""
        self.calls += 1
        tool = call.shown_tool
        calls, hidden = self.tools.get(tool, (0, 0))
        if verdict.failed is True:
            self.failed += 1
            if call.flagged is not True:
                self.hidden += 1
                hidden += 1
        elif verdict.soft:
            self.soft += 1
        self.tools[tool] = (calls + 1, hidden)
        if call.turn > self.last_turn:
            self.last_turn = call.turn
        if call.plain:
            return
        self.flagged += call.flagged is True
        self.unfinished += not answered(call, verdict)
        self.unread += call.problem is not None
        if call.route is not None and call.route.decision == "clarify":
            self.clarified = True

    def add_fine(self, tools: Iterable[str]) -> None:
        """Calls that are `plain` and did not fail, by the tools' names; their turns are not looked at."""
        for tool, count in CountedBy(tools).items():
            calls, hidden = self.tools.get(tool, (0, 0))
            self.calls += count
            self.tools[tool] = (calls + count, hidden)

    def counts(self, turns: int, unreadable: int = 0) -> Counts:
        """The sums; calls whose row was not whole count as unreadable, with what the caller found besides."""
        unread = self.unread + unreadable
        return Counts(turns, self.calls, self.flagged, self.failed, self.hidden, self.soft, self.unfinished, unread)

    def of(self, session_id: str, turns: int | None = None, unreadable: int = 0) -> SessionCounts:
        """The session's sums; without `turns` the last turn with a call."""
        sums = self.counts(self.last_turn if turns is None else turns, unreadable)
        first_pass = sums.failed == 0 and sums.unfinished == 0 and not self.clarified if self.calls else None
        return SessionCounts(session_id, sums, self.tools, first_pass)


def tally(pairs: Iterable[tuple[Glance, Verdict]]) -> Tally:
    """The sums of calls with their verdicts."""
    total = Tally()
    for call, verdict in pairs:
        total.add(call, verdict)
    return total


def count(pairs: Iterable[tuple[Glance, Verdict]], turns: int = 0) -> Counts:
    """Calls, flags and verdicts counted; `unreadable` counts calls whose row was not whole."""
    return tally(pairs).counts(turns)

"""A circuit breaker over a sliding window (spec B10, seed 4.3): a tool that is down leaves the candidates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class BreakerState(StrEnum):
    """Closed lets calls through, open none, half-open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When to open and when to probe; the defaults are the seed's."""

    window_s: float = 60.0
    """Outcomes older than this are forgotten; one exactly as old still counts."""
    in_a_row: int = 5
    """So many failures in a row within the window open it."""
    share: float = 0.4
    """A larger share of failures opens it, …"""
    more_than: int = 10
    """… if there are more calls than this in the window."""
    probe_after_s: float = 30.0
    """Wait from opening to the one probe."""


class Permit:
    """Leave to make one call; exactly one of its reports counts, and only in the state that gave it."""

    __slots__ = ("_breaker", "_epoch")

    def __init__(self, breaker: Breaker, epoch: int) -> None:
        self._breaker: Breaker | None = breaker
        self._epoch = epoch

    def succeeded(self) -> None:
        """The tool answered, be it that it could not do what was asked."""
        self._report(True)

    def failed(self) -> None:
        """The tool was not there: timeout, connection, server error, broken answer."""
        self._report(False)

    def dropped(self) -> None:
        """The call was given up before anything could be learnt; a probe may be sent anew."""
        self._report(None)

    def _report(self, fine: bool | None) -> None:
        breaker, self._breaker = self._breaker, None
        if breaker is not None:
            breaker.report(fine, self._epoch)


class Breaker:
    """One tool's breaker. Not for several threads at once. `now` gives seconds that never go back."""

    def __init__(
        self, settings: BreakerSettings = BreakerSettings(), now: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self._now = now
        self._outcomes: deque[tuple[float, bool]] = deque()
        self._failures = 0
        self._row: deque[float] = deque(maxlen=settings.in_a_row)
        self._opened: float | None = None
        self._probing = False
        self._epoch = 0
        """Counts the changes of state: what a call reports that began before the last one is history."""

    @property
    def state(self) -> BreakerState:
        """The state now; half-open from the moment that a probe may be sent until it is answered."""
        if self._opened is None:
            return BreakerState.CLOSED
        waited = self._now() - self._opened >= self.settings.probe_after_s
        return BreakerState.HALF_OPEN if waited else BreakerState.OPEN

    @property
    def blocks(self) -> bool:
        """True if a call would be refused now: open, or half-open with the probe under way."""
        state = self.state
        return state is BreakerState.OPEN or (state is BreakerState.HALF_OPEN and self._probing)

    @property
    def wait_s(self) -> float:
        """Seconds until the next probe may be sent; 0 where a call may be made now or a probe is under way."""
        if self._opened is None:
            return 0.0
        return max(0.0, self._opened + self.settings.probe_after_s - self._now())

    def acquire(self) -> Permit | None:
        """A permit for one call, None where none may be made now."""
        if self.blocks:
            return None
        self._probing = self._opened is not None
        return Permit(self, self._epoch)

    def report(self, fine: bool | None, epoch: int) -> None:
        """Take in an outcome (None: nothing learnt) of a call whose permit is of that epoch."""
        if epoch != self._epoch:
            return
        if self._opened is not None:
            self._probing = False
            if fine is not None:
                self._become_closed() if fine else self._become_open()
        elif fine is not None:
            self._count(fine)

    def _count(self, fine: bool) -> None:
        now = self._now()
        self._outcomes.append((now, fine))
        self._failures += not fine
        if fine:
            self._row.clear()
        else:
            self._row.append(now)
        oldest = now - self.settings.window_s
        while self._outcomes[0][0] < oldest:
            self._failures -= not self._outcomes.popleft()[1]
        total = len(self._outcomes)
        in_a_row = len(self._row) == self.settings.in_a_row and self._row[0] >= oldest
        too_many = total > self.settings.more_than and self._failures > self.settings.share * total
        if in_a_row or too_many:
            self._become_open()

    def _become_open(self) -> None:
        self._change(self._now())

    def _become_closed(self) -> None:
        self._change(None)

    def _change(self, opened: float | None) -> None:
        self._opened = opened
        self._epoch += 1
        self._probing = False
        self._outcomes.clear()
        self._row.clear()
        self._failures = 0


class Breakers:
    """One breaker for each tool, made when first asked for."""

    def __init__(
        self, settings: BreakerSettings = BreakerSettings(), now: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._now = now
        self._by_tool: dict[str, Breaker] = {}

    def of(self, tool: str) -> Breaker:
        """The breaker of a tool."""
        if tool not in self._by_tool:
            self._by_tool[tool] = Breaker(self._settings, self._now)
        return self._by_tool[tool]

    def blocks(self, tool: str) -> bool:
        """True if a call of the tool would be refused now; what the router's hard filter asks (B4)."""
        breaker = self._by_tool.get(tool)
        return breaker is not None and breaker.blocks

    def blocked(self) -> frozenset[str]:
        """The tools that would be refused now."""
        return frozenset(tool for tool, breaker in self._by_tool.items() if breaker.blocks)

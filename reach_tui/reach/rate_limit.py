"""Rate limits as token buckets (spec B2, B10): so many calls a second in the long run, so many at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Grant:
    """A limiter's answer. Granted: the place is taken, to be used after `wait_s`. Else nothing was taken."""

    granted: bool
    wait_s: float


class Limiter(Protocol):
    """What the executor asks before each try."""

    async def take(self, tool: str, qps: float, burst: int, longest_wait_s: float) -> Grant:
        """Take a place in the tool's bucket if it is free within `longest_wait_s` seconds."""
        ...


class TokenBucket:
    """A bucket that starts full and fills by `qps` a second up to `burst`.

    A waiting call takes its place at once, so that nobody overtakes it; a call that gives up while waiting has used it.
    `now` gives seconds that never go back.
    """

    def __init__(self, qps: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        self.qps = qps
        self.burst = burst
        self._now = now
        self._level = float(burst)
        self._at = now()

    def take(self, longest_wait_s: float = 0.0) -> Grant:
        """Take one place: now, or one that is free within `longest_wait_s` seconds."""
        now = self._now()
        self._level = min(float(self.burst), self._level + max(0.0, now - self._at) * self.qps)
        self._at = now
        wait_s = max(0.0, (1.0 - self._level) / self.qps)
        if wait_s < 1e-9:  # what floats leave of a full token
            wait_s = 0.0
        if wait_s > longest_wait_s:
            return Grant(False, wait_s)
        self._level -= 1.0
        return Grant(True, wait_s)


class LocalLimiter:
    """Limits within this process, one bucket a tool; changed limits make a new bucket."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._buckets: dict[str, TokenBucket] = {}

    async def take(self, tool: str, qps: float, burst: int, longest_wait_s: float) -> Grant:
        """Take a place in the tool's bucket if it is free within `longest_wait_s` seconds."""
        bucket = self._buckets.get(tool)
        if bucket is None or (bucket.qps, bucket.burst) != (qps, burst):
            bucket = self._buckets[tool] = TokenBucket(qps, burst, self._now)
        return bucket.take(longest_wait_s)

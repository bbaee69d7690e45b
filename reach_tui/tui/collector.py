"""Python's collector beside a program of many objects that stay: it must not look through them again and again.

A look at 20,000 sessions takes 50 to 80 ms and holds up every key; what is frozen is passed over (`gc.freeze`).
"""

from __future__ import annotations

import gc

_EVERY = 2000


class Collector:
    """Does nothing unless the command switched the collector off for its start: elsewhere it is not ours."""

    def __init__(self) -> None:
        self.ours = not gc.isenabled()
        self._kept = 0

    def begin(self) -> None:
        """Once the first frame is painted: collect from here on."""
        if self.ours:
            gc.freeze()
            gc.enable()

    def keep(self) -> None:
        """What there is now stays, but for what is garbage among what came since the last time."""
        if self.ours:
            gc.collect()
            gc.freeze()

    def counted(self, sessions: int) -> None:
        """So many sessions have their counts now: every few thousand, they stay."""
        if sessions - self._kept > _EVERY:
            self._kept = sessions
            self.keep()

"""Reading source after source: how far it is, what could not be read, and an end as soon as nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from reach_tui.base.errors import ReachError
from reach_tui.workspace.sources import Source

_TELL_SECONDS = 0.2


class Stopped(Exception):
    """Nobody waits for what is being read any more."""


class Watch:
    """To be called for everything that is read: counts it, and tells the number a few times a second."""

    def __init__(self, stopped: Callable[[], bool], tell: Callable[[int], object]) -> None:
        self._stopped, self._tell = stopped, tell
        self._count, self._told = 0, time.monotonic()

    def __call__(self) -> None:
        """One more. Raises `Stopped`."""
        if self._stopped():
            raise Stopped
        self._count += 1
        if time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self._tell(self._count)


def read_all(
    sources: Iterable[Source], read: Callable[[Source], Iterable[object]], watch: Callable[[], None]
) -> list[ReachError]:
    """Read every source to its end, or to where it breaks off: the errors. `watch` is called for each thing read."""
    problems: list[ReachError] = []
    for source in sources:
        try:
            for _ in read(source):
                watch()
        except ReachError as error:
            problems.append(error)
    return problems

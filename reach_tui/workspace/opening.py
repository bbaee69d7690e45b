"""Opening traces in a thread of its own: each is there as soon as it can be read, the slow ones keep nobody waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reach_tui.base.errors import ReachError
from reach_tui.model import Session
from reach_tui.workspace.sources import Companion, Found, Source, open_each

_FORBEARANCE = 10.0  # seconds: longer than a busy machine takes to draw the first frame
_FIRST, _MORE = 128, 4096  # sessions given at a time: a screenful soon, then large pieces


@dataclass(frozen=True, slots=True)
class Listed:
    """Some sessions of a source, newest first; `number` counts the sources."""

    number: int
    source: Source
    sessions: list[Session]


class Opening:
    """Opens paths and lists their sessions, once, in a thread that starts at once."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._items: list[Listed | ReachError] = []
        self._done = False
        self._wanted = threading.Event()
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="opening", daemon=True).start()

    def _work(self) -> None:
        number = 0
        try:
            for one in open_each(self._paths):
                if isinstance(one, Companion):
                    continue  # read with its transcripts
                if not isinstance(one, Source):
                    self._add(one)
                    continue
                try:
                    for sessions in _pieces(one.reader.sessions()):
                        self._add(Listed(number, one, sessions))
                        # what comes after the first screenful must not compete with drawing it
                        self._wanted.wait(_FORBEARANCE)
                except ReachError as error:
                    self._add(error)
                number += 1
        except OSError as error:
            self._add(ReachError(error.strerror or str(error), error.filename))
        finally:
            with self._changed:
                self._done = True
                self._changed.notify_all()

    def _add(self, item: Listed | ReachError) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long, until a source is open or everything has failed; True if nothing has opened."""
        with self._changed:
            self._changed.wait_for(lambda: self._done or self._opened(), seconds)
            return self._done and not self._opened()

    def _opened(self) -> bool:
        return any(isinstance(item, Listed) for item in self._items)

    def first(self) -> Listed | ReachError | None:
        """The first piece, if it is there; the others are read only when somebody iterates (or after ten seconds)."""
        with self._changed:
            return self._items[0] if self._items else None

    def __iter__(self) -> Iterator[Listed | ReachError]:
        """Everything, in the order of the paths, as it comes."""
        self._wanted.set()
        given = 0
        while True:
            with self._changed:
                while not self._done and len(self._items) == given:
                    self._changed.wait()
                fresh = self._items[given:]
            if not fresh:
                return
            given += len(fresh)
            yield from fresh

    def found(self) -> Found:
        """Everything, once all of it is open."""
        items = list(self)
        sources = tuple({item.number: item.source for item in items if isinstance(item, Listed)}.values())
        return Found(sources, tuple(item for item in items if isinstance(item, ReachError)), bool(self._paths))


def _pieces(sessions: Iterator[Session]) -> Iterator[list[Session]]:
    """The sessions in pieces; one empty piece where there are none, so that the source is known."""
    size = _FIRST
    while piece := list(islice(sessions, size)):
        yield piece
        size = _MORE
    if size == _FIRST:
        yield []

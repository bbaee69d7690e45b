"""Opening traces in a thread of its own: each is there as soon as it can be read, the slow ones keep nobody waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reach_tui.base.errors import ReachError
from reach_tui.model import Session
from reach_tui.workspace.sources import Found, Source, open_each


@dataclass(frozen=True, slots=True)
class Listed:
    """A source with its sessions, newest first."""

    source: Source
    sessions: list[Session]


class Opening:
    """Opens paths and lists their sessions, once, in a thread that starts at once."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._items: list[Listed | ReachError] = []
        self._done = False
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="opening", daemon=True).start()

    def _work(self) -> None:
        try:
            for one in open_each(self._paths):
                item: Listed | ReachError
                if isinstance(one, Source):
                    try:
                        item = Listed(one, list(one.reader.sessions()))
                    except ReachError as error:
                        item = error
                else:
                    item = one
                self._add(item)
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
        """Wait until everything is open, at most so long; True if it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._done, seconds)

    def __iter__(self) -> Iterator[Listed | ReachError]:
        """Everything, in the order of the paths, as it comes."""
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
        sources = tuple(item.source for item in items if isinstance(item, Listed))
        return Found(sources, tuple(item for item in items if isinstance(item, ReachError)), bool(self._paths))

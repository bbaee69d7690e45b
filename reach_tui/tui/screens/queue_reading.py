"""What reads for the labelling queue's screen: the queue is found or drawn in a worker, items are read ahead."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.model import Label
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.workspace import Source
from reach_tui.workspace.queue_desk import Desk, Item
from reach_tui.workspace.queueing import notes, opened

if TYPE_CHECKING:
    from reach_tui.workspace.queueing import Progress

_AHEAD = 3
_KEPT = 24
"""Items kept: those read ahead, and those one may go back to."""


class QueueReading(FramedScreen):
    """Opens a queue, and has the items around the current one ready."""

    @dataclass
    class Opened(Message):
        """The queue is there, with its first item."""

        desk: Desk
        item: Item | None

    @dataclass
    class Noted(Message):
        """How many notes have no class yet."""

        count: int

    @dataclass
    class Drawing(Message):
        """How far drawing has come."""

        progress: Progress

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, QueueReading.Drawing)

    @dataclass
    class Failed(Message):
        """There is no queue."""

        error: ReachError

    @dataclass
    class Loaded(Message):
        """An item has been read."""

        position: int
        item: Item

    def __init__(self, sources: Sequence[Source], what: str) -> None:
        super().__init__()
        self.sources = tuple(sources)
        self.what = what
        self.desk: Desk | None = None
        self.items: dict[int, Item] = {}
        """By position, as far as they are read."""
        self.position: int | None = None
        self.wait = "looking for where you were …"
        self._wanted: list[int] = []
        self._asked = threading.Event()
        self._left = False
        """The screen is gone: said before the reading thread is woken, which may see it sooner than its own end."""

    def shown(self) -> None:
        """The current item has been read."""
        raise NotImplementedError  # the screen does

    def redraw(self, *, keep_scroll: bool = False) -> None:
        """Draw everything anew."""
        raise NotImplementedError  # the screen does

    @work(thread=True, group="queue", description="queue", exit_on_error=False)
    def open_queue(self) -> None:
        """Find or draw the queue, and read its first item."""
        worker = get_current_worker()
        try:
            making = opened(self.reach.workspace, self.sources, self.what)
            while True:
                try:
                    self.post_message(self.Drawing(next(making)))
                except StopIteration as end:
                    queue = end.value
                    break
                if worker.is_cancelled:
                    making.close()
                    return
            desk = Desk(self.reach.workspace, self.sources, queue)
            desk.recall_rate()
            first = desk.place.first()
            found = Desk.load(desk, first) if first is not None else None
            self.post_message(self.Opened(desk, found))
            self.post_message(self.Noted(len(notes(self.reach.workspace, self.sources))))
        except ReachError as error:
            self.post_message(self.Failed(error))

    @on(Drawing)
    def _drawing(self, message: Drawing) -> None:
        progress = message.progress
        share = progress.done / progress.sessions if progress.sessions else 0
        self.wait = (
            f"drawing a queue: {progress.done:,} of {progress.sessions:,} sessions, {share:.0%} · Esc gives it up"
        )
        self.redraw()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.wait = message.error.line()
        self.redraw()

    def take_desk(self, desk: Desk, item: Item | None) -> None:
        """The queue is open: keep its first item, and read ahead from now on."""
        self.desk = desk
        if item is not None:
            self.items[item.item.position] = item
        self._read(desk)

    # Reading ahead

    @property
    def item(self) -> Item | None:
        """The current item; None while it is being read, and when all is done."""
        return self.items.get(self.position) if self.position is not None else None

    def want(self) -> None:
        """Ask for the current item and its neighbours, as far as they are not there."""
        assert self.desk is not None
        place, near = self.desk.place, []
        ahead = self.position
        if ahead is not None:
            near = [ahead]
            for _ in range(_AHEAD):
                ahead = place.after(ahead) if ahead is not None else None
                near += [ahead] if ahead is not None else []
            near += [one for one in (place.beside(near[0], step) for step in (-1, 1)) if one is not None]
        for position in list(self.items):
            if len(self.items) <= _KEPT:
                break
            if position not in near:
                del self.items[position]
        self._wanted = [one for one in dict.fromkeys(near) if one not in self.items]
        if self._wanted:
            self._asked.set()

    @work(thread=True, group="read", description="read", exit_on_error=False)
    def _read(self, desk: Desk) -> None:
        worker = get_current_worker()
        while True:
            self._asked.wait()
            self._asked.clear()
            while not (worker.is_cancelled or self._left) and (wanted := self._wanted):
                self._wanted = wanted[1:]
                self.post_message(self.Loaded(wanted[0], desk.load(wanted[0])))
            if worker.is_cancelled or self._left:
                return

    @on(Loaded)
    def _some_loaded(self, message: Loaded) -> None:
        if message.position not in self.items:
            self.items[message.position] = message.item
            if message.position == self.position:
                self.shown()

    def on_unmount(self) -> None:
        self._left = True
        self._asked.set()

    def put_labels(self, labels: Sequence[Label]) -> None:
        """Labels are on disk: the items that are read show them."""
        assert self.desk is not None
        for label in labels:
            position = self.desk.position_of(label)
            item = self.items.get(position) if position is not None else None
            if item is not None and position is not None:
                rest = tuple(one for one in item.labels if (one.by, one.role) != (label.by, label.role))
                self.items[position] = replace(item, labels=(*rest, label) if label.category is not None else rest)

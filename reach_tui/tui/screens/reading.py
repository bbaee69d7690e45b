"""What the screens share that read every source before they show a row: how far that is, and that Escape stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.tui.lines import Line, wrap
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.widgets.line_view import LineList
from reach_tui.workspace.reading import Watch


class ReadingList(LineList):
    """A list that says how far the reading is while it has no rows."""

    waiting = "reading …  Escape stops"

    def empty_line(self, index: int, width: int) -> Line:
        rows = wrap(one_line(self.waiting), width - 4)
        return [(f"  {rows[index - 1]}", "dim")] if 1 <= index <= len(rows) else []


class ReadingScreen(FramedScreen):
    """A framed list that is filled once a worker of the group `reads` has read everything."""

    reads: ClassVar[str]

    @dataclass
    class Progress(Message):
        """So many sessions have been read, in so many seconds."""

        sessions: int
        seconds: float

    def lay_out(self) -> None:
        """Make the rows for the width there is, of what has been read."""
        raise NotImplementedError  # the screen does

    def on_resize(self) -> None:
        self.call_after_refresh(self.lay_out)

    @property
    def reading_list(self) -> ReadingList:
        """The list."""
        return self.query_one(ReadingList)

    def telling(self, message: Callable[[int, float], Message] = Progress) -> Watch:
        """For a worker to call for every session it reads: tells this screen, and stops once it is cancelled."""
        worker, begun = get_current_worker(), time.monotonic()

        def tell(sessions: int) -> None:
            self.post_message(message(sessions, time.monotonic() - begun))

        return Watch(lambda: worker.is_cancelled, tell)

    def wait(self, words: str) -> None:
        """Say why there are no rows."""
        self.reading_list.waiting = words
        self.reading_list.refresh()

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        self.wait(f"{self.how_far(message)} …  Escape stops")

    def how_far(self, message: Progress) -> str:
        """How far the reading is, in words."""
        return f"{message.sessions:,} sessions read"

    def warn(self, problems: Sequence[ReachError]) -> None:
        """Say what could not be read."""
        for problem in problems[:3]:
            self.reach.say(problem.line(), severity="warning")

    def action_back(self) -> None:
        self.workers.cancel_group(self, self.reads)
        self.app.pop_screen()

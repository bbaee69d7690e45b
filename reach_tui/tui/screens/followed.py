"""A session's screen that follows: when the store says that the session changed, its steps are read again."""

from __future__ import annotations

import time
from dataclasses import dataclass

from textual import on, work
from textual.message import Message

from reach_tui.base.errors import ReachError
from reach_tui.tui.live import StoreChanged
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.widgets.step_list import StepList
from reach_tui.workspace import JudgedSession, JudgedStep, Source


class FollowedSession(FramedScreen):
    """What the session's screen does when its store has changed; the cursor stays where it is."""

    source: Source
    judged: JudgedSession
    loaded: bool

    @dataclass
    class ReadingFailed(Message):
        """The session could not be read on."""

        error: ReachError

    @dataclass
    class Reread(Message):
        """The session has been read again, because it changed."""

        steps: list[JudgedStep]
        seconds: float

    def __init__(self) -> None:
        super().__init__()
        self._news = self._rereading = False

    @property
    def step_list(self) -> StepList:
        """The list, with its own type."""
        return self.query_one(StepList)

    @property
    def current(self) -> JudgedStep | None:
        """The step under the cursor."""
        steps = self.step_list
        return steps.steps[steps.rows[steps.cursor].index] if steps.rows else None

    def refold(self) -> None:
        """Lay the rows out anew."""
        raise NotImplementedError  # the session's screen does

    def inspect(self, *, keep_scroll: bool = False) -> None:
        """Show the current step in the inspector."""
        raise NotImplementedError  # the session's screen does

    @on(StoreChanged)
    def _store_changed(self, message: StoreChanged) -> None:
        if message.source is self.source and self.judged.session.id in message.session_ids and self.loaded:
            self._news = True
            if not self._rereading:
                self._rereading = True
                self._reread(self.step_list.steps)

    @work(thread=True, group="reread", description="reread", exit_on_error=False)
    def _reread(self, known: list[JudgedStep]) -> None:
        """Read the session again; what has not changed keeps its verdict."""
        self._news = False
        begun = time.monotonic()
        try:
            steps = list(self.reach.workspace.judged_again(self.source, self.judged.session.id, known))
        except ReachError as error:
            self.post_message(self.ReadingFailed(error))
            steps = known
        self.post_message(self.Reread(steps, time.monotonic() - begun))

    @on(Reread)
    def _read_again(self, message: Reread) -> None:
        begun = time.monotonic()
        before = self.current
        self.step_list.steps = list(message.steps)
        self.refold()
        if self.current != before:
            self.inspect(keep_scroll=True)
        # an eighth of a core: the longer the session, the rarer it is read, but every 1.3 s
        spent = message.seconds + time.monotonic() - begun
        self.set_timer(min(1.3, max(0.3, 7 * spent)), self._reread_if_news)

    def _reread_if_news(self) -> None:
        if self._news:
            self._reread(self.step_list.steps)
        else:
            self._rereading = False

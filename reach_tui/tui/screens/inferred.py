"""A session's screen that infers: routes and slots of the calls around the cursor, ahead of the keys, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.tui.rows import StepRow
from reach_tui.tui.screens.followed import FollowedSession
from reach_tui.workspace import JudgedCall, JudgedStep

if TYPE_CHECKING:
    from reach_tui.infer.held import Belief
    from reach_tui.model import ToolCall
    from reach_tui.workspace.insights import SessionInsights
    from reach_tui.workspace.slots import Insight

_QUIET = 0.02
"""Seconds after a key in which the thread does nothing: the key is drawn first."""
_REST = 0.15
"""Seconds that the cursor must rest before what was not ready in time is drawn: never while keys come."""
_IDLE, _MOST_IDLE = 0.5, 10_000
"""Seconds without a key after which the rest of the session is taken in, and the steps of it at most."""
_AHEAD, _BEHIND = 8, 2
"""Rows below and above the cursor that are inferred before it comes there."""
_SEARCHED = 500  # steps that are looked through for the next failure, where `n` and `h` go


@dataclass(frozen=True, slots=True)
class _Look:
    """What the thread needs of the list: its steps, its rows, where the cursor stands."""

    steps: Sequence[JudgedStep]
    rows: Sequence[StepRow]
    cursor: int

    def places(self) -> Iterator[int]:
        """The steps that may be looked at next, the one under the cursor first."""
        rows, here = self.rows, self.cursor
        below = range(here + 1, min(len(rows), here + 1 + _AHEAD))
        above = range(here - 1, max(-1, here - 1 - _BEHIND), -1)
        yield from (rows[place].index for place in (here, *below))
        start = rows[here].index + 1
        failures = (place for place in range(start, min(len(self.steps), start + _SEARCHED)) if self._failed(place))
        yield from (place for place, _ in zip(failures, range(2), strict=False))
        yield from (rows[place].index for place in above)

    def _failed(self, place: int) -> bool:
        judged = self.steps[place].judged
        return judged is not None and judged.verdict.failed is True


class InferredSession(FollowedSession):
    """Knows what can be inferred about a call when the cursor comes there; what comes late is drawn when keys pause."""

    @dataclass
    class Told(Message):
        """What the cursor rests on has been inferred."""

        asked: ToolCall

    @dataclass
    class NotTold(Message):
        """Nothing could be inferred about a call."""

        error: ReachError

    def __init__(self) -> None:
        super().__init__()
        self._insights: dict[str, tuple[ToolCall, Insight | None]] = {}
        self._inferring: SessionInsights | None = None
        self._thread: Worker[None] | None = None
        self._look: _Look | None = None
        self._wanted = threading.Event()
        self._left = False
        self._key_at = 0.0
        self._rest: Timer | None = None
        self._awaited: ToolCall | None = None
        """The call that the cursor rests on while it is being inferred."""
        self.when_told: Callable[[], None] | None = None
        """Called when the current call has been told more of: the full-screen view draws it anew."""

    def on_unmount(self) -> None:
        self._left = True
        self._wanted.set()  # or the thread would wait for ever, and the program with it

    def told(self, step: JudgedStep) -> tuple[JudgedStep, Belief | None, bool]:
        """The step with route and slots as far as they are known, what an edit believed, and whether more will come."""
        if step.judged is None:
            return step, None, False
        call = step.judged.call
        asked, insight = self._insights.get(call.key, (None, None))
        if asked is not call:
            return step, None, True
        if insight is None:
            return step, None, False
        return replace(step, judged=replace(step.judged, call=insight.call)), insight.belief, False

    def infer(self) -> None:
        """The cursor stands on a step: infer it and what is around, and draw it once it rests if it was not ready."""
        steps = self.step_list
        self._key_at, self._awaited = time.monotonic(), None
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        if self.current is None:
            return
        self._look = _Look(steps.steps, steps.rows, steps.cursor)
        self._wanted.set()
        if self._thread is None or self._thread.is_finished:
            self._thread = self._infer()
        if self.told(self.current)[2]:
            self._rest = self.set_timer(_REST, self._rested)

    def _rested(self) -> None:
        """Draw what has come meanwhile; what has not is drawn when it comes."""
        call = self.current.judged.call if self.current is not None and self.current.judged is not None else None
        if call is not None:
            self._awaited = call
            if not self._asks(call):
                self._now_told(self.Told(call))

    def _asks(self, call: ToolCall) -> bool:
        return self._insights.get(call.key, (None, None))[0] is not call

    # In the thread

    @work(thread=True, group="infer", description="infer", exit_on_error=False)
    def _infer(self) -> None:
        worker = get_current_worker()
        while self._wanted.wait() and not (worker.is_cancelled or self._left):
            self._wanted.clear()
            look = self._look
            gone: Callable[[], bool] = lambda look=look: self._look is not look or self._left or worker.is_cancelled  # type: ignore[misc]  # noqa: E731
            for place in look.places() if look is not None else ():
                while (left := self._key_at + _QUIET - time.monotonic()) > 0:
                    time.sleep(left)
                if look is None or gone():
                    break
                judged = look.steps[place].judged
                if judged is not None and self._asks(judged.call):
                    self._infer_one(look, place, judged, gone)
            if look is not None:
                self._take_rest(look, gone)

    def _take_rest(self, look: _Look, gone: Callable[[], bool]) -> None:
        """The keys `G` and `n` go far: what stands before a call there is known by then."""
        while not gone() and time.monotonic() < self._key_at + _IDLE:
            time.sleep(0.05)
        if self._inferring is not None and not gone():
            self._inferring.ahead(look.steps[:_MOST_IDLE], gone)

    def _infer_one(self, look: _Look, place: int, judged: JudgedCall, gone: Callable[[], bool]) -> None:
        from reach_tui.workspace.insights import SessionInsights

        try:
            if self._inferring is None:
                self._inferring = SessionInsights(self.reach.workspace.inference(self.source), self.judged.session)
            insight = self._inferring.of(look.steps, place, gone)
        except ReachError as error:
            if all(known for _, known in self._insights.values()):  # one word is enough
                self.post_message(self.NotTold(error))
            insight = None
        else:
            if insight is None:
                return  # somebody has gone on: later, perhaps
        self._insights[judged.call.key] = (judged.call, insight)
        if self._awaited is judged.call:
            self.post_message(self.Told(judged.call))

    # What the thread says

    @on(Told)
    def _now_told(self, message: Told) -> None:
        if self._awaited is not message.asked:
            return
        self._awaited = None
        if self.current is not None and self.current.judged is not None:
            self.inspect(keep_scroll=True)
            if self.when_told is not None:
                self.when_told()

    @on(NotTold)
    def _not_told(self, message: NotTold) -> None:
        self.reach.say(message.error.line(), severity="warning")

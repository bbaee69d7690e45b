"""A session's screen that infers: routes and slots of the call under the cursor come a moment after the step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.tui.screens.followed import FollowedSession
from reach_tui.workspace import JudgedStep

if TYPE_CHECKING:
    from reach_tui.infer.held import Belief
    from reach_tui.model import ToolCall
    from reach_tui.workspace.insights import SessionInsights
    from reach_tui.workspace.slots import Insight

_REST = 0.02
"""Seconds that the cursor must rest before anything is inferred: stepping on is never slower for it."""


class InferredSession(FollowedSession):
    """Asks for what can be inferred about the current call, in a thread; late answers are kept, not shown."""

    @dataclass
    class Told(Message):
        """Route, slots and belief of a call have been inferred."""

        asked: ToolCall
        insight: Insight

    @dataclass
    class NotTold(Message):
        """Nothing could be inferred about a call."""

        asked: ToolCall
        error: ReachError

    def __init__(self) -> None:
        super().__init__()
        self._insights: dict[str, tuple[ToolCall, Insight | None]] = {}
        self._inferring: SessionInsights | None = None
        self._rest: Timer | None = None
        self.when_told: Callable[[], None] | None = None
        """Called when the current call has been told more of: the full-screen view draws it anew."""

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
        """Infer the current step, once the cursor rests on it."""
        step = self.current
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        if step is not None and self.told(step)[2]:
            self._rest = self.set_timer(_REST, self._infer_current)

    def _infer_current(self) -> None:
        steps = self.step_list
        if steps.rows and self.current is not None and self.told(self.current)[2]:
            self._infer(list(steps.steps), steps.rows[steps.cursor].index)

    @work(thread=True, group="infer", description="infer", exclusive=True, exit_on_error=False)
    def _infer(self, steps: list[JudgedStep], place: int) -> None:
        from reach_tui.workspace.insights import SessionInsights

        judged = steps[place].judged
        if judged is None:
            return
        worker = get_current_worker()
        try:
            if self._inferring is None:
                self._inferring = SessionInsights(self.reach.workspace.inference(self.source), self.judged.session)
            insight = self._inferring.of(steps, place, lambda: worker.is_cancelled)
        except ReachError as error:
            self.post_message(self.NotTold(judged.call, error))
            return
        if insight is not None:
            self.post_message(self.Told(judged.call, insight))

    @on(Told)
    def _now_told(self, message: Told) -> None:
        self._insights[message.asked.key] = (message.asked, message.insight)
        self._shown_again(message.asked)

    @on(NotTold)
    def _not_told(self, message: NotTold) -> None:
        self._insights[message.asked.key] = (message.asked, None)
        self.reach.say(message.error.line(), severity="warning")
        self._shown_again(message.asked)

    def _shown_again(self, call: ToolCall) -> None:
        if self.current is not None and self.current.judged is not None and self.current.judged.call is call:
            self.inspect(keep_scroll=True)
            if self.when_told is not None:
                self.when_told()

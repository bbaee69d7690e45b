"""Routes and slots of one open session, call by call, as a person looks at them."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reach_tui.workspace.judged import JudgedStep
from reach_tui.workspace.slots import Insight

if TYPE_CHECKING:
    from reach_tui.model import Session, ToolCall
    from reach_tui.workspace.inferring import Inference, SessionRoutes
    from reach_tui.workspace.slots import SessionSlots

_PIECE = 16  # steps taken in between two looks at whether the answer is still wanted


class SessionInsights:
    """What is inferred about one session; reads its steps as far as the call asked for. Threads wait for each other."""

    def __init__(self, inference: Inference, session: Session) -> None:
        self._inference = inference
        self._session = session
        self._routes: SessionRoutes | None = None
        self._slots: SessionSlots | None = None
        self._taken: list[JudgedStep] = []
        self._lock = threading.Lock()

    def of(self, steps: Sequence[JudgedStep], place: int, cancelled: Callable[[], bool] = bool) -> Insight | None:
        """The call at that place with route, slots, confidence and belief; None for a message, or once cancelled.

        What was taken in before is kept as long as the session's steps are the same. Raises `StoreError`.
        """
        judged = steps[place].judged if place < len(steps) else None
        if judged is None:
            return None
        with self._lock:
            insight = self._slots_of(judged.call, steps, place, cancelled)
            if insight is None or self._routes is None:
                return None
            return replace(insight, call=replace(insight.call, route=self._routes.route(judged.call)))

    def _slots_of(
        self, call: ToolCall, steps: Sequence[JudgedStep], place: int, cancelled: Callable[[], bool]
    ) -> Insight | None:
        if self._slots is None or self._routes is None or self._changed(steps, place):
            self._routes, self._slots = self._inference.routes(self._session.id), self._inference.slots(self._session)
            self._taken = []
        while len(self._taken) < place:
            if cancelled():
                return None
            self._take(self._routes, self._slots, steps, min(place, len(self._taken) + _PIECE))
        return self._slots.insight(call)

    def _take(self, routes: SessionRoutes, slots: SessionSlots, steps: Sequence[JudgedStep], upto: int) -> None:
        for one in steps[len(self._taken) : upto]:
            routes.add(one)
            slots.add(one)
            self._taken.append(one)

    def ahead(self, steps: Sequence[JudgedStep], cancelled: Callable[[], bool]) -> None:
        """Take in the steps that come later, until cancelled, so that a call far below need not wait for them.

        Nothing happens before a call was asked for. A step that is another by then is noticed by `of`.
        """
        while not cancelled():
            with self._lock:
                if self._routes is None or self._slots is None or len(self._taken) >= len(steps):
                    return
                self._take(self._routes, self._slots, steps, len(self._taken) + _PIECE)

    def _changed(self, steps: Sequence[JudgedStep], place: int) -> bool:
        """True if a step that was taken in is another now: a call that has its result meanwhile, a session reverted."""
        upto = min(place, len(self._taken), len(steps))
        if all(map(operator.is_, self._taken[:upto], steps[:upto])):  # nearly always, and asked at every step
            return False
        return any(not _same(self._taken[number], steps[number]) for number in range(upto))


def _same(one: JudgedStep, other: JudgedStep) -> bool:
    if one is other:
        return True
    if one.judged is None or other.judged is None:
        return one.judged is other.judged and one.step == other.step
    return one.judged.call is other.judged.call or one.judged.call == other.judged.call

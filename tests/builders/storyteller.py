"""A small language for invented sessions: who says what, which tool is called, what the router and the slots knew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reach_tui.model import Candidate, Session, Slot, StepKind, Tokens
from reach_tui.reach import Asking
from tests.builders.studio import Reply, Studio

MONDAY = 1_780_304_400_000
"""2026-06-01 09:00 UTC: the day all sample sessions begin."""
Scores = Sequence[tuple[str, float, str]]


def slot(
    name: str,
    value: Any,
    source: str,
    origin: str | None = None,
    step: int | None = None,
    *,
    matches: int | None = None,
    confidence: float | None = None,
    note: str = "",
) -> Slot:
    """A recorded slot; with an origin it is one match and 0.97 sure unless said otherwise."""
    if origin is not None and matches is None:
        matches = 1
    if confidence is None and source != "composed":
        confidence = 0.97 if origin is not None else 0.0
    where = f"step {step} · {origin}" if step is not None and origin else origin
    return Slot(name, value, source, "recorded", where, step, matches, confidence, note)


class Story:
    """One session under way: a clock, a turn, a task (trace), and the layer that does and records what is told."""

    def __init__(
        self,
        studio: Studio,
        session_id: str,
        title: str | None,
        *,
        hour: float = 0,
        outcome: str | None = "success",
        parent: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.studio = studio
        self.id = session_id
        self.title = title
        self.outcome = outcome
        self.parent = parent
        self.notes = notes
        self.started = studio.now = MONDAY + int(hour * 3_600_000)
        self.turn = 0
        self.task = 0
        self.tokens = [0, 0]
        studio.slots.clear()
        studio.records.session(self._session(None))

    def _session(self, ended: int | None) -> Session:
        return Session(
            store="reach",
            id=self.id,
            parent_id=self.parent,
            title=self.title,
            project="shop-support",
            model="example-model-1",
            started_at=self.started,
            ended_at=ended,
            tokens=Tokens(*self.tokens) if ended else Tokens(),
            outcome=self.outcome,
            own_work=self.parent is None,
            notes=self.notes,
            turns=self.turn if ended else None,
        )

    @property
    def trace(self) -> str:
        """The task under way; a turn that answers a question back belongs to the task that asked."""
        return f"{self.id}/task-{self.task}"

    def user(self, text: str, *, same_task: bool = False) -> int:
        """The user writes; a new task unless it answers a question."""
        self.turn += 1
        self.task += 0 if same_task and self.task else 1
        return self._message(StepKind.USER, text)

    def say(self, text: str) -> int:
        """The agent writes."""
        return self._message(StepKind.ASSISTANT, text)

    def think(self, text: str) -> int:
        """The agent's reasoning, where the runtime keeps it."""
        return self._message(StepKind.REASONING, text)

    def error(self, text: str) -> int:
        """The runtime's own failure."""
        return self._message(StepKind.ERROR, text)

    def _message(self, kind: StepKind, text: str) -> int:
        self.studio.now += 1_500
        self.tokens[0 if kind is StepKind.USER else 1] += 40 + len(text) // 3
        return self.studio.records.message(self.id, kind, text, turn=self.turn, at=self.studio.now)

    def call(
        self,
        tool: str,
        arguments: Any,
        result: str | None,
        scores: Scores,
        slots: Sequence[Slot] = (),
        *,
        intent: str = "",
        ms: int = 180,
        metadata: Mapping[str, Any] | None = None,
        status: int = 200,
        then: tuple[str, str, int, Sequence[Slot]] | None = None,
    ) -> int:
        """A call that the layer makes, answered as told; returns the place of the one that answered in the end.

        `result` None: the agent was killed while it waited. `status`: of HTTP. `then`: the tool does not answer in
        time, and this other one, its answer, its time and its slots follow.
        """
        self.studio.now += 400
        self.studio.candidates = _candidates(scores)
        self.studio.slots[tool] = tuple(slots)
        if then is None:
            replies = [Reply(result or "", ms, status, metadata or {}, killed=result is None)]
        else:
            self.studio.slots[then[0]] = tuple(then[3])
            replies = [Reply("", ms, silent=True), Reply(then[1], then[2])]
        place = self.studio.call(intent or f"{tool}_intent", self._asking(), tool, arguments, *replies)
        self.tokens[0] += len(result or "") // 3
        return place

    def decision(self, scores: Scores, intent: str) -> None:
        """A routing decision that leads to no call: a question back, or `I cannot do that`."""
        self.studio.candidates = _candidates(scores)
        self.studio.call(intent, self._asking(), None, {})

    def _asking(self) -> Asking:
        return Asking(self.id, trace_id=self.trace, turn=self.turn)

    def end(self) -> None:
        """Close the session's row: end, turns and tokens are known now."""
        self.studio.records.session(self._session(self.studio.now))


def _candidates(scores: Scores) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, score, reason) for name, score, reason in scores)

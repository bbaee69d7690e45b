"""A small language for invented sessions: who says what, which tool is called, what the router and the slots knew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reach_tui.model import Candidate, Result, Route, Session, Slot, StepKind, Thresholds, Tokens, ToolCall
from reach_tui.native.event import Event
from reach_tui.native.writer import NativeWriter

MONDAY = 1_780_304_400_000
"""2026-06-01 09:00 UTC: the day all sample sessions begin."""
THRESHOLDS = Thresholds()
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


def decide(scores: Scores) -> str:
    """The double threshold of seed B, section 3.2."""
    if not scores or scores[0][1] < THRESHOLDS.floor:
        return "no_capability"
    second = scores[1][1] if len(scores) > 1 else 0.0
    sure = scores[0][1] >= THRESHOLDS.t1 and round(scores[0][1] - second, 6) >= THRESHOLDS.gap
    return "execute" if sure else "clarify"


class Story:
    """One session under way: a clock, a turn, a task (trace) and the writer."""

    def __init__(
        self,
        writer: NativeWriter,
        session_id: str,
        title: str | None,
        *,
        hour: float = 0,
        outcome: str | None = "success",
        parent: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.writer = writer
        self.id = session_id
        self.title = title
        self.outcome = outcome
        self.parent = parent
        self.notes = notes
        self.started = self.now = MONDAY + int(hour * 3_600_000)
        self.turn = 0
        self.task = 0
        self.calls = 0
        self.tokens = [0, 0]
        writer.add_session(self._session(None))

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
        self.now += 1_500
        self.tokens[0 if kind is StepKind.USER else 1] += 40 + len(text) // 3
        return self.writer.add_message(self.id, kind, text, turn=self.turn, at=self.now)

    def call(
        self,
        tool: str,
        arguments: Any,
        result: str | None,
        scores: Scores,
        slots: Sequence[Slot] = (),
        *,
        intent: str = "",
        flagged: bool | None = False,
        error_type: str = "none",
        retryable: bool | None = None,
        param_valid: bool = True,
        ms: int = 180,
        status: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        fallback: bool = False,
        detail: str | None = None,
    ) -> int:
        """A call with its route and slots, then what the executor met. `result` None: it never came back."""
        self.calls += 1
        self.now += 400
        key = f"{self.id}/call-{self.calls}"
        route = Route("recorded", intent or f"{tool}_intent", _candidates(scores), decide(scores), THRESHOLDS)
        word = status or ("running" if result is None else "error" if flagged else "completed")
        call = ToolCall(
            key=key,
            id=f"call_{self.calls:03d}",
            session_id=self.id,
            tool=tool,
            arguments=arguments,
            flagged=None if result is None else flagged,
            result=None if result is None else Result(result, len(result.encode())),
            turn=self.turn,
            started_at=self.now,
            duration_ms=None if result is None else ms,
            status=word,
            metadata=dict(metadata or {}),
            route=None if fallback else route,
            slots=tuple(slots) or None,
        )
        place = self.writer.add_call(call, trace_id=self.trace)
        if fallback:
            self.decision(scores, intent or f"{tool}_intent", step="fallback", call_key=key)
        if result is not None:
            self.writer.add_event(
                Event(
                    trace_id=self.trace,
                    step="execute",
                    session_id=self.id,
                    call_key=key,
                    param_valid=param_valid,
                    error_type=error_type,
                    retryable=retryable,
                    duration_ms=ms,
                    at=self.now + ms,
                    detail=detail,
                )
            )
            self.now += ms
        self.tokens[0] += len(result or "") // 3
        return place

    def decision(
        self,
        scores: Scores,
        intent: str,
        *,
        step: str = "route",
        call_key: str | None = None,
        detail: str | None = None,
    ) -> None:
        """A routing decision; without a call it is a step of its own: a question back, or `I cannot do that`."""
        seq = None if call_key else self.writer.next_place(self.id)
        self.writer.add_event(
            Event(
                trace_id=self.trace,
                step=step,
                session_id=self.id,
                call_key=call_key,
                seq=seq,
                intent=intent,
                candidates=_candidates(scores),
                decision=decide(scores),
                thresholds=THRESHOLDS,
                error_type="no_capability" if call_key is None and decide(scores) == "no_capability" else None,
                at=self.now,
                detail=detail,
            )
        )

    def end(self) -> None:
        """Close the session's row: end, turns and tokens are known now."""
        self.writer.add_session(self._session(self.now))


def _candidates(scores: Scores) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, score, reason) for name, score, reason in scores)

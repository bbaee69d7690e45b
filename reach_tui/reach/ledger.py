"""Rows and events of one request, as the native database keeps them (spec B12)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from reach_tui.base.errors import ReachError
from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Candidate, Result, Route, Slot, ToolCall
from reach_tui.native.event import Event
from reach_tui.reach.asking import Asking
from reach_tui.reach.events import Recorder
from reach_tui.reach.executor import Outcome
from reach_tui.reach.feedback import cut
from reach_tui.reach.filters import Left
from reach_tui.reach.slots import Filling

_log = logging.getLogger("reach_tui.reach")


@dataclass(frozen=True, slots=True)
class Ledger:
    """Writes down one request; without `events` nothing is kept."""

    events: Recorder | None
    asking: Asking
    intent: str
    route: Route
    left: tuple[Left, ...]
    wall: Callable[[], int]
    """Milliseconds since 1970 UTC."""

    def clarify(self, error_type: str, what: str) -> int | None:
        """Record a question about values; returns its place."""
        place = self.events.place(self.asking.session_id) if self.events else None
        event = self.event("clarify", None, seq=place, decision="clarify", error_type=error_type, detail=cut(what))
        self.record(None, [event])
        return place

    def begin(
        self,
        tool: str,
        params: Mapping[str, JsonValue],
        filled: Filling | None,
        step: str,
        candidates: tuple[Candidate, ...],
        tried: tuple[str, ...],
        chosen: bool,
    ) -> ToolCall:
        """Record that a call begins, with the decision that led to it."""
        place = self.events.place(self.asking.session_id) if self.events else 0
        at = self.wall()
        call = ToolCall(
            key=f"{self.asking.session_id}/call-{place}" if place else "",
            id=f"call_{place}" if place else "",
            session_id=self.asking.session_id,
            tool=tool,
            arguments=dict(params),
            step=place,
            turn=self.asking.turn,
            started_at=at,
            status="running",
            slots=tuple(_with_origin(slot, self.asking) for slot in filled.slots) if filled is not None else None,
        )
        reason = f"after {', '.join(tried)}" if tried else "chosen by the model or the user" if chosen else None
        left = "; ".join(f"{one.name}: {one.reason}" for one in self.left)
        detail = "; ".join(part for part in (reason, f"left out: {left}" if left and not tried else None) if part)
        event = self.event(
            step,
            call.key,
            candidates=candidates,
            decision="execute" if tried else self.route.decision,
            detail=cut(detail, 500) or None,
            at=at,
        )
        self.record(call, [event])
        return call

    def end(self, call: ToolCall, outcome: Outcome, text: str) -> None:
        """Record what came back, `text` being what the model gets: an event for each try, the last one last."""
        tries = outcome.tries or ()
        failure = outcome.failure
        last = failure.error_type if failure is not None else "none"
        duration = round(outcome.duration_ms)
        now = self.wall()
        done = replace(
            call,
            result=Result(text, len(text.encode("utf-8", "replace"))),
            flagged=failure is not None,
            status="error" if failure is not None else "completed",
            duration_ms=duration,
            metadata={**outcome.metadata, **({"truncated": True, "cuts": list(outcome.cuts)} if outcome.cuts else {})},
        )
        events = [
            self.event(
                "execute",
                call.key,
                param_valid=outcome.param_valid,
                error_type=one.error_type,
                retryable=True,
                duration_ms=round(one.duration_ms),
                at=now,
                detail=f"try {number}, again after {one.retry_in_ms:.0f} ms",
            )
            for number, one in enumerate(tries, start=1)
            if one.retry_in_ms is not None
        ]
        detail = None if failure is None else cut(failure.detail) or None
        events.append(
            self.event(
                "execute",
                call.key,
                param_valid=outcome.param_valid,
                error_type=last,
                retryable=None if failure is None else failure.retryable,
                duration_ms=round(tries[-1].duration_ms) if tries else duration,
                at=now,
                detail=detail,
            )
        )
        self._record_end(done, events)

    def end_early(self, call: ToolCall, error_type: str) -> None:
        """Record a call that was cancelled, or broken off by a fault of this side."""
        now = self.wall()
        took = max(0, now - (call.started_at or now))
        done = replace(call, status=error_type, duration_ms=took, metadata={"interrupted": True})
        event = self.event(
            "execute", call.key, error_type=error_type, retryable=error_type == "cancelled", duration_ms=took, at=now
        )
        self._record_end(done, [event])

    def event(
        self,
        step: str,
        call_key: str | None,
        *,
        seq: int | None = None,
        candidates: tuple[Candidate, ...] | None = None,
        decision: str | None = None,
        param_valid: bool | None = None,
        error_type: str | None = None,
        retryable: bool | None = None,
        duration_ms: int | None = None,
        at: int | None = None,
        detail: str | None = None,
    ) -> Event:
        """An event of this request."""
        return Event(
            trace_id=self.asking.trace,
            step=step,
            session_id=self.asking.session_id,
            call_key=call_key,
            seq=seq,
            intent=self.intent,
            candidates=candidates,
            decision=decision,
            thresholds=self.route.thresholds if candidates is not None else None,
            param_valid=param_valid,
            error_type=error_type,
            retryable=retryable,
            duration_ms=duration_ms,
            at=self.wall() if at is None else at,
            detail=detail,
        )

    def decided(self, route: Route, why: str) -> None:
        """Record a decision that led to no call: a question back, or `I cannot do that`."""
        place = self.events.place(self.asking.session_id) if self.events else None
        refused = route.decision == "no_capability"
        event = self.event(
            "route",
            None,
            seq=place,
            candidates=route.candidates,
            decision=route.decision,
            error_type="no_capability" if refused else None,
            detail=why,
        )
        self.record(None, [event])

    def _record_end(self, call: ToolCall, events: list[Event]) -> None:
        """What was done is done: a record that cannot be kept must neither hide the answer nor stop a cancellation."""
        try:
            self.record(call, events)
        except ReachError as error:
            _log.error("the end of call %s is not recorded: %s", call.key, error.line())

    def record(self, call: ToolCall | None, events: list[Event]) -> None:
        """Hand rows to whoever records."""
        if self.events is not None:
            self.events.record(call, events)


def _with_origin(slot: Slot, asking: Asking) -> Slot:
    """The slot with the origin that the caller knows, where the filler found none."""
    known = asking.origins.get(slot.name)
    if known is None or slot.origin is not None:
        return slot
    return replace(slot, origin=known[0], origin_step=known[1])

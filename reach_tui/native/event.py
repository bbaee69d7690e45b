"""One routing or execution event, as seed B records them (B12)."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.model import Candidate, Thresholds


@dataclass(frozen=True, slots=True)
class Event:
    """What one stage decided or met. Unknown is None."""

    trace_id: str
    """The task chain it belongs to; unique over all of them."""
    step: str
    """The stage: route, execute, clarify or fallback."""
    session_id: str
    call_key: str | None = None
    """The tool call it is about; None where none was made (clarify, no_capability)."""
    seq: int | None = None
    """Its place among the steps of the session, for events without a call."""
    intent: str | None = None
    candidates: tuple[Candidate, ...] | None = None
    decision: str | None = None
    """execute, clarify or no_capability."""
    thresholds: Thresholds | None = None
    """The thresholds the decision was made with."""
    param_valid: bool | None = None
    error_type: str | None = None
    """A member of the closed enumeration; `none` where the stage met no error."""
    retryable: bool | None = None
    duration_ms: int | None = None
    at: int | None = None
    """Milliseconds since 1970 UTC."""
    detail: str | None = None
    """Free text beside the enumerations."""

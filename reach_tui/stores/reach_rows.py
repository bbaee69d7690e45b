"""What the cells and single rows of a native Reach database say, whatever somebody has put into them."""

from __future__ import annotations

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, loads
from reach_tui.base.sqlite import Row, text_of
from reach_tui.model import Candidate, Result, Route, Thresholds
from reach_tui.native.event import Event


def words(value: object) -> str | None:
    """A text, also where it was stored as bytes; None where there is none."""
    return value if value is None or type(value) is str else text_of(value)


def real(value: object) -> float | None:
    """A number; None for anything else."""
    return float(value) if isinstance(value, int | float) and value == value else None


def flag(value: object) -> bool | None:
    """0 and 1; None for anything else."""
    return bool(value) if value in (0, 1) else None


def natural(value: object) -> int | None:
    """A whole number from 0; None for anything else."""
    whole = as_int(value) if isinstance(value, int | float) else None
    return whole if whole is not None and whole >= 0 else None


def _candidates(raw: object, problems: list[str]) -> tuple[Candidate, ...] | None:
    if raw is None:
        return None
    try:
        listed = loads(text_of(raw))
    except BadJson:
        listed = None
    if not isinstance(listed, list):
        problems.append("unreadable candidates")
        return ()
    found = []
    for item in map(as_object, listed):
        score = real(item.get("score"))
        if isinstance(item.get("name"), str) and score is not None:
            found.append(Candidate(text_of(item["name"]), score, text_of(item.get("reason"))))
        else:
            problems.append("unreadable candidate")
    return tuple(sorted(found, key=lambda one: -one.score))


def event_of(row: Row, problems: list[str]) -> Event:
    """An event; what cannot be read of it is added to `problems`."""
    limits = [real(row[name]) for name in ("t1", "gap", "floor")]
    t1, gap, floor = limits
    return Event(
        trace_id=text_of(row["trace_id"]),
        step=text_of(row["step"]),
        session_id=text_of(row["session_id"]),
        call_key=words(row["call_key"]),
        seq=natural(row["seq"]),
        intent=words(row["intent"]),
        candidates=_candidates(row["candidates"], problems),
        decision=words(row["decision"]),
        thresholds=None if t1 is None or gap is None or floor is None else Thresholds(t1, gap, floor),
        param_valid=flag(row["param_valid"]),
        error_type=words(row["error_type"]),
        retryable=flag(row["retryable"]),
        duration_ms=natural(row["duration_ms"]),
        at=parse_time(row["at"]),
        detail=words(row["detail"]),
    )


def route_of(event: Event) -> Route | None:
    """The route that an event records; None where it decides nothing."""
    if event.decision is None or event.candidates is None:
        return None
    thresholds = event.thresholds or Thresholds()
    return Route("recorded", event.intent or "", event.candidates, event.decision, thresholds)


def execution_of(event: Event) -> dict[str, JsonValue]:
    """An execute event's facts, as they stand in a call's metadata."""
    facts: dict[str, JsonValue] = {
        "trace_id": event.trace_id,
        "param_valid": event.param_valid,
        "error_type": event.error_type,
        "retryable": event.retryable,
        "detail": event.detail,
    }
    return {name: value for name, value in facts.items() if value is not None}


def decision_text(event: Event) -> str:
    """A decision that led to no call, in one line."""
    listed = ", ".join(f"{one.name} {one.score:.2f}" for one in event.candidates or ()) or "no candidate"
    parts = [f"{event.step}: {event.decision or event.error_type or 'undecided'}", event.intent or "no intent", listed]
    return " · ".join([*parts, event.detail] if event.detail else parts)


def place_of(seq: object) -> float:
    """Where a row stands in its session: last, where that was not recorded."""
    place = real(seq)
    return float("inf") if place is None else place


def result_of(value: object) -> Result | None:
    """A result with its bytes; None where there is none."""
    if value is None:
        return None
    text = text_of(value)
    return Result(text, len(text.encode("utf-8")))

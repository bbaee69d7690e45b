"""What the calls of a session, or of a whole store, add up to."""

from __future__ import annotations

from collections.abc import Iterable

from reach_tui.model import Counts, ToolCall, Verdict, is_hidden


def count(pairs: Iterable[tuple[ToolCall, Verdict]], turns: int = 0) -> Counts:
    """Calls, flags and verdicts counted; `unreadable` counts calls whose row was not whole."""
    calls = flagged = failed = hidden = soft = unfinished = unreadable = 0
    for call, verdict in pairs:
        calls += 1
        flagged += call.flagged is True
        failed += verdict.failed is True
        hidden += is_hidden(call, verdict)
        soft += verdict.soft
        unfinished += call.result is None
        unreadable += call.problem is not None
    return Counts(turns, calls, flagged, failed, hidden, soft, unfinished, unreadable)

"""When a failed call may be sent again (spec B10, seed 4.3): by idempotence, kind of failure and time left."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.reach.spec import ToolSpec

TRANSIENT = frozenset({"timeout", "upstream_5xx", "network", "rate_limited", "bad_response"})
"""What may pass by itself. Everything else fails again until somebody changes the call."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Whether to try again, after how many milliseconds, and why not."""

    again: bool
    wait_ms: float = 0.0
    why: str = ""


def may_retry(spec: ToolSpec) -> bool:
    """Only what is declared idempotent is ever sent twice by itself, writes and reads alike."""
    return spec.idempotent


def next_try(
    spec: ToolSpec, tries: int, error_type: str, *, retry_after_ms: float | None = None, left_ms: float = float("inf")
) -> Retry:
    """What follows after `tries` failed tries, the last one with `error_type`.

    A server's `Retry-After` lengthens the wait; a wait that would use up what is left of the budget is not begun.
    """
    if not may_retry(spec):
        return Retry(False, why="not idempotent")
    if error_type not in TRANSIENT:
        return Retry(False, why="would fail again")
    if tries > spec.retries:
        return Retry(False, why=f"tried {tries} times")
    wait_ms = max(float(spec.retry_policy.wait_ms(tries)), retry_after_ms or 0.0)
    if wait_ms >= left_ms:
        return Retry(False, wait_ms, f"{wait_ms:.0f} ms to wait, {left_ms:.0f} ms left")
    return Retry(True, wait_ms)

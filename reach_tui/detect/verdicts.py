"""Small builders of verdicts."""

from __future__ import annotations

from reach_tui.model import Evidence, ToolCall, Verdict

Class = tuple[str | None, str | None]
"""Level 1 and level 2 of the taxonomy."""


def split(category: str | None) -> Class:
    """`level1/level2` as a pair."""
    level1, _, level2 = (category or "").partition("/")
    return level1 or None, level2 or None


def span(text: str, start: int, end: int) -> Evidence:
    """The evidence `text[start:end]`."""
    return Evidence(text[start:end], start, end)


def status_evidence(call: ToolCall) -> Evidence | None:
    """The store's own word for the call's state, None without one."""
    return Evidence(call.status, 0, len(call.status), "status") if call.status else None


def failed(confidence: float, category: str | None, rule: str, evidence: Evidence | None, explanation: str) -> Verdict:
    """A failed verdict of a class given as `level1/level2`."""
    return verdict("failed", confidence, split(category), rule, evidence, explanation)


def verdict(
    verdict: str,
    confidence: float,
    category: Class,
    rule: str,
    evidence: Evidence | None,
    explanation: str,
) -> Verdict:
    """The verdict for a rule's word: failed, soft, ok or check_reported."""
    failed = {"failed": True, "soft": None}.get(verdict, False)
    level1, level2 = category
    if failed and level1 is None:
        level1 = "upstream_error"
    if verdict == "check_reported":
        level1, level2 = "not_a_failure", "check_reported"
    return Verdict(failed, confidence, level1, level2, rule, evidence, explanation)

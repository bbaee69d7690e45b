"""The closed enumeration of `error_type` in events, and what older free spellings meant (seed B, B13)."""

from __future__ import annotations

import re

ERROR_TYPES = (
    "none",
    "invalid_param",
    "timeout",
    "auth_denied",
    "upstream_5xx",
    "no_capability",
    "tool_unknown",
    "tool_wrong",
    "slot_missing",
    "slot_wrong",
    "not_found",
    "needs_clarification",
    "context_lost",
    "stale",
    "precondition_failed",
    "user_rejected",
    "policy_blocked",
    "rate_limited",
    "too_large",
    "budget_exhausted",
    "cancelled",
    "network",
    "dependency_missing",
    "tool_internal",
    "bad_response",
    "environment",
    "loop",
    "model_output",
)
"""The failure taxonomy's values; part of the schema's version 2, so it changes only with a migration."""

_SPELLINGS = (
    ("timeout", r"time[ _-]?(d[ _-]?)?out|timed[ _-]?out|deadline|etimedout|\b(408|504)\b"),
    ("auth_denied", r"\b(401|403)\b|eacces|eperm|un ?auth|forbidden|permission|access denied|auth"),
    ("rate_limited", r"\b429\b|rate[ _-]?limit|quota|too many requests|resource_exhausted"),
    ("network", r"econn|enotfound|dns|unreachable|network|connection"),
    ("upstream_5xx", r"\b5\d\d\b|5xx|internal|unavailable|upstream|bad gateway"),
    ("invalid_param", r"\b(400|422)\b|-32602|validation|invalid|bad[ _-]?(param|request|arg)"),
    ("not_found", r"\b404\b|enoent|not[ _-]?found|no such"),
    ("cancelled", r"cancel|abort"),
    ("none", r"^(ok|success|no[ _-]?error|0)$"),
)
_PATTERNS = tuple((error_type, re.compile(pattern, re.IGNORECASE)) for error_type, pattern in _SPELLINGS)


def map_error_type(spelling: str) -> str | None:
    """The member of the enumeration that a free spelling meant (`time_out` is `timeout`); None where it is unclear."""
    folded = re.sub(r"[\s_-]+", "_", spelling.strip().lower())
    if folded in ERROR_TYPES:
        return folded
    return next((error_type for error_type, pattern in _PATTERNS if pattern.search(spelling.strip())), None)

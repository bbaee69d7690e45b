"""Two texts for each failure (spec B11, seed 2.1, 6.2): a short friendly one for people, one the model can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue
from reach_tui.native.error_types import ERROR_TYPES

_LONGEST = 200

PEOPLE: Mapping[str, str] = {
    "invalid_param": "Something in the request to {step} is not in the form it needs.",
    "timeout": "{step} did not answer in time.",
    "auth_denied": "{step} may not be used with the present permissions.",
    "upstream_5xx": "{step} has a problem on its side at the moment.",
    "no_capability": "There is no tool for this; a person should take over.",
    "tool_unknown": "There is no tool of the name {step}.",
    "not_found": "{step} did not find what was asked for.",
    "needs_clarification": "One more detail is needed before {step} can be used.",
    "slot_missing": "A detail that {step} needs is missing.",
    "slot_wrong": "A detail for {step} does not fit.",
    "precondition_failed": "The state of things does not allow this with {step} now.",
    "policy_blocked": "The rules do not allow this with {step}.",
    "rate_limited": "{step} is being used too often at the moment.",
    "too_large": "That is too much at once for {step}.",
    "budget_exhausted": "The time for this task is used up.",
    "cancelled": "{step} was stopped before it had finished.",
    "network": "{step} cannot be reached at the moment.",
    "dependency_missing": "Something that {step} runs on is not installed.",
    "tool_internal": "{step} failed inside.",
    "bad_response": "{step} gave an answer that cannot be used.",
    "environment": "The machine that {step} runs on has a problem.",
}
"""By error type, in English; hand another mapping to `for_people` for another language."""
_OTHERWISE = "{step} did not work."

SUGGESTIONS: Mapping[str, str] = {
    "invalid_param": "correct the named field and call again",
    "timeout": "do not repeat it unchanged; ask for less, or tell the user that it takes too long",
    "auth_denied": "do not repeat it; tell the user which permission is missing",
    "upstream_5xx": "use another tool or tell the user to try later",
    "not_found": "check the identifier, or search for it with another tool first",
    "precondition_failed": "read the present state first, then decide",
    "policy_blocked": "do not repeat it; tell the user why",
    "rate_limited": "wait, then call again",
    "too_large": "ask for less: a filter, a page, a shorter text",
    "budget_exhausted": "finish with what is known, or ask the user for more time",
    "cancelled": "call again only if it is still wanted",
    "network": "use another tool or tell the user to try later",
    "dependency_missing": "use another tool",
    "tool_internal": "do not repeat it unchanged; use another tool",
    "bad_response": "use another tool; the answer was not what the tool promises",
    "environment": "use another tool",
}
"""The next step by error type, where the failure itself knows no better one."""

UNKNOWN_STATE = "whether it took effect is unknown: read the state first, never repeat it blindly"
"""What is said of a write that was sent and did not answer."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing wrong with the parameters."""

    field: str
    """Path with dots: `items.0.id`; empty for the object as a whole."""
    expected: str
    received: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call did not do what it was asked. `error_type` is of the closed enumeration, or `ValueError` is raised."""

    step: str
    """The tool, or the stage where there is none."""
    error_type: str
    detail: str = ""
    """What was met, in words; redacted."""
    violations: tuple[Violation, ...] = ()
    retryable: bool = False
    """True if the same call may succeed later."""
    suggestion: str = ""
    retry_after_ms: float | None = None
    """The earliest sensible moment for another try."""
    sent: bool = False
    """True if the call may have reached the tool."""

    def __post_init__(self) -> None:
        if self.error_type not in ERROR_TYPES or self.error_type == "none":
            raise ValueError(f"unknown error_type {self.error_type!r}")

    def for_model(self) -> dict[str, JsonValue]:
        """What the model decides by: the seed's seven fields, then what else is known."""
        first = self.violations[0] if self.violations else None
        text: dict[str, JsonValue] = {
            "step": self.step,
            "error_type": self.error_type,
            "field": first.field if first else None,
            "expected": first.expected if first else None,
            "received": first.received if first else cut(self.detail) or None,
            "retryable": self.retryable,
            "suggestion": self.suggestion or SUGGESTIONS.get(self.error_type, "tell the user"),
        }
        if len(self.violations) > 1:
            text["errors"] = [
                {"field": one.field, "expected": one.expected, "received": one.received} for one in self.violations
            ]
        if self.retry_after_ms is not None:
            text["retry_after_ms"] = round(self.retry_after_ms)
        return text

    def for_people(self, texts: Mapping[str, str] = PEOPLE) -> str:
        """One short sentence without internals."""
        return texts.get(self.error_type, _OTHERWISE).format(step=self.step.replace("_", " "))


def cut(text: str, longest: int = _LONGEST) -> str:
    """A text for a line of feedback, cut with its length stated."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def received(value: JsonValue) -> str:
    """A received value, so that the difference to what was expected can be seen: itself, its kind, its length."""
    if isinstance(value, str):
        kinds = [
            name
            for name, holds in (
                ("digits", any(one.isdecimal() for one in value)),
                ("letters", any(one.isalpha() for one in value)),
                ("others", any(not one.isalnum() for one in value)),
            )
            if holds
        ]
        return f"{cut(value, 60)!r}: {len(value)} characters ({', '.join(kinds) or 'empty'})"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {cut(', '.join(map(str, list(value)[:8])), 100) or 'nothing'}"
    return cut(repr(value), 60)


_STATUS = {
    400: "invalid_param",
    401: "auth_denied",
    403: "auth_denied",
    404: "not_found",
    407: "auth_denied",
    408: "timeout",
    409: "precondition_failed",
    410: "not_found",
    412: "precondition_failed",
    413: "too_large",
    414: "too_large",
    422: "invalid_param",
    423: "precondition_failed",
    428: "precondition_failed",
    429: "rate_limited",
    431: "too_large",
    451: "policy_blocked",
    499: "cancelled",
    504: "timeout",
}


def of_status(status: int) -> str | None:
    """The error type of an HTTP status, None for 2xx. Redirects are not followed: a token must not go elsewhere."""
    if 200 <= status < 300:
        return None
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return "upstream_5xx"
    return "invalid_param" if status >= 400 else "bad_response"


def of_exception(error: BaseException) -> str:
    """The error type of what a callable of this process raised."""
    kinds: Sequence[tuple[type[BaseException], str]] = (
        (TimeoutError, "timeout"),
        (PermissionError, "auth_denied"),
        (FileNotFoundError, "not_found"),
        (ConnectionError, "network"),
        (ImportError, "dependency_missing"),
        (OSError, "environment"),
        (MemoryError, "too_large"),
    )
    return next((error_type for kind, error_type in kinds if isinstance(error, kind)), "tool_internal")

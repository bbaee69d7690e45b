"""Model objects together with what we and people think of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from reach_tui.model import Counts, Label, Session, Step, ToolCall, Verdict, is_hidden


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call with its verdict and, where there is one, the label in force."""

    call: ToolCall
    verdict: Verdict
    label: Label | None = None

    @property
    def hidden(self) -> bool:
        """Failed, and the store does not say so."""
        return is_hidden(self.call, self.verdict)


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step; `judged` is set for calls."""

    step: Step
    judged: JudgedCall | None = None


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """A session's sums, with the tools it used (name -> calls, hidden errors) for filters."""

    session_id: str
    counts: Counts
    tools: dict[str, tuple[int, int]] = field(default_factory=dict)
    first_pass: bool | None = None
    """True if no call failed and none was repeated after a clarification; None without calls (B14)."""


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """A session with its sums; `counts` is None until they are computed."""

    session: Session
    counts: SessionCounts | None = None
    labelled: int = 0

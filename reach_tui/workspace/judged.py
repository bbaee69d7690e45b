"""Model objects together with what we and people think of them."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.analyze.counts import SessionCounts as SessionCounts
from reach_tui.model import Label, Session, Step, ToolCall, Verdict, is_hidden


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
class JudgedSession:
    """A session with its sums; `counts` is None until they are computed."""

    session: Session
    counts: SessionCounts | None = None
    labelled: int = 0

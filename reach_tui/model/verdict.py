"""A verdict: did the call do what it was asked?"""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.model.call import Glance


@dataclass(frozen=True, slots=True)
class Evidence:
    """The span that decided. `start` and `end` count characters of the text named by `where`."""

    text: str
    start: int
    end: int
    where: str = "result"
    """result, arguments, metadata, tool, status or history."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Failed (True), fine (False) or undecided (None), with the reason."""

    failed: bool | None
    confidence: float = 0.0
    category: str | None = None
    """Level-1 id of the failure taxonomy; also `not_a_failure` with a reason."""
    subcategory: str | None = None
    rule: str | None = None
    """Id of the rule that decided; with `failed` None it marks a soft signal."""
    evidence: Evidence | None = None
    explanation: str = ""
    """One sentence a colleague could read aloud."""

    @property
    def soft(self) -> bool:
        """Suspicious without proof: undecided, but a rule spoke."""
        return self.failed is None and self.rule is not None

    @property
    def check_reported(self) -> bool:
        """A check (tests, linter, compiler) that ran and reported findings: it did what it was asked."""
        return self.failed is False and self.subcategory == "check_reported"


def is_hidden(call: Glance, verdict: Verdict) -> bool:
    """A failure that the store does not call one."""
    return verdict.failed is True and call.flagged is not True


def store_says(flagged: bool | None, status: str | None = None) -> str:
    """What the store recorded of a call, in words, with its own word for it: `The store says succeeded (completed)`."""
    said = "nothing about success" if flagged is None else "failed" if flagged else "succeeded"
    return f"The store says {said} ({status})" if status else f"The store says {said}"

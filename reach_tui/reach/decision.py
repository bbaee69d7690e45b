"""The double threshold (spec B6, seed 3.2 and 4.2), and the signal that there is no capability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from reach_tui.base.jsonio import JsonValue
from reach_tui.base.text import one_line
from reach_tui.model import Candidate, Thresholds
from reach_tui.reach.filters import Left

CHOICES = 3
"""Candidates that a clarification offers at most."""
DEFAULTS = Thresholds()
_LONGEST_ASKED = 200
EXECUTE, CLARIFY, NO_CAPABILITY = "execute", "clarify", "no_capability"


def decide(candidates: Sequence[Candidate], thresholds: Thresholds = DEFAULTS) -> str:
    """`execute`, `clarify` or `no_capability` for candidates by falling score. All three bounds are inclusive.

    Asked in the seed's order: enough score and enough gap, then the floor. Scores are compared at six decimals, so
    that 0.95 and 0.80 are 0.15 apart.
    """
    if not candidates:
        return NO_CAPABILITY
    top = round(candidates[0].score, 6)
    second = round(candidates[1].score, 6) if len(candidates) > 1 else 0.0
    if top >= thresholds.t1 and round(top - second, 6) >= thresholds.gap:
        return EXECUTE
    return NO_CAPABILITY if top < thresholds.floor else CLARIFY


def ranked(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """By falling score, equal ones as they came; scores within 0..1 at six decimals, what is no number as 0."""
    held = [Candidate(one.name, _within(one.score), one.reason) for one in candidates]
    return tuple(sorted(held, key=lambda one: -one.score))


def _within(score: float) -> float:
    return round(min(1.0, max(0.0, score)), 6) if isfinite(score) else 0.0


class Why(StrEnum):
    """Why there is no capability."""

    NO_CANDIDATE = "no_candidate"
    """No tool that could be used has anything to do with it."""
    LOW_CONFIDENCE = "low_confidence"
    """The best candidate's score is under the floor."""
    TOOL_LEFT = "tool_left"
    """A tool for it is registered, but a hard filter took it out."""


@dataclass(frozen=True, slots=True)
class NoCapability:
    """What an orchestrator hands to a person: who asked what, why no tool does it, and which tools left."""

    asked: str
    who: str
    trace_id: str
    why: Why
    candidates: tuple[Candidate, ...]
    """The best that was found, all under the floor."""
    left: tuple[Left, ...]
    """Every tool that a hard filter took out."""
    could: tuple[Candidate, ...]
    """Those of `left` that would have reached the floor by keywords: what would have to be opened."""
    thresholds: Thresholds

    def summary(self) -> str:
        """One line for a person, safe for a terminal; a long question is cut."""
        asker = f"{one_line(self.who)} asked" if self.who else "Asked"
        asked = one_line(self.asked)
        asked = asked if len(asked) <= _LONGEST_ASKED else asked[: _LONGEST_ASKED - 1] + "…"
        return f'{asker}: "{asked}". No tool was called: {self._because()}.'

    def _because(self) -> str:
        if self.why is Why.TOOL_LEFT:
            reasons = {left.name: left.reason for left in self.left}
            return "; ".join(f"{one.name} would fit, but {reasons[one.name]}" for one in self.could)
        if self.why is Why.LOW_CONFIDENCE:
            best = self.candidates[0]
            return f"the nearest, {best.name}, scores {best.score:.2f}, under {self.thresholds.floor:g}"
        return "none has anything to do with it"

    def record(self) -> dict[str, JsonValue]:
        """The signal as JSON, for a queue or a ticket."""
        return {
            "signal": NO_CAPABILITY,
            "who": self.who or None,
            "trace_id": self.trace_id or None,
            "asked": self.asked,
            "why": self.why.value,
            "summary": self.summary(),
            "candidates": [_candidate(one) for one in self.candidates],
            "left": [{"name": one.name, "rule": one.rule, "reason": one.reason} for one in self.left],
            "could": [_candidate(one) for one in self.could],
            "floor": self.thresholds.floor,
        }


def _candidate(one: Candidate) -> JsonValue:
    return {"name": one.name, "score": one.score, "reason": one.reason}

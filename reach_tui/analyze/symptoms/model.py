"""What a symptom's detector works on and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reach_tui.analyze.story import Story
from reach_tui.model import ToolCall

MOST = 20
"""Pieces of evidence that are kept of one symptom."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One row of the table."""

    id: str
    title: str
    cause: str
    action: str
    detect: str
    """What is looked for, in words."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a symptom shows."""

    session_id: str | None
    step: int | None
    call_key: str | None
    words: str
    """One sentence with the numbers."""
    weight: float = 1.0
    """The more, the stronger; only for the order."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A symptom with the evidence for it; none: not found."""

    symptom: Symptom
    evidence: tuple[Shown, ...] = field(default=())

    @property
    def found(self) -> bool:
        """True if there is any evidence."""
        return bool(self.evidence)


class Detector(Protocol):
    """Takes in sessions, then shows what it found."""

    def add(self, story: Story) -> None:
        """One more session."""

    def shown(self) -> tuple[Shown, ...]:
        """The evidence, strongest first."""


def strongest(shown: Sequence[Shown]) -> tuple[Shown, ...]:
    """The `MOST` strongest, equals as they came."""
    return tuple(sorted(shown, key=lambda one: -one.weight)[:MOST])


def at_call(call: ToolCall, words: str, weight: float = 1.0) -> Shown:
    """Evidence at a call."""
    return Shown(call.session_id, call.step, call.key, words, weight)


def share_of(counts: Mapping[bool, int]) -> tuple[int, int]:
    """Failures and calls of a counter over failed or not."""
    return counts.get(True, 0), counts.get(True, 0) + counts.get(False, 0)

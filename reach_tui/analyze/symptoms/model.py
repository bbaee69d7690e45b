"""What a symptom's detector works on and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from reach_tui.model import Route, Session, Step, StepKind, ToolCall, Verdict

MOST = 20
"""Pieces of evidence that are kept of one symptom."""


class Told(NamedTuple):
    """A step; calls have a verdict."""

    step: Step
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """One session in order."""

    session: Session
    told: Sequence[Told]
    unsafe: frozenset[str] = frozenset()
    """Tools that write and are not idempotent, as far as a registry says so."""

    def calls(self) -> Iterator[tuple[ToolCall, Verdict]]:
        """Its own calls: no stored copies, nothing inherited."""
        for step, verdict in self.told:
            if step.call is not None and verdict is not None and step.call.copy_of is None and not step.inherited:
                yield step.call, verdict

    def routes(self) -> Iterator[tuple[Step, Route]]:
        """Its recorded decisions, with or without a call."""
        for step, _ in self.told:
            route = step.call.route if step.call is not None else step.route
            copied = step.call is not None and step.call.copy_of is not None
            if route is not None and route.basis == "recorded" and not copied and not step.inherited:
                yield step, route

    @property
    def group(self) -> str:
        """The kind of user: the project, where nothing better is recorded."""
        return self.session.project or ""


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


def spoken(step: Step) -> bool:
    """True for a word of the agent or of a person."""
    return step.kind in (StepKind.ASSISTANT, StepKind.USER, StepKind.DECISION) and bool(step.text.strip() or step.route)

"""A whole session as analyses of its course see it: every step in order, calls with their verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reach_tui.model import Route, Session, Step, StepKind, ToolCall, Verdict


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


def spoken(step: Step) -> bool:
    """True for a word of the agent or of a person."""
    return step.kind in (StepKind.ASSISTANT, StepKind.USER, StepKind.DECISION) and bool(step.text.strip() or step.route)

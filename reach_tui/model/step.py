"""A step: one row of a session's story."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reach_tui.model.call import ToolCall
from reach_tui.model.route import Route


class StepKind(StrEnum):
    """What a step is."""

    USER = "user"
    ASSISTANT = "assistant"
    REASONING = "reasoning"
    CALL = "call"
    SYSTEM = "system"
    """System prompts, reminders, hooks: not written by the user."""
    ERROR = "error"
    """The model's or the runtime's own failure (no tool to blame)."""
    DECISION = "decision"
    """A routing decision that led to no call (clarify, no capability); `route` holds it."""
    NOTE = "note"
    """What the store says about itself: compaction, mode switch, orphan result."""
    RAW = "raw"
    """A row that could not be parsed: shown as it is."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a session, in order."""

    number: int
    """From 1, without gaps, over every step of the session."""
    turn: int
    kind: StepKind
    text: str = ""
    """The text of a message, note or raw row; empty for calls."""
    at: int | None = None
    call: ToolCall | None = None
    route: Route | None = None
    """A decision without a call; a call's own route is in the call."""
    visible: bool = True
    inherited: bool = False
    """Copied from a parent session: shown, never counted."""

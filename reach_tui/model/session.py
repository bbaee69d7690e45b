"""A session: one conversation of an agent, as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token sums of a session; None where the store has none."""

    input: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What a session list shows; cheap to read. Times are milliseconds since 1970 UTC, unknown is None."""

    store: str
    """Kind of the store, e.g. `opencode`."""
    id: str
    parent_id: str | None = None
    """The session that started this one (a sub-agent's caller)."""
    title: str | None = None
    project: str | None = None
    """Working directory or project name, as recorded."""
    model: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    tokens: Tokens = Tokens()
    outcome: str | None = None
    """How it ended in the store's own word (done, error, cancelled …)."""
    own_work: bool = True
    """False for what a person would not count by itself: children, hidden threads."""
    copy_of: str | None = None
    """The session this is a stored copy of (a fork), where known."""
    notes: tuple[str, ...] = ()
    """Facts to show: archived, reverted, messages not recorded …"""
    turns: int | None = None
    """User turns, where the store knows them without reading the messages."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the calls of a session (or of a whole store) add up to."""

    turns: int = 0
    calls: int = 0
    flagged: int = 0
    """The store says failed."""
    failed: int = 0
    """Our verdict is failed."""
    hidden: int = 0
    """Failed by verdict, and the store does not say so."""
    soft: int = 0
    """Suspicious without proof: verdict open, with a rule."""
    unfinished: int = 0
    """Calls that have not ended: without a result, and not known to have failed."""
    unreadable: int = 0
    """Rows that could not be parsed and are shown raw."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.turns + other.turns,
            self.calls + other.calls,
            self.flagged + other.flagged,
            self.failed + other.failed,
            self.hidden + other.hidden,
            self.soft + other.soft,
            self.unfinished + other.unfinished,
            self.unreadable + other.unreadable,
        )

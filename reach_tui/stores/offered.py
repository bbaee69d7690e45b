"""Tools that a store recorded as offered to the model, with their schemas: a route's candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from reach_tui.base.jsonio import JsonValue


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model saw it."""

    name: str
    description: str = ""
    schema: JsonValue = None
    """JSON schema of its arguments; None where none can be read."""
    source: str | None = None
    """The plugin or server it came from."""


@runtime_checkable
class OffersTools(Protocol):
    """A reader of a store that keeps the tools offered."""

    def offered_tools(self, session_id: str) -> list[OfferedTool]:
        """The tools offered in a session, each once, in the order they were stored; empty for an unknown session."""

"""A tool call and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reach_tui.base.jsonio import JsonValue
from reach_tui.model.route import Route, Slot


@dataclass(frozen=True, slots=True)
class Result:
    """What the model got back: the output, or the error's text where the store keeps an error instead."""

    text: str
    """The whole text (blocks joined); lone surrogates replaced, otherwise untouched."""
    bytes: int
    """Size of the text in UTF-8."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the model, paired with its result if there is one."""

    key: str
    """Unique in the store and stable from run to run; labels hang on it."""
    id: str
    """The store's call id; may repeat across turns, sessions and forks. Empty if the store has none."""
    session_id: str
    tool: str
    """The tool's name as the model wrote it and the store keeps it."""
    arguments: JsonValue = None
    """The arguments as an object; the raw text where they are not valid JSON (then `problem` says so)."""
    flagged: bool | None = None
    """What the store recorded: failed, succeeded, or nothing."""
    result: Result | None = None
    step: int = 0
    """Position in the session, from 1; the same numbers as the steps."""
    turn: int = 0
    """The user turn it belongs to, from 1 (0: before the first user message)."""
    started_at: int | None = None
    duration_ms: int | None = None
    status: str | None = None
    """The store's own word for the call's state: completed, error, running … Unknown words are shown, never judged."""
    target: str | None = None
    """The tool really called, where `tool` is a wrapper or a placeholder (`invalid`)."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    """Structured facts beside the text. Shared names: `exit_code` (int), `timed_out`, `truncated`, `interrupted`,
    `message_error` (name), `notice` (a harness text that is not part of the output). Others keep the store's name."""
    route: Route | None = None
    slots: tuple[Slot, ...] | None = None
    copy_of: str | None = None
    """Key of the original where a store keeps a forked or replayed copy."""
    visible: bool = True
    """False where the model could no longer see this step (compacted away)."""
    problem: str | None = None
    """Why this row is not whole: broken arguments, conflicting double write …"""

    @property
    def shown_tool(self) -> str:
        """`wrapper→tool` where the call goes through a wrapper, else the tool."""
        return f"{self.tool}→{self.target}" if self.target else self.tool

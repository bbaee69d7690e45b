"""A tool call and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

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

    plain: ClassVar[bool] = False

    @property
    def text(self) -> str | None:
        """The result's text."""
        return None if self.result is None else self.result.text

    @property
    def exit_code(self) -> int | None:
        """What the store says, as far as it says it under the shared name."""
        code = self.metadata.get("exit_code")
        return code if isinstance(code, int) else None

    def whole(self) -> ToolCall:
        """The call itself; see `Glance`."""
        return self

    @property
    def shown_tool(self) -> str:
        """`wrapper→tool` where the call goes through a wrapper, else the tool."""
        return f"{self.tool}→{self.target}" if self.target else self.tool


class Glance(Protocol):
    """A call as far as counting looks at it; its reader may leave the rest in the row until `whole` asks for it.

    Every `ToolCall` is one. `step` may be 0; times are in the whole call only.
    """

    @property
    def key(self) -> str:
        """As in `ToolCall`, like all that follow without a word."""

    @property
    def id(self) -> str: ...

    @property
    def session_id(self) -> str: ...

    @property
    def tool(self) -> str: ...

    @property
    def target(self) -> str | None: ...

    @property
    def shown_tool(self) -> str: ...

    @property
    def arguments(self) -> JsonValue: ...

    @property
    def flagged(self) -> bool | None: ...

    @property
    def result(self) -> Result | None: ...

    @property
    def text(self) -> str | None: ...

    @property
    def exit_code(self) -> int | None: ...

    @property
    def step(self) -> int: ...

    @property
    def turn(self) -> int: ...

    @property
    def route(self) -> Route | None: ...

    @property
    def copy_of(self) -> str | None: ...

    @property
    def problem(self) -> str | None: ...

    @property
    def plain(self) -> bool:
        """True: the store calls it a success, its arguments are an object, and nothing it keeps about how the call
        ended (a time limit, an interruption, a notice) matters beside text and exit code. False says nothing."""

    def whole(self) -> ToolCall:
        """The call with everything the store keeps of it."""

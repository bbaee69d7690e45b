"""What an orchestrator says when it asks for a tool, and what it hears back before anything was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.budget import ChainBudget
from reach_tui.reach.entities import EntityLog
from reach_tui.reach.filters import RouteContext, sift
from reach_tui.reach.router import Routing
from reach_tui.reach.slots import Context as SlotContext
from reach_tui.reach.slots import Declared, Filling
from reach_tui.reach.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class Asking:
    """The situation of one request."""

    session_id: str
    text: str = ""
    """The user's own words; routed by, and searched for values. Empty: the intent stands for them."""
    trace_id: str | None = None
    """The task it belongs to; None: the turn is a task."""
    turn: int = 0
    readonly: bool = False
    """Nothing may be changed in this session."""
    user: str | None = None
    """Whose token user-delegated tools get: a name that the token callback knows, never the token. None: nobody's."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """Tools that may not be used here, by name or pattern, with the reason."""
    budget: ChainBudget | None = None
    """The chain's time; None: each call has only its own."""
    history: EntityLog = field(default_factory=EntityLog)
    """What the conversation named."""
    results: EntityLog = field(default_factory=EntityLog)
    """What earlier calls of this task returned."""
    profile: Mapping[str, JsonValue] = field(default_factory=dict)
    """What is known of the user, by entity or parameter name."""
    origins: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    """For parameters whose origin the caller knows: the words (`step 8 · read`) and the step."""

    @property
    def trace(self) -> str:
        """The task's id."""
        return self.trace_id or f"{self.session_id}/{self.turn}"

    def for_router(self, broken: frozenset[str] = frozenset()) -> RouteContext:
        """What routing asks of it; `broken` names tools whose breaker is open."""
        return RouteContext(
            who=self.user or self.session_id,
            trace_id=self.trace,
            read_only=self.readonly,
            user_token=self.user is not None,
            broken=broken,
            denied=self.denied,
        )

    def for_slots(self, now: int) -> SlotContext:
        """What filling slots may look at; `now` is milliseconds since 1970 UTC."""
        return SlotContext(self.text, now, self.history, self.profile, self.results)


class Routes(Protocol):
    """What the layer asks of a router; `Router` is one."""

    def route(self, intent: str, context: RouteContext = ...) -> Routing:
        """Candidates and a decision for the words of who asks."""
        ...


class Filler(Protocol):
    """What the layer asks of slots; `SlotFiller` is one."""

    def fill(
        self,
        tool_name: str,
        params_schema: Mapping[str, JsonValue],
        given: Mapping[str, JsonValue],
        context: SlotContext,
        declared: Mapping[str, Declared] | None = None,
    ) -> Filling:
        """Values for what the call needs and does not have."""
        ...


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question to the user or to the system that knows: which tool, or which value."""

    about: str
    """`tool`, or the parameter's name."""
    options: tuple[JsonValue, ...]
    """Up to three tools, or up to five values; none where the value is simply missing."""
    reason: str


def rank(spec: ToolSpec) -> int:
    """How far a tool reaches into the world: reading, telling, changing."""
    return ("read", "notify", "write").index(spec.side_effect)


def forbidden(spec: ToolSpec, asking: Asking) -> tuple[str, str] | None:
    """Error type and reason for a tool that this session may not use, whatever a router or model says (B4)."""
    _, left = sift([spec], asking.for_router())
    if not left:
        return None
    return "auth_denied" if left[0].rule == "no_user_token" else "policy_blocked", left[0].reason


def questions(filling: Filling) -> Sequence[Clarification]:
    """What has to be asked before the call can be made."""
    asked = [Clarification(one.name, one.options, one.reason) for one in filling.clarify]
    return asked + [Clarification(gap.name, (), gap.reason) for gap in filling.gaps]

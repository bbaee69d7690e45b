"""Hard filters (spec B4): tools that this session cannot use never become candidates, and each says why it left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

from reach_tui.reach.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class RouteContext:
    """What the session is, as far as routing asks."""

    who: str = ""
    """The person or session that asks, for the signal that goes to a person."""
    trace_id: str = ""
    read_only: bool = False
    user_token: bool = False
    """Whether there is a token to act for the user; the token itself is never seen here."""
    broken: Collection[str] = frozenset()
    """Tools whose breaker is open (`Breakers.blocked()`)."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """Tools that may not be used, by name or pattern (`mcp__*`), with the reason."""
    allowed: Collection[str] | None = None
    """The only tools that may be used; None: all."""


@dataclass(frozen=True, slots=True)
class Left:
    """A tool that a filter took out."""

    name: str
    rule: str
    """read_only, no_user_token, breaker_open, denied, not_allowed, or a filter's own."""
    reason: str


Filter: TypeAlias = Callable[[ToolSpec, RouteContext], Left | None]


def read_only(tool: ToolSpec, context: RouteContext) -> Left | None:
    """Tools that change the world leave a read-only session."""
    if context.read_only and tool.side_effect != "read":
        return Left(
            tool.name, "read_only", f"the session is read-only and the tool's side effect is {tool.side_effect}"
        )
    return None


def user_token(tool: ToolSpec, context: RouteContext) -> Left | None:
    """Tools that act for the user leave a session without the user's token."""
    if tool.auth_type == "user_delegated" and not context.user_token:
        return Left(tool.name, "no_user_token", "it acts for the user, and the session has no user token")
    return None


def breaker(tool: ToolSpec, context: RouteContext) -> Left | None:
    """Tools whose breaker is open leave until it lets a probe through."""
    if tool.name in context.broken:
        return Left(tool.name, "breaker_open", "its breaker is open: it failed again and again just now")
    return None


def deny_list(tool: ToolSpec, context: RouteContext) -> Left | None:
    """Tools on the deny list leave, and where only some are allowed, all others."""
    if context.denied:
        why = context.denied.get(tool.name)
        if why is None:
            why = next((why for pattern, why in context.denied.items() if fnmatchcase(tool.name, pattern)), None)
        if why is not None:
            return Left(tool.name, "denied", why or "it is on the deny list")
    if context.allowed is not None and tool.name not in context.allowed:
        return Left(tool.name, "not_allowed", "it is not among the tools allowed here")
    return None


FILTERS: tuple[Filter, ...] = (read_only, user_token, breaker, deny_list)


def sift(
    tools: Sequence[ToolSpec], context: RouteContext, filters: Sequence[Filter] = FILTERS
) -> tuple[dict[str, ToolSpec], tuple[Left, ...]]:
    """The tools that stay, by name, and those that left, each with the first filter that took it out."""
    stay: dict[str, ToolSpec] = {}
    left: list[Left] = []
    for tool in tools:
        for check in filters:
            if (out := check(tool, context)) is not None:
                left.append(out)
                break
        else:
            stay[tool.name] = tool
    return stay, tuple(left)

"""What the router would have said about a call (basis `inferred`): the intent routed among the tools there were.

Only what stood before the call is looked at: its arguments, its result and later steps are not. The router is the
Agent-Reach layer's own, with its lexical scores: no model, no network, the same answer each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from reach_tui.infer.candidates import ToolSet
from reach_tui.infer.intent import Intent
from reach_tui.model import Candidate, Route, Thresholds, ToolCall

if TYPE_CHECKING:
    from reach_tui.reach.filters import RouteContext

K = 5
"""Candidates that are kept (seed 3.2)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be changed about the decision."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    k: int = K
    read_only: bool = False
    """True: tools that change the world leave. A trace does not say whether its session was read-only."""


@dataclass(frozen=True, slots=True)
class _Answer:
    route: Route
    order: dict[str, tuple[int, float]]
    """Rank from 1 and score of every tool that stayed."""


class RouteInference:
    """Routes over one set of tools; what is asked again (calls of a turn share their intent) comes from memory."""

    def __init__(self, tools: ToolSet, settings: Settings | None = None) -> None:
        from reach_tui.reach.registry import ToolList
        from reach_tui.reach.router import Router

        self.tools = tools
        self.settings = settings or Settings()
        self._router = Router(ToolList(tools.tools), thresholds=self.settings.thresholds, k=self.settings.k)
        self._answer = lru_cache(maxsize=64)(self._ask)

    def route(self, intent: Intent, call: ToolCall) -> Route:
        """The inferred route of a call, which is asked for its tool's name alone."""
        answer = self._answer(intent.text)
        name = call.target if call.target and call.target in answer.order else call.tool
        rank, score = answer.order.get(name, (None, 0.0))
        chosen = None if rank is None else self._chosen(name, score, rank, answer.route)
        return replace(answer.route, intent=intent.shown, chosen=chosen, rank=rank)

    def _chosen(self, name: str, score: float, rank: int, route: Route) -> Candidate:
        known = next((one for one in route.candidates if one.name == name), None)
        why = f"place {rank} of {len(self.tools)}" if score > 0 else "no word in common with what was asked"
        return known or Candidate(name, score, why)

    def _ask(self, text: str) -> _Answer:
        routing = self._router.route(text, self._context(), basis="inferred")
        left = tuple(Candidate(one.name, 0.0, one.reason) for one in routing.left)
        gone = {one.name for one in left}
        index = self._router.keywords
        scored = zip(index.scores(text), index.names, strict=True)
        ordered = sorted((-score, name) for score, name in scored if name not in gone)
        order = {name: (rank, -score) for rank, (score, name) in enumerate(ordered, 1)}
        return _Answer(replace(routing.route, candidates_from=self.tools.origin, dropped=left), order)

    def _context(self) -> RouteContext:
        from reach_tui.reach.filters import RouteContext

        return RouteContext(
            read_only=self.settings.read_only, user_token=True
        )  # else not told: in doubt nothing leaves

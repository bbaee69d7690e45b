"""What the router would have said about a call (basis `inferred`): the intent scored against the tools there were.

Only what stood before the call is looked at: its arguments, its result and later steps are not. The scorer is the
Agent-Reach layer's lexical one: no model, no network, the same answer each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from reach_tui.infer.candidates import ToolSet
from reach_tui.infer.intent import Intent
from reach_tui.model import Candidate, Route, Thresholds, ToolCall

K = 5
"""Candidates that are kept (seed 3.2)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be changed about the decision."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    k: int = K


@dataclass(frozen=True, slots=True)
class _Scored:
    candidates: tuple[Candidate, ...]
    order: dict[str, tuple[int, float]]
    """Rank from 1 and score of every tool."""


class RouteInference:
    """Routes over one set of tools; what is asked again (calls of a turn share their intent) comes from memory."""

    def __init__(self, tools: ToolSet, settings: Settings | None = None) -> None:
        self.tools = tools
        self.settings = settings or Settings()
        self._scored = lru_cache(maxsize=64)(self._score)

    def route(self, intent: Intent, call: ToolCall) -> Route:
        """The inferred route of a call, which is asked for its tool's name alone."""
        scored = self._scored(intent.text)
        name = call.target if call.target and call.target in scored.order else call.tool
        rank, score = scored.order.get(name, (None, 0.0))
        candidates, limits = scored.candidates, self.settings.thresholds
        return Route(
            "inferred", intent.shown, candidates, decide(candidates, limits), limits,
            candidates_from=self.tools.origin,
            chosen=None if rank is None else _chosen(name, score, rank, candidates, len(self.tools)),
            rank=rank,
        )  # fmt: skip

    def _score(self, text: str) -> _Scored:
        index = self.tools.index
        scores = index.scores(text)
        ordered = sorted(zip(scores, index.names, strict=True), key=lambda one: (-one[0], one[1]))
        order = {name: (rank, score) for rank, (score, name) in enumerate(ordered, 1)}
        return _Scored(tuple(index.candidates(text, self.settings.k)), order)


def _chosen(name: str, score: float, rank: int, candidates: tuple[Candidate, ...], tools: int) -> Candidate:
    known = next((one for one in candidates if one.name == name), None)
    return known or Candidate(name, score, f"place {rank} of {tools}" if score > 0 else "no word of it was asked for")


def decide(candidates: tuple[Candidate, ...], limits: Thresholds) -> str:
    """The double threshold (seed 3.2): execute, clarify or no_capability. Both bounds are inclusive."""
    if not candidates or candidates[0].score < limits.floor:
        return "no_capability"
    second = candidates[1].score if len(candidates) > 1 else 0.0
    gap = round(candidates[0].score - second, 6)
    return "execute" if candidates[0].score >= limits.t1 and gap >= limits.gap else "clarify"

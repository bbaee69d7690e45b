"""The router: filters, recall, scores, double threshold. The same inputs give the same answer (spec B4-B6, B8)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_

from reach_tui.base.errors import ConfigError, ReachError
from reach_tui.base.jsonio import JsonValue
from reach_tui.base.text import scrub_surrogates
from reach_tui.model import Candidate, Route, Thresholds
from reach_tui.reach.decision import (
    CHOICES,
    CLARIFY,
    DEFAULTS,
    EXECUTE,
    NO_CAPABILITY,
    NoCapability,
    Why,
    decide,
    ranked,
)
from reach_tui.reach.filters import FILTERS, Filter, Left, RouteContext, sift
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.recall import LexicalRecall, Recall, Scorer, ScoringFailed
from reach_tui.reach.rules import RuleIndex, RuleMatch
from reach_tui.reach.spec import Registry, ToolSpec

K = 5
"""Candidates that recall hands on (seed 3.2: 93.3 % at 5, 94.6 % at 8 for 60 % more tokens)."""
RULE = "rule"
ANYBODY = RouteContext()
_log = logging.getLogger("reach_tui.reach")


@dataclass(frozen=True, slots=True)
class Routing:
    """A decision with everything that led to it."""

    route: Route
    left: tuple[Left, ...] = ()
    """Tools that hard filters took out, with the reason."""
    scorer: str = "lexical"
    """Whose scores these are: rule, lexical, or the recall's and scorer's names."""
    rule: RuleMatch | None = None
    """The fixed format that matched, with its parameters."""
    signal: NoCapability | None = None
    """Set where the decision is no_capability: what goes to a person."""
    degraded: str | None = None
    """Why keywords were used instead of what is configured; None where they were not."""

    @property
    def decision(self) -> str:
        """execute, clarify or no_capability."""
        return self.route.decision

    @property
    def tool(self) -> str | None:
        """The tool to call; None unless the decision is execute."""
        return self.route.candidates[0].name if self.decision == EXECUTE else None

    @property
    def params(self) -> dict[str, JsonValue]:
        """Parameters that a fixed format gave."""
        return dict(self.rule.params) if self.rule else {}

    @property
    def choices(self) -> tuple[Candidate, ...]:
        """What a clarification offers: up to three candidates."""
        return self.route.candidates[:CHOICES] if self.decision == CLARIFY else ()

    @property
    def fallbacks(self) -> tuple[Candidate, ...]:
        """Second and third, for when the first one fails; whoever takes one looks at its score."""
        return self.route.candidates[1:CHOICES] if self.decision == EXECUTE else ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question, and the tools that hard filters left of the registry."""

    intent: str
    context: RouteContext
    basis: str
    stay: dict[str, ToolSpec]
    left: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class _Shortlist:
    """The candidates before they are scored anew, and whose scores they have so far."""

    candidates: tuple[Candidate, ...]
    source: str
    degraded: str | None = None


class Router:
    """Routes intents to the tools of a registry. Thresholds, `k` and `degraded` may be changed at any time.

    `recall` None: keywords. `scorer` None: the scores of the recall stand. `degraded`: one switch to keywords for
    recall and scores, while filters, fixed formats, thresholds and signals keep working; where a recall or scorer
    fails, the router does so for that one question.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        recall: Recall | None = None,
        scorer: Scorer | None = None,
        thresholds: Thresholds = DEFAULTS,
        k: int = K,
        filters: Sequence[Filter] = FILTERS,
        degraded: bool = False,
    ) -> None:
        self.registry = registry
        self.recall = recall
        self.scorer = scorer
        self.thresholds = thresholds
        self.k = k
        self.filters = tuple(filters)
        self.degraded = degraded
        self._lexical = LexicalRecall()
        self._seen: Sequence[ToolSpec] = ()
        self._tools: tuple[ToolSpec, ...] = ()
        self._rules = RuleIndex(())
        self._check()
        self._follow_registry()

    def route(self, intent: str, context: RouteContext = ANYBODY, *, basis: str = "recorded") -> Routing:
        """The decision for `intent`, the words of who asks. `basis` goes into the route as it is.

        Raises `ConfigError` where thresholds or `k` make no sense.
        """
        asked = self._ask(intent, context, basis)
        if matches := self._rules.matches(asked.intent):
            return self._by_rule(asked, matches)
        shortlist = self._shortlist(asked)
        if self.scorer is None or shortlist.degraded is not None or not shortlist.candidates:
            return self._decided(asked, shortlist)
        try:
            scored = self.scorer.score(asked.intent, _specs(asked, shortlist))
        except Exception as error:  # noqa: BLE001 - a stranger's code; the reason is in the routing
            return self._decided(asked, self._keywords(asked, _told(self.scorer.name, error)))
        return self._decided(asked, _rescored(shortlist, self.scorer.name, scored))

    async def route_async(self, intent: str, context: RouteContext = ANYBODY, *, basis: str = "recorded") -> Routing:
        """`route`, but a scorer with a `score_async` is awaited, so that others run while a service answers."""
        score_async = getattr(self.scorer, "score_async", None)
        if self.scorer is None or score_async is None:
            return self.route(intent, context, basis=basis)
        asked = self._ask(intent, context, basis)
        if matches := self._rules.matches(asked.intent):
            return self._by_rule(asked, matches)
        shortlist = self._shortlist(asked)
        if shortlist.degraded is not None or not shortlist.candidates:
            return self._decided(asked, shortlist)
        try:
            scored = await score_async(asked.intent, _specs(asked, shortlist))
        except Exception as error:  # noqa: BLE001 - as above
            return self._decided(asked, self._keywords(asked, _told(self.scorer.name, error)))
        return self._decided(asked, _rescored(shortlist, self.scorer.name, scored))

    @property
    def keywords(self) -> LexicalIndex:
        """The keyword index over the registry's tools as they were when last asked."""
        return self._lexical.index

    def _ask(self, intent: str, context: RouteContext, basis: str) -> _Asked:
        self._check()
        self._follow_registry()
        return _Asked(scrub_surrogates(intent), context, basis, *sift(self._tools, context, self.filters))

    def _shortlist(self, asked: _Asked) -> _Shortlist:
        if self.degraded:
            return self._keywords(asked, "switched to keywords")
        recall = self.recall or self._lexical
        try:
            found = recall.recall(asked.intent, asked.stay, self.k)
        except Exception as error:  # noqa: BLE001 - as above
            return self._keywords(asked, _told(recall.name, error))
        return _Shortlist(ranked([one for one in found if one.name in asked.stay])[: self.k], recall.name)

    def _keywords(self, asked: _Asked, why: str) -> _Shortlist:
        found = self._lexical.recall(asked.intent, asked.stay, self.k)
        return _Shortlist(ranked(found), self._lexical.name, why)

    def _decided(self, asked: _Asked, shortlist: _Shortlist) -> Routing:
        candidates = shortlist.candidates
        decision = decide(candidates, self.thresholds)
        signal = self._signal(asked, candidates) if decision == NO_CAPABILITY else None
        route = self._route(asked, candidates, decision)
        return Routing(route, asked.left, shortlist.source, None, signal, shortlist.degraded)

    def _by_rule(self, asked: _Asked, matches: Sequence[RuleMatch]) -> Routing:
        """One tool has the format: execute. Several: clarify. All that have it left: no capability."""
        usable = [match for match in matches if match.tool.name in asked.stay]
        candidates = _of_rules(usable)
        if not usable:
            signal = self._signal(asked, (), _of_rules(matches))
            return Routing(self._route(asked, (), NO_CAPABILITY), asked.left, RULE, None, signal)
        if len(usable) > 1:
            return Routing(self._route(asked, candidates, CLARIFY), asked.left, RULE)
        return Routing(self._route(asked, candidates, EXECUTE), asked.left, RULE, usable[0])

    def _route(self, asked: _Asked, candidates: tuple[Candidate, ...], decision: str) -> Route:
        return Route(asked.basis, asked.intent, candidates, decision, self.thresholds)

    def _signal(
        self, asked: _Asked, candidates: tuple[Candidate, ...], could: tuple[Candidate, ...] = ()
    ) -> NoCapability:
        """`could`: tools known to fit that left; looked for by keywords where none is given."""
        if asked.left and not could:
            fitting = self._lexical.recall(asked.intent, {one.name for one in asked.left}, CHOICES)
            could = tuple(one for one in ranked(fitting) if one.score >= self.thresholds.floor)
        why = Why.TOOL_LEFT if could else Why.LOW_CONFIDENCE if candidates else Why.NO_CANDIDATE
        who, trace_id = asked.context.who, asked.context.trace_id
        return NoCapability(asked.intent, who, trace_id, why, candidates, asked.left, could, self.thresholds)

    def _follow_registry(self) -> None:
        """Index the registry's tools anew where they are no longer the ones indexed."""
        tools = self.registry.tools()
        if tools is self._seen or (len(tools) == len(self._seen) and all(map(is_, tools, self._seen))):
            return
        self._seen = tools if isinstance(tools, tuple) else tuple(tools)
        self._tools = tuple(sorted(tools, key=lambda tool: tool.name))
        self._rules = RuleIndex(self._tools)
        self._lexical.prepare(self._tools)
        if self.recall is not None:
            self.recall.prepare(self._tools)

    def _check(self) -> None:
        bounds = (self.thresholds.t1, self.thresholds.gap, self.thresholds.floor)
        if not all(0 <= bound <= 1 for bound in bounds):
            raise ConfigError(f"thresholds lie between 0 and 1, not {bounds}", "router")
        if self.k < 1:
            raise ConfigError(f"k is at least 1, not {self.k}", "router")


def _specs(asked: _Asked, shortlist: _Shortlist) -> list[ToolSpec]:
    return [asked.stay[one.name] for one in shortlist.candidates]


def _rescored(shortlist: _Shortlist, scorer: str, scored: Sequence[Candidate]) -> _Shortlist:
    """The same candidates with the scorer's scores; the first of two for one name, 0 for a name without one."""
    given: dict[str, Candidate] = {}
    for one in scored:
        given.setdefault(one.name, one)
    candidates = ranked([given.get(one.name) or Candidate(one.name, 0.0, "not scored") for one in shortlist.candidates])
    return _Shortlist(candidates, f"{shortlist.source}, {scorer}")


def _of_rules(matches: Sequence[RuleMatch]) -> tuple[Candidate, ...]:
    return tuple(Candidate(match.tool.name, 1.0, f"fixed format: {match.pattern}") for match in matches)


def _told(name: str, error: Exception) -> str:
    """Why keywords stand in. Of a stranger's exception only the kind is told and logged: its text may hold secrets."""
    if isinstance(error, ScoringFailed | ReachError):
        return f"{name}: {error}"
    _log.warning("%s failed with %s; routing goes on with keywords", name, type(error).__name__)
    return f"{name}: {type(error).__name__}"

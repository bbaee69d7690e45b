"""What a session would have been under other settings: decisions, guards, timeouts, breaker, retries.

Nothing is called. Every rule is one of the project's own: the router's `decide`, the guards of `analyze.guards`, the
layer's breaker on the recorded clock, its retry rule. What would follow from a changed decision is not made up: later
steps stay as they were recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reach_tui.analyze.guards import ANY, SAME, Failures
from reach_tui.analyze.pairs import answered, error_text
from reach_tui.analyze.story import Told
from reach_tui.model import Route, Step, Thresholds, ToolCall, Verdict
from reach_tui.reach.breaker import Breaker, BreakerSettings, BreakerState
from reach_tui.reach.budget import ChainBudget
from reach_tui.reach.decision import decide, ranked
from reach_tui.reach.retry import next_try
from reach_tui.reach.spec import Registry
from reach_tui.taxonomy import default

EXECUTION = frozenset(["timeout_or_limit", "upstream_error"])
"""Failures that a breaker counts: the tool was not there. All others are answers."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The settings of the replay; None leaves what was in force."""

    t1: float | None = None
    gap: float | None = None
    floor: float | None = None
    reroute: Callable[[Step, Route], Route] | None = None
    """Another router: a changed registry, k, or the fallback switch. None: the scores stand."""
    guard_after: int = 5
    guard_rule: str = SAME
    timeouts: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by tool."""
    breaker: BreakerSettings | None = None
    registry: Registry | None = None
    """Whose `idempotent` and retry policy say what would be sent again; None: no retries are looked at."""
    budget_ms: int | None = None
    """The time that the calls after one request share, as the layer shares it."""

    def thresholds(self, recorded: Thresholds) -> Thresholds:
        """The thresholds in force for a decision that was made with `recorded`."""
        return Thresholds(
            recorded.t1 if self.t1 is None else self.t1,
            recorded.gap if self.gap is None else self.gap,
            recorded.floor if self.floor is None else self.floor,
        )


@dataclass(frozen=True, slots=True)
class Flip:
    """A decision that is another one now."""

    session_id: str
    step: int
    call_key: str | None
    before: str
    """`execute edit`, `clarify`, `no_capability`."""
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class GuardState:
    """The consecutive failures a runtime had counted when a call had come back."""

    by_flag: int
    by_truth: int
    speaks_by_flag: bool
    speaks_by_truth: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """A step with a decision or a call: what was, what is now, and the state a runtime could have seen there."""

    step: int
    call_key: str | None
    tool: str | None
    before: Route | None
    after: Route | None
    flip: Flip | None
    explained: bool
    """False where the recorded decision is not what its scores and thresholds say."""
    guard: GuardState | None
    """None for what is no answered call."""
    timed_out: str | None
    """`good` (a call that succeeded would have been killed), `bad`, or None."""
    breaker: BreakerState | None
    """Before the call."""
    blocked: bool
    """The breaker would have kept the call from being made."""
    retried: bool
    """The executor would have sent it again."""
    budget_left: int | None = None
    """Milliseconds of the request's budget when the call began; None without a budget or a time."""
    over_budget: str | None = None
    """`good` (a call that succeeded took longer than was left), `bad`, or None."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One session, or several of them one after another."""

    moments: tuple[Moment, ...]

    @property
    def flips(self) -> tuple[Flip, ...]:
        """Every changed decision in order."""
        return tuple(one.flip for one in self.moments if one.flip is not None)

    @property
    def decisions(self) -> int:
        """Decisions that were compared."""
        return sum(one.before is not None for one in self.moments)

    @property
    def unexplained(self) -> int:
        """Decisions that are not what their scores and thresholds say."""
        return sum(not one.explained for one in self.moments)

    def guard(self) -> tuple[int, int]:
        """How often the guard speaks: by the flag, by the truth."""
        states = [one.guard for one in self.moments if one.guard is not None]
        return sum(one.speaks_by_flag for one in states), sum(one.speaks_by_truth for one in states)


def replay(session_id: str, told: Iterable[Told], changes: Changes) -> Replayed:
    """One session under changed settings. Routes stand in the steps and calls, recorded or inferred."""
    guards = _Guards(changes)
    breakers = _Breakers(changes.breaker)
    budgets = _Budgets(changes.budget_ms)
    moments = []
    for step, verdict in told:
        call = step.call
        route = call.route if call is not None else step.route
        if step.inherited or (route is None and call is None):
            continue
        copied = call is not None and call.copy_of is not None
        after, flip, explained = _decision(session_id, step, route, changes)
        state, blocked, retried, timed_out, guard = None, False, False, None, None
        left, over = None, None
        if call is not None and verdict is not None and not copied:
            state, blocked = breakers.see(call, verdict)
            guard = guards.see(call, verdict)
            timed_out = _killed(call, verdict, changes.timeouts.get(call.tool, changes.timeouts.get("*")))
            left = budgets.see(call)
            over = _killed(call, verdict, left)
            retried = _retried(call, verdict, changes.registry)
        key, tool = (call.key, call.tool) if call is not None else (None, None)
        seen = (guard, timed_out, state, blocked, retried, left, over)
        moments.append(Moment(step.number, key, tool, route, after, flip, explained, *seen))
    return Replayed(tuple(moments))


def _decision(
    session_id: str, step: Step, route: Route | None, changes: Changes
) -> tuple[Route | None, Flip | None, bool]:
    """The decision now, the flip if it is another one, and whether the recorded one follows from its own numbers."""
    if route is None:
        return None, None, True
    usual = decide(route.candidates, route.thresholds)
    explained = usual == route.decision
    thresholds = changes.thresholds(route.thresholds)
    if changes.reroute is None:
        if thresholds == route.thresholds:
            return route, None, explained
        now = decide(route.candidates, thresholds)
        # What did not follow from the scores (a person chose, a rule matched) changes only where the scores do.
        after = replace(route, thresholds=thresholds, decision=route.decision if now == usual else now)
    else:
        found = changes.reroute(step, route)
        candidates = ranked(found.candidates)
        after = replace(found, thresholds=thresholds, candidates=candidates, decision=decide(candidates, thresholds))
    before_words, after_words = named(route), named(after)
    if before_words == after_words:
        return after, None, explained
    key = step.call.key if step.call is not None else None
    return after, Flip(session_id, step.number, key, before_words, after_words, _why(after)), explained


def named(route: Route) -> str:
    """A decision in words: `execute edit`, `clarify`, `no_capability`."""
    if route.decision == "execute" and route.candidates:
        return f"execute {route.candidates[0].name}"
    return route.decision


def _why(route: Route) -> str:
    if not route.candidates:
        return "no candidate"
    top, thresholds = route.candidates[0], route.thresholds
    gap = route.gap or 0.0
    if route.decision == "execute":
        return f"{top.name} {top.score:.2f} ≥ {thresholds.t1:g}, gap {gap:.2f} ≥ {thresholds.gap:g}"
    if top.score < thresholds.floor:
        return f"{top.name} {top.score:.2f} < {thresholds.floor:g}"
    if top.score < thresholds.t1:
        return f"{top.name} {top.score:.2f} < {thresholds.t1:g}"
    second = route.candidates[1].name if len(route.candidates) > 1 else "none"
    return f"gap {gap:.2f} < {thresholds.gap:g} between {top.name} and {second}"


class _Guards:
    def __init__(self, changes: Changes) -> None:
        self._after, self._rule = changes.guard_after, changes.guard_rule
        self._flag, self._truth = Failures(), Failures()

    def see(self, call: ToolCall, verdict: Verdict) -> GuardState | None:
        if not answered(call, verdict):
            return None
        flag = self._count(self._flag, call, call.flagged is True)
        truth = self._count(self._truth, call, verdict.failed is True)
        return GuardState(flag, truth, self._speaks(flag), self._speaks(truth))

    def _count(self, failures: Failures, call: ToolCall, failed: bool) -> int:
        if not failed:
            failures.clear(call.tool)
            return 0
        same, run = failures.add(call.tool, error_text(call))
        return run if self._rule == ANY else same

    def _speaks(self, count: int) -> bool:
        """`same_error` speaks at every failure from the n-th on, `any_error` once, at the n-th (`analyze.guards`)."""
        return count == self._after if self._rule == ANY else count >= self._after


class _Breakers:
    """A breaker for each tool on the recorded clock."""

    def __init__(self, settings: BreakerSettings | None) -> None:
        self._settings = settings
        self._breakers: dict[str, Breaker] = {}
        self._now = 0.0

    def see(self, call: ToolCall, verdict: Verdict) -> tuple[BreakerState | None, bool]:
        if self._settings is None or call.started_at is None:
            return None, False
        self._now = max(self._now, call.started_at / 1000)  # a clock that goes back would undo what was counted
        breaker = self._breakers.get(call.tool)
        if breaker is None:
            breaker = self._breakers[call.tool] = Breaker(self._settings, lambda: self._now)
        state = breaker.state
        permit = breaker.acquire()
        if permit is None:
            return state, True
        self._now = max(self._now, (call.started_at + (call.duration_ms or 0)) / 1000)
        if verdict.failed is True and verdict.category in EXECUTION:
            permit.failed()
        elif verdict.failed is None:
            permit.dropped()
        else:
            permit.succeeded()
        return state, False


class _Budgets:
    """What is left of a request's time on the recorded clock; each turn begins with the whole."""

    def __init__(self, total_ms: int | None) -> None:
        self._total_ms = total_ms
        self._turn: int | None = None
        self._budget: ChainBudget | None = None
        self._now = 0.0

    def see(self, call: ToolCall) -> int | None:
        if self._total_ms is None or call.started_at is None:
            return None
        self._now = max(self._now, call.started_at / 1000)
        if self._budget is None or call.turn != self._turn:
            self._turn, self._budget = call.turn, ChainBudget(self._total_ms, now=lambda: self._now)
        lease = self._budget.lease(self._total_ms)
        self._budget.settle(lease, min(lease.ms, call.duration_ms or 0))
        return int(lease.ms)


def _killed(call: ToolCall, verdict: Verdict, limit: int | None) -> str | None:
    if limit is None or call.duration_ms is None or call.duration_ms <= limit:
        return None
    return "good" if verdict.failed is False else "bad"


def _retried(call: ToolCall, verdict: Verdict, registry: Registry | None) -> bool:
    spec = registry.get(call.tool) if registry is not None else None
    if spec is None or verdict.failed is not True:
        return False
    category = default().find(verdict.category or "")
    found = category.subcategory(verdict.subcategory or "") if category is not None else None
    return found is not None and next_try(spec, 1, found.error_type).again


def merged(parts: Iterable[Replayed]) -> Replayed:
    """Several sessions as one."""
    return Replayed(tuple(moment for part in parts for moment in part.moments))


def confusions(flips: Sequence[Flip]) -> list[tuple[str, str, int]]:
    """Flips by (before, after), most frequent first."""
    counts = Counter((one.before, one.after) for one in flips)
    return sorted(((before, after, n) for (before, after), n in counts.items()), key=lambda row: (-row[2], row))

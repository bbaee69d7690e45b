"""What-if runs by hand: decisions at the borders, guards, timeouts, breaker, retries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields
from typing import Any

import pytest

from reach_tui.analyze.guards import ANY, FLAG, TRUTH, Firing, of_session
from reach_tui.analyze.pairs import Pair
from reach_tui.analyze.story import Told
from reach_tui.model import Candidate, Route, Step, StepKind, Thresholds
from reach_tui.reach.breaker import BreakerSettings, BreakerState
from reach_tui.reach.registry import ToolList
from reach_tui.reach.spec import ToolSpec
from reach_tui.replay.whatif import Changes, Replayed, confusions, replay
from tests.analyze.kit import bad, ok

SECOND = 1000
USUAL = Thresholds()


def route(*scores: float, decision: str = "execute", thresholds: Thresholds = USUAL) -> Route:
    names = ("a", "b", "c")
    candidates = tuple(Candidate(name, score) for name, score in zip(names, scores, strict=False))
    return Route("recorded", "do it", candidates, decision, thresholds)


def run(pairs: Sequence[Pair], **changes: Any) -> Replayed:
    told = [
        Told(Step(number, call.turn, StepKind.CALL, call=call.whole()), verdict)
        for number, (call, verdict) in enumerate(pairs, 1)
    ]
    return replay("s", told, Changes(**changes))


def decided(found: Route, **changes: Any) -> Replayed:
    return replay("s", [Told(Step(1, 1, StepKind.DECISION, route=found))], Changes(**changes))


def test_nothing_changes_without_a_change_whatever_was_recorded() -> None:
    for found in (route(0.9, 0.5), route(0.9, 0.8, decision="clarify"), route(0.3, decision="execute"), route()):
        result = decided(found)
        assert result.flips == ()
        assert result.moments[0].after is not None
        assert result.moments[0].after.decision == found.decision
    assert decided(route(0.3, decision="execute")).unexplained == 1
    assert decided(route(0.9, 0.5)).unexplained == 0


@pytest.mark.parametrize(
    ("found", "changes", "words"),
    [
        (route(0.74, 0.2, decision="clarify"), {"t1": 0.74}, "execute a"),
        (route(0.75, 0.2), {"t1": 0.76}, "clarify"),
        (route(0.9, 0.75), {"gap": 0.16}, "clarify"),
        (route(0.9, 0.8, decision="clarify"), {"gap": 0.1}, "execute a"),
        (route(0.55, 0.2, decision="clarify"), {"floor": 0.56}, "no_capability"),
        (route(0.49, 0.2, decision="no_capability"), {"floor": 0.49}, "clarify"),
    ],
)
def test_a_threshold_moved_over_a_score_flips_the_decision(found: Route, changes: dict[str, float], words: str) -> None:
    (flip,) = decided(found, **changes).flips
    assert flip.after == words
    assert flip.why


def test_thresholds_a_decision_was_made_with_stand_where_they_are_not_changed() -> None:
    own = route(0.65, 0.2, thresholds=Thresholds(0.6, 0.1, 0.3))
    assert decided(own).flips == ()
    assert decided(own, gap=0.15).flips == ()
    assert [flip.after for flip in decided(own, t1=0.7).flips] == ["clarify"]


def test_another_router_may_choose_another_tool() -> None:
    def reroute(_: Step, old: Route) -> Route:
        return with_fields(old, candidates=(Candidate("b", 0.9), Candidate("a", 0.2)))

    (flip,) = decided(route(0.9, 0.2), reroute=reroute).flips
    assert (flip.before, flip.after) == ("execute a", "execute b")
    assert confusions([flip, flip]) == [("execute a", "execute b", 2)]


def test_guards_are_those_of_the_report() -> None:
    pairs = [bad("x", n, "E", flagged=n % 4 == 0) for n in range(1, 9)] + [
        ok("x", 9),
        bad("x", 10, "E"),
        bad("y", 11, "E"),
    ]
    pairs += [bad("x", n, "F") for n in range(12, 20)] + [ok("z", 20, text=None)]
    report = of_session(pairs)
    for after in (3, 5, 10):
        for rule in ("same_error", ANY):
            found = run(pairs, guard_after=after, guard_rule=rule).guard()
            assert found == (report.fired[Firing(rule, after, FLAG)], report.fired[Firing(rule, after, TRUTH)])


def test_counters_at_the_cursor() -> None:
    states = [one.guard for one in run([bad("x", 1, "E"), bad("x", 2, "E"), ok("x", 3)], guard_after=2).moments]
    assert [(one.by_flag, one.by_truth, one.speaks_by_truth) for one in states if one] == [
        (0, 1, False),
        (0, 2, True),
        (0, 0, False),
    ]


def test_which_calls_a_timeout_would_have_killed() -> None:
    pairs = [ok("x", 1, duration_ms=1000), ok("x", 2, duration_ms=1001), bad("x", 3, duration_ms=5000), ok("y", 4)]
    assert [one.timed_out for one in run(pairs, timeouts={"x": 1000}).moments] == [None, "good", "bad", None]
    assert run(pairs, timeouts={"*": 999}).moments[0].timed_out == "good"
    assert not any(one.timed_out for one in run(pairs).moments)


def upstream(number: int, at_s: float) -> Pair:
    return bad("x", number, f"{number}", category="upstream_error", started_at=int(at_s * SECOND), duration_ms=100)


def test_the_breaker_runs_on_the_recorded_clock() -> None:
    pairs = [upstream(n, n) for n in range(1, 8)] + [upstream(8, 36), ok("x", 9, started_at=70 * SECOND)]
    found = run(pairs, breaker=BreakerSettings())
    assert [one.blocked for one in found.moments] == [False] * 5 + [True, True, False, False]
    assert found.moments[7].breaker is BreakerState.HALF_OPEN
    assert found.moments[8].breaker is BreakerState.HALF_OPEN  # the probe at 36 s failed: 30 s more
    refused = [bad("x", n, f"{n}", category="invalid_parameter", started_at=n * SECOND) for n in range(1, 9)]
    assert not any(one.blocked for one in run(refused, breaker=BreakerSettings()).moments)
    assert run(pairs).moments[5].breaker is None


def spec(name: str, *, idempotent: bool) -> ToolSpec:
    return ToolSpec(
        name=name,
        description="x",
        params_schema={"type": "object"},
        auth_type="none",
        timeout_ms=1000,
        idempotent=idempotent,
        side_effect="write",
        sample_calls=(),
    )


def test_only_idempotent_tools_are_sent_again_and_only_for_what_passes() -> None:
    tools = ToolList([spec("safe", idempotent=True), spec("pay", idempotent=False)])
    broken = {"category": "upstream_error", "subcategory": "http_5xx"}
    pairs = [bad("safe", 1, **broken), bad("pay", 2, **broken), bad("other", 3, **broken), ok("safe", 4),
             bad("safe", 5, category="invalid_parameter", subcategory="missing_required")]  # fmt: skip
    assert [one.retried for one in run(pairs, registry=tools).moments] == [True, False, False, False, False]


def test_copies_and_inherited_steps_move_no_counter() -> None:
    pairs = [bad("x", 1, "E"), bad("x", 2, "E", copy_of="o/2"), bad("x", 3, "E")]
    assert [one.guard.by_truth if one.guard else None for one in run(pairs).moments] == [1, None, 2]
    inherited = Step(1, 1, StepKind.DECISION, route=route(0.9), inherited=True)
    assert replay("s", [Told(inherited)], Changes(t1=0.95)).moments == ()

"""Timeout advice, chain decay, and agreement of inferred routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze import chains, routes, timeouts
from reach_tui.analyze.pairs import Pairs
from reach_tui.model import Candidate, Route, Verdict
from tests.analyze.kit import bad, call, ok


def durations_of(pairs: Pairs) -> timeouts.Durations:
    return timeouts.of_session([(call.whole(), verdict) for call, verdict in pairs])


def timed(tool: str, *durations: int) -> timeouts.Durations:
    return durations_of([ok(tool, number, duration_ms=one) for number, one in enumerate(durations)])


def killed(tool: str, count: int, limit: int) -> timeouts.Durations:
    one = {"category": "timeout_or_limit", "subcategory": "timeout"}
    return durations_of(
        [bad(tool, number, duration_ms=limit, arguments={"timeout": limit}, **one) for number in range(count)]
    )


def the_advice(durations: timeouts.Durations, **registry: int) -> timeouts.Advice:
    (one,) = timeouts.advice(durations, registry)
    return one


@pytest.mark.parametrize(("count", "share", "value"), [(1, 0.99, 1), (99, 0.99, 99), (100, 0.99, 99), (200, 0.99, 198)])
def test_percentiles_are_nearest_rank(count: int, share: float, value: int) -> None:
    assert timeouts.percentile(list(range(1, count + 1)), share) == value


def test_the_advice_is_the_p99_and_thirty_percent() -> None:
    one = the_advice(timed("fetch", *range(1, 201)), fetch=300)
    assert (one.p99, one.advised, one.firm, one.finding) == (198, 257, True, "fits")


@pytest.mark.parametrize(
    ("calls", "advised", "firm"), [(29, None, False), (30, 13, False), (99, 13, False), (100, 13, True)]
)
def test_few_calls_give_no_advice_or_a_soft_one(calls: int, advised: int | None, firm: bool) -> None:
    one = the_advice(timed("fetch", *[10] * calls), fetch=10)
    assert (one.advised, one.firm) == (advised, firm)


def test_a_limit_far_above_hides_slowness() -> None:
    assert the_advice(timed("fetch", *[100] * 50), fetch=261).finding == "hides_slowness"
    assert the_advice(timed("fetch", *[100] * 50), fetch=260).finding == "fits"


def test_a_limit_below_that_ends_calls_kills_good_ones() -> None:
    both = timed("bash", *[1900] * 50) + killed("bash", 3, 2000)
    one = the_advice(both, bash=120_000)
    assert (one.killed, one.killed_early, one.advised, one.finding) == (3, 3, 2470, "kills_good_calls")
    assert one.today == 120_000  # most calls ask for no limit


def test_calls_that_hung_for_longer_than_advised_are_rightly_ended() -> None:
    one = the_advice(timed("bash", *[1000] * 50) + killed("bash", 3, 2000), bash=2000)
    assert (one.killed, one.killed_early, one.advised, one.finding) == (3, 0, 1300, "fits")


def test_today_is_what_most_calls_ask_for() -> None:
    asking = [ok("bash", number, duration_ms=10, arguments={"timeout": 5000}) for number in range(40)]
    assert the_advice(durations_of(asking), bash=120_000).today == 5000


def test_killed_calls_do_not_count_as_durations() -> None:
    one = the_advice(timed("bash", *[10] * 40) + killed("bash", 40, 2000))
    assert (one.calls, one.p99) == (40, 10)


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [({"timeout": 2}, 2000), ({"timeout": 999}, 999_000), ({"timeout": 1000}, 1000), ({"timeout_ms": 5}, 5), ({}, None),
     ({"timeout": True}, None), ({"timeout": "2"}, None), ({"timeout": -1}, None), ({"timeout": 10**30}, None),
     ("not an object", None)],
)  # fmt: skip
def test_limits_that_calls_ask_for(arguments: object, limit: int | None) -> None:
    assert timeouts.asked_limit(call("bash", arguments=arguments)) == limit


@given(st.lists(st.integers(0, 10**12), max_size=60), st.integers(0, 60))
def test_durations_add_up_in_any_grouping(values: list[int], at: int) -> None:
    whole, parts = timed("t", *values), timed("t", *values[:at]) + timed("t", *values[at:])
    assert whole == parts


def test_the_seeds_example_of_decay() -> None:
    assert round(chains.expected(0.95, 7), 2) == 0.70
    assert chains.expected(1.0, 100) == 1.0
    with pytest.raises(ValueError, match="over"):
        chains.expected(1.1, 2)


def test_chains_are_the_calls_of_a_turn() -> None:
    found = chains.of_session([ok("a", 1, turn=1), bad("b", 2, turn=1), ok("a", 3, turn=2), ok("a", 4, turn=2)])
    assert (found.per_step, dict(found.length), dict(found.whole)) == (0.75, {2: 2}, {2: 1})
    (band,) = chains.bands(found)
    assert (band.chains, band.whole, band.expected, band.actual) == (2, 1, 0.5625, 0.5)
    assert band.interval[0] < 0.5 < band.interval[1]


def test_open_calls_are_no_steps() -> None:
    assert chains.bands(chains.of_session([(call("a"), Verdict(None))])) == []


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=40))
def test_every_step_is_in_one_chain(steps: list[tuple[bool, int]]) -> None:
    pairs = [(ok if good else bad)("a", number, turn=turn) for number, (good, turn) in enumerate(steps)]
    found = chains.of_session(sorted(pairs, key=lambda pair: pair[0].turn))
    assert sum(length * count for length, count in found.length.items()) == found.steps == len(steps)
    assert sum(band.chains for band in chains.bands(found)) == found.length.total()


def route(*scores: float, chosen: int | None, decision: str = "execute") -> Route:
    candidates = tuple(Candidate(f"t{place}", score) for place, score in enumerate(scores, 1))
    one = None if chosen is None else Candidate(f"t{chosen}", candidates[chosen - 1].score if chosen <= 5 else 0.1)
    return Route("inferred", "", candidates[:5], decision, chosen=one, rank=chosen)


def test_agreement_counts_ranks_pairs_and_failures() -> None:
    fine, failed = Verdict(False, 1.0), Verdict(True, 1.0)
    found = routes.of_calls(
        [
            (call("t1"), fine, route(0.9, 0.2, chosen=1)),
            (call("t2"), failed, route(0.6, 0.5, chosen=2, decision="clarify")),
            (call("x"), failed, route(0.4, chosen=None, decision="no_capability")),
            (call("t1"), fine, route(0.0, chosen=1, decision="no_capability")),
            (call("t1"), fine, None),
            (call("t1"), fine, Route("recorded", "", (Candidate("t1", 1.0),), "execute")),
        ],
        tools=4,
    )
    assert (found.calls, found.unknown, found.silent, found.first, found.within) == (4, 1, 1, 1, 2)
    assert (found.top1, found.top5, found.chance) == (1 / 3, 2 / 3, 0.25)
    assert dict(found.confused) == dict(found.confused_failed) == {("t2", "t1"): 1}
    rate = found.failure_rate("clarify")
    assert rate is not None
    assert rate[0] == 1.0
    assert found.failure_rate("unheard") is None
    assert found + routes.Agreement() == found

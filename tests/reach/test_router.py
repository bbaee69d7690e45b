"""The router: hard filters, k, the double threshold at each boundary, fixed formats, the switch, and the signal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.errors import ConfigError
from reach_tui.model import Candidate, Thresholds
from reach_tui.reach.decision import CHOICES, Why, decide, ranked
from reach_tui.reach.filters import Left, RouteContext, sift
from reach_tui.reach.recall import LexicalRecall, RecordedScores, ScoringFailed
from reach_tui.reach.registry import FolderRegistry, ToolList
from reach_tui.reach.router import K, Router
from reach_tui.reach.spec import ToolSpec
from tests.reach.test_lexical import ASKED
from tests.reach.tools import GOOD, shop, tool

USER = RouteContext(user_token=True)
ROUTER = Router(ToolList(shop()))


def scored(*scores: float) -> list[Candidate]:
    """Candidates a, b, c, … with these scores."""
    return [Candidate("abcdefghij"[at], score) for at, score in enumerate(scores)]


class Fixed:
    """A recall and scorer that says what it was told."""

    name = "fixed"

    def __init__(self, *scores: float) -> None:
        self.candidates = scored(*scores)
        self.asked: list[tuple[str, int]] = []

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """Nothing to do."""

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """All of them, more than asked for."""
        self.asked.append((intent, k))
        return self.candidates

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """Those that were asked for."""
        self.asked.append((intent, len(tools)))
        return [one for one in self.candidates if one.name in {tool.name for tool in tools}]


def letters(count: int = 10) -> ToolList:
    """Tools a, b, c, …"""
    return ToolList(tool(name) for name in "abcdefghij"[:count])


@pytest.mark.parametrize(
    ("scores", "decision"),
    [
        ((0.75,), "execute"),
        ((0.749999,), "clarify"),
        ((0.75, 0.60), "execute"),
        ((0.75, 0.600001), "clarify"),
        ((0.95, 0.80), "execute"),  # 0.1499999… in binary
        ((0.90, 0.75), "execute"),
        ((1.0, 0.85), "execute"),
        ((1.0, 0.86), "clarify"),
        ((1.0, 1.0), "clarify"),
        ((0.5,), "clarify"),
        ((0.5, 0.0), "clarify"),
        ((0.499999,), "no_capability"),
        ((0.499999, 0.1), "no_capability"),
        ((0.74, 0.10), "clarify"),
        ((0.0,), "no_capability"),
        ((), "no_capability"),
    ],
)
def test_each_boundary_of_the_double_threshold(scores: tuple[float, ...], decision: str) -> None:
    assert decide(scored(*scores)) == decision
    router = Router(letters(), recall=Fixed(*scores))
    assert router.route("x").decision == decision


def test_the_defaults_are_the_seeds() -> None:
    assert (Thresholds().t1, Thresholds().gap, Thresholds().floor) == (0.75, 0.15, 0.5)
    assert (K, CHOICES) == (5, 3)


def test_the_order_of_the_seed_holds_where_the_floor_lies_above_the_first_threshold() -> None:
    odd = Thresholds(t1=0.3, gap=0.1, floor=0.5)
    assert decide(scored(0.4, 0.2), odd) == "execute"
    assert decide(scored(0.4, 0.35), odd) == "no_capability"


_score = st.floats(0, 1)
_scores = st.lists(_score, max_size=5).map(lambda found: sorted(found, reverse=True))
_RANK = {"no_capability": 0, "clarify": 1, "execute": 2}


@given(_scores, _score, _score, _score, _score)
def test_stricter_thresholds_never_execute_more(
    scores: list[float], t1: float, gap: float, floor: float, more: float
) -> None:
    before = decide(scored(*scores), Thresholds(t1, gap, floor))
    for stricter in (Thresholds(min(1, t1 + more), gap, floor), Thresholds(t1, min(1, gap + more), floor)):
        after = decide(scored(*scores), stricter)
        assert (after == "execute") <= (before == "execute")
    assert _RANK[decide(scored(*scores), Thresholds(t1, gap, min(1, floor + more)))] <= _RANK[before]


@given(_scores.filter(bool), _score)
def test_a_better_first_candidate_never_decides_for_less(scores: list[float], more: float) -> None:
    better = [min(1.0, scores[0] + more), *scores[1:]]
    assert _RANK[decide(scored(*better))] >= _RANK[decide(scored(*scores))]


@given(_scores.filter(lambda found: len(found) > 1))
def test_a_runner_up_never_makes_one_surer(scores: list[float]) -> None:
    assert _RANK[decide(scored(scores[0]))] >= _RANK[decide(scored(*scores))]


@given(st.lists(st.floats(), max_size=6))
def test_any_numbers_are_ranked_within_0_and_1(scores: list[float]) -> None:
    found = [one.score for one in ranked(scored(*scores))]
    assert found == sorted(found, reverse=True)
    assert all(0 <= score <= 1 for score in found)


def test_five_candidates_by_default_and_as_many_as_k_says() -> None:
    many = Fixed(*[0.9 - at / 100 for at in range(9)])
    router = Router(letters(), recall=many)
    assert [one.name for one in router.route("x").route.candidates] == list("abcde")
    router.k = 8
    assert len(router.route("x").route.candidates) == 8
    assert many.asked == [("x", 5), ("x", 8)]


def test_a_clarification_offers_three_and_keeps_all_five() -> None:
    routing = Router(letters(), recall=Fixed(0.7, 0.69, 0.68, 0.67, 0.66)).route("x")
    assert [one.name for one in routing.choices] == ["a", "b", "c"]
    assert len(routing.route.candidates) == 5
    assert (routing.tool, routing.fallbacks, routing.signal) == (None, (), None)


def test_second_and_third_are_the_fallbacks() -> None:
    routing = Router(letters(), recall=Fixed(0.9, 0.6, 0.5, 0.4)).route("x")
    assert routing.tool == "a"
    assert [one.name for one in routing.fallbacks] == ["b", "c"]
    assert (routing.choices, routing.signal, routing.params) == ((), None, {})


def test_thresholds_may_be_changed_and_are_recorded() -> None:
    router = Router(letters(), recall=Fixed(0.6, 0.4), thresholds=Thresholds(0.6, 0.2, 0.3))
    routing = router.route("x")
    assert (routing.decision, routing.route.thresholds.t1, routing.route.gap) == ("execute", 0.6, 0.2)
    router.thresholds = Thresholds()
    assert router.route("x").decision == "clarify"
    for bad in (Thresholds(t1=1.5), Thresholds(gap=-0.1), Thresholds(floor=float("nan"))):
        router.thresholds = bad
        with pytest.raises(ConfigError, match="thresholds"):
            router.route("x")
    with pytest.raises(ConfigError, match="k is at least 1"):
        Router(letters(), k=0)


@pytest.mark.parametrize(
    ("fields", "context", "rule"),
    [
        ({"side_effect": "write"}, RouteContext(read_only=True), "read_only"),
        ({"side_effect": "notify"}, RouteContext(read_only=True), "read_only"),
        ({"side_effect": "read"}, RouteContext(read_only=True), None),
        ({"side_effect": "write"}, RouteContext(), None),
        ({"auth_type": "user_delegated"}, RouteContext(), "no_user_token"),
        ({"auth_type": "user_delegated"}, RouteContext(user_token=True), None),
        ({"auth_type": "service_token"}, RouteContext(), None),
        ({}, RouteContext(broken={"a"}), "breaker_open"),
        ({}, RouteContext(broken={"b"}), None),
        ({}, RouteContext(denied={"a": "not on Sundays"}), "denied"),
        ({"name": "mcp__x"}, RouteContext(denied={"mcp__*": "no servers"}), "denied"),
        ({}, RouteContext(denied={"b": ""}), None),
        ({}, RouteContext(allowed={"b"}), "not_allowed"),
        ({}, RouteContext(allowed={"a"}), None),
    ],
)
def test_hard_filters_say_why_a_tool_left(fields: dict[str, Any], context: RouteContext, rule: str | None) -> None:
    stay, left = sift([tool(**({"name": "a"} | fields))], context)
    assert [one.rule for one in left] == ([rule] if rule else [])
    assert bool(stay) != bool(left)
    assert all(one.reason for one in left)


def test_what_left_is_no_candidate_whatever_its_score() -> None:
    router = Router(letters(3), recall=Fixed(0.99, 0.9, 0.3))
    routing = router.route("x", RouteContext(broken={"a"}))
    assert [one.name for one in routing.route.candidates] == ["b", "c"]
    assert routing.tool == "b"
    assert [(one.name, one.rule) for one in routing.left] == [("a", "breaker_open")]


def test_filters_of_ones_own_take_part() -> None:
    def sunday(spec: ToolSpec, context: RouteContext) -> Left | None:
        return Left(spec.name, "sunday", "closed") if spec.name == "a" else None

    routing = Router(letters(2), recall=Fixed(0.9, 0.6), filters=[sunday]).route("x")
    assert [one.rule for one in routing.left] == ["sunday"]


def test_no_capability_is_a_signal_for_a_person() -> None:
    routing = Router(ToolList(shop())).route("delete my account", RouteContext(who="Li Lei", trace_id="t1"))
    signal = routing.signal
    assert signal is not None
    assert (signal.asked, signal.who, signal.trace_id) == ("delete my account", "Li Lei", "t1")
    assert signal.why is Why.LOW_CONFIDENCE
    assert signal.summary().startswith('Li Lei asked: "delete my account". No tool was called: the nearest')
    record = signal.record()
    assert (record["signal"], record["why"], record["who"]) == ("no_capability", "low_confidence", "Li Lei")
    assert {one.name for one in routing.left} == {one.name for one in shop() if one.auth_type == "user_delegated"}


def test_a_signal_names_the_tool_that_left_and_why() -> None:
    routing = Router(ToolList(shop())).route("取消订单", RouteContext(user_token=True, read_only=True))
    signal = routing.signal
    assert signal is not None
    assert signal.why is Why.TOOL_LEFT
    assert [one.name for one in signal.could][:1] == ["cancel_order"]
    assert "cancel_order would fit, but the session is read-only" in signal.summary()


def test_a_hostile_question_does_no_harm_to_who_reads_the_signal() -> None:
    asked = "\x1b[31mfly\x07\nme\u202e " + "far " * 500
    signal = Router(ToolList(shop())).route(asked, RouteContext(who="a\x1b[0mb", allowed=())).signal
    assert signal is not None
    assert signal.summary().startswith('ab asked: "fly me')
    assert len(signal.summary()) < 400
    assert not set("\x1b\x07\n\u202e") & set(signal.summary())
    assert signal.record()["asked"] == asked


@given(
    st.builds(
        RouteContext,
        read_only=st.booleans(),
        user_token=st.booleans(),
        broken=st.sets(st.sampled_from([one.name for one in shop()])),
        denied=st.dictionaries(st.sampled_from(["query_*", "*refund*", "track_parcel"]), st.just("no")),
        allowed=st.none() | st.sets(st.sampled_from([one.name for one in shop()])),
    ),
    st.sampled_from(ASKED).map(lambda line: line.split("|")[1]),
)
def test_no_tool_that_may_not_be_used_is_ever_a_candidate(context: RouteContext, asked: str) -> None:
    routing = ROUTER.route(asked, context)
    left = {one.name for one in routing.left}
    assert not left & {one.name for one in routing.route.candidates}
    for one in shop():
        forbidden = (
            (context.read_only and one.side_effect != "read")
            or (not context.user_token and one.auth_type == "user_delegated")
            or one.name in context.broken
            or any(fnmatchcase(one.name, pattern) for pattern in context.denied)
            or (context.allowed is not None and one.name not in context.allowed)
        )
        assert (one.name in left) == forbidden


def test_a_registry_without_tools_has_no_candidate() -> None:
    signal = Router(ToolList()).route("anything").signal
    assert signal is not None
    assert (signal.why, signal.candidates, signal.left) == (Why.NO_CANDIDATE, (), ())
    assert "none has anything to do with it" in signal.summary()


def test_a_fixed_format_needs_no_score() -> None:
    routing = Router(ToolList(shop())).route("  余额 C00001234 ", USER)
    assert (routing.tool, routing.params, routing.scorer) == ("query_balance", {"customer_id": "C00001234"}, "rule")
    assert routing.route.candidates[0].score == 1.0
    assert Router(ToolList(shop())).route("余额 C00001234 谢谢", USER).scorer == "lexical"


def test_a_format_of_two_tools_is_clarified_and_one_that_left_is_told() -> None:
    rule = [{"pattern": r"go (?P<n>\d+)", "params": {"fast": True}}]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "fast": {"type": "boolean"}}}
    one, two = (tool(name, params_schema=schema, intents=rule) for name in ("one", "two"))
    router = Router(ToolList([one, two]))
    both = router.route("go 12")
    assert (both.decision, [c.name for c in both.choices], both.params) == ("clarify", ["one", "two"], {})
    single = router.route("go 12", RouteContext(denied={"one": "no"}))
    assert (single.tool, single.params) == ("two", {"n": 12, "fast": True})
    nobody = router.route("go 12", RouteContext(denied={"*": "closed"}))
    assert nobody.signal is not None
    assert nobody.signal.why is Why.TOOL_LEFT
    assert [c.name for c in nobody.signal.could] == ["one", "two"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "7", 7),
        ("number", "7.5", 7.5),
        ("number", "nan", "nan"),
        ("integer", "7.5", "7.5"),
        ("boolean", "True", True),
        ("string", "7", "7"),
        ("integer", "x", "x"),
    ],
)
def test_a_formats_groups_have_the_schemas_type(kind: str, text: str, value: object) -> None:
    schema = {"type": "object", "properties": {"v": {"type": kind}}}
    one = tool("one", params_schema=schema, intents=[{"pattern": r"set (?P<v>\S+)"}])
    assert Router(ToolList([one])).route(f"set {text}").params == {"v": value}


class Broken:
    """A recall and scorer that fails."""

    name = "broken"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """Nothing to do."""

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """Never."""
        raise self.error

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """Never."""
        raise self.error


def test_one_switch_goes_back_to_keywords_and_everything_else_keeps_working() -> None:
    model = Fixed(0.1)
    router = Router(ToolList(shop()), recall=LexicalRecall(), scorer=model)
    assert router.route("退款到账没", USER).decision == "no_capability"
    router.degraded = True
    routing = router.route("退款到账没", USER)
    assert (routing.tool, routing.scorer, routing.degraded) == ("query_refund", "lexical", "switched to keywords")
    assert len(model.asked) == 1
    assert router.route("余额 C00001234", USER).scorer == "rule"
    assert router.route("取消订单", RouteContext(read_only=True)).signal is not None
    router.degraded = False
    assert router.route("退款到账没", USER).degraded is None


@pytest.mark.parametrize("place", ["recall", "scorer"])
def test_a_part_that_fails_is_replaced_by_keywords_for_that_question(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = Broken(RuntimeError("token sk-123456"))
    parts: dict[str, Any] = {place: secret}
    routing = Router(ToolList(shop()), **parts).route("退款到账没", USER)
    assert (routing.tool, routing.degraded) == ("query_refund", "broken: RuntimeError")
    assert "sk-123456" not in caplog.text
    parts[place] = Broken(ScoringFailed("no answer (ReadTimeout)"))
    assert Router(ToolList(shop()), **parts).route("退款到账没", USER).degraded == "broken: no answer (ReadTimeout)"


def test_a_scorer_says_the_scores_and_recall_the_candidates() -> None:
    scorer = Fixed(0.2, 0.9)
    routing = Router(letters(4), recall=Fixed(0.9, 0.8, 0.7), scorer=scorer).route("x")
    assert [(one.name, one.score) for one in routing.route.candidates] == [("b", 0.9), ("a", 0.2), ("c", 0.0)]
    assert routing.route.candidates[2].reason == "not scored"
    assert routing.scorer == "fixed, fixed"


def test_scores_out_of_range_are_held_within() -> None:
    routing = Router(letters(3), recall=Fixed(7.0, float("nan"), -3.0)).route("x")
    assert [one.score for one in routing.route.candidates] == [1.0, 0.0, 0.0]


async def test_a_scorer_that_can_wait_is_awaited() -> None:
    class Slow(Fixed):
        async def score_async(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
            return scored(0.1, 0.95)

    class Failing(Fixed):
        async def score_async(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
            raise ScoringFailed("gone")

    assert (await Router(letters(2), recall=Fixed(0.9, 0.8), scorer=Slow()).route_async("x")).tool == "b"
    failed = await Router(ToolList(shop()), scorer=Failing()).route_async("退款到账没", USER)
    assert (failed.tool, failed.degraded) == ("query_refund", "fixed: gone")
    assert (await Router(ToolList(shop())).route_async("退款到账没", USER)).tool == "query_refund"
    assert (await Router(ToolList(shop()), scorer=Slow()).route_async("余额 C00001234", USER)).scorer == "rule"


def test_recorded_scores_repeat_the_decision() -> None:
    router = Router(ToolList(shop()))
    routes = [router.route(line.split("|")[1], USER).route for line in ASKED]
    recorded = RecordedScores.of_routes(routes)
    replay = Router(ToolList(shop()), recall=recorded)
    assert [replay.route(route.intent, USER).route for route in routes] == routes
    assert replay.route("never asked", USER).degraded == "recorded: no scores were recorded for this intent"
    lowered = Router(ToolList(shop()), recall=recorded, thresholds=Thresholds(t1=0.6, gap=0.05))
    assert sum(lowered.route(route.intent, USER).decision == "execute" for route in routes) > sum(
        route.decision == "execute" for route in routes
    )


def test_the_same_inputs_give_the_same_answer_in_any_order_of_tools() -> None:
    routers = [Router(ToolList(shop()))]
    tools = list(shop())
    Random(1).shuffle(tools)
    shuffled = ToolList(())
    shuffled.tools = lambda: tools  # type: ignore[method-assign]
    routers.append(Router(shuffled))
    for line in ASKED[::4]:
        first, again, other = (router.route(line.split("|")[1], USER) for router in (routers[0], *routers))
        assert first == again == other


@given(st.text(max_size=200))
def test_any_text_is_routed(text: str) -> None:
    routing = Router(ToolList(shop()[:3])).route(text)
    assert routing.decision in ("execute", "clarify", "no_capability")
    assert (routing.signal is not None) == (routing.decision == "no_capability")
    assert routing.route.basis == "recorded"


def test_lone_surrogates_do_no_harm() -> None:
    routing = Router(ToolList(shop())).route("退款\ud800到账没", USER)
    assert "\ud800" not in routing.route.intent
    assert routing.tool == "query_refund"


def test_a_changed_registry_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    registry = FolderRegistry(tmp_path, poll_ms=0)
    router = Router(registry)
    assert router.route("refund").tool == "query_refund"
    (tmp_path / "a.yaml").write_text(GOOD.replace("query_refund", "show_money").replace("refund", "cash"))
    assert router.route("refund").decision == "no_capability"
    assert router.route("cash").tool == "show_money"


def test_the_basis_goes_into_the_route() -> None:
    assert Router(letters(1), recall=Fixed(0.9)).route("x", basis="inferred").route.basis == "inferred"

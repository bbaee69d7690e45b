"""Routes of any trace: intent, candidates, scores, decision; and that nothing later is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.infer.candidates import RECORDED, SEEN, ToolSet, recorded, seen
from reach_tui.infer.intent import MOST_ASKED, MOST_SAID, Intent, IntentReader
from reach_tui.infer.registries import bundled
from reach_tui.infer.routes import RouteInference, Settings
from reach_tui.model import Candidate, Result, Route, Step, StepKind, Thresholds, ToolCall
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router

TOOLS = seen(["read", "edit", "bash", "grep", "webfetch"], bundled("opencode"))


def call(tool: str, **more: Any) -> ToolCall:
    return ToolCall(f"s/{tool}", "c", "s", tool, **more)


def intents(steps: list[Step]) -> Iterator[tuple[Step, Intent]]:
    """Every call's step with its intent, in order."""
    reader = IntentReader()
    for step in steps:
        if step.call is not None:
            yield step, reader.at(step.turn)
        reader.see(step)


def user(number: int, turn: int, text: str) -> Step:
    return Step(number, turn, StepKind.USER, text)


def said(number: int, turn: int, text: str) -> Step:
    return Step(number, turn, StepKind.ASSISTANT, text)


def called(number: int, turn: int, tool: str, **more: Any) -> Step:
    return Step(number, turn, StepKind.CALL, call=call(tool, step=number, turn=turn, **more))


def test_the_intent_is_what_was_asked_and_said_in_the_same_turn() -> None:
    steps = [
        said(1, 0, "Hello."), called(2, 0, "bash"),
        user(3, 1, "Fix the greeting."), said(4, 1, "I read it first."), called(5, 1, "read"),
        said(6, 1, "Now the edit."), called(7, 1, "edit"),
        user(8, 2, "And the tests?"), called(9, 2, "bash"), said(10, 2, "All green."),
    ]  # fmt: skip
    assert [intent for _, intent in intents(steps)] == [
        Intent("", ("Hello.",)),
        Intent("Fix the greeting.", ("I read it first.",)),
        Intent("Fix the greeting.", ("Now the edit.", "I read it first.")),
        Intent("And the tests?", ()),
    ]


def test_a_huge_text_is_cut_and_markup_stays_text() -> None:
    ((_, intent),) = intents([user(1, 1, "[red]x[/]\x1b[31m" * 10**5), said(2, 1, "y" * 10**6), called(3, 1, "read")])
    assert len(intent.asked) <= MOST_ASKED
    assert sum(map(len, intent.said)) <= MOST_SAID
    assert "\x1b" not in intent.shown
    assert len(intent.shown) < 400
    assert "[red]" in intent.shown


@given(st.lists(st.tuples(st.sampled_from(list(StepKind)), st.integers(0, 3), st.text(max_size=20))))
def test_any_order_of_steps_has_intents(story: list[tuple[StepKind, int, str]]) -> None:
    reader = IntentReader()
    for number, (kind, turn, text) in enumerate(story, 1):
        assert isinstance(reader.at(turn).shown, str)
        reader.see(Step(number, turn, kind, text))


def test_the_right_tool_comes_first_and_its_score_is_told() -> None:
    route = RouteInference(TOOLS).route(
        Intent("Fetch the web page https://example.com/docs and read it."), call("webfetch")
    )
    assert (route.basis, route.candidates_from, route.rank) == ("inferred", SEEN, 1)
    assert route.chosen == route.candidates[0]
    assert 0 < route.candidates[0].score <= 1
    assert "words:" in route.candidates[0].reason


def test_chinese_requests_are_routed() -> None:
    route = RouteInference(TOOLS).route(Intent("帮我运行一下测试"), call("bash"))
    assert route.candidates[0].name == "bash"


def test_a_tool_outside_the_candidates_keeps_its_score_and_rank() -> None:
    settings = Settings(k=1)
    route = RouteInference(TOOLS, settings).route(Intent("find all TODO comments in the files"), call("bash"))
    assert len(route.candidates) == 1
    assert route.candidates[0].name == "grep"
    assert route.chosen is not None
    assert (route.chosen.name, route.rank) != ("grep", 1)
    assert route.chosen.reason


def test_a_name_that_no_tool_has_is_not_among_them() -> None:
    route = RouteInference(TOOLS).route(Intent("fix it"), call("str_replace_editor"))
    assert (route.chosen, route.rank) == (None, None)


def test_the_tool_behind_a_wrapper_is_the_one() -> None:
    route = RouteInference(TOOLS).route(Intent("read the page"), call("invalid", target="read"))
    assert route.chosen is not None
    assert route.chosen.name == "read"


def test_without_words_in_common_there_is_no_capability() -> None:
    for text in ("", "zzz qqq", "\x00\x1b[m", "🙂"):
        route = RouteInference(TOOLS).route(Intent(text), call("read"))
        assert (route.candidates, route.decision, route.gap) == ((), "no_capability", None)
        assert route.chosen == Candidate("read", 0.0, "no word in common with what was asked")


def test_decisions_follow_the_routers_thresholds() -> None:
    intent = Intent("Fetch the web page https://example.com/docs.")
    top = RouteInference(TOOLS).route(intent, call("webfetch"))
    score, gap = top.candidates[0].score, top.gap or 0.0
    for limits, decision in (
        (Thresholds(score, gap, 0.0), "execute"),
        (Thresholds(score, gap + 0.001, 0.0), "clarify"),
        (Thresholds(min(1.0, score + 0.001), gap, score), "clarify"),
        (Thresholds(1.0, 1.0, min(1.0, score + 0.001)), "no_capability"),
    ):
        route = RouteInference(TOOLS, Settings(limits)).route(intent, call("webfetch"))
        assert (route.decision, route.thresholds) == (decision, limits)


def test_scores_are_those_of_the_layers_router() -> None:
    text = "where is load_cfg used"
    own = Router(ToolList(TOOLS.tools)).route(text)
    assert RouteInference(TOOLS).route(Intent(text), call("grep")).candidates == own.route.candidates


def test_writing_tools_leave_a_read_only_session_with_the_reason() -> None:
    route = RouteInference(TOOLS, Settings(read_only=True)).route(Intent("fix the typo in the greeting"), call("edit"))
    assert {one.name for one in route.dropped} == {"bash", "edit"}
    assert all("read-only" in one.reason for one in route.dropped)
    assert "edit" not in {one.name for one in route.candidates}
    assert (route.chosen, route.rank) == (None, None)


def test_neither_arguments_nor_result_nor_later_steps_change_anything() -> None:
    steps = [
        user(1, 1, "Fix the typo in the greeting of orders.py"),
        said(2, 1, "I look at the file."),
        called(3, 1, "read"),
    ]
    later = [said(4, 1, "Now I fetch the web page."), called(5, 1, "webfetch"), user(6, 2, "Run the tests.")]
    inference = RouteInference(TOOLS)

    def routed(story: list[Step]) -> Route:
        return next(inference.route(intent, step.call) for step, intent in intents(story) if step.call)

    plain = routed(steps)
    assert routed(steps + later) == plain
    told = {"arguments": {"filePath": "run the tests"}, "flagged": True, "metadata": {"exit_code": 1}}
    changed = replace(steps[2], call=call("read", result=Result("bash " * 99, 495), **told))
    assert routed([*steps[:2], changed, *later]) == plain


def test_the_same_call_is_answered_the_same_by_another_inference() -> None:
    intent = Intent("Search for TODO and show the file", ("I search first.",))
    assert RouteInference(TOOLS).route(intent, call("grep")) == RouteInference(TOOLS).route(intent, call("grep"))


WILD = st.one_of(st.none(), st.text(max_size=30), st.integers(), st.lists(st.none(), max_size=3),
                 st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3))  # fmt: skip


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=12), st.text(max_size=80), WILD), max_size=6), st.text(max_size=80)
)
def test_hostile_tools_are_scored_like_any_other(offered: list[tuple[str, str, Any]], text: str) -> None:
    tools = ToolSet((recorded(*one) for one in offered), RECORDED)
    route = RouteInference(tools).route(Intent(text), call("x"))
    assert all(0 < one.score <= 1 for one in route.candidates)
    scores = [one.score for one in route.candidates]
    assert scores == sorted(scores, reverse=True)


def test_no_tools_at_all() -> None:
    route = RouteInference(ToolSet([], SEEN)).route(Intent("read it"), call("read"))
    assert (route.candidates, route.decision, route.rank) == ((), "no_capability", None)


@pytest.mark.parametrize("kind", ["opencode", "peri", "claude_code"])
def test_samples_of_a_registry_find_their_tool(kind: str) -> None:
    """The registries' own utterances: most come first, nearly all among five (they are in the index, so no measure)."""
    tools = ToolSet(bundled(kind).values(), SEEN)
    inference = RouteInference(tools)
    ranks = [
        inference.route(Intent(sample.utterance), call(tool.name)).rank or 999
        for tool in tools.tools
        for sample in tool.sample_calls
        if not sample.counter_example
    ]
    assert sum(rank == 1 for rank in ranks) > 0.75 * len(ranks)
    assert sum(rank <= 5 for rank in ranks) > 0.9 * len(ranks)


def test_bundled_registries_are_read_quickly(tmp_path: Path) -> None:
    bundled.cache_clear()
    assert len(bundled("claude_code")) == 30
    assert bundled("claude_code") is bundled("claude_code")

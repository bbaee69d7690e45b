"""Drawing work lists: what is in, in which order, and that the seed gives the same list again."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.analyze.sampling import CONTROL, KINDS, ORDERS, STRATA, Candidate, Recipe, draw


def call(number: int, tool: str = "bash", **other: object) -> Candidate:
    base = Candidate("peri", "a.db", "s", f"c{number}", tool, True, True, False, 0.9, f"{tool}.rule", "upstream_error")
    return replace(base, **other)  # type: ignore[arg-type]


def fine(number: int) -> Candidate:
    return call(number, failed=False, hidden=False, rule=None, category=None)


def test_nearest_to_doubt_first() -> None:
    found = draw([call(1, confidence=0.95), call(2, confidence=0.55), call(3, confidence=0.3)], Recipe(controls=0))
    assert [one.candidate.key for one in found] == ["c2", "c3", "c1"]


def test_a_rare_tool_gets_its_turn_among_a_thousand_others() -> None:
    calls = [call(number) for number in range(1_000)] + [call(5_000 + number, "edit") for number in range(3)]
    found = draw(calls, Recipe(size=10, controls=0))
    assert Counter(one.stratum for one in found) == {"bash": 7, "edit": 3}


def test_controls_are_fine_calls_spread_over_the_list() -> None:
    calls = [call(number) for number in range(200)] + [fine(1_000 + number) for number in range(200)]
    found = draw(calls, Recipe(size=100, controls=0.2))
    places = [index for index, one in enumerate(found) if one.stratum == CONTROL]
    assert len(found) == 100
    assert len(places) == 20
    assert all(found[place].candidate.failed is False for place in places)
    assert all(later - earlier == 5 for earlier, later in pairwise(places))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("hidden", {"c1"}),
        ("failed", {"c1", "c2"}),
        ("soft", {"c3"}),
        ("flagged", {"c2", "c5"}),
        ("all", {"c1", "c2", "c3", "c4", "c5"}),
    ],
)
def test_each_kind(kind: str, keys: set[str]) -> None:
    calls = [
        call(1),
        call(2, hidden=False, flagged=True),
        call(3, failed=None, hidden=False),
        call(4, failed=None, hidden=False, rule=None),
        call(5, failed=False, hidden=False, flagged=True),
    ]
    assert {one.candidate.key for one in draw(calls, Recipe(kind=kind, controls=0))} == keys


def test_only_the_tools_and_rules_named() -> None:
    calls = [call(1), call(2, "edit"), call(3, "edit", rule="edit.new")]
    assert [one.candidate.key for one in draw(calls, Recipe(controls=0, rules=("edit.new",)))] == ["c3"]
    assert {one.candidate.key for one in draw(calls, Recipe(controls=0, tools=("edit",)))} == {"c2", "c3"}


CALLS = st.lists(
    st.builds(
        call,
        st.integers(0, 30),
        st.sampled_from(["bash", "edit", "read"]),
        failed=st.sampled_from([True, False, None]),
        hidden=st.booleans(),
        confidence=st.sampled_from([0.4, 0.5, 0.9]),
    ),
    max_size=40,
    unique_by=lambda one: one.key,
)


@settings(max_examples=60)
@given(
    CALLS, st.sampled_from(KINDS), st.sampled_from(STRATA), st.sampled_from(ORDERS), st.integers(1, 20), st.randoms()
)
def test_same_list_for_the_same_calls_in_any_order(
    calls: list[Candidate], kind: str, stratify: str, order: str, size: int, shuffler: random.Random
) -> None:
    recipe = Recipe(size, kind, stratify, order, 0.25, seed=7)
    found = draw(calls, recipe)
    assert len(found) <= size
    assert len({one.candidate.key for one in found}) == len(found)
    shuffled = calls[:]
    shuffler.shuffle(shuffled)
    assert draw(shuffled, recipe) == found


def test_another_seed_gives_other_controls() -> None:
    calls = [fine(number) for number in range(100)]
    first, second = (draw(calls, Recipe(size=20, controls=1, seed=seed)) for seed in (1, 2))
    assert {one.candidate.key for one in first} != {one.candidate.key for one in second}


@pytest.mark.parametrize("wrong", [{"kind": "bad"}, {"stratify": "x"}, {"order": "y"}, {"size": 0}, {"controls": 2.0}])
def test_a_wrong_recipe_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not one of|must be"):
        Recipe(**wrong)  # type: ignore[arg-type]

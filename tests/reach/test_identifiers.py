"""Identifiers that parameters take: which tool they speak for, and that they never decide alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.model import Candidate
from reach_tui.reach.decision import decide
from reach_tui.reach.identifiers import Identifiers
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.spec import ToolSpec
from tests.reach.tools import shop, tool

ORDER, PARCEL, DAY = "^[0-9]{16}$", "^[A-Z]{2}[0-9]{13}$", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def taking(name: str, says: str, required: dict[str, str], optional: dict[str, str] | None = None) -> ToolSpec:
    """A tool with these parameters, by name with their pattern."""
    patterns = {**required, **(optional or {})}
    schema = {
        "type": "object",
        "properties": {one: {"type": "string", "pattern": pattern} for one, pattern in patterns.items()},
        "required": list(required),
    }
    return tool(name, says, params_schema=schema)


TOOLS = [
    taking("ship", "Sends goods.", {"order": ORDER}),
    taking("lost", "Goods that vanished.", {"parcel": PARCEL, "day": DAY}),
    taking("where", "Follows goods.", {"parcel": PARCEL}, {"order": ORDER}),
    tool("weather", "Tells of rain."),
]
INDEX = LexicalIndex(TOOLS)


def first(text: str) -> Candidate:
    return INDEX.candidates(text, 1)[0]


def test_what_is_named_speaks_for_the_tool_that_takes_it() -> None:
    assert first("goods 1000200030004001").name == "ship"
    assert first("goods JD0045512903387").name == "where"
    assert first("goods JD0045512903387 2026-06-01").name == "lost"
    assert first("货呢JD0045512903387。").name == "where"
    assert first("goods JD0045512903387").reason.endswith("takes JD0045512903387")


def test_the_share_that_fits() -> None:
    identifiers = Identifiers(TOOLS)
    rest, named = identifiers.split("is JD0045512903387, JD0045512903387 or 1000200030004001 late? 17 42")
    assert [one.value for one in named] == ["JD0045512903387", "1000200030004001"]
    assert "JD" not in rest
    assert rest.endswith("late? 17 42")
    assert [identifiers.fit(place, named) for place in range(4)] == [1 / 2, 1 / 3, 1.0, 0.0]
    assert identifiers.fit(3, []) == 1.0


@pytest.mark.parametrize("pattern", ["", ".", r"^\S+$", "^[a-z]+$", "[0-9]", "(?=x)", "(", "^.{1,20}$", "a" * 600])
def test_a_pattern_that_any_word_has_tells_nothing(pattern: str) -> None:
    text = "17 word R260601000042"
    assert Identifiers([taking("any", "Takes it.", {"value": pattern})]).split(text) == (text, [])


def test_patterns_of_a_trace_may_be_anything() -> None:
    odd = {"type": "object", "properties": {"a": {"pattern": 3}, "b": 7, "c": {"pattern": "\ud800"}}, "required": [1]}
    made = ToolSpec.model_construct(**{**TOOLS[0].model_dump(), "params_schema": odd, "sample_calls": ()})
    assert Identifiers([made]).split("17 R260601000042") == ("17 R260601000042", [])
    many = {"type": "object", "properties": {f"p{n}": {"pattern": f"^K{n}[0-9]{{9}}$"} for n in range(600)}}
    made = ToolSpec.model_construct(**{**TOOLS[0].model_dump(), "params_schema": many, "sample_calls": ()})
    assert Identifiers([made]).split("K7123456789")[1]
    assert not Identifiers([made]).split("K599123456789")[1]


@pytest.mark.parametrize(
    "said", ["R260601000042", "ok R260601000042 thanks", "weather in R260601000042", "JD0045512903387?", "C00018842"]
)
def test_a_number_alone_is_never_executed(said: str) -> None:
    candidates = LexicalIndex(shop()).candidates(said, 5)
    assert candidates
    assert candidates[0].score < 0.75
    assert decide(candidates) == "clarify"


@given(st.text(max_size=200))
def test_no_text_is_lost_or_raises(text: str) -> None:
    rest, named = Identifiers(TOOLS).split(text)
    assert named or rest == text
    assert all(0 <= score <= 1 for score in INDEX.scores(text))

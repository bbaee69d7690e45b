"""Texts as they are compared, and arguments as leaves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.leaves import MOST_LEAVES, flatten
from reach_tui.infer.texts import MOST, comparable, find, lines_of, squeezed, tokens, without_gutter

PRINTABLE = st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\u2028\u2029")
LINES = st.lists(st.text(PRINTABLE, max_size=30), min_size=2, max_size=30)
SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6), each, max_size=3),
    max_leaves=20,
)


@pytest.mark.parametrize("gutter", ["{:>6}→", "{:05d}| ", "{:>6}\t", "{}: ", "{}|", "{:>4}  "])
@given(lines=LINES, first=st.integers(1, 5000))
def test_gutters_come_off(gutter: str, lines: list[str], first: int) -> None:
    numbered = "\n".join(gutter.format(first + place) + line for place, line in enumerate(lines))
    shown = without_gutter(numbered).split("\n")
    if gutter == "{}|":  # where every line begins with a blank, it may be the gutter's
        assert shown in (lines, [line.removeprefix(" ") for line in lines])
    else:
        assert shown == lines


@given(st.text(max_size=300))
def test_a_text_without_numbers_that_count_up_stays(text: str) -> None:
    if not any(char.isdigit() for char in text):
        assert without_gutter(text) == text
    assert len(without_gutter(text)) <= len(text)


def test_what_only_looks_like_a_gutter_stays() -> None:
    times = "10:30 standup\n10:45 review\n11:15 lunch"
    totals = "12  apples\n7  pears\n1,204  nuts"
    assert without_gutter(times) == times
    assert without_gutter(totals) == totals
    assert without_gutter("1\tone line") == "one line"


def test_escapes_are_undone_in_json_and_outside_it() -> None:
    inside = json.dumps({"content": '1|def total(items):\n2|    return "€"'})
    assert 'def total(items):\n    return "€"' in comparable(inside)[-1]
    assert any('say "hi"\n' in form for form in comparable('log: say \\"hi\\"\\nend'))
    assert comparable("a  \nb\t\nc") == ("a\nb\nc",)


@given(st.text(max_size=2000))
def test_any_text_can_be_compared(text: str) -> None:
    forms = comparable(text)
    assert 1 <= len(forms) <= 2
    for form in forms:
        assert all(token == token.lower() for token in tokens(form))


def test_huge_texts_are_bounded() -> None:
    text = "a" * 3_000_000 + " tail_word"
    (form,) = comparable(text)
    assert len(form) <= MOST + 1
    assert "tail_word" in tokens(form)


@given(st.text("ab_ /.é号", min_size=1, max_size=30), st.text("ab_ /.é号", min_size=1, max_size=3))
def test_a_value_is_found_only_on_its_own(text: str, value: str) -> None:
    def is_word(char: str) -> bool:
        return char.isascii() and (char.isalnum() or char == "_")

    places = [at for at in range(len(text)) if text.startswith(value, at)]
    whole = [
        at
        for at in places
        if not (is_word(value[0]) and at and is_word(text[at - 1]))
        and not (is_word(value[-1]) and at + len(value) < len(text) and is_word(text[at + len(value)]))
    ]
    assert find(text, value) == (whole[0] if whole else -1)


def test_lines_and_blanks() -> None:
    assert squeezed(" a\n\tb  c ") == "a b c"
    assert lines_of("  one line\n}\n\n two lines ") == ["one line", "two lines"]


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5))
def test_leaves_have_names_of_their_own_and_hold_every_scalar(arguments: dict[str, JsonValue]) -> None:
    leaves = flatten(arguments)
    assert len({leaf.name for leaf in leaves}) == len(leaves) <= MOST_LEAVES

    def scalars(value: JsonValue) -> list[JsonValue]:
        if isinstance(value, dict) and value:
            return [each for one in value.values() for each in scalars(one)]
        if isinstance(value, list) and value:
            return [each for one in value for each in scalars(one)]
        return [value]

    wanted = [each for one in arguments.values() for each in scalars(one)]
    assert [leaf.value for leaf in leaves] == wanted[:MOST_LEAVES]


def test_leaves_are_named_by_their_path() -> None:
    arguments: JsonValue = {
        "edits": [{"old_string": "a"}, {"old_string": "b"}],
        "order-id": 1,
        "a b": {"c": None},
        "e": [],
    }
    assert [leaf.name for leaf in flatten(arguments)] == [
        "edits[0].old_string", "edits[1].old_string", "order-id", '"a b".c', "e",
    ]  # fmt: skip
    assert flatten("raw text") == flatten(None) == flatten([1]) == []


def test_deep_and_wide_arguments_are_bounded() -> None:
    deep: JsonValue = "x"
    for _ in range(150):
        deep = {"k": deep}
    assert len(flatten({"deep": deep, "wide": list(range(5000))})) == MOST_LEAVES

"""Paths and columns of mappings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.stores.mapping.expression import BadExpression, Row, every, first, parse, walk


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("$", 1, [1]),
        ("$.a.b", {"a": {"b": 2}}, [2]),
        ("$.a.b", {"a": '{"b": 2}'}, [2]),  # JSON in a string is opened
        ('$["odd key"][0]', {"odd key": [3]}, [3]),
        ("$[-1]", [1, 2], [2]),
        ("$[5]", [1], []),
        ("$[*].x", [{"x": 1}, {}, "no", {"x": 2}], [1, 2]),
        ("$[*].x", {"k": {"x": 1}}, [1]),
        ("$[type=x].n", [{"type": "x", "n": 1}, {"type": "y"}, {"type": "x", "n": 2}], [1, 2]),
        ("$[data.ok=true].n", [{"data": {"ok": True}, "n": 1}, {"data": {"ok": "true"}, "n": 2}, {"data": 3}], [1, 2]),
        ("$.a", "not json {", []),
    ],
)  # fmt: skip
def test_paths(text: str, value: JsonValue, found: list[JsonValue]) -> None:
    assert [one for _, one in walk(value, parse(text).path or ())] == found


def test_columns_alternatives_and_positions() -> None:
    row = Row({"a": None, "b": b"bytes", "t.c": "[[1, 2], [3]]"})
    assert first((parse("a"), parse("b")), row) == "bytes"
    assert every((parse("a"), parse("t.c:$[*][*]")), row) == [1, 2, 3]
    assert [place for place, _ in parse("t.c:$[*][*]").find(row)] == [(0, 0), (0, 1), (1, 0)]
    assert parse("a?").optional


@pytest.mark.parametrize("text", ["", "$.", "$[", "a:b", "$.a..b", "$[=x]", "a;b", "x.y.z"])
def test_what_is_no_expression_is_said(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text)


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_is_refused(text: str) -> None:
    try:
        parse(text)
    except BadExpression:
        return


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "a", "text"]), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_can_be_walked(value: Any) -> None:
    for text in ("$[*]", "$[type=text].text", "$.a[0].text", "$[*][*].a"):
        list(walk(value, parse(text).path or ()))

"""Slot filling from declared sources, entity records, the business dictionary, schema faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.dictionary import CALENDAR, ROLLING, BusinessDictionary, Term, span
from reach_tui.reach.entities import EntityLog, Shape, accepts, entities, matching, of_shape, shape_of
from reach_tui.reach.schema_faults import faults, missing
from reach_tui.reach.slots import BROKEN, SEVERAL, TWO, UNIQUE, Context, Match, SlotFiller, Wanted
from reach_tui.reach.spec import SlotSource

MONDAY = int(datetime(2026, 6, 8, 12, tzinfo=UTC).timestamp() * 1000)
REFUND: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^[0-9]{16}$"},
        "start_date": {"type": "string", "format": "date"},
        "end_date": {"type": "string", "format": "date"},
        "currency": {"type": "string", "enum": ["EUR", "USD"], "default": "EUR"},
    },
    "required": ["order_id", "start_date", "end_date", "currency"],
}
ORDER, OTHER, THIRD = "4417000012345678", "4417000012345679", "4417000012345670"
DECLARED = {
    "order_id": SlotSource(sources=("user", "history"), entity="order_id"),
    "start_date": SlotSource(sources=("dictionary",)),
    "end_date": SlotSource(sources=("dictionary",)),
}


def context(text: str, *said: str, **known: JsonValue) -> Context:
    history = EntityLog()
    for number, one in enumerate(said, 1):
        history.add(one, "user", f"turn {number}", MONDAY, number)
    return Context(text, MONDAY, history, known)


# The seed's three steps: gaps, declared sources, confidence


def test_everything_from_its_declared_source() -> None:
    filling = SlotFiller().fill(
        "query_refund", REFUND, {}, context("查一下上周那笔退款", f"我的订单是{ORDER}"), DECLARED
    )
    assert filling.complete
    assert filling.arguments == {
        "order_id": ORDER, "start_date": "2026-06-01", "end_date": "2026-06-07", "currency": "EUR",
    }  # fmt: skip
    slots = {slot.name: slot for slot in filling.slots}
    assert [slots[name].source for name in ("order_id", "start_date", "currency")] == ["user", "dictionary", "default"]
    assert (slots["order_id"].origin, slots["order_id"].origin_step) == ("turn 1", 1)
    assert slots["start_date"].note == "上周 means 2026-06-01…2026-06-07 (rolling)"
    assert filling.confidence == UNIQUE


@pytest.mark.parametrize(
    ("orders", "confidence", "asked"),
    [([ORDER], UNIQUE, 0), ([ORDER, ORDER], UNIQUE, 0), ([ORDER, OTHER], TWO, 2), ([ORDER, OTHER, THIRD], SEVERAL, 3)],
)
def test_one_is_used_several_are_asked_for(orders: list[str], confidence: float, asked: int) -> None:
    filling = SlotFiller().fill("query_refund", REFUND, {}, context("last week's refund", *orders), DECLARED)
    slot = next(slot for slot in filling.slots if slot.name == "order_id")
    assert slot.confidence == confidence
    assert len(filling.clarify[0].options if filling.clarify else ()) == asked
    assert ("order_id" in filling.arguments) is not bool(asked)
    assert filling.complete is not bool(asked)


def test_none_is_a_gap_and_undeclared_sources_are_not_looked_at() -> None:
    filling = SlotFiller().fill("query_refund", REFUND, {}, context("refund"), DECLARED)
    assert [(gap.name, gap.reason) for gap in filling.gaps] == [
        ("order_id", "not in user, history"), ("start_date", "not in dictionary"), ("end_date", "not in dictionary"),
    ]  # fmt: skip
    assert filling.confidence == 0.0
    bare = SlotFiller().fill("query_refund", REFUND, {}, context(f"refund {ORDER}", ORDER))
    assert bare.gaps[0].reason == "no source is declared for it"
    lost = SlotFiller().fill("q", REFUND, {}, context("x"), {"order_id": SlotSource(sources=("nobody",))})
    assert lost.gaps[0].reason == "not in nobody (no such provider)"


@dataclass
class Orders:
    """A business database of one customer."""

    rows: tuple[str, ...]

    def find(self, wanted: Wanted, context: Context) -> Sequence[Match]:
        assert (wanted.tool, wanted.name, wanted.entity, wanted.pattern) == ("q", "order_id", "order", "^[0-9]{16}$")
        return [Match(row, f"table orders of {context.profile['customer']}", confidence=0.8) for row in self.rows]


def test_a_business_database_and_a_profile() -> None:
    declared = {"order_id": SlotSource(sources=("database",), entity="order")}
    filling = SlotFiller({"database": Orders((ORDER,))}).fill("q", REFUND, {}, context("x", customer="c1"), declared)
    slot = next(slot for slot in filling.slots if slot.name == "order_id")
    assert (slot.value, slot.source, slot.origin, slot.confidence) == (ORDER, "result", "table orders of c1", 0.8)
    profile = {"order_id": SlotSource(sources=("profile",))}
    filling = SlotFiller().fill("q", REFUND, {}, context("x", order_id=[ORDER, OTHER]), profile)
    assert filling.clarify[0].options == (ORDER, OTHER)


def test_what_a_source_offers_is_held_against_the_schema() -> None:
    declared = {"order_id": SlotSource(sources=("profile",))}
    filling = SlotFiller().fill("q", REFUND, {}, context("x", order_id="12"), declared)
    assert filling.slots[0].confidence == BROKEN
    assert filling.clarify[0].reason == 'order_id: expected ^[0-9]{16}$, received "12"'


def test_a_given_value_is_kept_and_checked() -> None:
    filling = SlotFiller().fill("q", REFUND, {"order_id": "12", "currency": "USD"}, context("in USD", ORDER), DECLARED)
    slots = {slot.name: slot for slot in filling.slots}
    assert (slots["order_id"].value, slots["order_id"].confidence) == ("12", BROKEN)
    assert (slots["currency"].source, slots["currency"].confidence) == ("user", UNIQUE)


def test_named_values_of_the_business() -> None:
    dictionary = BusinessDictionary.of({"values": {"华东": "east-china", "VIP": "level_3"}})
    schema: dict[str, JsonValue] = {"properties": {"region": {"enum": ["east-china", "north"]}}, "required": ["region"]}
    filling = SlotFiller(dictionary=dictionary).fill(
        "q", schema, {}, context("华东的VIP"), {"region": SlotSource(sources=("dictionary",))}
    )
    assert filling.arguments == {"region": "east-china"}


# The dictionary


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("today", "2026-06-08"), ("昨天", "2026-06-07"), ("the day before yesterday", "2026-06-06"),
        ("last week", "2026-06-01…2026-06-07"), ("上周", "2026-06-01…2026-06-07"), ("上个月", "2026-05-01…2026-05-31"),
        ("last month", "2026-05-01…2026-05-31"), ("Q2", "2026-04-01…2026-06-30"), ("2025 Q4", "2025-10-01…2025-12-31"),
        ("第一季度", "2026-01-01…2026-03-31"), ("last quarter", "2026-01-01…2026-03-31"),
        ("去年", "2025-01-01…2025-12-31"),
        ("the past 30 days", "2026-05-09…2026-06-07"), ("最近3天", "2026-06-05…2026-06-07"),
        ("this week", "2026-06-08…2026-06-14"),
    ],
)  # fmt: skip
def test_phrases(text: str, words: str) -> None:
    (one,) = BusinessDictionary().ranges(f"refunds of {text}, please", MONDAY)
    assert one.words == words


@pytest.mark.parametrize("text", ["breakfast week", "Yesterdays", "Q5", "SEQ2", "last 0 days", ""])
def test_what_is_no_phrase(text: str) -> None:
    assert BusinessDictionary().ranges(text, MONDAY) == []


def test_last_week_by_both_rules_on_a_wednesday() -> None:
    wednesday = MONDAY + 2 * 86_400_000
    rolling, calendar = BusinessDictionary(), BusinessDictionary(weeks=CALENDAR)
    assert rolling.ranges("上周", wednesday)[0].words == "2026-06-03…2026-06-09"
    assert calendar.ranges("上周", wednesday)[0].words == "2026-06-01…2026-06-07"
    assert rolling.ranges("上周", wednesday, CALENDAR)[0].rule == CALENDAR


def test_the_day_begins_in_the_zone_of_the_business() -> None:
    late = int(datetime(2026, 6, 8, 20, tzinfo=UTC).timestamp() * 1000)
    shanghai = timezone(timedelta(hours=8))
    assert BusinessDictionary().ranges("today", late)[0].words == "2026-06-08"
    assert BusinessDictionary(zone=shanghai).ranges("今天", late)[0].words == "2026-06-09"


def test_terms_from_data_and_what_is_wrong_with_them() -> None:
    data: dict[str, JsonValue] = {
        "weeks": "calendar",
        "terms": [{"phrases": ["账期", "billing period"], "unit": "month", "offset": -1, "rule": "rolling"}],
    }
    found = BusinessDictionary.of(data)
    assert found.ranges("this billing period", MONDAY)[0].words == "2026-05-09…2026-06-07"
    assert found.weeks == CALENDAR
    bad: list[dict[str, JsonValue]] = [
        {"weeks": "x"},
        {"terms": [{"phrases": "x", "unit": "day"}]},
        {"terms": [{"phrases": ["x"], "unit": "moon"}]},
    ]
    for one in bad:
        with pytest.raises(ValueError, match=r"expected"):
            BusinessDictionary.of(one)


@given(
    st.dates(date(1970, 1, 2), date(2200, 1, 1)),
    st.sampled_from(["day", "week", "month", "quarter", "year"]),
    st.integers(-50, 50),
    st.sampled_from([CALENDAR, ROLLING]),
)
def test_spans_follow_each_other_without_a_gap(today: date, unit: str, offset: int, rule: str) -> None:
    first, last = span(today, unit, offset, rule)
    assert first <= last
    assert span(today, unit, offset + 1, rule)[0] == last + timedelta(days=1)
    if offset == 0:
        assert first <= today <= last


@given(st.text(max_size=60), st.integers(-(10**18), 10**18))
def test_no_text_and_no_clock_is_too_odd(text: str, now: int) -> None:
    for term in BusinessDictionary(terms=[Term(("x",), "year", -5000)]).ranges(f"{text} x", now):
        assert term.first <= term.last  # years beyond 5000 have one
    found = BusinessDictionary(terms=[Term(("x",), "year", -1)]).ranges(f"{text} x", MONDAY)
    assert "x" in [term.phrase for term in found]
    assert [term for term in found if term.first > term.last] == []


def test_a_term_beyond_the_calendar_hides_no_other() -> None:
    dictionary = BusinessDictionary(
        terms=[Term(("in the beginning",), "year", -5000), Term(("last season",), "quarter", -1)]
    )
    text = "from in the beginning to last season, Q2 2026, Q4 9999, past 9999999 years, past 3 days"
    assert [term.phrase for term in dictionary.ranges(text, MONDAY)] == ["last season", "Q2 2026", "past 3 days"]


# Entities


def test_entities_and_who_named_them() -> None:
    text = f"查订单{ORDER}，见 src/a.py 和 https://x.org/z?q=1，邮件 a.b@x.org，2026-06-01，“那笔退款”"
    assert [(one.shape, one.value) for one in entities(text)] == [
        (Shape.ORDER_ID, ORDER), (Shape.PATH, "src/a.py"), (Shape.URL, "https://x.org/z?q=1"),
        (Shape.EMAIL, "a.b@x.org"),
        (Shape.DATE, "2026-06-01"), (Shape.QUOTED, "那笔退款"),
    ]  # fmt: skip
    log = EntityLog()
    log.add(f"mine is {ORDER}", "user", "turn 1", 5, 1)
    log.add(f"found {OTHER}", "result", "step 2", 6, 2)
    newest, oldest = log.mentions(Shape.ORDER_ID)
    assert (newest.entity.value, newest.by, newest.origin, newest.at, newest.step) == (OTHER, "result", "step 2", 6, 2)
    assert oldest.entity.value == ORDER
    assert [one.entity.value for one in log.mentions(pattern="^4417.*9$")] == [OTHER]
    log.add(THIRD, "user")
    assert [one.entity.value for one in log.mentions(Shape.ORDER_ID)] == [THIRD, OTHER, ORDER]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("123e4567-e89b-12d3-a456-426614174000", Shape.UUID), ("ORD-2024-001", Shape.ORDER_ID), (ORDER, Shape.ORDER_ID),
        ("12.5", Shape.NUMBER), ("/srv/x.py", Shape.PATH), ("docs/退款指南.md", Shape.PATH), ("README.md", Shape.PATH),
        ("2026/06/01", Shape.DATE), ("a@b.de", Shape.EMAIL), ("ftp://x/y", Shape.URL), ("word", None),
        ("two words", None), ("", None),
    ],
)  # fmt: skip
def test_shapes(value: str, shape: Shape | None) -> None:
    assert shape_of(value) is shape


@given(st.text(max_size=400))
def test_entities_stand_where_they_say(text: str) -> None:
    for one in entities(text):
        assert text[one.start : one.end] == one.value


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["a/" * 130_000, "a." * 130_000, "a@" * 130_000, "-1" * 130_000, "A" * 260_000, '"' * 260_000]
)
def test_entities_of_hostile_texts_are_linear(text: str) -> None:
    for shape in Shape:
        assert sum(1 for _ in of_shape(text, shape)) <= len(text)


def test_patterns_of_a_schema_are_linear_and_may_be_broken() -> None:
    assert [one.value for one in matching(f"a {ORDER}, b", "^[0-9]{16}$")] == [ORDER]
    assert list(matching("a" * 5000, "^(a+)+$")) == []
    assert list(matching("x", "([")) == []
    assert (accepts("^a$", "a"), accepts("^a$", "b"), accepts("([", "a")) == (True, False, None)


# Schema faults


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer"}, "5", 'x: expected integer, received "5"'),
        ({"type": ["string", "null"]}, 5, "x: expected string or null, received 5"),
        ({"type": "boolean"}, 1, "x: expected boolean, received 1"),
        ({"type": "integer"}, True, "x: expected integer, received true"),
        ({"minimum": 1}, 0, "x: expected at least 1, received 0"),
        ({"exclusiveMaximum": 5}, 5, "x: expected less than 5, received 5"),
        ({"minLength": 2}, "a", 'x: expected at least 2 characters, received "a"'),
        ({"const": 1}, 2, "x: expected 1, received 2"),
        ({"enum": ["a", 1]}, True, 'x: expected one of "a", 1, received true'),
        ({"format": "uri"}, "x.org", 'x: expected a URL with its scheme, received "x.org"'),
        ({"items": {"type": "string"}}, ["a", 1], "x[1]: expected string, received 1"),
        ({"minItems": 1}, [], "x: expected at least 1 items, received 0 items"),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, "x.a: expected string, received 1"),
        ({"required": ["a"]}, {}, "x.a: expected a value (required), received nothing"),
        (
            {"additionalProperties": False, "properties": {"a": {}}}, {"b": 1},
            "x.b: expected no such parameter, received 1",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, 5, "x: expected string, received 5"),
    ],
)  # fmt: skip
def test_faults_name_field_expected_received(schema: JsonValue, value: JsonValue, words: str) -> None:
    (one,) = faults(value, schema, "x")
    assert one.words == words


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 5.0), ({"type": "number"}, 5), ({"pattern": "(["}, "x"), ({}, object), ("no schema", 1),
        ({"type": "strange"}, 1), ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 5),
        ({"enum": [1, None]}, None),
        ({"properties": {"a": {"type": "string"}}}, {"a": None}),
    ],
)  # fmt: skip
def test_what_is_no_fault(schema: JsonValue, value: JsonValue) -> None:
    assert list(faults(value, schema, "x")) == []


LEAVES: list[JsonValue] = [
    {}, {"type": "string"}, {"type": "integer"}, {"type": ["null", "number"]}, {"enum": ["a", 1, None]}, {"const": "a"},
    {"pattern": "^a+$"}, {"minLength": 2, "maxLength": 3}, {"minimum": 1, "exclusiveMaximum": 3},
    {"anyOf": [{"type": "string"}, {"type": "boolean"}]}, {"oneOf": [{"type": "array"}, {"const": 2}]},
]  # fmt: skip
SCHEMAS: st.SearchStrategy[JsonValue] = st.recursive(
    st.sampled_from(LEAVES),
    lambda each: st.builds(lambda one: {"type": "array", "items": one, "minItems": 1}, each)
    | st.builds(
        lambda one, other, closed: {
            "properties": {"a": one, "b": other}, "required": ["a"], "additionalProperties": not closed,
        },
        each, each, st.booleans(),
    ),
    max_leaves=5,
)  # fmt: skip
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.sampled_from([0.5, 2.0, "", "a", "aa", "aaaa", "b"]),
    lambda each: st.lists(each, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), each, max_size=3),
    max_leaves=6,
)


@given(SCHEMAS, JSON)
def test_what_is_called_a_fault_is_none_to_the_validator_either(schema: JsonValue, value: JsonValue) -> None:
    import jsonschema_rs

    assert isinstance(schema, dict)
    valid = jsonschema_rs.is_valid(schema, value)
    found = list(faults(value, schema, "x"))
    assert not (valid and found)
    if not valid and not isinstance(value, list | dict):
        assert found


def test_missing_may_be_alternatives() -> None:
    schema: JsonValue = {"required": ["a"], "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}
    assert [(one.fields, one.unless) for one in missing(schema, {})] == [(("a",), ()), (("b",), ("c",))]
    assert missing(schema, {"a": 0, "c": "x"}) == []
    assert missing({"required": ["new_string"]}, {"new_string": ""}) == []  # an empty new text deletes
    assert missing({"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}, {"a": None}) == []
    assert missing("none", {}) == []

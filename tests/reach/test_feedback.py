"""Two texts for each failure, and the right member of the closed enumeration for every way to fail."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.detect import default_engine
from reach_tui.model import Result, ToolCall
from reach_tui.native.error_types import ERROR_TYPES
from reach_tui.reach.feedback import PEOPLE, SUGGESTIONS, Failure, Violation, of_exception, of_status, received
from reach_tui.reach.parameters import MOST, Parameters
from reach_tui.reach.spec import SlotSource
from reach_tui.taxonomy import default
from tests.reach.clocks import ORDER_SCHEMA, tool

SEVEN = ["step", "error_type", "field", "expected", "received", "retryable", "suggestion"]


def check(schema: Mapping[str, object], params: dict[str, JsonValue], **more: object) -> Failure | None:
    return Parameters().check(tool(schema=schema, **more), params)  # type: ignore[arg-type]


def test_the_seeds_example() -> None:
    slots = {"order_id": SlotSource(sources=("history", "result"), result_of="search_order.orderId")}
    failure = check(ORDER_SCHEMA, {"order_id": "12ab34cd56ef"}, slots=slots)
    assert failure is not None
    assert failure.for_model() == {
        "step": "query_refund",
        "error_type": "invalid_param",
        "field": "order_id",
        "expected": "the pattern ^[0-9]{16}$ (16 digits, the field orderId of search_order)",
        "received": "'12ab34cd56ef': 12 characters (digits, letters)",
        "retryable": False,
        "suggestion": "call search_order first and use its orderId as order_id",
    }
    assert failure.for_people() == "Something in the request to query refund is not in the form it needs."
    assert failure.for_people({"invalid_param": "{step}：参数格式不对"}) == "query refund：参数格式不对"


def test_a_missing_and_an_unknown_parameter_are_named() -> None:
    failure = check(ORDER_SCHEMA, {"order": "1"})
    assert failure is not None
    text = failure.for_model()
    assert list(text)[:7] == SEVEN
    fields = {one.field: one for one in failure.violations}
    assert set(fields) == {"order_id", "order"}
    assert fields["order_id"].received == "nothing"
    assert "^[0-9]{16}$" in fields["order_id"].expected
    assert "there are order_id" in fields["order"].expected
    assert isinstance(text["errors"], list)
    assert len(text["errors"]) == 2


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "7", "type integer"),
        ({"type": "integer", "minimum": 1}, 0, "at least 1"),
        ({"enum": ["a", "b"]}, "c", "one of a, b"),
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "array", "items": {"type": "string"}}, [1], "type string"),
    ],
)
def test_what_was_expected_is_said_in_words(schema: dict[str, object], value: JsonValue, expected: str) -> None:
    failure = check({"type": "object", "properties": {"p": schema}}, {"p": value})
    assert failure is not None
    assert failure.violations[0].expected == expected


def test_mistakes_are_bounded_and_deep_ones_have_a_path() -> None:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
    failure = check(schema, {"ids": list(range(500))})
    assert failure is not None
    assert len(failure.violations) == MOST
    assert failure.violations[0].field == "ids.0"


@pytest.mark.parametrize("value", [{"a": {1, 2}}, float("nan"), 10**400, b"raw"])
def test_what_is_no_json_is_an_invalid_parameter(value: object) -> None:
    failure = check({"type": "object", "properties": {"p": {"type": "string"}}}, {"p": value})  # type: ignore[dict-item]
    assert failure is not None
    assert failure.error_type == "invalid_param"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("123", "'123': 3 characters (digits)"),
        ("", "'': 0 characters (empty)"),
        ([1, 2], "a list of 2"),
        ({"a": 1}, "an object with a"),
        (None, "None"),
    ],
)
def test_received_values_show_the_difference(value: JsonValue, text: str) -> None:
    assert received(value) == text
    assert len(received("x" * 10_000)) < 150


@pytest.mark.parametrize(
    ("status", "error_type"),
    [
        (200, None), (204, None), (301, "bad_response"), (400, "invalid_param"), (401, "auth_denied"),
        (403, "auth_denied"), (404, "not_found"), (408, "timeout"), (409, "precondition_failed"), (413, "too_large"),
        (418, "invalid_param"), (422, "invalid_param"), (429, "rate_limited"), (451, "policy_blocked"),
        (499, "cancelled"), (500, "upstream_5xx"), (502, "upstream_5xx"), (503, "upstream_5xx"), (504, "timeout"),
        (599, "upstream_5xx"),
    ],
)  # fmt: skip
def test_every_status_has_its_type(status: int, error_type: str | None) -> None:
    assert of_status(status) == error_type


def test_all_statuses_map_into_the_enumeration() -> None:
    assert {of_status(status) for status in range(200, 600)} - {None} <= set(ERROR_TYPES)


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (TimeoutError(), "timeout"),
        (PermissionError(), "auth_denied"),
        (FileNotFoundError(), "not_found"),
        (ConnectionResetError(), "network"),
        (ModuleNotFoundError(), "dependency_missing"),
        (OSError(28, "no space"), "environment"),
        (MemoryError(), "too_large"),
        (ZeroDivisionError(), "tool_internal"),
    ],
)
def test_every_exception_has_its_type(error: BaseException, error_type: str) -> None:
    assert of_exception(error) == error_type


def test_the_enumeration_is_closed() -> None:
    for word in ("time_out", "none", "", "Timeout"):
        with pytest.raises(ValueError, match="unknown error_type"):
            Failure("t", word)
    assert set(PEOPLE) | set(SUGGESTIONS) <= set(ERROR_TYPES)


def test_every_type_gives_the_model_a_next_step_and_people_a_sentence() -> None:
    for error_type in set(ERROR_TYPES) - {"none"}:
        failure = Failure("query_refund", error_type, "HTTP 599 <trace> at 0x7f")
        assert list(failure.for_model())[:7] == SEVEN
        assert failure.for_model()["suggestion"]
        assert "0x7f" not in failure.for_people()
        assert "{" not in failure.for_people()


OF_NO_CALL = {"none", "tool_wrong", "loop", "model_output"}


@pytest.mark.parametrize("error_type", sorted(set(ERROR_TYPES) - OF_NO_CALL))
def test_what_the_layer_says_is_classed_as_it_says(error_type: str) -> None:
    text = dumps(Failure("create_refund", error_type, "it did not work").for_model())
    call = ToolCall("k", "c", "s", "create_refund", {"amount": 1}, True, Result(text, len(text)))
    verdict = default_engine().judge(call)
    classes = {
        (first.id, second.id)
        for first in default().categories
        for second in first.subcategories
        if second.error_type == error_type
    }
    assert verdict.failed
    if verdict.subcategory is None:
        assert verdict.category in {first for first, _ in classes}
    elif error_type != "slot_missing":  # the layer asks before it guesses: the person did not say it
        assert (verdict.category, verdict.subcategory) in classes


def test_long_details_are_cut_and_say_so() -> None:
    text = Failure("t", "upstream_5xx", "x" * 5_000, retry_after_ms=1500.4).for_model()
    assert str(text["received"]).endswith("(5000 characters)")
    assert text["retry_after_ms"] == 1500
    assert Violation("a", "b", "c") == Violation("a", "b", "c")

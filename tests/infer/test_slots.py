"""Slots by provenance: every source, everything that lowers confidence, and what is never looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.slots import SlotIndex, call_confidence, infer_slots
from reach_tui.infer.weights import DEFAULT
from reach_tui.model import Result, Slot, Step, Verdict
from tests.infer.story import DOWN, FINE, WRONG, Story

REFUND: JsonValue = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^[0-9]{16}$"},
        "currency": {"type": "string", "enum": ["EUR", "USD"]},
        "mode": {"type": "string", "default": "full"},
        "since": {"type": "string"},
    },
    "required": ["order_id"],
}
ORDER, OTHER, THIRD = "4417000012345678", "4417000012345679", "4417000012345670"


def refunds() -> Story:
    return Story(schemas={"query_refund": REFUND})


# Sources


def test_the_persons_word() -> None:
    slot = refunds().user(f"查一下订单{ORDER}的退款").slots("query_refund", order_id=ORDER)["order_id"]
    assert (slot.source, slot.origin, slot.origin_step, slot.matches) == ("user", "step 1 · user", 1, 1)
    assert slot.confidence == DEFAULT.user
    assert slot.note == ""


def test_an_earlier_result_and_every_match() -> None:
    story = refunds().user("my last refund?").call("search_order", f'{{"orderId": "{ORDER}"}}', phone="555")
    story.call("log", f"asked for {ORDER}.", x=1)
    slot = story.slots("query_refund", order_id=ORDER)["order_id"]
    assert (slot.source, slot.origin, slot.matches) == ("result", "step 3 · log", 2)


def test_the_business_dictionary() -> None:
    story = refunds().user("refunds of last week please")
    slot = story.slots("query_refund", order_id=ORDER, since="2026-06-01")["since"]
    assert (slot.source, slot.origin_step) == ("dictionary", 1)
    assert "last week: 2026-06-01…2026-06-07" in slot.note
    weeks = Story().user("上个星期的报表").slots("report", start_date="2026-05-31", end_date="2026-06-07")
    assert weeks["start_date"].source == "none"  # neither the last seven days nor the calendar week begin there
    assert weeks["end_date"].source == "dictionary"


def test_a_rule_that_is_not_the_dictionarys_lowers() -> None:
    # on a Wednesday the calendar week and the last seven days differ
    story = Story().user("refunds of last week please")
    call = replace(story.make("report", since="2026-06-01", until="2026-06-07"), started_at=1_781_092_800_000)
    since, until = story.index.slots(call)
    assert since.source == until.source == "dictionary"
    assert since.confidence == DEFAULT.other_rule
    assert "does not read it as calendar" in since.note


def test_the_schemas_default_and_a_folder() -> None:
    story = refunds().user(f"refund {ORDER}")
    assert story.slots("query_refund", order_id=ORDER, mode="full")["mode"].source == "default"
    assert story.slots("list_dir", path="/srv/shop")["path"].origin == "the session's folder"


def test_its_own_earlier_argument() -> None:
    story = Story().user("go").call("lookup", "done", customer_id="cus-881")
    slot = story.slots("lookup", customer_id="cus-881")["customer_id"]
    assert (slot.source, slot.origin, slot.confidence) == ("argument", "step 2 · lookup", DEFAULT.argument)


def test_its_own_prose_is_weak() -> None:
    slot = Story().user("go").says("I think it is cus-881.").slots("lookup", customer_id="cus-881")["customer_id"]
    assert (slot.source, slot.confidence) == ("assistant", DEFAULT.assistant)


def test_nowhere_is_invented() -> None:
    slot = Story().user("go").slots("lookup", customer_id="cus-881")["customer_id"]
    assert (slot.source, slot.confidence, slot.matches) == ("none", DEFAULT.invented_id, 0)
    assert slot.note.startswith("INVENTED:")


def test_composed_texts_stand_apart() -> None:
    story = Story().user("write a note")
    slots = story.slots("task", prompt="Look at everything.", description="look", subagent_type="explore", fast=True)
    assert {slot.source for slot in slots.values()} == {"composed"}
    assert all(slot.confidence is None for slot in slots.values())
    assert story.confidence("task", prompt="Look at everything.") is None


def test_of_a_command_the_paths_and_ids_are_looked_up() -> None:
    story = Story().user("run tests/test_cart.py for me")
    slots = story.slots("bash", command=f"pytest tests/test_cart.py && cat src/gone.py > out/log.txt; curl -d {ORDER}")
    assert (slots["command"].source, slots["command"].confidence) == ("composed", None)
    assert slots["command[tests/test_cart.py]"].source == "user"
    assert slots["command[src/gone.py]"].source == "none"
    assert "command[out/log.txt]" not in slots  # the command makes it
    assert slots[f"command[{ORDER}]"].confidence == DEFAULT.invented_id


# Matching


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("see src/cart.py", "/srv/shop/src/cart.py"),
        ("see /srv/shop/src/cart.py", "src/cart.py"),
        ("see cart.py", "src/cart.py"),
        ("see Src/Cart.py", "src/cart.py"),
    ],
)
def test_paths_in_other_forms(said: str, value: str) -> None:
    slot = Story().user(said).slots("view", path=value)["path"]
    assert slot.source == "user"
    assert slot.confidence is not None
    assert slot.confidence > DEFAULT.assistant


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("about 1,234,567 of them", "account_id", 1234567),
        ("on June 1, 2026", "date", "2026-06-01"),
        ("6月1日的订单", "date", "2026-06-01"),
        ("order ABC-1234-5", "order_id", "abc-1234-5"),
    ],
)
def test_numbers_and_dates_in_other_formats(said: str, name: str, value: JsonValue) -> None:
    slot = Story().user(said).slots("lookup", {name: value})[name]
    assert slot.source == "user"
    assert "found in another form" in slot.note or slot.confidence == DEFAULT.user * DEFAULT.derived


def test_a_part_of_a_longer_word_is_no_match() -> None:
    slot = Story().user(f"order 9{ORDER}").slots("query_refund", order_id=ORDER)["order_id"]
    assert slot.source == "none"


def test_results_that_only_echo_do_not_count() -> None:
    story = Story().user("open it").call("view", "no such file: src/gone.py", WRONG, path="src/gone.py")
    slot = story.slots("cat_file", path="src/gone.py")["path"]
    assert slot.source == "none"
    hint = Story().call("lookup", f"unknown id 12; did you mean {ORDER}?", WRONG, order_id="12")
    assert hint.slots("lookup", order_id=ORDER)["order_id"].source == "result"


def test_results_that_came_after_the_call_began_were_not_seen() -> None:
    story = Story().user("both at once").call("search", f"found {ORDER}", q="refund")
    step, verdict = story.steps[-1]
    assert step.call is not None
    running = replace(step, call=replace(step.call, duration_ms=5000))
    story.steps[-1] = (running, verdict)
    assert story.slots("query_refund", order_id=ORDER)["order_id"].source == "none"


# What lowers confidence


@pytest.mark.parametrize(("others", "most"), [([], 0.97), ([OTHER], DEFAULT.two), ([OTHER, THIRD], DEFAULT.several)])
def test_ambiguity(others: list[str], most: float) -> None:
    story = refunds().user(f"I have {', '.join([ORDER, *others])}.").user("refund the last one")
    slot = story.slots("query_refund", order_id=ORDER)["order_id"]
    assert slot.confidence == most
    assert ("AMBIGUOUS" in slot.note) is bool(others)


def test_named_now_or_looked_up_alone_is_not_ambiguous() -> None:
    story = refunds().call("search", f"{ORDER} {OTHER} {THIRD}", q="all").user(f"the one I mean is {ORDER}")
    assert story.slots("query_refund", order_id=ORDER)["order_id"].confidence == DEFAULT.user
    story = refunds().call("search", f"{ORDER} {OTHER} {THIRD}", q="all").call("search", f"just {OTHER}", q="newest")
    assert story.slots("query_refund", order_id=OTHER)["order_id"].confidence == DEFAULT.result


@pytest.mark.parametrize(
    ("arguments", "name", "words"),
    [
        ({"order_id": "12"}, "order_id", 'expected ^[0-9]{16}$, received "12"'),
        ({"order_id": ORDER, "currency": "CHF"}, "currency", 'expected one of "EUR", "USD", received "CHF"'),
        ({"order_id": 12}, "order_id", "expected string, received 12"),
    ],
)
def test_schema_violations_name_expected_and_received(arguments: dict[str, JsonValue], name: str, words: str) -> None:
    story = refunds().user(f"refund 12 or {ORDER} in CHF")
    slot = story.slots("query_refund", dict(arguments))[name]
    assert slot.confidence == DEFAULT.broken
    assert f"SCHEMA: {words}" in slot.note
    assert story.confidence("query_refund", **arguments) == DEFAULT.broken


@pytest.mark.parametrize(
    ("arguments", "state"), [({}, "absent"), ({"order_id": None}, "null"), ({"order_id": " "}, "empty")]
)
def test_gaps_come_first_with_confidence_nought(arguments: dict[str, JsonValue], state: str) -> None:
    story = refunds().user("refund in EUR")
    found = story.index.slots(story.make("query_refund", {"currency": "EUR", **arguments}))
    assert (found[0].name, found[0].confidence, found[0].note) == ("order_id", 0.0, f"GAP: required and {state}")
    assert story.confidence("query_refund", **arguments) == 0.0


def test_a_gap_of_what_is_required_unless() -> None:
    schema: JsonValue = {
        "properties": {"prompt": {"type": "string"}, "kind": {"type": "string"}, "fork": {"type": "boolean"}},
        "required": ["prompt"],
        "if": {"properties": {"fork": {"const": True}}, "required": ["fork"]},
        "else": {"required": ["kind"]},
    }
    story = Story(schemas={"Agent": schema}).user("delegate")
    assert story.slots("Agent", prompt="do")["kind"].confidence == 0.0
    assert "kind" not in story.slots("Agent", prompt="do", fork=True)
    either: JsonValue = {"anyOf": [{"required": ["kind"]}, {"required": ["fork"]}]}
    story = Story(schemas={"Agent": either})
    assert story.slots("Agent", prompt="do")["kind"].note == "GAP: required and absent, unless fork is given"
    assert "kind" not in story.slots("Agent", prompt="do", fork=True)


def test_the_same_call_that_failed_before() -> None:
    story = refunds().user(f"refund {ORDER}").call("query_refund", "no such order", WRONG, order_id=ORDER)
    slot = story.slots("query_refund", order_id=ORDER)["order_id"]
    assert slot.confidence == DEFAULT.repeated
    assert slot.note == "the same call failed at step 2"
    for other in (
        refunds().user(f"refund {ORDER}").call("query_refund", "503", DOWN, order_id=ORDER),  # nothing about parameters
        story.call("query_refund", "paid", FINE, order_id=ORDER),  # it works now
    ):
        assert other.slots("query_refund", order_id=ORDER)["order_id"].confidence == DEFAULT.user


def test_arguments_that_are_no_json() -> None:
    story = refunds().user("go")
    (slot,) = story.index.slots(replace(story.make("query_refund", '{"order_id": "44'), problem="unterminated string"))
    assert (slot.name, slot.confidence, slot.note) == ("arguments", DEFAULT.broken, "SCHEMA: unterminated string")
    assert story.slots("grep", pattern="apply_(")["pattern"].confidence == DEFAULT.broken


# A call's confidence


def test_a_calls_confidence_is_the_lowest_of_its_required_slots() -> None:
    def slot(name: str, confidence: float | None, note: str = "") -> Slot:
        return Slot(name, "x", "user", "inferred", confidence=confidence, note=note)

    slots = [slot("a", 0.9), slot("b", 0.3), slot("c", None), slot("edits[0].d", 0.6)]
    assert call_confidence(slots) == 0.3
    assert call_confidence(slots, frozenset(["a"])) == 0.9
    assert call_confidence(slots, frozenset(["a", "edits"])) == 0.6
    assert call_confidence(slots, frozenset(["c"])) is None
    assert call_confidence([]) is None


# What is never looked at

WORDS = st.sampled_from([ORDER, OTHER, "src/cart.py", "def total():", "Error: not found", "", '{"a": "src/cart.py"}'])
TOOLS = st.sampled_from(["read_file", "edit_file", "bash", "query_refund"])
CALLS = st.lists(st.tuples(TOOLS, WORDS, WORDS, st.booleans()), min_size=1, max_size=8)


@settings(max_examples=60)
@given(CALLS, WORDS, st.integers(0, 7))
def test_neither_the_own_result_nor_later_steps_count(
    calls: list[tuple[str, str, str, bool]], other: str, chosen: int
) -> None:
    story = refunds().user(f"look at {ORDER} and src/cart.py")
    for tool, value, result, failed in calls:
        named: dict[str, dict[str, JsonValue]] = {
            "read_file": {"path": value},
            "edit_file": {"path": "src/cart.py", "old_string": value, "new_string": "x"},
            "bash": {"command": f"cat {value}"},
            "query_refund": {"order_id": value},
        }
        story.call(tool, result, WRONG if failed else FINE, **named[tool])
    place = min(chosen, len(calls) - 1) + 1
    step = story.steps[place][0]
    assert step.call is not None
    before = SlotIndex(story.folder, story.schemas)
    for one, verdict in story.steps[:place]:
        before.add(one, verdict)
    wanted = before.slots(step.call)
    assert story.index.slots(step.call) == wanted  # later steps are there, and change nothing
    swapped = replace(step.call, result=Result(other, len(other)), flagged=True, status="error", duration_ms=9)
    assert before.slots(swapped) == wanted
    assert before.belief(swapped) == before.belief(step.call)
    steps: list[tuple[Step, Verdict | None]] = [*story.steps]
    assert infer_slots(steps, step.call, None, story.folder) == infer_slots(steps[:place], swapped, None, story.folder)


def test_an_error_that_names_the_whole_path_is_an_echo_too() -> None:
    story = (
        Story()
        .user("start it")
        .call("bash", "Cannot find module '/srv/shop/server.js'", WRONG, command="node server.js")
    )
    slot = story.slots("bash", command="node server.js --port 80")["command[server.js]"]
    assert (slot.source, slot.confidence) == ("none", DEFAULT.invented_path)


def test_what_worked_before_without_it_is_no_gap() -> None:
    story = refunds().user("refund").call("query_refund", "paid", FINE, order="A1")
    assert story.slots("query_refund", order="A2").keys() == {"order"}
    assert story.slots("query_refund", order="A2", currency="EUR")["order_id"].confidence == 0.0
    failed = refunds().user("refund").call("query_refund", "order_id is missing", WRONG, order="A1")
    assert failed.slots("query_refund", order="A2")["order_id"].confidence == 0.0

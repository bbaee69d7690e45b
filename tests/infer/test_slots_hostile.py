"""Hostile traces: nothing raises, and nothing takes more than a time in proportion (else the timeouts end it)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.slots import SlotIndex
from reach_tui.model import Result, Step, StepKind, ToolCall
from tests.infer.story import Story

NAMES = st.sampled_from(
    ["path", "old_string", "new_string", "edits", "command", "pattern", "order_id", "input", "", "\x00", "a.b[0]"]
)
ODD = ["*** Begin Patch\n*** Update File: x", "\ud800", "(" * 50, "/" * 300, "2026-13-45", "../../..", "{" * 200]
TEXTS = st.text(max_size=40) | st.sampled_from(ODD)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(NAMES, each, max_size=4), max_leaves=12
)
TOOLS = st.sampled_from(["edit", "read", "write", "bash", "apply_patch", "grep", "x__y", "", "\x1b[31m"])
SCHEMA: JsonValue = {
    "properties": {"path": {"type": "string", "pattern": "(["}, "edits": {"items": {"properties": {"old_string": 5}}}},
    "required": ["path", 7],
    "anyOf": [{"required": "x"}, 3],
    "additionalProperties": False,
}


@settings(max_examples=60)
@given(st.lists(st.tuples(TOOLS, VALUES, TEXTS, st.sampled_from([True, False, None])), max_size=6))
def test_nothing_raises(calls: list[tuple[str, JsonValue, str, bool | None]]) -> None:
    index = SlotIndex("/srv", dict.fromkeys(("edit", "bash", "x__y"), SCHEMA))
    for number, (tool, arguments, text, flagged) in enumerate(calls, 1):
        call = ToolCall("k", "", "s", tool, arguments, flagged, Result(text, len(text)), number, started_at=10**15)
        for slot in index.slots(call):
            assert slot.confidence is None or 0 <= slot.confidence <= 1
        index.belief(call)
        index.add(Step(number, 1, StepKind.CALL, call=call))


def test_deep_and_broken_arguments() -> None:
    deep: JsonValue = []
    for _ in range(900):
        deep = [deep]
    index = SlotIndex()
    odd: list[JsonValue] = [deep, {"old_string": deep, "path": "a"}, "{broken", 5, True, {"path": "x" * 3_000_000}]
    for arguments in odd:
        index.slots(ToolCall("k", "", "s", "edit", arguments, step=1, problem="broken"))
        index.add(Step(1, 1, StepKind.CALL, call=ToolCall("k", "", "s", "edit", arguments, False, Result("", 0), 1)))


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 350_000, "a" * 2_000_000, "/" * 2_000_000, "\\u00e9" * 330_000, "1\t" * 1_000_000, "{" * 2_000_000,
        "退款" * 1_000_000, "a/b." * 500_000, " " * 2_000_000 + "x", "\r" * 2_000_000,
    ],
    ids=["lines", "one word", "slashes", "escapes", "numbers", "braces", "wide", "paths", "blanks", "returns"],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_results_of_two_megabytes_are_linear(text: str) -> None:
    story = Story().user("go").call("read_file", text, path="big.txt")
    for name, value in (("old_string", text[:3000]), ("order_id", "4417000012345678"), ("path", "a/b.c")):
        story.slots("edit_file", {"path": "big.txt", name: value, "new_string": ""})


@pytest.mark.timeout(60)
def test_a_long_session_is_linear() -> None:
    story = Story().user("fix everything in src")
    for number in range(660):
        path = f"src/module_{number % 40}.py"
        shown = "\n".join(f"{n:>6}→value_{n} = compute({number}, {n})" for n in range(1, 40))
        story.call("read_file", shown, path=path)
        story.says(f"Changing {path} now.")
        story.call(
            "edit_file", "ok", path=path, old_string=f"value_7 = compute({number}, 7)", new_string=f"value_7 = {number}"
        )
    index, stale = SlotIndex("/srv"), 0
    for step, verdict in story.steps:
        if step.call is not None:
            stale += any("STALE" in slot.note for slot in index.slots(step.call))
        index.add(step, verdict)
    assert stale == 0
    call = replace(story.make("edit_file", path="src/module_3.py", old_string="value_7 = compute(3, 7)", new_string=""))
    assert any("STALE" in slot.note for slot in index.slots(call))
    index.belief(call)

"""Plain calls get the verdict at a glance that the whole judgement gives them."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.detect import default_engine
from reach_tui.detect.engine import RULES
from reach_tui.detect.matcher import Matcher, loosened, needle, window, windowed
from reach_tui.detect.rule_files import load
from reach_tui.detect.rules import Rule
from reach_tui.detect.wrappers import Body, unwrap, wrapped
from reach_tui.model import Result, ToolCall

CASES = Path(__file__).parent / "cases"


class Seen:
    """A call as a fast reader shows it: plain, the rest behind `whole`."""

    plain = True

    def __init__(self, call: ToolCall) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def whole(self) -> ToolCall:
        return self._call


def same(call: ToolCall) -> None:
    engine = default_engine()
    verdict = engine.judge(call)
    assert engine.judge(Seen(call)) == verdict
    assert engine.judge_all([call, Seen(call), call]) == [verdict] * 3


PIECES = (
    "Error: File not found: /a",
    "Traceback (most recent call last):",
    "ValueError: x",
    "bash: line 1: x: command not found",
    "\n",
    "\n\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    '{"ok": false, "error": "no"}',
    '{"a": 1}',
    "<path>/a/b.py</path>\n",
    "1: x\n2: y\n3: z",
    "40: x\n41: y\n42: z",
    "/home/a/b.py",
    "/srv/other/c.py:3: x",
    "[Exit code: 1]",
    "Exit code: 2\n",
    "exit status: 3",
    "</output>",
    "</task>",
    '<task id="1" state="x">\n<task_result>',
    "<error>no</error>",
    "<shellId: 3 completed with exit code 4>",
    "Command timed out",
    "time",
    "Replaced 3 occurrences",
    "No files found",
    "(no output)",
    "FAILED",
    "2 failed, 3 passed",
    "\x1b[31m",
    "错误: 权限不足",
    "é" * 50,
    "x" * 500,
    "y" * 4000,
    "word " * 90,
    "0",
    "Wall time: 1\nProcess exited with code 5\nOutput:\n",
    "Final URL: https://a.example/login",
    "Permission denied",
    "ENOENT",
    "I typed 'https://a.example/x' into the browser address bar.\n\n",
    "Here is a screenshot of [a](https://a.example/login). The viewport shows 90% of it.\n",
    "has detected the following text:\n\nPage not found\n",
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=30), max_size=9).map("".join)
TOOLS = st.sampled_from(
    (
        "bash",
        "read",
        "edit",
        "write",
        "grep",
        "glob",
        "webfetch",
        "fetch",
        "task",
        "todowrite",
        "mcp__shop__get_order",
        "python",
        "odd",
    )
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(
        ("filePath", "path", "command", "offset", "view_range", "replace_all", "oldString", "url", "chars", "id")
    ),
    st.sampled_from(
        ("", " ", "/a/b.py", "/home/a", "ls; exit 3", "grep x y", "https://a.example/x", 3, 40, False, True, None, [1])
    )
    | st.text(max_size=9),
    min_size=1,
)


@settings(max_examples=400, deadline=None)
@given(TEXTS, TOOLS, ARGUMENTS, st.sampled_from((None, 0, 1, 2, 127)))
def test_any_plain_call(text: str, tool: str, arguments: dict[str, Any], code: int | None) -> None:
    facts = {} if code is None else {"exit_code": code}
    clean = text.encode("utf-8", "replace").decode()
    same(ToolCall("s/k", "c", "s", tool, arguments, False, Result(clean, len(clean.encode())), 0, 1, None, None,
                  "completed", None, facts))  # fmt: skip


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "data" / "opencode").rglob("*.db")), ids=str)
def test_recorded_calls_mixed_with_each_other(path: Path) -> None:
    """Every recorded result under every tool: what is odd in one place is odd in another."""
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    values = [json.loads(row[0]) for row in connection.execute("SELECT data FROM part WHERE data LIKE '%\"tool\"%'")]
    connection.close()
    states = [value["state"] for value in values if value.get("type") == "tool"]
    texts = {text for state in states for name in ("output", "error") if isinstance(text := state.get(name), str)}
    inputs = [state["input"] for state in states if state.get("input")]
    chance = random.Random(0)
    assert texts
    for text in sorted(texts):
        call = ToolCall("s/k", "c", "s", "bash", chance.choice(inputs), False, Result(text, 0), status="completed")
        for tool in ("bash", "read", "grep", "edit", "webfetch", "task", "odd"):
            same(replace(call, tool=tool))


@pytest.mark.parametrize(
    "tool", ["create_file", "move_file", "mcp__disk__delete_file", "update_todo", "run", "WebFetch"]
)
def test_every_invented_answer_of_a_tool_that_acts(tool: str) -> None:
    """What only the tool's own verb makes a failure is no less one in a list than on its own screen."""
    lines = [line for path in CASES.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    results = {json.loads(line)["result"] for line in lines}
    for path in CASES.glob("*.toml"):
        results |= {case.get("result") for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]}
    answers = [text for text in results if isinstance(text, str)]
    answers += ['{"created": false, "reason": "the disk is full"}', '{"file": null, "message": "not made: no room"}']
    assert len(answers) > 1000
    call = ToolCall("s/k", "c", "s", tool, {"path": "/a", "id": 3}, False, status="completed")
    for text in answers:
        same(replace(call, result=Result(text, len(text.encode("utf-8", "replace")))))


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.booleans())
def test_what_is_not_wrapped_is_left_whole(text: str, log: bool) -> None:
    if text and not text[0].isspace() and not wrapped(text, log):
        assert unwrap(text, log) == Body(0, len(text))


@given(TEXTS, st.sampled_from(("content", "edit", "answer", "log")), st.integers(0, 60))
def test_the_window_is_the_same(text: str, nature: str, less: int) -> None:
    end = max(0, len(text) - less)
    assert windowed(text, end, nature) == window(text, 0, end, nature).text


def test_loosened_patterns() -> None:
    assert loosened(r"[^\n]{0,60}x{1,80}?y{2,40}z{1,5}a{3}") == r"[^\n]*x+?y{2,}z{1,5}a{3}"
    for kept in (r"a\{1,30}", r"[a{1,30}]", r"[]{1,30}]", r"[^]{1,30}]", r"[\]{1,30}]"):
        assert loosened(kept) == kept


def test_needles() -> None:
    assert needle(r"\[Last action has been rejected\]") == "[Last action has been rejected]"
    assert needle(r"\bisError=True\)?\s*\z") == "isError=True"
    assert needle(r"abcde?f+gh") == "abcd"
    assert needle(r"abcd*xyz.*ab") == "abc"
    assert needle(r"^ab\.cd$") == "ab.cd"
    for unclear in (r"a|b", r"(abcd)?", r"[abcd]", r"abcd{0,2}", r"\x41bcd", r"\pLabcd", r"\Qa*b\E", r"(?i)abcd"):
        assert not needle(unclear)


@cache
def with_needles() -> list[tuple[Matcher, list[Matcher]]]:
    """By family, the rules that are not asked of the beginning: compiled together, and each where none has a needle."""
    found = []
    for family in load(RULES, trusted=(RULES,)).families:
        asked = [rule for rule in family.rules if rule.where not in ("arguments", "start", "whole")]
        if asked and all(needle(rule.match) for rule in asked):
            found.append((Matcher(tuple(asked)), [Matcher((rule,) * 5) for rule in asked]))
    return found


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.text(max_size=20), st.integers(0, 3))
def test_rules_with_needles_miss_nothing(text: str, more: str, chosen: int) -> None:
    """What stands only at the end of a text, in any case, and with letters that Unicode holds to be the same."""
    last = "[Last action has been rejected by the user]"
    subject = f"{text}\n{(last, '[ERROR occurred in processing laſt action]', 'isError=True)', more)[chosen]}"
    families = with_needles()
    assert len(families) > 5
    for together, each in families:
        assert sorted(together.matches(subject)) == [n for n, one in enumerate(each) if one.matches(subject)]


def test_loose_sets_miss_nothing_that_exact_ones_find() -> None:
    rules: list[Rule] = []
    for family in load(RULES, trusted=(RULES,)).families:
        rules += [rule for rule in family.rules if rule.where != "arguments"]
    every = {rule.id: rule for rule in rules}.values()
    loose, exact = Matcher(tuple(every)), Matcher(tuple(every), exact=True)
    texts = re.split(r"\n\n+", "\n\n".join(path.read_text("utf-8") for path in sorted(CASES.glob("*.toml"))))
    found = 0
    for text in texts[::7]:
        hits = set(exact.matches(text))
        assert hits <= set(loose.matches(text))
        found += len(hits)
    assert found > 50

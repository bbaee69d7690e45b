"""Records of the `classify` command, and counting."""

from __future__ import annotations

import json

import pytest

from reach_tui.analyze.counts import count
from reach_tui.detect import default_engine
from reach_tui.detect.classify import parse_record, verdict_record
from reach_tui.model import Counts, Result, ToolCall


def test_a_record_becomes_a_call() -> None:
    line = {
        "id": 7,
        "tool": "bash",
        "arguments": '{"command": "ls"}',
        "result_text": "a\n",
        "flagged": False,
        "metadata": {"exit_code": 0},
        "truth": "ignored",
    }
    call = parse_record(json.dumps(line))
    assert (call.id, call.tool, call.arguments, call.flagged) == ("7", "bash", {"command": "ls"}, False)
    assert call.result == Result("a\n", 2)
    assert call.metadata == {"exit_code": 0}
    assert parse_record(json.dumps(line).encode()) == call


def test_missing_fields_are_unknown_not_false() -> None:
    call = parse_record('{"id": "a", "tool": "t", "arguments": "not json"}')
    assert call.flagged is None
    assert call.result is None
    assert call.arguments == "not json"
    assert verdict_record("a", default_engine().judge(call))["failed"] is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"tool": "t"}', "id"),
        ('{"id": true, "tool": "t"}', "id"),
        ('{"id": "a"}', "tool"),
        ('{"id": "a", "tool": "t", "flagged": "no"}', "flagged"),
        ('{"id": "a", "tool": "t", "metadata": []}', "metadata"),
        ('{"id": "a", "tool": "t", "result_text": 3}', "result_text"),
    ],
)
def test_what_is_no_record_says_why(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_record(line)


def test_the_verdict_record_has_the_contracts_fields() -> None:
    call = parse_record(
        '{"id": "a", "tool": "Edit", "result_text": "Error: old_string not found in x", "flagged": false}'
    )
    record = verdict_record("a", default_engine().judge(call))
    assert {"id", "failed", "confidence", "category", "subcategory", "rule", "evidence"} <= record.keys()
    assert record["evidence"] == {"text": "Error: old_string not found in x", "start": 0, "end": 32, "where": "result"}
    json.dumps(record)


def test_counts_add_up() -> None:
    def call(tool: str, text: str | None, flagged: bool | None, problem: str | None = None) -> ToolCall:
        result = None if text is None else Result(text, len(text))
        return ToolCall(key="k", id="k", session_id="s", tool=tool, flagged=flagged, result=result, problem=problem)

    calls = [
        call("Edit", "Error: old_string not found in x", False),
        call("Edit", "Error: old_string not found in x", True),
        call("Agent", "Sub-agent execution was interrupted", False),
        call("Read", "     1\thello", False),
        call("Read", None, None, "broken arguments"),
    ]
    engine = default_engine()
    assert count(((item, engine.judge(item)) for item in calls), turns=2) == Counts(
        turns=2, calls=5, flagged=1, failed=2, hidden=1, soft=1, unfinished=1, unreadable=1
    )

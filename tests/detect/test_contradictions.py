"""Arguments and result that contradict each other; and the many pairs that only look so."""

from __future__ import annotations

from typing import Any

import pytest

from reach_tui.detect import default_engine
from reach_tui.model import Result, ToolCall, Verdict

FRAME = "<path>{}</path>\n<type>file</type>\n<content>\n{}\n</content>"
FINAL = "Final URL: https://id.example"
LINES = "7: seven\n8: eight\n9: nine\n10: ten"


def judge(tool: str, arguments: dict[str, Any], text: str) -> Verdict:
    """The verdict on an unflagged call."""
    return default_engine().judge(ToolCall("k", "k", "s", tool, arguments, False, Result(text, len(text))))


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "rule", "failed"),
    [
        ("read", {"filePath": "/srv/app/a.py"}, FRAME.format("/srv/app/b.py", "1: x"), "read.other_file", True),
        ("read", {"filePath": "a.py"}, FRAME.format("/srv/app/b.py", "1: x"), "read.other_file", None),
        ("read", {"filePath": "/srv/a.py", "offset": 400}, FRAME.format("/srv/a.py", LINES), "read.other_lines", None),
        ("view", {"path": "/srv/a.py", "view_range": [90, 120]}, LINES, "read.other_lines", None),
        ("Read", {"file_path": "/srv/a.py", "offset": 50}, "     1→a\n     2→b\n     3→c", "read.other_lines", None),
        ("grep", {"path": "/srv/app"}, "/opt/lib/a.py:3:x\n/opt/lib/b.py:9:x", "search.outside_path", True),
        ("grep", {"path": "/srv/app"}, "Found 1 match\n/opt/lib/a.py:\n  Line 4: x", "search.outside_path", None),
        ("edit", {"oldString": "a", "replaceAll": False}, "Replaced 3 occurrences.", "edit.count_contradicts", True),
        ("webfetch", {"url": "https://wiki.example/"}, f"{FINAL}/login?next=x\nWiki", "web.ended_at_sign_in", True),
        ("get_parcel", {"parcel_id": "P-100"}, '{"parcel_id": "P-734", "state": "sent"}', "json.other_id", True),
        ("mcp__shop__fetch_item", {"id": 7}, '{"id": 12, "name": "lamp"}', "json.other_id", True),
    ],
)  # fmt: skip
def test_contradictions(tool: str, arguments: dict[str, Any], text: str, rule: str, failed: bool | None) -> None:
    verdict = judge(tool, arguments, text)
    assert (verdict.rule, verdict.failed) == (rule, failed)
    assert verdict.evidence is not None
    assert text[verdict.evidence.start : verdict.evidence.end] == verdict.evidence.text


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("read", {"filePath": "app/../a.py"}, FRAME.format("/srv/a.py", "1: x")),
        ("read", {"filePath": "C:\\app\\A.py"}, FRAME.format("c:/app/a.py", "1: x")),
        ("read", {"filePath": "/srv/."}, FRAME.format("/srv", "a.py\nb.py")),
        ("read", {"filePath": "/srv/a.py", "offset": 7}, FRAME.format("/srv/a.py", LINES)),
        ("read", {"filePath": "/srv/a.py", "offset": 6}, FRAME.format("/srv/a.py", LINES)),
        ("read", {"filePath": "/srv/a.py", "offset": 0}, FRAME.format("/srv/a.py", LINES)),
        ("read", {"filePath": "/srv/list.txt", "offset": 40}, "shopping:\n3: eggs\n9: milk\n4: tea"),
        ("read", {"filePath": "/srv/a.py", "offset": 40}, "12: x\nand no gutter"),
        ("read", {"filePath": "/srv/a.py", "offset": "x"}, FRAME.format("/srv/a.py", LINES)),
        ("grep", {"pattern": "x", "path": "/srv/app"}, "/srv/app/a.py:3:x\n/opt/other.py:1:x"),
        ("grep", {"pattern": "x", "path": "/srv/app"}, "/private/srv/app/a.py:3:x"),
        ("grep", {"pattern": "x", "path": "/link/app"}, "/data/disk2/app/a.py:3:x\n/data/disk2/app/b.py:3:x"),
        ("grep", {"pattern": "x", "path": "app"}, "/opt/lib/a.py:3:x\n/opt/lib/b.py:9:x"),
        ("grep", {"pattern": "x", "path": "/srv/*/app"}, "/srv/1/lib/a.py:3:x\n/srv/1/lib/b.py:9:x"),
        ("glob", {"pattern": "**/*.rs", "path": "/srv/app"}, "/srv/app/src/a.py"),
        ("edit", {"oldString": "a", "newString": "b", "replaceAll": True}, "Replaced 3 occurrences."),
        ("edit", {"oldString": "a", "newString": "b", "replaceAll": False}, "Replaced 1 occurrence."),
        ("edit", {"old_string": "a", "replace_all": False, "expected_replacements": 3}, "Made 3 replacements."),
        ("webfetch", {"url": "https://id.example/login"}, "Final URL: https://id.example/login?next=x\nSign"),
        ("webfetch", {"url": "https://wiki.example/plan"}, "Final URL: https://wiki.example/login-howto\nWiki"),
        ("get_parcel", {"parcel_id": "100"}, '{"parcel_id": "P-100"}'),
        ("get_parcel", {"parcel_id": "P 100"}, '{"parcel_id": "p100"}'),
        ("get_links", {"from_id": 3, "to_id": 4}, '{"from_id": 4}'),
        ("create_comment", {"id": 3}, '{"id": 9}'),
        ("get_parcel", {"parcel_id": 3}, '{"parcel_id": null, "state": "sent"}'),
        ("get_parcel", {"parcel_id": 3}, '{"parcel_id": [4]}'),
    ],
)
def test_pairs_that_fit(tool: str, arguments: dict[str, Any], text: str) -> None:
    verdict = judge(tool, arguments, text)
    assert (verdict.failed, verdict.rule) == (False, None)

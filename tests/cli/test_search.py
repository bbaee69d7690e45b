"""`reach-tui search`: records, the table, and queries that are anything but plain words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import MISSED, Run


def test_records_say_where_the_words_are(reach: Run, trace: Path) -> None:
    ran = reach("search", trace, "old_string", "--jsonl")
    assert ran.code == 0
    assert [(one["session_id"], one["tool"], one["where"], one["failed"]) for one in ran.records] == [
        ("ses_1", "edit", "result", True),
        ("ses_2", "edit", "result", True),
    ]
    assert all(one["step"] > 0 and MISSED in one["excerpt"] and "result" not in one for one in ran.records)
    assert json.loads(reach("search", trace, "old_string", "--json").out) == ran.records


def test_the_options_narrow(reach: Run, trace: Path) -> None:
    assert {one["tool"] for one in reach("search", trace, "a.py", "--jsonl").records} == {"read", "edit", "bash"}
    assert {one["tool"] for one in reach("search", trace, "a.py", "--tool", "read", "--jsonl").records} == {"read"}
    assert all(one["failed"] for one in reach("search", trace, "a.py", "--failed", "--jsonl").records)
    ran = reach("search", trace, "a.py", "--limit", 2, "--jsonl")
    assert len(ran.records) == 2
    assert "more than 2 hits" in ran.err
    assert len(reach("search", trace, "a.py", "--limit", 0, "--jsonl").records) == 6


@pytest.mark.parametrize("word", ['"', "a AND", "C++", "NEAR(", "key:value", "", "x" * 10_000, "zzz"])
def test_no_hits_are_no_error(reach: Run, trace: Path, word: str) -> None:
    ran = reach("search", trace, word)
    assert ran.code == 0
    assert "no hits" in ran.err


def test_a_table_of_hostile_text_is_clean(reach: Run, hostile: Path) -> None:
    ran = reach("search", hostile, "alert")
    assert ran.code == 0
    assert "result" in ran.out
    assert "\x1b" not in ran.out


def test_what_cannot_be_read_is_said(reach: Run, tmp_path: Path) -> None:
    assert reach("search", tmp_path / "none.db", "word").code == 2
    assert reach("search", tmp_path / "none.db").code == 2

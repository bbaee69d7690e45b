"""`diagnose` over the sample traces."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def test_records_name_cause_action_and_steps(reach: Run) -> None:
    found = reach("diagnose", SAMPLES / "reach", "--jsonl")
    assert found.code == 0
    assert len(found.records) == 10
    for record in found.records:
        assert record["found"] == bool(record["evidence"])
        assert record["cause"]
        assert record["action"]
    keys = {call["call_key"] for call in reach("calls", SAMPLES / "reach", "--jsonl").records}
    shown = [one for record in found.records for one in record["evidence"]]
    assert shown
    assert all(one["call_key"] is None or one["call_key"] in keys for one in shown)


def test_one_session_and_the_text(reach: Run) -> None:
    found = reach("diagnose", SAMPLES / "reach", "--jsonl")
    session = next(one["session_id"] for record in found.records for one in record["evidence"])
    alone = json.loads(reach("diagnose", SAMPLES / "reach", "--session", session, "--json").out)
    assert {one["session_id"] for record in alone for one in record["evidence"]} <= {session}
    text = reach("diagnose", SAMPLES / "reach").out
    assert "of 10 symptoms found" in text
    assert "do    " in text


def test_an_unknown_session_is_said(reach: Run) -> None:
    found = reach("diagnose", SAMPLES / "reach", "--session", "nobody")
    assert found.code == 2
    assert "no session 'nobody'" in found.err


def test_a_registry_says_which_tools_are_unsafe(reach: Run) -> None:
    assert reach("diagnose", SAMPLES / "reach", "--registry", "shop", "--json").code == 0
    assert reach("diagnose", SAMPLES / "reach", "--registry", "nowhere").code == 2

"""Slots of the shipped Peri databases against their truth files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reach_tui.analyze.confidence import Confidence
from reach_tui.workspace.slots import with_slots
from reach_tui.workspace.sources import open_source
from reach_tui.workspace.workspace import Workspace

PERI = Path(__file__).resolve().parents[1] / "data" / "peri"


@pytest.mark.parametrize("schema", ["min", "3", "17"])
def test_stale_edits_and_gaps(schema: str) -> None:
    truth = json.loads((PERI / f"schema_{schema}.truth.json").read_text(encoding="utf-8"))
    stale = {(one["thread_id"], one["call_id"]) for one in truth["stale_edits"]["stale"]}
    missing = {
        (one["thread_id"], one["call_id"]): one["category"]
        for one in truth["hidden_errors"]
        if one["tool"] == "Agent" and "missing" in one["category"]
    }
    found: set[tuple[str, str]] = set()
    gaps: dict[tuple[str, str], list[str]] = {}
    wrong = fine = 0
    sums = Confidence()
    for judged, insight in with_slots(Workspace(), open_source(PERI / f"schema_{schema}.db")):
        call, slots = insight.call, insight.call.slots or ()
        sums.add(call.tool, slots, insight.confidence, judged.verdict)
        key = (call.session_id, call.id)
        if call.tool == "Edit":
            is_stale = any(slot.name == "old_string" and slot.note.startswith("STALE") for slot in slots)
            if is_stale:
                found.add(key)
            if judged.verdict.failed is False:
                fine += 1
                wrong += is_stale
        elif call.tool == "Agent":
            gaps[key] = [slot.name for slot in slots if slot.confidence == 0]
    assert len(stale) > 5
    assert stale <= found
    assert fine > 40
    assert wrong == 0
    assert {key: gaps[key] for key in missing} == {
        key: ["prompt" if "prompt" in category else "subagent_type"] for key, category in missing.items()
    }
    assert not any(names for key, names in gaps.items() if key not in missing)
    area = sums.auc()
    assert area is not None
    assert area > 0.8
    assert sums.gaps["Agent", "subagent_type"] == sum("subagent" in one for one in missing.values())

"""Slots of the retrospective: its stale edits carry an outdated text, its missing parameters are gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reach_tui.infer.slots import SlotIndex
from reach_tui.workspace.slots import schemas_of
from reach_tui.workspace.sources import open_source
from reach_tui.workspace.workspace import Workspace


@pytest.mark.shared
def test_the_sessions_with_stale_edits_and_missing_parameters(retrospective: tuple[Path, dict[str, Any]]) -> None:
    path, truth = retrospective
    stale = {(one["thread_id"], one["call_id"]) for one in truth["stale_edits"]["stale"]}
    missing = {
        (one["thread_id"], one["call_id"]): "prompt" if "prompt" in one["category"] else "subagent_type"
        for one in truth["hidden_errors"]
        if one["tool"] == "Agent" and "missing" in one["category"]
    }
    assert (len(stale), len(missing)) == (132, 37)
    source, engine = open_source(path), Workspace().engine
    found: set[tuple[str, str]] = set()
    gaps: dict[tuple[str, str], str] = {}
    fine = wrong = 0
    for session_id in sorted({thread for thread, _ in [*stale, *missing]}):
        session = source.reader.session(session_id)
        assert session is not None
        index = SlotIndex(session.project, schemas_of(source, session_id))
        for step in source.reader.steps(session_id):
            call, verdict = step.call, None
            if call is not None and call.tool in ("Edit", "Agent"):
                verdict = engine.judge(call)
                told = index.slots(call)
                key = (call.session_id, call.id)
                outdated = any(slot.name == "old_string" and slot.note.startswith("STALE") for slot in told)
                if outdated:
                    found.add(key)
                fine += call.tool == "Edit" and verdict.failed is False
                wrong += outdated and verdict.failed is False
                gaps.update((key, slot.name) for slot in told if slot.confidence == 0)
            index.add(step, verdict)
    assert len(stale & found) >= 0.95 * len(stale)
    assert fine > 2000
    assert wrong <= 0.05 * fine
    assert gaps == missing

"""Verdicts against recorded and generated stores whose truth is known, read as a person would have them read."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reach_tui.detect import default_engine
from reach_tui.model import ToolCall, Verdict
from reach_tui.stores.catalog import open_store

_DATA = Path(__file__).resolve().parents[1] / "data"
_UNSEEN = {"filesystem", "file_system", "nowhere", "none", "arguments", "child_session"}
"""Evidence that is in neither the call nor its result (a folder that is not there, another session)."""


def _pairs(database: Path) -> Iterator[tuple[dict[str, Any], ToolCall, Verdict]]:
    """Truth, call and verdict; repeated ids pair by occurrence."""
    truth = json.loads(database.with_suffix(".truth.json").read_text(encoding="utf-8"))["calls"]
    found: dict[tuple[str, str], list[ToolCall]] = defaultdict(list)
    for call in open_store(database).reader.calls():
        found[call.session_id, call.id].append(call)
    engine = default_engine()
    for wanted in truth:
        have = found[str(wanted["session_id"]), str(wanted["call_id"])]
        same = [call for call in have if call.tool == wanted["tool"]] or have
        if same:
            have.remove(same[0])
            yield wanted, same[0], engine.judge(same[0])


def _decided(truth: dict[str, Any]) -> bool:
    answered = truth.get("has_result") is not False or truth.get("flagged") is not None
    debatable = (
        truth.get("debatable") or truth.get("reports_findings") or truth.get("certainty") in ("debatable", "unclear")
    )
    return truth["failed"] is not None and answered and not debatable and truth.get("category") != "check_reported"


def _peri(database: Path) -> None:
    seen = Counter[str]()
    for truth, call, verdict in _pairs(database):
        where = (truth["tool"], truth["category"], call.result and call.result.text[:80], verdict.rule)
        if truth.get("soft"):
            assert verdict.soft, where
            seen["soft"] += 1
        elif _decided(truth):
            assert verdict.failed is truth["failed"], where
            seen["failed" if truth["failed"] else "fine"] += 1
        if truth["failed"] and truth["tool"] in ("Agent", "Edit"):
            assert str(verdict.rule).startswith(truth["tool"].lower() + ".")
    assert seen["failed"] > 30
    assert seen["fine"] > 200


@pytest.mark.parametrize("schema", ["min", "0", "3", "17"])
def test_every_hidden_error_of_a_peri_store_is_found_and_nothing_else(schema: str) -> None:
    _peri(_DATA / "peri" / f"schema_{schema}.db")


def _recording(database: Path, precision: float, recall: float) -> None:
    counted = Counter[tuple[bool, bool]]()
    wrong = []
    for truth, call, verdict in _pairs(database):
        if not _decided(truth) or (truth["failed"] and truth.get("evidence") in _UNSEEN):
            continue
        counted[bool(truth["failed"]), verdict.failed is True] += 1
        if bool(truth["failed"]) != (verdict.failed is True):
            wrong.append((truth["tool"], truth["category"], call.arguments, verdict.rule))
    assert counted[True, True] >= precision * (counted[True, True] + counted[False, True]), wrong
    assert counted[True, True] >= recall * (counted[True, True] + counted[True, False]), wrong
    assert counted[False, False]


@pytest.mark.parametrize("name", ["opencode-1.2.20", "opencode-1.14.48", "killed/opencode"])
def test_recorded_opencode_sessions(name: str) -> None:
    _recording(_DATA / "opencode" / f"{name}.db", 1.0, 1.0)


@pytest.mark.shared
def test_the_newest_opencode_recording(shared: Path) -> None:
    _recording(shared / "real_traces" / "opencode" / "opencode-1.18.33.db", 0.98, 0.98)

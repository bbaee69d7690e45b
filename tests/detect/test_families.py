"""Results as twenty-one families of agents and programs word them: what the detectors find in each, measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reach_tui.detect import default_engine
from reach_tui.model import Result, ToolCall

_CASES = Path(__file__).with_name("cases")
_FAMILIES = sorted(path.stem for path in _CASES.glob("*.jsonl"))


def _cases(family: str) -> Iterator[dict[str, Any]]:
    for line in (_CASES / f"{family}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _call(case: dict[str, Any]) -> ToolCall:
    text = case["result"]
    return ToolCall(
        key="k", id="k", session_id="s", tool=case["tool"], arguments=case["arguments"], flagged=case.get("flagged"),
        result=Result(text, len(text.encode())),
    )  # fmt: skip


def _counted(family: str) -> Counter[str]:
    found = Counter[str]()
    for case in _cases(family):
        verdict = default_engine().judge(_call(case))
        failed = case["want"] == "failed"
        found[f"{'failed' if failed else 'fine'}, {'alarm' if verdict.failed else 'quiet'}"] += 1
        if failed and verdict.failed:
            found["class right"] += verdict.category == case["category"]
            assert verdict.evidence is not None
            assert verdict.explanation
    return found


def test_families_are_many_and_balanced() -> None:
    assert len(_FAMILIES) >= 12
    for family in _FAMILIES:
        wanted = Counter(case["want"] for case in _cases(family))
        assert wanted["failed"] >= 25
        assert wanted["ok"] >= 20


@pytest.mark.parametrize("family", _FAMILIES)
def test_family(family: str) -> None:
    found = _counted(family)
    alarms = found["failed, alarm"] + found["fine, alarm"]
    assert found["failed, alarm"] >= 0.93 * alarms
    assert found["failed, alarm"] >= 0.85 * (found["failed, alarm"] + found["failed, quiet"])
    assert found["class right"] >= 0.75 * found["failed, alarm"]


def test_all_families_together() -> None:
    found = sum((_counted(family) for family in _FAMILIES), Counter[str]())
    assert found["failed, alarm"] >= 0.98 * (found["failed, alarm"] + found["fine, alarm"])
    assert found["failed, alarm"] >= 0.95 * (found["failed, alarm"] + found["failed, quiet"])
    assert found["class right"] >= 0.85 * found["failed, alarm"]

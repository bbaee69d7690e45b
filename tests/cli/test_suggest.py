"""`suggest`: from labels and from cases."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Run

STORE = Path(__file__).resolve().parents[1] / "data/opencode/opencode-1.2.20.db"


def test_from_cases(reach: Run) -> None:
    found = reach("suggest", STORE, "--registry", "shop", "--cases", "shop", "--jsonl")
    assert found.code == 0
    kinds = {record["kind"] for record in found.records}
    assert {"pair", "threshold"} <= kinds
    for record in found.records:
        assert record["what"]
        assert record["why"]
    assert "for example" in reach("suggest", STORE, "--registry", "shop", "--cases", "shop").out


def test_from_labels(reach: Run, tmp_path: Path) -> None:
    store = Path(shutil.copy(STORE, tmp_path))
    calls = reach("calls", store, "--failed", "--jsonl").records
    rule = max({call["rule"] for call in calls}, key=lambda name: sum(call["rule"] == name for call in calls))
    keys = [call["call_key"] for call in calls if call["rule"] == rule]
    for key in keys:
        assert reach("label", store, key, "not_a_failure", "--by", "ann").code == 0
    (found,) = [one for one in reach("suggest", store, "--jsonl").records if one["kind"] == "rule"]
    assert rule in found["what"]
    assert set(found["examples"]) <= set(keys)


def test_nothing_to_suggest_says_how_to_go_on(reach: Run, tmp_path: Path) -> None:
    store = Path(shutil.copy(STORE, tmp_path))
    found = reach("suggest", store)
    assert (found.code, found.out) == (0, "")
    assert "label some calls" in found.err
    assert reach("suggest", store, "--cases", "shop").code == 2

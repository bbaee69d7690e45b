"""`metrics` over the sample traces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "sample_traces/reach/shop.db"
STORE = ROOT / "tests/data/opencode/opencode-1.2.20.db"


def test_parts_add_up(reach: Run) -> None:
    found = json.loads(reach("metrics", SHOP, "--json", "--by", "week").out)
    ended = found["end_to_end"]["count"] + found["corrected"] + found["failed"] + found["no_capability"]
    assert ended == found["tasks"] == found["first_pass"]["of"] > 0
    assert found["first_pass"]["count"] == found["end_to_end"]["count"] - found["after_repair"]
    assert sum(group["tasks"] for group in found["groups"]) == found["tasks"]
    low, high = found["end_to_end"]["interval"]
    assert low <= found["end_to_end"]["rate"] <= high
    assert found["coverage"]["alarm"] == (found["coverage"]["rate"] < 0.85)


def test_text_in_every_grouping(reach: Run) -> None:
    for by in ("tool", "model", "project", "week"):
        found = reach("metrics", SHOP, "--by", by)
        assert found.code == 0
        assert "end to end" in found.out
        assert found.err == ""


def test_a_label_moves_the_figure(reach: Run, tmp_path: Path) -> None:
    store = Path(shutil.copy(STORE, tmp_path))
    before = json.loads(reach("metrics", store, "--json").out)
    task = next(one for one in before["against"] if one["outcome"] == "failed")
    for call in reach("calls", store, "--session", task["session_id"], "--failed", "--jsonl").records:
        assert reach("label", store, call["call_key"], "not_a_failure", "--by", "ann").code == 0
    after = json.loads(reach("metrics", store, "--json").out)
    assert after["failed"] < before["failed"]
    assert after["end_to_end"]["count"] > before["end_to_end"]["count"]

"""`replay`: nothing changes by itself, and what changes is explained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "sample_traces/reach/shop.db"
OPENCODE = ROOT / "tests/data/opencode/opencode-1.2.20.db"


def test_unchanged_settings_reproduce_every_recorded_decision(reach: Run) -> None:
    found = json.loads(reach("replay", SHOP, "--json").out)
    assert found["flips"] == []
    assert found["unexplained"] == 0
    assert found["decisions"] >= found["recorded"] > 0


def test_a_higher_threshold_flips_with_reasons(reach: Run) -> None:
    found = json.loads(reach("replay", SHOP, "--t1", "0.95", "--json").out)
    assert found["flips"]
    for flip in found["flips"]:
        assert set(flip) == {"call_key", "session_id", "step", "from", "to", "why"}
        assert flip["from"] != flip["to"]
        assert flip["why"]
    text = reach("replay", SHOP, "--t1", "0.95").out
    assert f"{len(found['flips'])} change" in text


def test_inferred_routes_flip_too_and_can_be_left_out(reach: Run) -> None:
    found = json.loads(reach("replay", OPENCODE, "--t1", "0.4", "--floor", "0.1", "--json").out)
    assert found["recorded"] == 0
    assert found["decisions"] > 0
    assert found["flips"]
    assert json.loads(reach("replay", OPENCODE, "--json").out)["flips"] == []
    assert json.loads(reach("replay", OPENCODE, "--recorded-only", "--json").out)["decisions"] == 0


def test_one_session_another_registry_and_limits(reach: Run, tmp_path: Path) -> None:
    session = reach("sessions", SHOP, "--jsonl").records[0]["session_id"]
    found = json.loads(reach("replay", SHOP, "--session", session, "--registry", "shop", "--json").out)
    assert {flip["session_id"] for flip in found["flips"]} <= {session}
    limits = json.loads(reach("replay", SHOP, "--timeout", "*=1", "--json").out)["timeouts"]
    assert limits["killed_good"] == len(limits["where"]) > 0
    assert reach("replay", SHOP, "--timeout", "p99", "--breaker").code == 0
    budget = json.loads(reach("replay", SHOP, "--budget", "1", "--json").out)["budget"]
    assert budget["killed_good"] == len(budget["where"]) > 0
    text = reach("replay", SHOP, "--budget", "1").out
    assert f"budget: {budget['killed_good']} good calls would have been cut off, {budget['killed_bad']} bad" in text
    tools = Path(shutil.copytree(ROOT / "reach_tui/registries/shop", tmp_path / "tools"))
    (tools / "broken.yaml").write_text("name: [")
    broken = reach("replay", SHOP, "--registry", tools, "--json")
    assert broken.code == 0
    assert "broken.yaml" in broken.err


@pytest.mark.parametrize(
    "arguments",
    [("--session", "nobody"), ("--timeout", "bash"), ("--timeout", "=5"), ("--registry", "nowhere"), ("--t1", "2")],
)
def test_bad_usage_is_one_line(reach: Run, arguments: tuple[str, str]) -> None:
    found = reach("replay", SHOP, *arguments)
    assert found.code == 2
    assert found.out == ""


def test_guard_figures_are_those_of_the_report(reach: Run) -> None:
    for path in (SHOP, ROOT / "tests/data/peri/schema_17.db"):
        report = json.loads(reach("report", path, "--scope", "all", "--format", "json").out)["guards"]["consecutive"]
        for row in report:
            arguments = ("--guard-after", str(row["after"]), "--guard-rule", row["rule"], "--recorded-only", "--json")
            found = json.loads(reach("replay", path, *arguments).out)["guard"]
            assert (found["by_flag"], found["by_truth"]) == (row["by_flag"], row["by_truth"])

"""`labels queue` and `labels queues`: drawn by a recipe, listed with one's place, nothing of a trace written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy of an agent's database in a folder of its own."""
    folder = tmp_path / "agent"
    folder.mkdir()
    return Path(shutil.copy(DATA / "peri" / "schema_17.db", folder))


def test_a_queue_is_drawn_and_listed(reach: Run, store: Path) -> None:
    before = store.read_bytes()
    made = json.loads(reach("labels", "queue", store, "--size", 10, "--seed", 7, "--json", "--by", "ann").out)
    again = json.loads(reach("labels", "queue", store, "--size", 10, "--seed", 7, "--json", "--by", "ann").out)
    assert made["items"] == again["items"]
    assert [item["position"] for item in made["items"]] == list(range(1, len(made["items"]) + 1))
    assert {item["path"] for item in made["items"]} == {"schema_17.db"}
    assert made["recipe"]["seed"] == 7
    key = made["items"][0]["call_key"]
    assert reach("label", store, key, "context_gap", "--by", "ann").code == 0
    listed = reach("labels", "queues", store, "--jsonl", "--by", "ann").records
    assert [one["id"] for one in listed] == [again["id"], made["id"]]
    assert [(one["done"], one["total"]) for one in listed] == [(1, len(made["items"]))] * 2
    assert [one["done"] for one in reach("labels", "queues", store, "--jsonl", "--by", "bob").records] == [0, 0]
    table = reach("labels", "queues", store, "--by", "ann").out
    assert made["id"] in table
    assert f"1/{len(made['items'])}" in table
    assert store.read_bytes() == before
    assert [one.name for one in store.parent.iterdir()] == [store.name]


def test_narrowed_queues(reach: Run, store: Path) -> None:
    calls = {record["call_key"]: record for record in reach("calls", store, "--jsonl").records}
    rule = next(record["rule"] for record in calls.values() if record["hidden"])
    made = json.loads(
        reach(
            "labels", "queue", store, "--kind", "hidden", "--rule", rule, "--controls", 0, "--json", "--name", "mine"
        ).out
    )
    assert made["name"] == "mine"
    assert {calls[item["call_key"]]["rule"] for item in made["items"]} == {rule}
    tool = next(record["tool"] for record in calls.values() if record["failed"])
    arguments = [
        "--kind",
        "failed",
        "--tool",
        tool,
        "--controls",
        0,
        "--order",
        "newest",
        "--stratify",
        "none",
        "--json",
    ]
    made = json.loads(reach("labels", "queue", store, *arguments).out)
    assert {calls[item["call_key"]]["tool"] for item in made["items"]} == {tool}


def test_disagreements_and_rule_errors(reach: Run, store: Path) -> None:
    key = next(record["call_key"] for record in reach("calls", store, "--jsonl", "--failed").records)
    for option in ("--disputes", "--rule-errors"):
        ran = reach("labels", "queue", store, option)
        assert ran.code == 2
        assert "agree" in ran.err
    assert reach("label", store, key, "context_gap", "--by", "ann").code == 0
    assert reach("label", store, key, "not_a_failure", "--by", "bob").code == 0
    made = json.loads(reach("labels", "queue", store, "--disputes", "--json").out)
    assert [(item["call_key"], item["stratum"]) for item in made["items"]] == [(key, "dispute")]
    assert reach("label", store, key, "not_a_failure", "--by", "cleo", "--adjudicate").code == 0
    made = json.loads(reach("labels", "queue", store, "--rule-errors", "--json").out)
    assert [item["call_key"] for item in made["items"]] == [key]
    both = reach("labels", "queue", store, "--rule-errors", "--disputes")
    assert both.code == 2
    assert "two queues" in both.err


def test_faults_are_one_line(reach: Run, store: Path, tmp_path: Path) -> None:
    nothing = reach("labels", "queue", store, "--rule", "no.such.rule")
    assert (nothing.code, nothing.out) == (2, "")
    assert "no hidden errors to label" in nothing.err
    assert reach("labels", "queue", tmp_path / "absent.db").code == 2
    assert reach("labels", "queues", tmp_path / "absent.db").code == 2
    empty = reach("labels", "queues", store)
    assert empty.code == 0
    assert "no queues yet" in empty.err
    assert reach("labels", "queue", store, "--size", 0).code == 2


def test_fresh_leaves_out_what_one_has_labelled(reach: Run, store: Path) -> None:
    first = json.loads(reach("labels", "queue", store, "--size", 5, "--json").out)
    for item in first["items"]:
        assert reach("label", store, item["call_key"], "context_gap").code == 0
    fresh = json.loads(reach("labels", "queue", store, "--size", 5, "--fresh", "--json").out)
    assert not {one["call_key"] for one in fresh["items"]} & {one["call_key"] for one in first["items"]}
    assert fresh["recipe"]["fresh"] is True

"""`calls` with inferred routes and slots, and a registry of the person's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reach_tui.cli.inferring
from tests.cli.conftest import Run

DATA = Path(__file__).parents[1] / "data"
TOOL = """
name: {name}
description: |
  {purpose}
  Needs path.
  It does not do anything else.
params_schema: {{type: object, properties: {{path: {{type: string}}}}, required: [path]}}
auth_type: none
timeout_ms: 1000
idempotent: true
side_effect: read
sample_calls:
  - {{utterance: "{purpose}", params: {{path: a}}}}
"""


def records(reach: Run, *more: str) -> list[dict[str, Any]]:
    return list(reach("calls", DATA / "claude_code", "--jsonl", *more).records)


def test_routes_and_slots_are_inferred_and_say_so(reach: Run) -> None:
    found = records(reach)
    assert {record["route"]["basis"] for record in found} == {"inferred"}
    assert {slot["basis"] for record in found for slot in record["slots"]} == {"inferred"}
    assert {record["route"]["candidates_from"] for record in found} == {"seen"}
    route = next(record["route"] for record in found if record["route"]["candidates"])
    assert route["thresholds"] == {"t1": 0.75, "gap": 0.15, "floor": 0.5}
    assert route["chosen"]["rank"] >= 1
    assert records(reach) == found


def test_inference_can_be_left_out(reach: Run) -> None:
    plain = records(reach, "--no-infer")
    assert {(record["route"], record["slots"]) for record in plain} == {(None, None)}
    told = records(reach)
    blank = [{**record, "route": None, "slots": None} for record in told]
    assert blank == plain


def test_only_the_first_calls_are_inferred_unless_asked(reach: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach_tui.cli.inferring, "MOST", 3)
    result = reach("calls", DATA / "claude_code", "--jsonl")
    inferred = [record["route"] is not None for record in result.records]
    assert inferred == [True] * 3 + [False] * (len(inferred) - 3)
    assert "first 3 calls only; --infer does it for all" in result.err
    assert all(record["route"] for record in records(reach, "--infer"))


def test_what_a_selection_leaves_is_inferred_as_before(reach: Run) -> None:
    every = {record["call_key"]: record for record in records(reach)}
    for record in records(reach, "--tool", "Edit", "--failed"):
        assert record == every[record["call_key"]]


def test_tools_of_a_registry_of_ones_own(reach: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TOOL.format(name="Read", purpose="Reads and summarises a file"))
    (tmp_path / "b.yaml").write_text(TOOL.format(name="Wait", purpose="Waits for a long job"))
    found = records(reach, "--registry", str(tmp_path))
    assert {record["route"]["candidates_from"] for record in found} == {"registry"}
    names = {one["name"] for record in found for one in record["route"]["candidates"]}
    assert names == {"Read", "Wait"}
    gap = [slot for record in found if record["tool"] == "Read" for slot in record["slots"] if slot["name"] == "path"]
    assert {slot["confidence"] for slot in gap} == {0.0}  # this registry's Read needs `path`


def test_a_folder_without_tools_is_refused(reach: Run, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        result = reach("calls", DATA / "claude_code", "--jsonl", "--registry", str(folder))
        assert result.code == 2
        assert result.out == ""


def test_a_bundled_registry_is_named_by_its_agent(reach: Run) -> None:
    found = records(reach, "--registry", "claude_code")
    assert {record["route"]["candidates_from"] for record in found} == {"registry"}
    assert any(one["name"] == "TodoWrite" for record in found for one in record["route"]["candidates"])


def test_mistakes_in_a_registry_are_said_and_the_rest_counts(reach: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TOOL.format(name="Read", purpose="Reads a file"))
    for number in range(8):
        (tmp_path / f"bad{number}.yaml").write_text("name: [")
    result = reach("calls", DATA / "claude_code", "--jsonl", "--registry", str(tmp_path))
    assert result.code == 0
    assert "bad0.yaml" in result.err
    assert "3 further mistakes" in result.err

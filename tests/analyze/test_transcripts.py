"""`classify --sessions`: whole sessions in, who and which step out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reach_tui.analyze.transcripts import blame, blame_record, parse_session
from reach_tui.detect.engine import default_engine

BENCH = "attribution.dev.jsonl.gz"


def session(*steps: tuple[str, str, str], **more: Any) -> str:
    rows = [{"i": n, "who": who, "kind": kind, "text": text} for n, (who, kind, text) in enumerate(steps)]
    return json.dumps({"id": "x", "steps": rows, **more})


def answer(line: str) -> dict[str, Any]:
    return dict(blame_record(blame(parse_session(line), default_engine().judge)))


def test_the_step_that_asked_for_an_unrepaired_failure_decided() -> None:
    found = answer(
        session(
            ("user", "text", "find it"),
            ("Coder", "text", "```python\nimport scapy\n```"),
            ("Computer_terminal", "tool_result", "exitcode: 0 (execution succeeded)\nCode output: 1"),
            ("Checker", "text", "```python\nprint(open('x').read())\n```"),
            ("Terminal2", "tool_result", "exitcode: 1 (execution failed)\nCode output: bash: jq: command not found"),
            ("Checker", "text", "TERMINATE"),
        )
    )
    assert (found["step"], found["agent"]) == (3, "Checker")
    assert "never succeeded" in found["why"]


def test_a_named_delegate_acts_itself() -> None:
    found = answer(
        session(
            ("human", "text", "find it"),
            ("Orchestrator (thought)", "text", "plan"),
            ("Orchestrator (-> Surfer)", "text", "go there"),
            ("Surfer", "tool_result", "Error: 404 Not Found"),
        )
    )
    assert (found["step"], found["agent"]) == (3, "Surfer")


def test_without_an_unrepaired_failure_the_first_own_step_is_named() -> None:
    found = answer(session(("system", "text", "rules"), ("user", "text", "hi"), ("Planner (thought)", "text", "plan")))
    assert (found["step"], found["agent"], found["level1"]) == (2, "Planner", "model_reasoning")
    assert answer(session(("user", "text", "hi")))["step"] is None
    assert answer(session())["level1"] is None


@pytest.mark.parametrize("line", ["[", "[]", '{"steps": []}', '{"id": "x"}', '{"id": "x", "steps": [1]}'])
def test_what_is_no_session_is_refused_in_words(line: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|id|steps|step 0"):
        parse_session(line)


def test_labels_are_not_looked_at() -> None:
    steps = (("user", "text", "hi"), ("A", "text", "plan"), ("B", "text", "done"))
    assert answer(session(*steps)) == answer(session(*steps, label={"agent": "B", "step": 2}, level1="context_gap"))


@pytest.mark.shared
def test_every_session_of_the_benchmark_is_answered(shared: Path) -> None:
    with gzip.open(shared / "bench" / BENCH, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found = answer(line)
            assert 0 <= found["step"] < record["n_steps"]
            assert found["agent"]
            assert found["level1"]

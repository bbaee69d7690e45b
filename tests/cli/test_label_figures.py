"""`labels agreement` and `labels score` over labels given by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

STORE = Path(__file__).resolve().parents[1] / "data/opencode/opencode-1.2.20.db"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy of an agent's database."""
    return Path(shutil.copy(STORE, tmp_path))


def failed_keys(reach: Run, store: Path) -> list[str]:
    return [record["call_key"] for record in reach("calls", store, "--failed", "--jsonl").records]


def test_two_people_and_an_adjudicator(reach: Run, store: Path) -> None:
    first, second, third, *_ = failed_keys(reach, store)
    for key in (first, second):
        assert reach("label", store, key, "upstream_error/tool_crash", "--by", "ann").code == 0
    assert reach("label", store, first, "upstream_error/http_5xx", "--by", "bo").code == 0
    assert reach("label", store, second, "not_a_failure", "--by", "bo").code == 0
    assert reach("label", store, third, "upstream_error", "--by", "ann").code == 0

    found = json.loads(reach("labels", "agreement", store, "--json").out)
    assert (found["items"], found["single"], found["raters"], found["adjudicated"]) == (2, 1, ["ann", "bo"], 0)
    (pair,) = found["pairs"]
    assert (pair["raw"]["value"], pair["kappa"]["value"], pair["pabak"]) == (0.5, 0.0, 0.0)
    assert [one["call_key"] for one in found["disputed"]] == [second]
    both = json.loads(reach("labels", "agreement", store, "--json", "--level", "2").out)
    assert both["pairs"][0]["raw"]["value"] == 0.0

    shown = reach("labels", "agreement", store)
    assert "2 calls labelled by two or more of 2, 1 by one alone" in shown.out
    assert "only 2 calls were labelled twice" in shown.err

    assert reach("label", store, second, "not_a_failure", "--by", "cy", "--adjudicate").code == 0
    settled = json.loads(reach("labels", "agreement", store, "--json").out)
    assert (settled["items"], settled["adjudicated"], settled["disputed"]) == (2, 1, [])
    score = json.loads(reach("labels", "score", store, "--json").out)
    assert (score["labelled"], score["disputed"]) == (3, 0)
    assert (score["precision"]["count"], score["precision"]["of"]) == (2, 3)
    assert (score["recall"]["count"], score["recall"]["of"]) == (2, 2)


def test_disputed_calls_are_not_scored(reach: Run, store: Path) -> None:
    key = failed_keys(reach, store)[0]
    assert reach("label", store, key, "stale_context", "--by", "ann").code == 0
    assert reach("label", store, key, "not_a_failure", "--by", "bo").code == 0
    found = json.loads(reach("labels", "score", store, "--json").out)
    assert (found["labelled"], found["disputed"], found["precision"]["value"]) == (0, 1, None)
    key = failed_keys(reach, store)[1]
    assert reach("label", store, key, "stale_context", "--by", "ann").code == 0
    shown = reach("labels", "score", store)
    assert "1 labelled calls" in shown.out
    assert "people disagree" in shown.err


def test_undefined_is_said_in_words(reach: Run, store: Path) -> None:
    for key in failed_keys(reach, store)[:2]:
        for by in ("ann", "bo"):
            assert reach("label", store, key, "stale_context", "--by", by).code == 0
    shown = reach("labels", "agreement", store).out
    assert "Cohen's kappa       undefined" in shown
    assert "Krippendorff's alpha  undefined" in shown


@pytest.mark.parametrize("command", ["agreement", "score"])
def test_without_labels_the_next_step_is_named(reach: Run, store: Path, command: str) -> None:
    found = reach("labels", command, store)
    assert (found.code, found.out) == (0, "")
    assert "no labels yet" in found.err


def test_first_cause_is_kept(reach: Run, store: Path) -> None:
    key = failed_keys(reach, store)[0]
    assert reach("label", store, key, "stale_context", "--by", "ann", "--first-cause").code == 0
    (listed,) = json.loads(reach("labels", "list", store, "--json").out)
    assert (listed["first_cause"], listed["role"]) == (True, "annotator")

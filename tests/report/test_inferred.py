"""The report's inferred part, from recorded sessions to each of its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reach_tui.analyze.inferred import Inferred, Told, of_session
from reach_tui.model import Candidate, Route, Slot, Verdict
from reach_tui.report.inferred import build, record, tables
from reach_tui.workspace.inferred_report import InferredCollector
from reach_tui.workspace.reporting import Selection
from reach_tui.workspace.workspace import Workspace
from tests.analyze.kit import call

DATA = Path(__file__).parents[1] / "data"


def collected(*paths: Path, selection: Selection | None = None) -> Inferred:
    collector = InferredCollector(Workspace(paths), selection or Selection())
    for source in collector.workspace.found.sources:
        assert list(collector.tallies(source))
    return collector.sums


@pytest.fixture(scope="module")
def sums() -> Inferred:
    return collected(DATA / "claude_code", DATA / "llm")


def test_every_store_has_its_figures_and_all_have_theirs(sums: Inferred) -> None:
    found = record(build(sums))
    assert [row["store"] for row in found["routes"]] == ["claude_code", "llm", None]
    assert [row["candidates_from"] for row in found["routes"]] == ["seen", "recorded", None]
    one, other, both = found["routes"]
    for key in ("calls", "ranked", "silent"):
        assert one[key] + other[key] == both[key] > 0
    for row in found["routes"]:
        assert row["chance"] < row["top1"] <= row["top5"] <= 1
        assert sum(each["count"] for each in row["decisions"]) == row["calls"]
    assert [row["store"] for row in found["confidence"]] == ["claude_code", "llm", None]
    assert all(0.5 < row["auc"] <= 1 for row in found["confidence"])
    assert found["chains"]["bands"][0]["shortest"] == 1
    assert json.loads(json.dumps(found)) == found


def test_sums_do_not_depend_on_the_order(sums: Inferred) -> None:
    assert record(build(collected(DATA / "llm", DATA / "claude_code"))) == record(build(sums))


def test_the_selection_counts_only_its_tools() -> None:
    some = collected(DATA / "claude_code", selection=Selection(tools=("Edit",)))
    assert {tool for tool, _ in some.all_confidence.gaps} <= {"Edit"}
    assert set(some.durations.limits) == {"Edit"}


def told(tool: str, verdict: Verdict, *slots: Slot, confidence: float | None = None) -> Told:
    route = Route("inferred", "", (Candidate(tool, 0.9),), "execute", candidates_from="seen",
                  chosen=Candidate(tool, 0.9), rank=1)  # fmt: skip
    return Told(call(tool, route=route, slots=slots), verdict, confidence)


GAP = Slot("subagent_type", None, "none", "inferred", confidence=0.0, note="GAP: required and absent")
PROMPT = Slot("prompt", "x", "composed", "inferred")


def test_gaps_are_said_as_in_the_seed() -> None:
    failed, fine = Verdict(True, 1.0, "invalid_parameter"), Verdict(False, 1.0)
    found = of_session("peri", [
        *[told("Agent", failed, GAP, PROMPT, confidence=0.0)] * 36,
        *[told("Agent", failed, PROMPT)] * 9,
        *[told("Agent", fine, GAP, PROMPT, confidence=0.0)] * 2,
        *[told("Agent", fine, PROMPT)] * 50,
    ], tools=4)  # fmt: skip
    made = {table.title: table for table in tables(build(found))}
    assert made["Gaps"].rows == (("Agent", "subagent_type missing in 36 of 45", "38"),)
    assert made["Composed slots"].rows == (("Agent", "97"),)
    (band, *_) = record(build(found))["confidence"][0]["bands"]
    assert (band["calls"], band["failed"]) == (38, 36)


def test_nothing_gives_no_tables() -> None:
    assert tables(build(Inferred())) == []


def test_text_of_a_trace_stays_text() -> None:
    hostile = "\x1b[31mx[/]|<b>\n"
    found = of_session("peri", [told(hostile, Verdict(True, 1.0), GAP)], tools=1)
    for table in tables(build(found)):
        for row in table.rows:
            assert len(row) == len(table.head)
            assert not any("\x1b" in text or "\n" in text for text in row)


def test_tables_are_as_wide_as_their_heads(sums: Inferred) -> None:
    made = tables(build(sums))
    assert {"Inferred routes", "Decisions of inferred routes", "Failure rate by confidence", "Chains"} <= {
        table.title for table in made
    }
    assert all(len(row) == len(table.head) for table in made for row in table.rows)


@pytest.mark.parametrize("form", ["text", "md", "html", "json"])
def test_every_form_has_the_part_only_where_asked_for(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    from reach_tui.cli.main import run

    word = '"inferred"' if form == "json" else "Inferred routes"
    for more in ((), ("--inferred",)):
        assert run(["report", str(DATA / "llm"), "--format", form, *more]) == 0
        assert (word in capfd.readouterr().out) is bool(more)

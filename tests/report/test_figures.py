"""The figures of the retrospective, to the digit, and those of a truth file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reach_tui.report.model import Report
from tests.report.conftest import as_json, collect


def by_tool(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["tool"]: row for row in answer["tools"]}


def rules(row: dict[str, Any]) -> dict[str, int]:
    return {one["rule"].partition(".")[2]: one["count"] for one in row["classes"]}


def guards(answer: dict[str, Any], rule: str, after: int) -> tuple[int, int]:
    (row,) = [one for one in answer["guards"]["consecutive"] if (one["rule"], one["after"]) == (rule, after)]
    return row["by_flag"], row["by_truth"]


@pytest.mark.shared
def test_the_retrospective_to_the_digit(retrospective: tuple[Path, dict[str, Any]]) -> None:
    path, truth = retrospective
    answer = as_json(collect(path))
    tools = by_tool(answer)
    assert answer["scope"]["sessions"] == 400

    # A2, A3: by the flag nothing, by content 45 and 284
    agent, edit = tools["Agent"], tools["Edit"]
    assert [agent[key] for key in ("calls", "results", "flagged", "hidden", "failed")] == [1344, 1344, 0, 45, 45]
    assert [edit[key] for key in ("calls", "results", "flagged", "hidden", "failed")] == [6233, 6233, 0, 284, 284]
    assert (agent["rate_flagged"], round(100 * agent["rate_failed"], 2)) == (0, 3.35)
    assert (edit["rate_flagged"], round(100 * edit["rate_failed"], 1)) == (0, 4.6)
    assert agent["interval"][0] < agent["rate_failed"] < agent["interval"][1]

    # A4: the classes with their shares
    assert rules(agent) == {
        "subagent_type_missing_foreground": 21,
        "subagent_type_missing_background": 15,
        "background_limit": 5,
        "definition_not_found": 3,
        "prompt_missing": 1,
    }
    assert [round(100 * one["share"], 1) for one in agent["classes"]] == [46.7, 33.3, 11.1, 6.7, 2.2]
    assert rules(edit) == {"old_string_not_found": 213, "old_string_not_unique": 70, "file_not_found": 1}

    # A5: avoidable, by both groupings
    assert agent["avoidable_seed"] == {"count": 41, "of": 45, "share": 0.911111, "by": "seed"}
    assert agent["avoidable"] == {"count": 42, "of": 45, "share": 0.933333, "by": "taxonomy"}

    # A6: stale edits
    stale = answer["stale_edits"]
    assert (stale["not_found"], stale["stale"], stale["share"], stale["written_only"]) == (213, 132, 0.619718, 15)

    # A7 to A9: three lines of defence
    expected = {name: (one["by_flag"], one["by_truth"]) for name, one in truth["guard"]["counterfactual"].items()}
    assert expected == {"same_error": (3, 14), "any_error": (3, 7)}
    assert {rule: guards(answer, rule, 5) for rule in expected} == expected
    for row in answer["guards"]["consecutive"]:
        if row["after"] == 5:  # at the very calls
            told_places = truth["guard"]["counterfactual"][row["rule"]]["where"]
            assert sorted(key.split("/")[0] for key in row["where"]) == sorted(place[0] for place in told_places)
    flagged = sum(one.get("flagged", 0) for one in truth["scopes"]["roots"].values())
    hidden = sum(one.get("hidden", 0) for one in truth["scopes"]["roots"].values())
    total = answer["total"]
    assert (total["flagged"], total["hidden"]) == (flagged, hidden) == (345, 400)
    no_failures = total["checks"] + total["false_flags"]  # a test run with findings, a search that found nothing
    assert answer["guards"]["error_metric"] == {"by_flag": flagged, "by_truth": flagged + hidden - no_failures}
    assert answer["guards"]["analyzer"] == answer["guards"]["error_metric"]

    for tool, told in truth["scopes"]["roots"].items():
        seen = tools[tool]
        for key in ("calls", "results", "flagged", "hidden"):
            assert seen[key] == told.get(key, 0), (tool, key)
    counts = {row["what"]: row["count"] for row in answer["health"]}
    assert counts["orphan results"] == len(truth["pairing"]["orphan_results"])
    assert counts["calls without a result"] == len(truth["pairing"]["missing_results"])


@pytest.mark.shared
def test_the_seeds_two_tools_alone(retrospective: tuple[Path, dict[str, Any]]) -> None:
    """329 hidden errors of Agent and Edit, none by the flag; with the other tools only seen, not counted."""
    answer = as_json(collect(retrospective[0], tools=("Agent", "Edit")))
    assert answer["guards"]["error_metric"] == {"by_flag": 0, "by_truth": 329}
    assert answer["guards"]["analyzer"] == {"by_flag": 0, "by_truth": 329}
    assert answer["stale_edits"]["written_only"] == 15  # the writes were seen
    assert [row["tool"] for row in answer["tools"]] == ["Edit", "Agent"]
    assert guards(answer, "same_error", 5) == (0, 11)


def test_every_count_of_the_small_profile(small: tuple[Report, dict[str, Any]]) -> None:
    report, truth = small
    answer = as_json(report)
    tools = by_tool(answer)
    assert tools.keys() == truth["tools"].keys()
    for tool, told in truth["tools"].items():
        for key in ("calls", "results", "flagged", "hidden", "soft"):
            assert tools[tool][key] == told[key], (tool, key)
        assert tools[tool]["rate_flagged"] == pytest.approx(told["rate_by_flag"], abs=1e-6)
        assert tools[tool]["rate_failed"] == pytest.approx(told["rate_actual"], abs=1e-6)
    assert rules(tools["Agent"]) == truth["tools"]["Agent"]["hidden_categories"]
    stale = answer["stale_edits"]
    assert (stale["not_found"], stale["stale"]) == (13, truth["stale_edits"]["after_success_same_session"])
    assert stale["written_only"] == truth["stale_edits"]["not_stale_reasons"]["written_only"]
    for rule, told in truth["guard"]["counterfactual"].items():
        assert guards(answer, rule, 5) == (told["by_flag"], told["by_truth"])


def test_the_default_scope_is_root_sessions(small: tuple[Report, dict[str, Any]]) -> None:
    truth = small[1]
    roots = collect(Path(__file__).resolve().parents[1] / "data" / "peri" / "schema_3.db")
    seen = {row.tool: row.counts for row in roots.tools}
    for tool, told in truth["scopes"]["roots"].items():
        assert (seen[tool].calls, seen[tool].hidden) == (told["calls"], told.get("hidden", 0))
    assert sum(one.calls for one in seen.values()) == sum(one["calls"] for one in truth["scopes"]["roots"].values())
    assert roots.scope.calls < small[0].scope.calls


def test_two_traces_add_up_and_shares_stay_shares(small: tuple[Report, dict[str, Any]]) -> None:
    folder = Path(__file__).resolve().parents[1] / "data" / "peri"
    both = as_json(collect(folder / "schema_3.db", folder / "schema_min.db", scope="all"))
    one = as_json(small[0])
    assert [store["path"] for store in both["scope"]["stores"]] == ["schema_3.db", "schema_min.db"]
    assert both["total"]["calls"] > one["total"]["calls"]
    shares = [row["share"] for row in both["attribution"]]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    assert [row["cause"] for row in both["attribution"]] == ["tool", "context", "execution", "model"]
    assert sum(row["count"] for row in both["attribution"]) == both["total"]["failed"]

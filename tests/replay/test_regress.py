"""The regression run: a worsened description is caught, its neighbour named, and the repaired one passes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from reach_tui.base.errors import ConfigError
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router
from reach_tui.reach.spec import ToolSpec
from reach_tui.replay.cases import Case, load_cases
from reach_tui.replay.output import junit, markdown, record
from reach_tui.replay.registry_source import registry_of
from reach_tui.replay.regress import baseline_of, run
from reach_tui.replay.trials import trial_of, widths


def tool(name: str, description: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        params_schema={"type": "object", "properties": {}},
        auth_type="none",
        timeout_ms=1000,
        idempotent=True,
        side_effect="read",
        sample_calls=(),
    )


def router(**descriptions: str) -> Router:
    return Router(ToolList(tool(name, text) for name, text in descriptions.items()))


GOOD = {"look_up_refund": "Refund status and arrival of the money.", "find_parcel": "Parcel location and station."}
CASES = (
    Case(id="1", utterance="refund status", tool="look_up_refund"),
    Case(id="2", utterance="money arrival", tool="look_up_refund"),
    Case(id="3", utterance="parcel location", tool="find_parcel"),
    Case(id="4", utterance="sing a song", tool=None, decision="no_capability"),
)


def test_right_is_the_first_candidate_or_the_right_decision() -> None:
    result = run(CASES, router(**GOOD))
    assert [one.right for one in result.outcomes] == [True] * 4
    assert (result.accuracy, result.compared, result.confused) == (1.0, 0, ())
    wrong = run([Case(id="1", utterance="refund status", tool="find_parcel")], router(**GOOD))
    assert wrong.confused == (("find_parcel", "look_up_refund", 1),)
    also = run(
        [Case(id="1", utterance="refund status", tool="find_parcel", alternatives=("look_up_refund",))], router(**GOOD)
    )
    assert also.right == 1
    sure = Case(id="1", utterance="refund status", tool="look_up_refund", forbidden=("look_up_refund",))
    assert run([sure], router(**GOOD)).right == (
        0 if run([sure], router(**GOOD)).outcomes[0].decision == "execute" else 1
    )


def test_the_neighbour_that_lost_is_named_and_the_repair_passes() -> None:
    baseline = json.loads(json.dumps(baseline_of(run(CASES, router(**GOOD)), router(**GOOD))))
    greedy = GOOD | {
        "find_parcel": "Parcel location, station, refund status, arrival of the money, refund money status."
    }
    hurt = run(CASES, router(**greedy | {"look_up_refund": "Refund."}), baseline)
    assert hurt.regressed()
    assert {one.case.id for one in hurt.lost} == {"1", "2"}
    damaged = hurt.tools[0]
    assert (damaged.tool, damaged.damage, hurt.neighbours(damaged.tool)) == (
        "look_up_refund",
        100.0,
        [("find_parcel", 2)],
    )
    repaired = run(CASES, router(**GOOD), baseline)
    assert (repaired.regressed(), repaired.lost, repaired.won, repaired.compared) == (False, (), (), 4)


def test_a_tool_may_lose_what_the_tolerance_allows_but_never_the_sum() -> None:
    base = {"version": 1, "cases": {}}
    cases = [Case(id=str(n), utterance="parcel location", tool="find_parcel") for n in range(9)]
    cases.append(Case(id="9", utterance="refund status", tool="find_parcel"))
    everything = baseline_of(run(cases, router(**GOOD)), router(**GOOD))
    for one in everything["cases"].values():  # type: ignore[union-attr]
        one["right"] = True  # type: ignore[index, call-overload]
    lost = run(cases, router(**GOOD), everything)
    assert lost.tools[0].damage == pytest.approx(10.0)
    assert lost.regressed(tolerance=10.0)  # one lost, none won
    everything["cases"]["0"]["right"] = everything["cases"]["1"]["right"] = False  # type: ignore[index, call-overload]
    assert not run(cases, router(**GOOD), everything).regressed(tolerance=10.0)
    with pytest.raises(ConfigError, match="not a baseline"):
        run(cases, router(**GOOD), {"version": 1, "cases": {"1": {}}})
    with pytest.raises(ConfigError, match="not a baseline of this version"):
        run(cases, router(**GOOD), {**base, "version": 99})


def test_a_case_in_other_words_is_not_compared() -> None:
    baseline = baseline_of(run(CASES, router(**GOOD)), router(**GOOD))
    changed = [CASES[0].model_copy(update={"utterance": "parcel station"}), *CASES[1:]]
    result = run(changed, router(**GOOD), baseline)
    assert (result.lost, result.fresh, result.compared) == ((), 1, 3)


HOSTILE = "</failure>]]>\x00\x1b[31m|`<script>` [x](y)\nnext"


def test_outputs_hold_hostile_text_as_text() -> None:
    case = Case(id="a|b", utterance=HOSTILE, tool="find_parcel")
    before = baseline_of(run([case], router(**GOOD)), router(**GOOD))
    before["cases"]["a|b"]["right"] = True  # type: ignore[index, call-overload]
    result = run([case], router(**GOOD), before)
    root = ElementTree.fromstring(junit(result))
    assert root.attrib["failures"] == "1"
    assert root[0][0].text == HOSTILE.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    shown = markdown(result)
    assert "\x1b" not in shown
    assert "<script>" not in shown
    assert "**Regression.**" in shown
    assert [line.replace("\\|", "").count("|") for line in shown.split("\n") if line.startswith("| a")] == [5]
    assert record(result)["regressed"] is True


def test_what_each_decision_costs() -> None:
    from reach_tui.model import Candidate

    scored = (Candidate("find_parcel", 0.9), Candidate("look_up_refund", 0.7))
    right = trial_of(CASES[2], scored)
    assert (right.top, right.gap, right.execute, right.clarify, right.refuse) == (0.9, 0.2, 0.0, 1.0, 1.0)
    assert trial_of(CASES[0], scored, wrong=8).execute == 8
    nothing = trial_of(CASES[3], ())
    assert (nothing.top, nothing.execute, nothing.refuse) == (None, 5.0, 0.0)
    asked = trial_of(Case(id="x", utterance="refund?", tool=None, decision="clarify"), scored)
    assert (asked.execute, asked.clarify, asked.refuse) == (5.0, 0.0, 1.0)


def test_a_wider_recall_finds_no_less_and_costs_more() -> None:
    own = Router(registry_of("shop"))
    found = widths(load_cases("shop"), own, (3, 5, 8, 26))
    assert [one.recall for one in found] == sorted(one.recall for one in found)
    assert [one.tokens for one in found] == sorted(one.tokens for one in found)
    assert own.k == 5

"""The four metrics: generated sessions with known truth, and a test that fails where a definition is loosened."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from reach_tui.analyze.outcomes import Outcomes, Task, groups_of, tasks, week_of
from reach_tui.analyze.pairs import Pair
from reach_tui.analyze.story import Story, Told
from reach_tui.model import Candidate, Label, Route, Session, Step, StepKind, Verdict
from tests.analyze.kit import bad, ok


def story(*turns: Sequence[Pair | Step], outcome: str | None = None, **session: Any) -> Story:
    """A session; each turn begins with a user's message."""
    told: list[Told] = []
    for turn, parts in enumerate(turns, 1):
        for part in parts:
            number = len(told) + 1
            if isinstance(part, Step):
                told.append(Told(Step(number, turn, part.kind, part.text, None, None, part.route)))
            else:
                told.append(Told(Step(number, turn, StepKind.CALL, call=part[0].whole()), part[1]))
    return Story(Session("peri", "s", outcome=outcome, **session), told)


def asks(text: str = "please") -> Step:
    return Step(0, 0, StepKind.USER, text)


def says(text: str = "done") -> Step:
    return Step(0, 0, StepKind.ASSISTANT, text)


def decides(score: float, decision: str = "execute") -> Step:
    route = Route("recorded", "x", (Candidate("t", score),), decision)
    return Step(0, 0, StepKind.DECISION, route=route)


def only(one: Story, **labels: Label) -> Task:
    (task,) = tasks(one, {(None if key == "session" else f"s/{key[1:]}"): label for key, label in labels.items()})
    return task


def label(category: str) -> Label:
    return Label("peri", "s", None, None, category, None, "", "dev", 1, "reach-failure", 1, None, None, "")


# Each definition, and what would be wrong if it were looser


def test_success_needs_the_agents_last_word() -> None:
    assert only(story([asks(), ok("a"), says()])).outcome == "success"
    assert only(story([asks(), ok("a")])).outcome == "open"


def test_success_does_not_survive_an_unrecovered_failure() -> None:
    task = only(story([asks(), bad("a"), ok("b", 2), says("All done!")]))
    assert (task.outcome, task.at_step) == ("failed", 1)
    assert only(story([asks(), bad("a"), ok("a", 2), says()])).outcome == "success"
    assert only(story([asks(), ok("a"), bad("a", 2), says()])).outcome == "failed"


def test_a_hidden_failure_counts_like_a_flagged_one() -> None:
    assert only(story([asks(), bad("a", flagged=False), says()])).outcome == "failed"


def test_the_users_correction_counts_against_success() -> None:
    first, second = tasks(story([asks(), ok("a"), says()], [asks("No, the other one"), ok("a", 2), says()]))
    assert (first.outcome, second.outcome) == ("corrected", "success")
    assert first.at_step == 4
    assert "No, the other one" in first.why or "No," in first.why
    first, _ = tasks(story([asks(), ok("a"), says()], [asks("Now the tests"), ok("a", 2), says()]))
    assert first.outcome == "success"


def test_not_asking_on_is_not_what_makes_a_success() -> None:
    # the seed's warning: a user who does not go on asking is no success by itself
    assert only(story([asks(), bad("a"), says("I could not do it")])).outcome == "failed"


@pytest.mark.parametrize(
    "repair",
    [[bad("a"), ok("a", 2)], [decides(0.6, "clarify"), ok("a")], [ok("a", 1, text=None), ok("a", 2, text=None)]],
    ids=["failure", "question", "sent again"],
)
def test_a_success_after_a_repair_is_no_first_pass(repair: list[Any]) -> None:
    pairs = [part if isinstance(part, Step) or part[0].result else (part[0], Verdict(None)) for part in repair]
    task = only(story([asks(), *pairs, says()]))
    assert task.outcome == "success"
    assert task.repairs >= 1
    assert not task.first_pass
    assert only(story([asks(), ok("a"), says()])).first_pass


def test_a_turn_without_a_call_is_no_task() -> None:
    assert list(tasks(story([asks("hello"), says("hello")]))) == []


def test_coverage_asks_for_the_threshold_itself() -> None:
    assert only(story([asks(), decides(0.75), ok("a"), says()])).covered is True
    assert only(story([asks(), decides(0.749), ok("a"), says()])).covered is False
    assert only(story([asks(), ok("a"), says()])).covered is None


def test_the_alarm_is_below_85_percent() -> None:
    assert not Outcomes(routed=20, covered=17).alarm
    assert Outcomes(routed=20, covered=16).alarm
    assert not Outcomes().alarm


def test_a_recorded_outcome_is_the_sessions_and_not_the_turns() -> None:
    two: list[list[Pair | Step]] = [[asks(), bad("a"), says()], [asks(), ok("a", 2), says()]]
    task = only(story(*two, outcome="success"))
    assert (task.outcome, task.repairs) == ("success", 1)
    assert only(story(*two, outcome="corrected")).outcome == "corrected"
    assert only(story(*two, outcome="no_capability")).outcome == "no_capability"
    assert len(list(tasks(story(*two, outcome="done")))) == 2  # a word of the store's own says nothing here


def test_labels_override_what_the_trace_seems_to_say() -> None:
    failing = story([asks(), bad("a"), says()])
    assert only(failing, _1=label("not_a_failure")).outcome == "success"
    fine = story([asks(), ok("a"), says()])
    assert only(fine, _1=label("context_gap")).outcome == "failed"
    corrected = story([asks(), ok("a"), says()], [asks("No, wrong"), says()])
    assert only(corrected).outcome == "corrected"
    assert only(corrected, session=label("not_a_failure")).outcome == "success"
    recorded = story([asks(), ok("a"), says()], outcome="success")
    assert only(recorded, session=label("model_reasoning")).outcome == "failed"


def test_causes_are_the_taxonomys() -> None:
    for category, cause in (
        ("invalid_parameter", "tool"),
        ("stale_context", "context"),
        ("timeout_or_limit", "execution"),
        ("model_reasoning", "model"),
        (None, "model"),
    ):
        assert only(story([asks(), bad("a", category=category), says()])).cause == cause
    assert only(story([asks(), ok("a"), says()])).cause is None


def test_copies_are_left_out() -> None:
    assert list(tasks(story([asks(), ok("a", copy_of="o"), says()]))) == []


# Generated sessions with known truth


def test_generated_sessions_give_exactly_the_known_figures() -> None:
    generator = random.Random(7)
    truth, found = Outcomes(), Outcomes()
    for _ in range(200):
        turns: list[list[Pair | Step]] = []
        kinds = [generator.choice(["clean", "repaired", "failed", "open"]) for _ in range(generator.randint(1, 5))]
        rejected = [kind != "open" and generator.random() < 0.2 for kind in kinds[:-1]]
        for place, kind in enumerate(kinds):
            opening = asks("No, that is wrong" if place and rejected[place - 1] else "next please")
            score = generator.choice([0.6, 0.75, 0.9])
            bodies: dict[str, list[Pair | Step]] = {
                "clean": [ok("a"), says()],
                "repaired": [bad("a", category="context_gap"), ok("a", 2), says()],
                "failed": [bad("a", category="context_gap"), says()],
                "open": [ok("a")],
            }
            turns.append([opening, decides(score), *bodies[kind]])
            truth.routed += 1
            truth.covered += score >= 0.75
            against = place < len(kinds) - 1 and rejected[place]
            if kind == "open":
                truth.open += 1
                continue
            truth.tasks += 1
            if against:
                truth.corrected += 1
            elif kind == "failed":
                truth.failed += 1
                truth.causes["context"] += 1
            else:
                truth.success += 1
                truth.repaired += kind == "repaired"
        for task in tasks(story(*turns)):
            found.count(task)
    assert found == truth
    assert found.first_pass == truth.success - truth.repaired


def test_added_up_in_any_grouping() -> None:
    every = list(tasks(story([asks(), bad("a"), says()], [asks(), ok("a"), says()], [asks(), ok("b")])))
    whole = Outcomes()
    for task in every:
        whole.count(task)
    parts = [Outcomes() for _ in every]
    for part, task in zip(parts, every, strict=True):
        part.count(task)
    assert parts[0] + (parts[1] + parts[2]) == (parts[0] + parts[1]) + parts[2] == whole


def test_groups() -> None:
    one = story([asks(), ok("a"), ok("b"), says()], model="gpt", project=None)
    task = only(one)
    assert set(groups_of(task, one, "tool")) == {"a", "b"}
    assert list(groups_of(task, one, "model")) == ["gpt"]
    assert list(groups_of(task, one, "project")) == ["unknown"]
    assert week_of(1_780_000_000_000) == "2026-W22"
    assert week_of(None) == "unknown"

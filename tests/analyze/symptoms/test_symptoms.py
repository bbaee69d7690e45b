"""Each of the seed's ten symptoms: found where it is, silent in the healthy twin beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.analyze.pairs import Pair
from reach_tui.analyze.story import Story, Told
from reach_tui.analyze.symptoms import DETECTORS, diagnose, page, table
from reach_tui.analyze.symptoms.model import Finding
from reach_tui.model import Candidate, Route, Session, Step, StepKind, Verdict
from tests.analyze.kit import bad, ok

MINUTE = 60_000
ROOT = Path(__file__).resolve().parents[3]


def story(*parts: Pair | Step, name: str = "s", unsafe: Iterable[str] = (), **session: Any) -> Story:
    """A session of calls and other steps, numbered in order."""
    told = []
    for number, part in enumerate(parts, 1):
        if isinstance(part, Step):
            told.append(Told(Step(number, part.turn, part.kind, part.text, part.at, None, part.route)))
        else:
            told.append(Told(Step(number, part[0].turn, StepKind.CALL, call=part[0].whole()), part[1]))
    return Story(Session("peri", name, **session), told, frozenset(unsafe))


def says(text: str = "done") -> Step:
    return Step(0, 1, StepKind.ASSISTANT, text)


def decision(intent: str, first: str, gap: float, answer: str = "execute", *others: str) -> Step:
    """A recorded decision without a call."""
    candidates = [Candidate(first, 0.8), Candidate("second", 0.8 - gap), *(Candidate(other, 0.1) for other in others)]
    return Step(0, 1, StepKind.DECISION, route=Route("recorded", intent, tuple(candidates), answer))


def form(tool: str, number: int) -> Pair:
    return bad(tool, number, f"{number} is invalid", category="invalid_parameter", subcategory="wrong_type_or_format")


def denied(tool: str, number: int) -> Pair:
    return bad(tool, number, f"403 for request {number}", category="permission_denied", subcategory="forbidden")


def limited(tool: str, number: int, **more: Any) -> Pair:
    return bad(tool, number, f"429 at {number}", category="timeout_or_limit", subcategory="rate_limited", **more)


def timed_out(tool: str, number: int, **more: Any) -> Pair:
    return bad(tool, number, "timed out", category="timeout_or_limit", subcategory="timeout", **more)


def traffic(peak_failures: int, peak: int = 100) -> Story:
    """100 calls within five minutes, and 100 others spread over ten hours, 5 of them failing."""
    calls = [limited("api", n, started_at=n * 1000) for n in range(1, peak_failures + 1)]
    calls += [ok("api", n, started_at=n * 1000) for n in range(peak_failures + 1, peak + 1)]
    for n in range(100):
        make = limited if n < 5 else ok
        calls.append(make("api", 1000 + n, started_at=(60 + 6 * n) * MINUTE))
    return story(*calls, says())


def lengthy(early: int, late: int, name: str) -> Story:
    """60 calls, of whose first and last 20 so many fail."""
    calls = [bad("t", n, f"e{n}") if n < early or n >= 60 - late else ok("t", n) for n in range(60)]
    return story(*calls, says(), name=name)


def by_project(failing: int, project: str) -> Story:
    return story(*(denied("pay", n) if n <= failing else ok("pay", n) for n in range(1, 11)), says(), project=project)


CASES: dict[str, tuple[list[Story], list[Story]]] = {
    "unstable_route": (
        [story(decision("Where is my refund?", "query_refund", 0.1), name="a"),
         story(decision("where is my  refund", "query_payment", 0.2), name="b")],
        [story(decision("Where is my refund?", "query_refund", 0.3), name="a"),
         story(decision("where is my refund", "query_payment", 0.2), name="b")],
    ),
    "undecidable_error": (
        [story(*(bad("pay", n, "Parameter error") for n in range(1, 4)), says())],
        [story(*(bad("pay", n, "order_id: expected 16 digits, try search_order") for n in range(3)), says())],
    ),
    "stops_halfway": (
        [story(says("I will"), timed_out("export", 1))],
        [story(says("I will"), timed_out("export", 1), says("It took too long."))],
    ),
    "never_chosen": (
        [story(*(decision(f"q{n}", "first", 0.4) for n in range(5)))],
        [story(*(decision(f"q{n}", "first", 0.4) for n in range(5)), decision("other", "second", 0.3))],
    ),
    "malformed_parameters": (
        [story(*(form("pay", n) for n in range(1, 4)), *(ok("pay", n) for n in range(4, 20)), says())],
        [story(*(form("pay", n) for n in range(3)), *(ok("pay", n) for n in range(3, 40)), says())],
    ),
    "peak_failures": ([traffic(40)], [traffic(6)]),
    "longer_is_worse": (
        [lengthy(2, 10, "a"), lengthy(1, 9, "b")],
        [lengthy(6, 7, "a"), lengthy(7, 8, "b")],
    ),
    "many_clarifications": (
        [story(*(decision(f"q{n}", "a", 0.1, "clarify" if n < 4 else "execute") for n in range(12)))],
        [story(*(decision(f"q{n}", "a", 0.1, "clarify" if n < 3 else "execute") for n in range(11)),
               decision("x", "second", 0.4))],
    ),
    "write_repeated": (
        [story(timed_out("pay", 1, arguments={"sum": 5}), ok("pay", 2, arguments={"sum": 5}), says(), unsafe=["pay"])],
        [story(bad("pay", 1, "400", arguments={"sum": 5}), ok("pay", 2, arguments={"sum": 5}), says(), unsafe=["pay"])],
    ),
    "one_kind_of_user": (
        [by_project(6, "guests"), by_project(0, "staff"), by_project(0, "partners")],
        [by_project(3, "guests"), by_project(3, "staff"), by_project(2, "partners")],
    ),
}  # fmt: skip


def found(stories: list[Story]) -> dict[str, Finding]:
    return {one.symptom.id: one for one in diagnose(stories) if one.found}


@pytest.mark.parametrize("name", CASES)
def test_found_in_the_sick_and_silent_in_the_healthy_twin(name: str) -> None:
    sick, healthy = CASES[name]
    shown = found(sick)[name].evidence
    assert all(one.words and one.step for one in shown)
    assert name not in found(healthy)


@pytest.mark.parametrize("name", CASES)
def test_a_healthy_twin_shows_none_of_the_ten(name: str) -> None:
    allowed = {"one_kind_of_user", "stops_halfway"}  # the twin of another symptom may end on a decision
    assert set(found(CASES[name][1])) <= allowed - {name}


def test_the_table_and_the_detectors_are_the_same_ten() -> None:
    assert [symptom.id for symptom in table()] == list(CASES) == list(DETECTORS)


def test_the_page_is_made_from_the_table() -> None:
    assert (ROOT / "docs/symptoms.md").read_text(encoding="utf-8") == page()


def test_no_sessions_no_symptoms() -> None:
    assert found([]) == {}
    assert found([story()]) == {}


# Borders


def test_two_failures_are_no_run_and_another_tool_does_not_end_one() -> None:
    assert "undecidable_error" not in found([story(bad("a", 1, "no"), bad("a", 2, "no"), says())])
    mixed = story(bad("a", 1, "no"), ok("b", 2), bad("a", 3, "no"), ok("b", 4), bad("a", 5, "no"), says())
    (shown,) = found([mixed])["undecidable_error"].evidence
    assert "a failed 3 times in a row" in shown.words
    broken = story(bad("a", 1, "no"), bad("a", 2, "no"), ok("a", 3), bad("a", 4, "no"), says())
    assert "undecidable_error" not in found([broken])


def test_a_session_cut_before_an_answer_stops_halfway_but_a_flagged_timeout_does_not() -> None:
    unanswered = ok("export", 1, text=None)[0]
    open_call = story((unanswered, Verdict(None)))
    assert "never came back" in found([open_call])["stops_halfway"].evidence[0].words
    assert "stops_halfway" not in found([story(timed_out("export", 1, flagged=True))])


def test_a_write_in_another_turn_or_after_a_refusal_is_no_repeat() -> None:
    first, second = ok("pay", 1, arguments={"sum": 5}, turn=1), ok("pay", 2, arguments={"sum": 5}, turn=2)
    assert "write_repeated" not in found([story(first, second, says(), unsafe=["pay"])])
    assert "write_repeated" not in found([story(first, ok("pay", 3, arguments={"sum": 6}, turn=1), unsafe=["pay"])])
    same = ok("pay", 2, arguments={"sum": 5}, turn=1)
    assert "succeeded" in found([story(first, same, says(), unsafe=["pay"])])["write_repeated"].evidence[0].words
    assert "write_repeated" not in found([story(first, same, says())])


def test_copies_and_inherited_steps_count_for_nothing() -> None:
    copies = [bad("pay", n, "Parameter error", copy_of=f"o/{n}") for n in range(3)]
    assert found([story(*copies, says())]) == {}


def test_steady_traffic_has_no_peak() -> None:
    calls = [(limited if n % 3 == 0 else ok)("api", n, started_at=n * MINUTE) for n in range(200)]
    assert "peak_failures" not in found([story(*calls, says())])


@pytest.mark.shared
def test_over_the_recordings_no_more_is_found_than_was_looked_at(shared: Path) -> None:
    from reach_tui.workspace import Workspace, load_settings
    from reach_tui.workspace.diagnosing import diagnosed

    count = 0
    folders = sorted(one for one in (shared / "real_traces").iterdir() if one.is_dir())
    for folder in folders:
        workspace = Workspace((folder,), load_settings())
        count += sum(one.found for one in diagnosed(workspace, workspace.found.sources))
    text = (ROOT / "docs/symptoms.md").read_text(encoding="utf-8")
    assert f"({len(folders)} kinds of store), the table finds {count} symptoms" in text

"""Suggestions: made where the evidence carries them, silent where it does not."""

from __future__ import annotations

from reach_tui.analyze.detector_scores import Judged, scores
from reach_tui.analyze.suggestions import in_order, of_pairs, of_scores, of_timeouts
from reach_tui.analyze.timeouts import Advice

FINE = "not_a_failure"


def judged(count: int, label: str, *, failed: bool = True, category: str | None = "upstream_error") -> list[Judged]:
    return [Judged(failed, "r" if failed else None, category, label, f"{label}/{n}", "bash") for n in range(count)]


def test_a_rule_that_people_contradict_and_one_that_they_do_not() -> None:
    (found,) = of_scores(scores(judged(6, FINE) + judged(4, "upstream_error")))
    assert (found.kind, found.weight) == ("rule", 6)
    assert "6 of the 10" in found.why
    assert found.examples == tuple(f"{FINE}/{n}" for n in range(5))
    assert of_scores(scores(judged(3, FINE) + judged(60, "upstream_error"))) == []  # 0.95: too good to touch
    assert of_scores(scores(judged(2, FINE))) == []  # two calls are no pattern


def test_another_class() -> None:
    (found,) = of_scores(scores(judged(8, "context_gap") + judged(1, "upstream_error")))
    assert found.kind == "class"
    assert "context_gap in 8 of the 9" in found.why


def test_missed_failures_by_tool() -> None:
    (found,) = of_scores(scores(judged(3, "context_gap", failed=False, category=None)))
    assert (found.kind, found.weight) == ("missed", 3)
    assert "bash" in found.what
    assert of_scores(scores(judged(2, "context_gap", failed=False, category=None))) == []


def test_pairs_and_limits() -> None:
    (pair,) = of_pairs([("a", "b", 3), ("c", "d", 2)], {("a", "b"): ["1", "2"]})
    assert pair.examples == ("1", "2")
    kills = Advice("bash", 200, 9, 7, 100, 5000, 6500, 3000, True, "kills_good_calls")
    hides = Advice("grep", 200, 0, 0, 10, 50, 65, 120_000, True, "hides_slowness")
    loose = Advice("find", 40, 0, 0, 10, 50, 65, 120_000, False, "hides_slowness")
    fits = Advice("read", 200, 0, 0, 10, 50, 65, 80, True, "fits")
    found = of_timeouts([kills, hides, loose, fits])
    assert [one.what for one in found] == ["raise the time limit of bash", "lower the time limit of grep"]
    assert in_order([hides_first := found[1], found[0]]) == [found[0], hides_first]

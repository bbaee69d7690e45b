"""Confidence held against what failed: bands, AUC, gaps, stale and invented values by tool and slot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze.confidence import Confidence, auc, is_parameter_failure, mark_of
from reach_tui.model import Slot, Verdict

FINE, OPEN = Verdict(False, 1.0), Verdict(None)
GAP = Verdict(True, 1.0, "invalid_parameter", "missing_required")
DOWN = Verdict(True, 1.0, "upstream_error")


def slot(name: str, confidence: float | None, note: str = "", source: str = "user") -> Slot:
    return Slot(name, "x", source, "inferred", confidence=confidence, note=note)


def test_auc_is_the_chance_to_rank_a_failure_higher() -> None:
    assert auc([0.9, 0.1], [True, False]) == 1.0
    assert auc([0.1, 0.9], [True, False]) == 0.0
    assert auc([0.5, 0.5, 0.5], [True, False, False]) == 0.5
    assert auc([0.9, 0.5, 0.5, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)
    assert auc([0.9], [True]) is None
    assert auc([], []) is None


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans()), max_size=30))
def test_auc_counts_pairs(ranked: list[tuple[float, bool]]) -> None:
    bad = [score for score, positive in ranked if positive]
    good = [score for score, positive in ranked if not positive]
    pairs = [(one > other) + 0.5 * (one == other) for one in bad for other in good]
    found = auc([score for score, _ in ranked], [positive for _, positive in ranked])
    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_bands_and_what_is_counted() -> None:
    sums = Confidence()
    sums.add("Agent", [slot("kind", 0.0, "GAP: required and absent", "none")], 0.0, GAP)
    sums.add("Agent", [slot("kind", 0.97)], 0.97, FINE)
    sums.add("Agent", [slot("kind", 0.25)], 0.25, GAP)
    sums.add("Edit", [slot("old_string", 0.08, "STALE: replaced by your own edit, step 3", "result")], 0.08, DOWN)
    sums.add("Edit", [slot("new_string", None, "", "composed")], None, FINE)
    sums.add("Edit", [slot("edits[1].path", 0.5, "INVENTED: stands nowhere before this call", "none")], 0.5, OPEN)
    assert [(one.low, one.high, one.failed, one.calls) for one in sums.bands()] == [
        (0.0, 0.25, 1, 2), (0.25, 0.5, 1, 1), (0.5, 0.75, 0, 0), (0.75, 1.0, 0, 1), (None, None, 0, 1),
    ]  # fmt: skip
    assert [one.rate for one in sums.bands()] == [0.5, 1.0, None, 0.0, 0.0]
    assert sums.calls == 5  # one is undecided
    assert sums.auc() == pytest.approx((3 + 2) / 6)
    assert sums.auc(filled_only=True) == pytest.approx((2 + 1) / 4)
    assert dict(sums.gaps) == {("Agent", "kind"): 1}
    assert dict(sums.stale) == {("Edit", "old_string"): 1}
    assert dict(sums.invented) == {("Edit", "edits"): 1}
    assert sums.failures == {"Agent": 2, "Edit": 1}
    assert sums.sources["inferred", "composed"] == 1


def test_sums_add_up() -> None:
    one, other = Confidence(), Confidence()
    one.add("a", [slot("x", 0.5)], 0.5, GAP)
    other.add("a", [slot("x", 0.9)], 0.9, FINE)
    one += other
    assert (one.calls, one.auc()) == (2, 1.0)


@pytest.mark.parametrize(
    ("note", "mark"),
    [
        ("", ""), ("only in the agent's own words", ""), ("stale: replaced by the edit at step 3", "STALE"),
        ("found in another form: case; AMBIGUOUS: one of 3", "AMBIGUOUS"), ("SCHEMA: x; INVENTED: y", "SCHEMA"),
        ("no GAP: here", ""),
    ],
)  # fmt: skip
def test_what_stands_out(note: str, mark: str) -> None:
    assert mark_of(slot("x", 0.5, note)) == mark


def test_failures_about_parameters() -> None:
    assert is_parameter_failure(GAP)
    assert not is_parameter_failure(DOWN)
    assert not is_parameter_failure(Verdict(False, 1.0, "stale_context"))

"""The detectors against labels: each figure by hand."""

from __future__ import annotations

from reach_tui.analyze.detector_scores import Judged, Share, scores

FINE = "not_a_failure"


def test_every_figure_of_a_small_sample() -> None:
    found = scores(
        [
            Judged(True, "edit.not_found", "stale_context", "stale_context", "1"),
            Judged(True, "edit.not_found", "stale_context", "context_gap", "2"),
            Judged(True, "edit.not_found", "stale_context", FINE, "3"),
            Judged(True, "shell.exit_code", "upstream_error", "upstream_error", "4"),
            Judged(False, None, None, "model_reasoning", "5"),
            Judged(False, "shell.honest_no", FINE, FINE, "6"),
            Judged(None, "store.interrupted", "timeout_or_limit", "timeout_or_limit", "7"),
            Judged(None, None, None, FINE, "8"),
        ]
    )
    assert (found.labelled, found.undecided) == (8, 2)
    assert found.precision == Share(3, 4)
    assert found.recall == Share(3, 4)
    assert found.same_class == Share(2, 3)
    assert [one.key for one in found.disagreements] == ["2", "3", "5"]
    by_rule = {one.rule: one for one in found.rules}
    assert found.rules[0].rule == "edit.not_found"
    assert by_rule["edit.not_found"].precision == Share(2, 3)
    assert by_rule["edit.not_found"].same_class == Share(1, 2)
    assert by_rule["store.interrupted"].soft == Share(1, 1)
    assert by_rule["shell.honest_no"].cleared == Share(1, 1)
    assert ("-", "model_reasoning", 1) in found.confusion
    assert ("?", FINE, 1) in found.confusion
    assert sum(count for _, _, count in found.confusion) == 8


def test_one_false_label_moves_one_cell_only() -> None:
    # per-key precision was inflated elsewhere by a single false key (bug_cases G12)
    calls = [Judged(True, "r", "upstream_error", "upstream_error", str(number)) for number in range(9)]
    found = scores([*calls, Judged(True, "r", "upstream_error", FINE, "9")])
    assert found.confusion == (("upstream_error", "upstream_error", 9), ("upstream_error", FINE, 1))
    assert found.precision == Share(9, 10)
    assert found.precision.interval is not None
    assert found.precision.interval[0] < 0.9 < found.precision.interval[1]


def test_without_labels_nothing_is_claimed() -> None:
    found = scores([])
    assert (found.precision.value, found.precision.interval, found.recall.value) == (None, None, None)
    assert (found.rules, found.confusion, found.disagreements) == ((), (), ())

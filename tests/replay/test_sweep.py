"""The sweep: losses by hand, against brute force, and on data with a known optimum."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.model import Thresholds
from reach_tui.replay.sweep import GAP_HIGHEST, STEPS, Trial, loss_of, sweep

RIGHT, WRONG = (0.0, 1.0, 1.0), (5.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("top", "gap", "loss"),
    [
        (0.75, 0.15, 5.0),
        (0.749, 0.15, 1.0),
        (0.75, 0.149, 1.0),
        (0.5, 0.5, 1.0),
        (0.499, 0.499, 3.0),
        (None, None, 3.0),
    ],
)
def test_what_a_case_costs_at_each_border(top: float | None, gap: float | None, loss: float) -> None:
    assert loss_of(Trial(top, gap, 5.0, 1.0, 3.0), Thresholds()) == loss


def scores() -> st.SearchStrategy[float]:
    return st.integers(0, 100).map(lambda number: number / 100)


TRIALS = st.lists(
    st.builds(
        lambda top, gap, costs: Trial(top, min(top, gap), *costs), scores(), scores(), st.sampled_from([RIGHT, WRONG])
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=40)
@given(TRIALS)
def test_every_point_of_the_curve_equals_the_losses_added_up(trials: list[Trial]) -> None:
    found = sweep(trials, resamples=2)
    gaps = [step / 100 for step in range(round(GAP_HIGHEST * 100) + 1)]
    for point in found.curve[:: STEPS // 10]:
        by_gap = [sum(loss_of(one, Thresholds(point.t1, gap)) for one in trials) / len(trials) for gap in gaps]
        assert point.loss == pytest.approx(min(by_gap))
        assert point.loss_at_gap == pytest.approx(by_gap[15])
    assert found.loss == pytest.approx(min(point.loss for point in found.curve))
    assert found.now == pytest.approx(sum(loss_of(one, Thresholds()) for one in trials) / len(trials))
    assert found.loss <= found.now + 1e-9
    assert found.t1.low <= found.t1.best <= found.t1.high
    assert found.gap.low <= found.gap.best <= found.gap.high


def drawn(seed: int, steepness: float, count: int = 300) -> list[Trial]:
    """Cases whose chance to be right is 0.8 at a score of 0.75, rising with it: at 5 : 1 the best t1 is 0.75."""
    generator = random.Random(seed)
    trials = []
    for _ in range(count):
        top = generator.uniform(0.5, 1.0)
        right = generator.random() < 1 / (1 + math.exp(-(top - 0.75) * steepness - math.log(4)))
        trials.append(Trial(top, 0.5, *(RIGHT if right else WRONG)))
    return trials


def test_the_known_optimum_lies_in_its_interval() -> None:
    held = widths = 0.0
    for seed in range(50):
        found = sweep(drawn(seed, steepness=(8, 12, 20)[seed % 3]), resamples=60)
        held += found.t1.low <= 0.75 <= found.t1.high
        widths += found.t1.high - found.t1.low
    assert held >= 46
    assert widths / 50 < 0.25  # an interval over everything would hold it too


def test_dearer_mistakes_move_the_threshold_up() -> None:
    trials = drawn(1, 12, 2_000)
    dear = [Trial(one.top, one.gap, one.execute * 4, one.clarify, one.refuse) for one in trials]
    assert sweep(dear, resamples=20).t1.best > sweep(trials, resamples=20).t1.best + 0.05


def test_says_when_the_data_cannot_carry_a_choice() -> None:
    assert "at least 30" in sweep(drawn(3, 12)[:20]).doubts[0]
    assert "no case would be executed wrongly" in sweep([Trial(0.8, 0.3, *RIGHT)] * 40).doubts[0]
    assert any("not significantly worse" in one for one in sweep(drawn(4, 12)).doubts)
    clear = [Trial(0.9, 0.3, *RIGHT)] * 60 + [Trial(0.8, 0.3, *WRONG)] * 60
    assert sweep(clear).supported
    assert sweep(clear).t1.low > 0.8


def test_the_same_from_run_to_run() -> None:
    assert sweep(drawn(5, 12), resamples=30) == sweep(drawn(5, 12), resamples=30)


def test_no_cases_are_an_error() -> None:
    with pytest.raises(ValueError, match="no cases"):
        sweep([])

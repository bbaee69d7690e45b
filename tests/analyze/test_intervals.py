"""Intervals and tests against published values and their own laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze.intervals import fisher_midp, holm, newcombe, wilson

counts = st.integers(0, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@given(counts)
def test_wilson_holds_the_share_within_0_and_1(counted: tuple[int, int]) -> None:
    count, of = counted
    found = wilson(count, of)
    if of == 0:
        assert found is None
        return
    assert found is not None
    assert 0 <= found[0] <= count / of <= found[1] <= 1


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_in_newcombe_1998(count: int, of: int, low: float, high: float) -> None:
    """Table I of Newcombe's first paper, method 3."""
    assert wilson(count, of) == pytest.approx((low, high), abs=6e-5)


def test_newcombe_as_published() -> None:
    """Table II of Newcombe's second paper, method 10: 56/70 against 48/80."""
    assert newcombe((48, 80), (56, 70)) == pytest.approx((0.0524, 0.3339), abs=6e-5)
    assert newcombe((0, 0), (1, 2)) is None


@given(counts, counts)
def test_newcombe_holds_the_difference_and_turns_with_the_sides(one: tuple[int, int], other: tuple[int, int]) -> None:
    there, back = newcombe(one, other), newcombe(other, one)
    if not one[1] or not other[1]:
        assert there is None
        assert back is None
        return
    assert there is not None
    assert back is not None
    difference = other[0] / other[1] - one[0] / one[1]
    assert -1 <= there[0] <= difference + 1e-12
    assert difference - 1e-12 <= there[1] <= 1
    assert there == pytest.approx((-back[1], -back[0]))


@given(counts, counts)
def test_fisher_is_a_probability_and_symmetric(one: tuple[int, int], other: tuple[int, int]) -> None:
    p = fisher_midp(one, other)
    if not one[1] or not other[1]:
        assert p is None
        return
    assert p is not None
    assert 0 <= p <= 1
    assert p == pytest.approx(fisher_midp(other, one), abs=1e-9)
    assert p == pytest.approx(fisher_midp((one[1] - one[0], one[1]), (other[1] - other[0], other[1])), abs=1e-9)


def test_fisher_on_the_lady_tasting_tea() -> None:
    """3 of 4 against 1 of 4: the tables' probabilities are 1, 16, 36, 16, 1 of 70."""
    assert fisher_midp((3, 4), (1, 4)) == pytest.approx((1 + 1 + (16 + 16) / 2) / 70)
    assert fisher_midp((4, 4), (0, 4)) == pytest.approx(1 / 70)


def test_fisher_bears_large_counts() -> None:
    p = fisher_midp((3_508, 183_375), (3_508, 183_375))
    assert p is not None
    assert p > 0.9
    assert fisher_midp((0, 100_000), (50_000, 100_000)) == 0


def test_holm_adjusts_in_place() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([]) == []

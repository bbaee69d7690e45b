"""Budgets: P99 × 1.3, and steps that together never take more than 80 % of the chain's time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.reach.budget import STEPS_SHARE, TIMEOUT_MARGIN, ChainBudget, Lease, overrun_ms, p99, timeout_ms
from tests.reach.clocks import Clock


def test_the_defaults_are_the_seeds() -> None:
    assert (TIMEOUT_MARGIN, STEPS_SHARE) == (1.3, 0.8)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([7], 7),
        (range(1, 100), 99),
        (range(1, 101), 99),
        (range(1, 102), 100),
        ([1] * 99 + [500], 1),
        ([1] * 98 + [9, 9], 9),
    ],
)
def test_p99_is_the_nearest_rank(durations: list[float], expected: float) -> None:
    assert p99(list(durations)) == expected


def test_p99_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no durations"):
        p99([])


@pytest.mark.parametrize(("tail", "timeout"), [(10_000, 13_000), (1_000, 1_300), (333, 433), (0.2, 1), (100, 130)])
def test_a_timeout_is_p99_and_thirty_percent(tail: float, timeout: int) -> None:
    assert timeout_ms(tail) == timeout


@pytest.mark.parametrize(("steps", "over"), [([4_000, 4_000], 0), ([4_000, 4_001], 1), ([9_000], 1_000), ([], 0)])
def test_planned_steps_fit_in_eighty_percent(steps: list[int], over: float) -> None:
    assert overrun_ms(steps, 10_000) == pytest.approx(over)


def test_what_a_step_did_not_use_goes_back() -> None:
    clock = Clock()
    chain = ChainBudget(10_000, now=clock)
    with chain.lease(6_000) as first:
        assert first.ms == 6_000
        assert chain.left_ms == 2_000, "granted counts like used"
        clock.ahead(1)
        assert first.left_ms == 5_000
    assert chain.used_ms == 1_000
    assert chain.left_ms == 7_000
    with chain.lease(9_000) as second:
        assert second.ms == 7_000
        clock.ahead(7)
        assert second.left_ms == 0
    with chain.lease(1) as third:
        assert third.ms == 0


def test_the_chains_own_clock_bounds_it_too() -> None:
    clock = Clock()
    chain = ChainBudget(10_000, now=clock)
    clock.ahead(9.5)  # routing, questions, the model
    assert chain.left_ms == pytest.approx(500)
    clock.ahead(1)
    assert chain.left_ms == 0


@pytest.mark.parametrize(("total", "share"), [(0, 0.8), (-1, 0.8), (float("nan"), 0.8), (100, 0), (100, 1.1)])
def test_absurd_budgets_are_refused(total: float, share: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        ChainBudget(total, share=share)


@given(
    st.floats(1, 1e6),
    st.lists(
        st.tuples(st.sampled_from(["open", "close", "wait"]), st.floats(0, 5e5), st.floats(0, 1)),
        min_size=1,
        max_size=40,
    ),
)
def test_budgets_are_never_exceeded(total: float, moves: list[tuple[str, float, float]]) -> None:
    """Granted plus used stays within the share, however steps overlap, as long as each keeps to its lease."""
    clock = Clock(0.0)
    chain = ChainBudget(total, now=clock)
    running: list[Lease] = []
    for move, amount, part in moves:
        if move == "open":
            running.append(chain.lease(amount))
        elif move == "close" and running:
            running.pop(int(part * (len(running) - 1))).__exit__(None, None, None)
        else:
            longest = min([amount, *(lease.left_ms for lease in running)])
            clock.ahead(longest / 1000)
        granted = sum(lease.ms for lease in running)
        assert chain.used_ms + granted <= STEPS_SHARE * total + 1e-3
        assert all(lease.left_ms <= chain.total_ms for lease in running)
    for lease in running:
        lease.__exit__(None, None, None)
        lease.__exit__(None, None, None)
    assert chain.used_ms <= STEPS_SHARE * total + 1e-3

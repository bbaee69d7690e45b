"""Retries: two, after 200 and 800 ms, where idempotent and where it may help; never for anything else."""

from __future__ import annotations

import pytest

from reach_tui.native.error_types import ERROR_TYPES
from reach_tui.reach.retry import TRANSIENT, next_try
from reach_tui.reach.spec import RetryPolicy
from tests.reach.clocks import tool

READ = tool()


def test_two_retries_after_200_and_800_ms() -> None:
    waits = [next_try(READ, tries, "timeout") for tries in (1, 2, 3)]
    assert [(one.again, one.wait_ms) for one in waits] == [(True, 200), (True, 800), (False, 0)]
    assert waits[2].why == "tried 3 times"


@pytest.mark.parametrize("side_effect", ["read", "write", "notify"])
def test_what_is_not_declared_idempotent_is_never_repeated(side_effect: str) -> None:
    spec = tool(idempotent=False, side_effect=side_effect, retry_policy=RetryPolicy(max_attempts=10))  # type: ignore[arg-type]
    assert not any(next_try(spec, 1, error_type).again for error_type in ERROR_TYPES)


@pytest.mark.parametrize("error_type", sorted(set(ERROR_TYPES)))
def test_only_what_may_pass_is_repeated(error_type: str) -> None:
    assert next_try(READ, 1, error_type).again is (error_type in TRANSIENT)


@pytest.mark.parametrize(
    ("retry_after", "left", "again", "wait"),
    [
        (None, 201, True, 200),
        (None, 200, False, 200),  # a wait that uses up all that is left is not begun
        (150, 10_000, True, 200),  # never shorter than the backoff
        (3_000, 10_000, True, 3_000),
        (3_000, 3_000, False, 3_000),
    ],
)
def test_retry_after_is_honoured_within_the_budget(
    retry_after: float | None, left: float, again: bool, wait: float
) -> None:
    found = next_try(READ, 1, "rate_limited", retry_after_ms=retry_after, left_ms=left)
    assert (found.again, found.wait_ms) == (again, wait)


def test_other_policies() -> None:
    once = tool(retry_policy=RetryPolicy(max_attempts=1))
    assert not next_try(once, 1, "timeout").again
    more = tool(retry_policy=RetryPolicy(max_attempts=5, backoff_ms=(10, 20)))
    assert [next_try(more, tries, "network").wait_ms for tries in (1, 2, 3, 4)] == [10, 20, 20, 20]
    assert not next_try(more, 5, "network").again

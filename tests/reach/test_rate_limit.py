"""Token buckets in process and in a real Redis: the same answers, so many a second, so many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.reach.executor import Executor
from reach_tui.reach.rate_limit import Grant, LocalLimiter, TokenBucket
from reach_tui.reach.redis_limit import RedisLimiter
from reach_tui.reach.spec import RateLimit
from tests.reach.clocks import Clock, tool
from tests.reach.redis_server import redis_client

LIMITS = [(10.0, 3), (0.5, 1), (1000.0, 1), (3.0, 7)]


@pytest.fixture
async def redis() -> AsyncIterator[Any]:
    async with redis_client() as client:
        yield client


def near(grant: Grant, granted: bool, wait_s: float) -> bool:
    return grant.granted is granted and grant.wait_s == pytest.approx(wait_s)


def test_a_burst_at_once_and_then_the_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(10, 3, clock)
    assert [bucket.take().granted for _ in range(4)] == [True, True, True, False]
    assert near(bucket.take(), False, 0.1)
    clock.ahead(0.0999)
    assert not bucket.take().granted
    clock.ahead(0.0001)
    assert bucket.take() == Grant(True, 0.0)
    clock.ahead(1000)
    assert [bucket.take().granted for _ in range(4)] == [True, True, True, False], "it fills up to the burst, no more"


def test_who_waits_has_taken_the_place() -> None:
    clock = Clock()
    bucket = TokenBucket(10, 1, clock)
    assert bucket.take(1) == Grant(True, 0.0)
    assert near(bucket.take(1), True, 0.1)
    assert near(bucket.take(1), True, 0.2)
    assert near(bucket.take(0.25), False, 0.3)
    assert near(bucket.take(0.31), True, 0.3), "a refusal takes nothing"


@given(
    st.floats(0.1, 500),
    st.integers(1, 20),
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 2)), min_size=1, max_size=60),
)
def test_never_more_than_burst_and_rate(qps: float, burst: int, calls: list[tuple[float, float]]) -> None:
    clock = Clock(0.0)
    bucket = TokenBucket(qps, burst, clock)
    used: list[float] = []
    for gap, patience in calls:
        clock.ahead(gap)
        grant = bucket.take(patience)
        assert grant.granted is (grant.wait_s <= patience)
        if grant.granted:
            used.append(clock() + grant.wait_s)
    used.sort()
    for first in range(len(used)):
        for last in range(first, len(used)):
            assert last - first + 1 <= burst + (used[last] - used[first]) * qps + 1e-3


async def test_tools_have_buckets_of_their_own_and_new_limits_new_ones() -> None:
    limiter = LocalLimiter(Clock())
    assert (await limiter.take("a", 1, 1, 0)).granted
    assert not (await limiter.take("a", 1, 1, 0)).granted
    assert (await limiter.take("b", 1, 1, 0)).granted
    assert (await limiter.take("a", 1, 2, 0)).granted


@pytest.mark.redis
async def test_redis_answers_as_the_bucket_in_process_does(redis: Any) -> None:
    limiter = RedisLimiter(redis, patience_s=20)
    for number, (qps, burst) in enumerate(LIMITS):
        clock = Clock(1_000.0)
        bucket = TokenBucket(qps, burst, clock)
        for step in range(40):
            clock.ahead((step * 7 % 5) / qps / 3)
            patience = (step % 4) * 0.97 / qps  # away from the edge, where floats differ
            here = bucket.take(patience)
            there = await limiter.take(f"tool-{number}", qps, burst, patience, at=clock())
            assert there.granted is here.granted, (qps, burst, step)
            assert there.wait_s == pytest.approx(here.wait_s, abs=1e-4)


@pytest.mark.redis
async def test_redis_shares_a_limit_between_clients_by_its_own_clock(redis: Any) -> None:
    one, other = RedisLimiter(redis, patience_s=20), RedisLimiter(redis, patience_s=20)
    grants = await asyncio.gather(*(limiter.take("shared", 0.05, 5, 0) for limiter in (one, other) * 10))
    assert sum(grant.granted for grant in grants) == 5
    refused = next(grant for grant in grants if not grant.granted)
    assert 15 < refused.wait_s <= 20.0
    (key,) = await redis.keys("reach:limit:shared*")
    assert 0 < await redis.pttl(key) <= 100_000 + 1_000, "counters go when the bucket would be full again"


@pytest.mark.redis
async def test_two_executors_share_one_limit(redis: Any) -> None:
    calls = 0

    async def count() -> int:
        nonlocal calls
        calls += 1
        return calls

    spec = tool("shared_tool", rate_limit=RateLimit(qps=1, burst=6), timeout_ms=900)
    executors = [Executor({"shared_tool": count}, limiter=RedisLimiter(redis, patience_s=20)) for _ in range(2)]
    outcomes = await asyncio.gather(*(executor.execute(spec, {}) for executor in executors * 10))
    refused = [one.failure for one in outcomes if one.failure is not None]
    assert (calls, len(refused)) == (6, 14)
    assert {failure.error_type for failure in refused} == {"rate_limited"}
    assert all(failure.retry_after_ms and not failure.sent for failure in refused)


@pytest.mark.redis
async def test_a_redis_that_is_away_limits_nothing_or_fails_as_asked(redis: Any) -> None:
    from redis.asyncio import Redis
    from redis.exceptions import RedisError

    async with Redis(host="127.0.0.1", port=1, socket_connect_timeout=0.5) as away:
        lenient = RedisLimiter(away)
        assert (await lenient.take("a", 1, 1, 0)).granted
        assert lenient.faults == 1
        with pytest.raises((RedisError, OSError)):
            await RedisLimiter(away, fail_open=False).take("a", 1, 1, 0)

"""The executor against real connections on the loopback and functions of this process."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.auth import Auth, Secret, Token, TokenRequest
from reach_tui.reach.breaker import Breakers
from reach_tui.reach.budget import ChainBudget
from reach_tui.reach.executor import Executor, Outcome
from reach_tui.reach.feedback import UNKNOWN_STATE
from reach_tui.reach.rate_limit import Grant
from reach_tui.reach.spec import RateLimit, RetryPolicy, ToolSpec
from reach_tui.reach.transport import Answer, ToolFault, retry_after_ms
from tests.reach.clocks import ORDER_SCHEMA, Clock, tool
from tests.reach.loopback import Reply, Request, say, serving

FAST = RetryPolicy(backoff_ms=(1, 2))


def fault(outcome: Outcome) -> str | None:
    return outcome.failure.error_type if outcome.failure else None


async def once(spec: ToolSpec, params: Mapping[str, JsonValue] | None = None, **more: Any) -> Outcome:
    executor = Executor(more.pop("functions", None), auth=more.pop("auth", None), limit=more.pop("limit", 16_000))
    try:
        return await executor.execute(spec, params or {}, **more)
    finally:
        await executor.close()


# Over HTTP


async def test_parameters_go_to_path_query_and_body() -> None:
    async with serving(lambda request: say({"path": request.path, "body": request.body.decode()})) as server:
        get = tool(url=f"{server.url}/orders/{{id}}/refunds", method="GET")
        found = await once(get, {"id": "a/b c", "page": 2, "tags": ["x", "y"], "none": None, "deep": {"k": 1}})
        assert isinstance(found.value, dict)
        assert found.value["path"] == "/orders/a%2Fb%20c/refunds?page=2&tags=x&tags=y&deep=%7B%22k%22%3A1%7D"
        post = await once(
            tool(url=f"{server.url}/orders/{{id}}", side_effect="write"), {"id": "7", "note": "上周"}, key="k 1"
        )
        assert isinstance(post.value, dict)
        assert json.loads(str(post.value["body"])) == {"note": "上周"}
        assert server.requests[-1].headers["idempotency-key"] == "k 1"
        assert "idempotency-key" not in server.requests[0].headers


@pytest.mark.parametrize("value", ["..", ".", ""])
async def test_a_path_cannot_be_climbed(value: str) -> None:
    async with serving(lambda _: say({})) as server:
        found = await once(tool(url=f"{server.url}/orders/{{id}}", method="GET"), {"id": value})
        assert fault(found) == "invalid_param"
        missing = await once(tool(url=f"{server.url}/orders/{{id}}", method="GET"), {"{id}": "7"})
        assert missing.failure is not None
        assert missing.failure.for_model()["field"] == "id"
        assert server.requests == []


@pytest.mark.parametrize(
    ("reply", "error_type"),
    [
        (say({"code": "DOWN"}, 503), "upstream_5xx"),
        (say({}, 504), "timeout"),
        (say({}, 403), "auth_denied"),
        (say({}, 404), "not_found"),
        (say({}, 409), "precondition_failed"),
        (say({}, 429), "rate_limited"),
        (Reply(302, b"", {"location": "http://127.0.0.1:1/elsewhere"}), "bad_response"),
        (Reply(200, b"{broken"), "bad_response"),
        (Reply(200, b""), "bad_response"),
        (Reply(200, b"not gzip", {"content-type": "application/json", "content-encoding": "gzip"}), "bad_response"),
        (Reply(200, b'{"half": "of it"}', reset=True), "network"),
        (Reply(200, b"", reset=True), "network"),
        (Reply(200, b"{}", delay_s=5), "timeout"),
        (Reply(200, b"x" * 500, chunk_s=0.05), "timeout"),
    ],
)
async def test_every_way_to_fail_has_its_error_type(reply: Reply, error_type: str) -> None:
    async with serving(lambda _: reply) as server:
        slow = reply.delay_s > 0 or reply.chunk_s > 0
        found = await once(tool(url=server.url, idempotent=False, timeout_ms=500 if slow else 20_000))
        assert fault(found) == error_type
        assert found.failure is not None
        assert found.failure.sent
        assert len(server.requests) == 1 or slow
        assert found.metadata.get("timed_out") is (True if error_type == "timeout" else None)


async def test_nobody_there_is_a_network_error_that_was_not_sent() -> None:
    found = await once(tool(url="http://127.0.0.1:1/", idempotent=False, side_effect="write"))
    assert fault(found) == "network"
    assert found.failure is not None
    assert not found.failure.sent
    assert found.failure.suggestion != UNKNOWN_STATE


async def test_a_422_names_the_fields() -> None:
    detail = [{"loc": ["body", "items", 0, "id"], "msg": "should be an integer", "input": "x"}]
    async with serving(lambda _: say({"detail": detail}, 422)) as server:
        found = await once(tool(url=server.url))
        assert found.failure is not None
        assert found.failure.for_model()["field"] == "items.0.id"
        assert found.param_valid is True, "it was right by the schema; the service is of another opinion"


async def test_parameters_are_checked_before_anything_is_sent() -> None:
    async with serving(lambda _: say({})) as server:
        found = await once(tool(url=server.url, schema=ORDER_SCHEMA), {"order_id": "12"})
        assert fault(found) == "invalid_param"
        assert found.param_valid is False
        assert server.requests == []
        assert found.tries == ()


async def test_retries_help_and_are_listed() -> None:
    replies = iter([say({}, 503), Reply(200, b"", reset=True), say({"ok": True})])
    async with serving(lambda _: next(replies)) as server:
        found = await once(tool(url=server.url, retry_policy=FAST))
        assert found.ok
        assert [one.error_type for one in found.tries] == ["upstream_5xx", "network", "none"]
        assert [one.retry_in_ms for one in found.tries] == [1, 2, None]
        assert len({request.headers.get("idempotency-key") for request in server.requests}) == 1


async def test_the_seeds_waits_on_a_fake_clock() -> None:
    clock = Clock()
    executor = Executor({"query_refund": _raising(TimeoutError())}, now=clock, sleep=clock.sleep)
    found = await executor.execute(tool(), {})
    assert clock.slept == [0.2, 0.8]
    assert [one.retry_in_ms for one in found.tries] == [200, 800, None]
    assert fault(found) == "timeout"


@pytest.mark.parametrize(
    ("header", "slept"), [("3", [3.0, 3.0]), ("0", [0.2, 0.8]), ("nonsense", [0.2, 0.8]), ("9000", [])]
)
async def test_retry_after_is_honoured_within_the_budget(header: str, slept: list[float]) -> None:
    clock = Clock()
    async with serving(lambda _: say({}, 429, retry_after=header)) as server:
        executor = Executor(now=clock, sleep=clock.sleep)
        try:
            found = await executor.execute(
                tool(url=server.url, timeout_ms=3_000), {}, budget=ChainBudget(60_000, now=clock)
            )
        finally:
            await executor.close()
    assert fault(found) == "rate_limited"
    assert clock.slept == slept
    assert found.failure is not None
    assert found.failure.retry_after_ms == (None if header == "nonsense" else float(header) * 1000)


def test_retry_after_in_both_forms() -> None:
    assert retry_after_ms("Mon, 30 Nov 2026 12:00:05 GMT", 1796040000.0) == 5_000
    assert retry_after_ms("Mon, 30 Nov 2026 12:00:05 GMT", 1796050000.0) == 0
    assert [retry_after_ms(one, 0) for one in (None, "", "-1", "1.5", "²", "Mon, 99 Foo")] == [None] * 6
    assert retry_after_ms("9" * 400, 0) == 999_999_999_000


async def test_big_answers_are_cut_and_say_so() -> None:
    listed = {"orders": [{"id": number, "note": "n" * 50} for number in range(1_000)], "total": 1_000}
    async with serving(lambda _: say(listed)) as server:
        found = await once(tool(url=server.url), limit=2_000)
    assert found.value == listed, "whoever needs the whole answer has it"
    assert len(found.text) <= 2_000
    assert json.loads(found.text)["total"] == 1_000
    assert any("orders" in cut and "of 1000 items cut" in cut for cut in found.cuts)


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    async with serving(lambda _: Reply(200, b"[" + b"1," * 2_000_000, {"content-type": "application/json"})) as server:
        found = await once(tool(url=server.url, timeout_ms=5_000))
    assert found.ok
    assert "only the first 2000000 bytes were read" in found.cuts


# Functions of this process


def _raising(error: BaseException) -> Any:
    async def function(**_: Any) -> None:
        raise error

    return function


async def test_plain_and_async_functions_run() -> None:
    names: list[str] = []

    def plain(n: int) -> dict[str, int]:
        names.append(threading.current_thread().name)
        return {"twice": 2 * n}

    async def later(n: int) -> int:
        return 3 * n

    assert (await once(tool("a"), {"n": 2}, functions={"a": plain})).value == {"twice": 4}
    assert names == ["reach-tool"]
    assert (await once(tool("b"), {"n": 2}, functions={"b": later})).value == 6
    assert (await once(tool("c", endpoint_python="json:dumps"), {"obj": [1]})).text == "[1]"


FAILING: list[tuple[BaseException, str]] = [
    (TimeoutError(), "timeout"),
    (PermissionError("no"), "auth_denied"),
    (ZeroDivisionError("x"), "tool_internal"),
    (ToolFault("precondition_failed", "closed", suggestion="open it first"), "precondition_failed"),
    (asyncio.CancelledError(), "cancelled"),
]


@pytest.mark.parametrize(("error", "error_type"), FAILING)
async def test_what_an_async_function_raises_is_its_failure(error: BaseException, error_type: str) -> None:
    found = await once(tool(idempotent=False), functions={"query_refund": _raising(error)})
    assert fault(found) == error_type
    if isinstance(error, ToolFault):
        assert found.failure is not None
        assert found.failure.for_model()["suggestion"] == "open it first"


@pytest.mark.parametrize(
    ("error", "error_type"), [*FAILING, (SystemExit(3), "tool_internal"), (StopIteration(4), "tool_internal")]
)
async def test_what_a_plain_function_raises_is_its_failure(error: BaseException, error_type: str) -> None:
    def plain() -> None:
        raise error

    assert fault(await once(tool(idempotent=False), functions={"query_refund": plain})) == error_type


async def test_functions_may_say_more_than_a_value() -> None:
    answer = Answer("2 failed, 11 passed", metadata={"exit_code": 1})
    found = await once(tool(), functions={"query_refund": lambda: answer})
    assert (found.ok, found.text, found.metadata) == (True, "2 failed, 11 passed", {"exit_code": 1})


@pytest.mark.parametrize("value", [object(), {1, 2}, {"a": object()}])
async def test_values_that_are_no_json_are_bad_responses(value: object) -> None:
    assert fault(await once(tool(idempotent=False), functions={"query_refund": lambda: value})) == "bad_response"


async def test_a_plain_function_that_hangs_is_left_behind() -> None:
    release = threading.Event()
    began = time.monotonic()
    executor = Executor({"query_refund": lambda: release.wait(5)})
    found = await executor.execute(tool(timeout_ms=60, idempotent=False), {})
    assert fault(found) == "timeout"
    assert time.monotonic() - began < 2
    assert executor.callables.busy == 1
    release.set()
    for _ in range(200):
        if not executor.callables.busy:
            break
        await asyncio.sleep(0.005)
    assert executor.callables.busy == 0


async def test_nothing_answers_the_tool() -> None:
    assert fault(await once(tool())) == "tool_unknown"
    assert fault(await once(tool(endpoint_python="no_such_module:f"))) == "dependency_missing"
    assert fault(await once(tool(endpoint_python="json:no_such"))) == "dependency_missing"


# Tokens


class Gate:
    """A service that takes one token only, and tells it in its answers."""

    def __init__(self, good: str) -> None:
        self.good = good

    def __call__(self, request: Request) -> Reply:
        given = request.headers.get("authorization", "")
        status = 200 if given == f"Bearer {self.good}" else 401
        return say({"you sent": given, "again": given.removeprefix("Bearer ")}, status, x_echo=given)


def issuing(*values: str) -> tuple[Auth, list[TokenRequest]]:
    asked: list[TokenRequest] = []

    def callback(request: TokenRequest) -> Token:
        asked.append(request)
        return Token(Secret(values[min(len(asked), len(values)) - 1]))

    return Auth(service=callback, user=callback), asked


async def test_a_401_renews_the_token_once_and_echoes_are_redacted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "reach_tui")
    auth, asked = issuing("stale-secret-1", "fresh-secret-2")
    async with serving(Gate("fresh-secret-2")) as server:
        found = await once(tool(url=server.url, auth_type="service_token"), auth=auth)
        assert found.ok
        assert len(server.requests) == 2
        assert len(asked) == 2
        assert [one.error_type for one in found.tries] == ["auth_denied", "none"]
        assert "secret" not in repr(found)
        assert found.value == {"you sent": "Bearer [redacted]", "again": "[redacted]"}
    assert "secret" not in caplog.text


async def test_a_token_that_is_refused_twice_is_denied() -> None:
    auth, asked = issuing("wrong-secret-1", "wrong-secret-2")
    async with serving(Gate("right-secret")) as server:
        found = await once(tool(url=server.url, auth_type="service_token"), auth=auth)
        assert fault(found) == "auth_denied"
        assert len(server.requests) == 2
        assert len(asked) == 2
        assert "secret" not in repr(found)


async def test_a_refused_write_is_not_sent_again_by_itself() -> None:
    auth, asked = issuing("stale-secret-1", "fresh-secret-2")
    spec = tool(side_effect="write", idempotent=False, auth_type="user_delegated")
    async with serving(Gate("fresh-secret-2")) as server:
        spec = tool(url=server.url, side_effect="write", idempotent=False, auth_type="user_delegated")
        executor = Executor(auth=auth)
        found = await executor.execute(spec, {}, user="ada")
        assert fault(found) == "auth_denied"
        assert found.failure is not None
        assert found.failure.retryable
        assert len(server.requests) == 1
        again = await executor.execute(spec, {}, user="ada")
        assert again.ok, "the renewed token is used when somebody decides to call again"
        assert [request.user for request in asked] == ["ada", "ada"]
        await executor.close()


async def test_no_token_means_nothing_is_sent() -> None:
    async with serving(lambda _: say({})) as server:
        found = await once(tool(url=server.url, auth_type="service_token"))
        assert fault(found) == "auth_denied"
        assert server.requests == []


async def test_a_function_gets_the_secret_where_it_asks_for_it() -> None:
    auth, _ = issuing("function-secret")

    async def function(n: int, token: Secret) -> str:
        return f"{n} with {token.reveal()} and {token}"

    found = await once(tool(auth_type="service_token"), {"n": 1}, functions={"query_refund": function}, auth=auth)
    assert found.text == "1 with [redacted] and [redacted]"
    raising = await once(
        tool(auth_type="service_token", idempotent=False),
        functions={"query_refund": lambda token: 1 / 0 if not token else int(token.reveal())},
        auth=auth,
    )
    assert fault(raising) == "tool_internal"
    assert "function-secret" not in repr(raising)


@pytest.mark.parametrize("value", ["line\nbreak-secret", "nicht-ascii-é-secret", "nul\x00secret"])
async def test_a_token_that_fits_in_no_header_is_neither_sent_nor_shown(value: str) -> None:
    async with serving(lambda _: say({})) as server:
        found = await once(tool(url=server.url, auth_type="service_token"), auth=issuing(value)[0])
        assert fault(found) == "auth_denied"
        assert server.requests == []
        assert "secret" not in repr(found)


async def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    found = await once(tool(url="http://127.0.0.1:1/"))
    assert fault(found) == "dependency_missing"
    assert found.failure is not None
    assert "reach-tui[reach]" in found.failure.detail


# Limits, breaker, budget


async def test_a_full_bucket_is_waited_for_or_refused() -> None:
    clock = Clock()
    executor = Executor({"query_refund": lambda: 1}, now=clock, sleep=clock.sleep)
    spec = tool(rate_limit=RateLimit(qps=2, burst=1), timeout_ms=600)
    assert (await executor.execute(spec, {})).ok
    assert (await executor.execute(spec, {})).ok
    assert clock.slept == [0.5]
    slow = tool(rate_limit=RateLimit(qps=0.5, burst=1), timeout_ms=600)
    assert (await executor.execute(slow, {})).ok
    refused = await executor.execute(slow, {})
    assert fault(refused) == "rate_limited"
    assert refused.failure is not None
    assert not refused.failure.sent
    assert refused.failure.retry_after_ms == pytest.approx(2_000)


async def test_the_breaker_opens_after_five_and_probes_after_thirty_seconds() -> None:
    clock = Clock()
    up = False
    count = 0

    async def flaky() -> str:
        nonlocal count
        count += 1
        if not up:
            raise ConnectionError("down")
        return "up"

    executor = Executor({"query_refund": flaky}, breakers=Breakers(now=clock), now=clock, sleep=clock.sleep)
    spec = tool(idempotent=False)
    for _ in range(5):
        assert fault(await executor.execute(spec, {})) == "network"
    blocked = await executor.execute(spec, {})
    assert count == 5
    assert fault(blocked) == "upstream_5xx"
    assert blocked.failure is not None
    assert not blocked.failure.sent
    assert blocked.failure.retry_after_ms == pytest.approx(30_000)
    assert executor.breakers.blocked() == {"query_refund"}
    up = True
    clock.ahead(30)
    assert (await executor.execute(spec, {})).ok
    assert executor.breakers.blocked() == frozenset()


async def test_a_limiter_that_fails_closed_sends_nothing() -> None:
    class Away:
        async def take(self, tool: str, qps: float, burst: int, longest_wait_s: float) -> Grant:
            raise ConnectionError("redis at 10.0.0.9")

    executor = Executor({"query_refund": lambda: 1}, limiter=Away())
    found = await executor.execute(tool(rate_limit=RateLimit(qps=1)), {})
    assert fault(found) == "rate_limited"
    assert found.failure is not None
    assert not found.failure.sent
    assert "10.0.0.9" not in found.failure.detail


async def test_a_breaker_that_opens_between_two_tries_hides_no_cause() -> None:
    clock = Clock()
    breakers = Breakers(now=clock)
    executor = Executor({"query_refund": _raising(TimeoutError())}, breakers=breakers, now=clock, sleep=clock.sleep)
    found = [await executor.execute(tool(), {}) for _ in range(3)]
    assert [fault(one) for one in found] == ["timeout", "timeout", "upstream_5xx"]
    assert [len(one.tries) for one in found] == [3, 2, 0], "five in a row, then nothing is sent"


@pytest.mark.parametrize("error_type", ["not_found", "auth_denied", "invalid_param", "rate_limited"])
async def test_refusals_do_not_open_the_breaker(error_type: str) -> None:
    executor = Executor({"query_refund": _raising(ToolFault(error_type))})
    spec = tool(idempotent=False)
    for _ in range(12):
        assert fault(await executor.execute(spec, {})) == error_type
    assert executor.breakers.blocked() == frozenset()


async def test_the_chains_budget_bounds_a_step() -> None:
    clock = Clock()

    async def slow() -> str:
        clock.ahead(2.9)
        raise TimeoutError

    executor = Executor({"query_refund": slow}, now=clock, sleep=clock.sleep)
    chain = ChainBudget(7_000, now=clock)  # the steps may take 5,600
    first = await executor.execute(tool(timeout_ms=3_000), {}, budget=chain)
    assert [one.error_type for one in first.tries] == ["timeout", "timeout"], "no third try in what is left"
    second = await executor.execute(tool(timeout_ms=3_000), {}, budget=chain)
    assert fault(second) == "budget_exhausted"
    assert second.tries == ()


# Cancellation


@pytest.mark.parametrize("where", ["waiting", "body", "backoff", "token", "limit"])
async def test_cancellation_passes_and_leaves_nothing_behind(where: str) -> None:
    async def never(_: TokenRequest) -> Token:
        await asyncio.sleep(60)
        raise AssertionError("not reached")

    replies = {
        "waiting": Reply(delay_s=60),
        "body": Reply(200, b"x" * 100_000, chunk_s=0.02),
        "backoff": say({}, 503),
    }
    async with serving(lambda _: replies.get(where, say({}))) as server:
        executor = Executor(auth=Auth(service=never))
        spec = tool(
            url=server.url,
            timeout_ms=60_000,
            auth_type="service_token" if where == "token" else "none",
            rate_limit=RateLimit(qps=0.02, burst=1) if where == "limit" else None,
            retry_policy=RetryPolicy(backoff_ms=(60_000,)),
        )
        if where == "limit":
            await executor.execute(spec, {})
        task = asyncio.create_task(executor.execute(spec, {}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        assert executor.breakers.of("query_refund").acquire() is not None
        await executor.close()
        for _ in range(200):
            if server.connections == 0 or where == "waiting":  # a server that sleeps has not looked yet
                break
            await asyncio.sleep(0.02)
        else:
            pytest.fail("a connection is left open")
    assert len(asyncio.all_tasks()) == 1


async def test_a_tool_cannot_swallow_a_cancellation() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise RuntimeError("wrapped by the tool") from None
        return "done"

    executor = Executor({"query_refund": stubborn})
    task = asyncio.create_task(executor.execute(tool(timeout_ms=60_000), {}))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert fault(await executor.execute(tool(timeout_ms=20, idempotent=False), {})) == "timeout"


# Never twice


FAULTS: list[Reply] = [
    say({}, 401), say({}, 408), say({}, 429, retry_after="0"), say({}, 500), say({}, 503, retry_after="0"), say({}),
    Reply(200, b"{broken"), Reply(200, b"", reset=True), Reply(200, b'{"half":1}', reset=True), Reply(delay_s=0.3),
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(range(len(FAULTS))), min_size=1, max_size=4),
    st.sampled_from(["write", "notify", "read"]),
    st.booleans(),
    st.sampled_from([None, 0.0, 0.004, 0.02]),
)
def test_a_write_that_is_not_idempotent_is_never_sent_twice(
    faults: list[int], side_effect: Any, budgeted: bool, cancel_after: float | None
) -> None:
    """Whatever fails when: status, reset, timeout, refused token, cancellation, a budget that ends."""

    async def scenario() -> int:
        replies = iter([FAULTS[number] for number in faults] * 5)
        auth, _ = issuing("one-secret", "two-secret")
        async with serving(lambda _: next(replies)) as server:
            executor = Executor(auth=auth)
            spec = tool(
                url=server.url,
                side_effect=side_effect,
                idempotent=False,
                timeout_ms=50,
                auth_type="service_token",
                retry_policy=RetryPolicy(max_attempts=5, backoff_ms=(0,)),
            )
            budget = ChainBudget(200) if budgeted else None
            task = asyncio.create_task(executor.execute(spec, {}, budget=budget))
            if cancel_after is not None:
                await asyncio.sleep(cancel_after)
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await executor.close()
            return len(server.requests)

    assert asyncio.run(scenario()) <= 1

"""Really calling a tool (spec B10): validated, authenticated, bounded in time, retried only where safe, cut to size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.auth import Auth, AuthFailed, Secret, TokenRequest
from reach_tui.reach.breaker import Breakers, Permit
from reach_tui.reach.budget import ChainBudget, Lease
from reach_tui.reach.feedback import UNKNOWN_STATE, Failure, cut
from reach_tui.reach.parameters import Parameters
from reach_tui.reach.rate_limit import Limiter, LocalLimiter
from reach_tui.reach.retry import next_try
from reach_tui.reach.spec import HttpEndpoint, ToolSpec
from reach_tui.reach.transport import Answer, Callables, Function, HttpTransport
from reach_tui.reach.trimming import LIMIT, trim

BREAKING = frozenset({"timeout", "upstream_5xx", "network", "bad_response", "tool_internal"})
"""What counts against a tool's breaker. Any other answer, a refusal too, shows that the tool is there."""
_NOTHING_LEARNT = frozenset({"cancelled", "rate_limited"})
_DETAIL = 2_000
_SPARE_MS = 10_000.0
"""What a call that belongs to no chain may take beside its tries and their waits: for its token and a busy machine."""


@dataclass(frozen=True, slots=True)
class Try:
    """One sending of a call."""

    error_type: str
    """`none` where it went well."""
    duration_ms: float
    retry_in_ms: float | None = None
    """The wait that followed, None where no further try did."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: a value, or a failure that says why."""

    tool: str
    params: Mapping[str, JsonValue]
    value: JsonValue = None
    """The whole answer, JSON where it was JSON."""
    text: str = ""
    """What the model gets: the answer, trimmed, or the error's text."""
    failure: Failure | None = None
    param_valid: bool | None = None
    """None where it came to no check."""
    tries: tuple[Try, ...] = ()
    duration_ms: float = 0.0
    """All tries and waits together."""
    cuts: tuple[str, ...] = ()
    """What `text` left out of the answer, in words."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True where the executor saw no error."""
        return self.failure is None

    @property
    def sent(self) -> bool:
        """True if the tool may have been reached at least once."""
        return bool(self.tries) if self.failure is None else self.failure.sent


class Caller(Protocol):
    """What the layer asks of an executor."""

    async def execute(
        self, spec: ToolSpec, params: Mapping[str, JsonValue], *, user: str | None, budget: ChainBudget | None, key: str
    ) -> Outcome:
        """Call the tool once; failures come back as values, cancellation passes."""
        ...


class Executor:
    """Calls tools. Everything it needs can be replaced, and it runs without registry, router, slots and events.

    For one event loop. `now` gives seconds that never go back, `sleep` waits; tests hand in clocks of their own.
    """

    def __init__(
        self,
        functions: Mapping[str, Function] | None = None,
        *,
        auth: Auth | None = None,
        limiter: Limiter | None = None,
        breakers: Breakers | None = None,
        http: HttpTransport | None = None,
        limit: int = LIMIT,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.callables = Callables(functions)
        self.auth = auth or Auth()
        self.limiter: Limiter = limiter or LocalLimiter(now)
        self.breakers = breakers or Breakers(now=now)
        self.http = http or HttpTransport()
        self.limit = limit
        """Characters of an answer that `Outcome.text` keeps."""
        self._parameters = Parameters()
        self._now = now
        self._sleep = sleep

    def check(self, spec: ToolSpec, params: Mapping[str, JsonValue]) -> Failure | None:
        """What is wrong with the parameters, None where nothing is."""
        return self._parameters.check(spec, params)

    async def execute(
        self,
        spec: ToolSpec,
        params: Mapping[str, JsonValue],
        *,
        user: str | None = None,
        budget: ChainBudget | None = None,
        key: str = "",
    ) -> Outcome:
        """Call the tool; failures come back as values, cancellation passes.

        `user` names whose token a user-delegated tool gets, `budget` is the chain's, `key` the `Idempotency-Key`.
        """
        began = self._now()
        wrong = self.check(spec, params)
        if wrong is not None:
            return self._finish(spec, params, wrong, [], began, param_valid=False if wrong.violations else None)
        spare_ms = _SPARE_MS if budget is None else 0.0
        wanted_ms = _wanted_ms(spec) + spare_ms
        with (budget or ChainBudget(wanted_ms, share=1.0, now=self._now)).lease(wanted_ms) as lease:
            tries: list[Try] = []
            answer = await self._tries(spec, params, user, key, lease, spare_ms, tries)
        if isinstance(answer, Failure):
            return self._finish(spec, params, answer, tries, began)
        trimmed = trim(answer.text, self.limit)
        return Outcome(
            spec.name,
            params,
            answer.value,
            trimmed.text,
            None,
            True,
            tuple(tries),
            (self._now() - began) * 1000,
            (*answer.cuts, *trimmed.cuts),
            answer.metadata,
        )

    def _finish(
        self,
        spec: ToolSpec,
        params: Mapping[str, JsonValue],
        failure: Failure,
        tries: list[Try],
        began: float,
        param_valid: bool | None = True,
    ) -> Outcome:
        facts: dict[str, JsonValue] = {"timed_out": True} if failure.error_type == "timeout" else {}
        return Outcome(
            spec.name,
            params,
            None,
            trim(failure.detail, self.limit).text,
            failure,
            param_valid,
            tuple(tries),
            (self._now() - began) * 1000,
            metadata=facts,
        )

    async def _tries(
        self,
        spec: ToolSpec,
        params: Mapping[str, JsonValue],
        user: str | None,
        key: str,
        lease: Lease,
        spare_ms: float,
        tries: list[Try],
    ) -> Answer | Failure:
        sent = False
        renewed = False
        last: Answer | None = None
        while True:
            began = self._now()
            answer, token = await self._one(spec, params, user, key, lease)
            refused = not answer.sent and answer.error_type not in (None, "network")
            if last is not None and refused:
                # Why another try was needed says more than what kept it from being sent: time, breaker, limit.
                return _failure(spec, last, sent)
            last = answer
            sent = sent or answer.sent
            took = (self._now() - began) * 1000
            error_type = answer.error_type
            if error_type is None:
                tries.append(Try("none", took))
                return answer
            if answer.status == 401 and token is not None and not renewed:
                renewed = True
                fresh = await self._renew(spec, user, token, lease)
                if fresh and spec.idempotent:
                    tries.append(Try(error_type, took, 0.0))
                    continue
                if fresh:  # a second sending is the caller's decision, even after a refusal
                    answer = replace(answer, suggestion="the token was renewed; call again if it is still wanted")
                    tries.append(Try(error_type, took))
                    return _failure(spec, answer, sent, retryable=True)
            retry = next_try(
                spec,
                len(tries) + 1 - renewed,
                error_type,
                retry_after_ms=answer.retry_after_ms,
                left_ms=lease.left_ms - spare_ms,
            )
            if not retry.again or not _worth_repeating(answer):
                if answer.sent:
                    tries.append(Try(error_type, took))
                return _failure(spec, answer, sent)
            tries.append(Try(error_type, took, retry.wait_ms))
            await self._sleep(retry.wait_ms / 1000)

    async def _one(
        self, spec: ToolSpec, params: Mapping[str, JsonValue], user: str | None, key: str, lease: Lease
    ) -> tuple[Answer, Secret | None]:
        """One try: breaker, rate limit and token first, then the call within its time."""
        if lease.left_ms < 1:
            detail = "not sent: nothing is left of the chain's time"
            return Answer(error_type="budget_exhausted", detail=detail, sent=False), None
        permit = self.breakers.of(spec.name).acquire()
        if permit is None:
            wait = self.breakers.of(spec.name).wait_s * 1000
            detail = "not sent: it failed too often lately, and its breaker is open"
            return Answer(error_type="upstream_5xx", detail=detail, retry_after_ms=wait, sent=False), None
        token: Secret | None = None
        try:
            refused = await self._place(spec, lease)
            if refused is not None:
                return refused, None
            try:
                async with asyncio.timeout(_seconds(spec, lease)):
                    token = await self.auth.token(TokenRequest(spec.auth_type, spec.name, user))
            except AuthFailed as error:
                return Answer(error_type="auth_denied", detail=f"not sent: {error}", sent=False), None
            except TimeoutError:
                return Answer(error_type="timeout", detail="not sent: no token came in time", sent=False), None
            answer = await self._send(spec, params, token, key, lease)
            _report(permit, answer)
            return answer, token
        finally:
            permit.dropped()  # nothing happens where it was reported

    async def _place(self, spec: ToolSpec, lease: Lease) -> Answer | None:
        """Wait for the tool's rate limit; an answer where that would take longer than there is time."""
        if spec.rate_limit is None:
            return None
        longest_s = min(lease.left_ms, spec.timeout_ms) / 1000
        try:
            grant = await self.limiter.take(spec.name, spec.rate_limit.qps, spec.rate_limit.burst, longest_s)
        except Exception as error:  # noqa: BLE001 - a limiter that is to fail closed: nothing is sent, and it says why
            detail = f"not sent: the rate limiter is away ({type(error).__name__})"
            return Answer(error_type="rate_limited", detail=detail, sent=False)
        if not grant.granted:
            detail = f"not sent: more than {spec.rate_limit.qps:g} calls a second"
            return Answer(error_type="rate_limited", detail=detail, retry_after_ms=grant.wait_s * 1000, sent=False)
        if grant.wait_s > 0:
            await self._sleep(grant.wait_s)
        return None

    async def _send(
        self, spec: ToolSpec, params: Mapping[str, JsonValue], token: Secret | None, key: str, lease: Lease
    ) -> Answer:
        seconds = _seconds(spec, lease)
        redact = self.auth.redact
        if seconds <= 0:
            return Answer(
                error_type="budget_exhausted", detail="not sent: nothing is left of the chain's time", sent=False
            )
        try:
            async with asyncio.timeout(seconds):
                if isinstance(spec.endpoint, HttpEndpoint) and not self.callables.has(spec.name):
                    return await self.http.send(spec.endpoint, params, token, key, redact)
                endpoint = None if isinstance(spec.endpoint, HttpEndpoint) else spec.endpoint
                try:
                    function = self.callables.find(spec.name, endpoint)
                except Exception as error:  # noqa: BLE001 - importing a module runs it
                    return Answer(
                        error_type="dependency_missing", detail=f"{type(error).__name__}: {error}", sent=False
                    )
                if function is None:
                    return Answer(error_type="tool_unknown", detail="nothing answers calls of this tool", sent=False)
                return await self.callables.call(function, params, token, redact)
        except TimeoutError:
            short = seconds * 1000 < spec.timeout_ms
            limit = f"{seconds * 1000:.0f} ms" + (", what was left of the chain's budget" if short else "")
            return Answer(error_type="timeout", detail=f"timed out after {limit}")

    async def _renew(self, spec: ToolSpec, user: str | None, refused: Secret, lease: Lease) -> bool:
        try:
            async with asyncio.timeout(_seconds(spec, lease)):
                await self.auth.token(TokenRequest(spec.auth_type, spec.name, user), refused=refused)
        except (AuthFailed, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Close connections and forget tokens; threads of functions that hang end with the process."""
        await self.auth.close()
        await self.http.close()


def _seconds(spec: ToolSpec, lease: Lease) -> float:
    return min(float(spec.timeout_ms), lease.left_ms) / 1000


def _wanted_ms(spec: ToolSpec) -> float:
    """The longest a step can take: all its tries and the waits between them."""
    waits = sum(spec.retry_policy.wait_ms(number) for number in range(1, spec.retries + 1))
    return float((spec.retries + 1) * spec.timeout_ms + waits)


def _report(permit: Permit, answer: Answer) -> None:
    if answer.error_type in BREAKING:
        permit.failed()
    elif answer.error_type in _NOTHING_LEARNT or not answer.sent:
        permit.dropped()
    else:
        permit.succeeded()


def _worth_repeating(answer: Answer) -> bool:
    """False for what this side refused: an open breaker or a full bucket is not tried again at once."""
    return answer.sent or answer.error_type == "network"


def _failure(spec: ToolSpec, answer: Answer, sent: bool, *, retryable: bool | None = None) -> Failure:
    assert answer.error_type is not None
    later = answer.error_type in ("timeout", "upstream_5xx", "network", "rate_limited", "bad_response", "cancelled")
    in_doubt = sent and not spec.idempotent and spec.side_effect != "read" and answer.error_type in BREAKING
    suggestion = answer.suggestion or (UNKNOWN_STATE if in_doubt else "")
    if not suggestion and answer.retry_after_ms:
        suggestion = f"call again after {answer.retry_after_ms / 1000:.1f} s, or use another tool"
    return Failure(
        spec.name,
        answer.error_type,
        cut(answer.detail, _DETAIL),
        answer.violations,
        later and not in_doubt if retryable is None else retryable,
        suggestion,
        answer.retry_after_ms,
        sent,
    )

"""Tokens: asked for once by all who wait, renewed when they end or are refused, and seen nowhere."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import traceback

import pytest

from reach_tui.base.errors import UsageError
from reach_tui.reach.auth import EARLY_S, REDACTED, Auth, AuthFailed, Secret, Token, TokenRequest
from tests.reach.clocks import Clock

VALUE = 'tok-7f3a"9\\b+/=é'
SERVICE = TokenRequest("service_token", "query_refund")


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(VALUE)
    token = Token(secret, 5.0)
    texts = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", "%s" % secret, repr(token), repr({"a": [token]})]  # noqa: UP031
    assert all(VALUE not in text and "tok-7f3a" not in text for text in texts)
    assert secret.reveal() == VALUE
    for leak in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            leak(secret)
    assert not hasattr(secret, "__dict__")
    with pytest.raises(UsageError):
        Secret("  ")


class Issuer:
    """Gives a new token at each request, after a moment."""

    def __init__(self, lasts: float | None = None, now: Clock | None = None) -> None:
        self.requests: list[TokenRequest] = []
        self.lasts = lasts
        self.now = now or Clock()

    async def __call__(self, request: TokenRequest) -> Token:
        self.requests.append(request)
        await asyncio.sleep(0.005)
        ends = None if self.lasts is None else self.now() + self.lasts
        return Token(Secret(f"secret-{request.user or 'service'}-{len(self.requests)}"), ends)


async def test_all_who_wait_share_one_request() -> None:
    issuer = Issuer()
    auth = Auth(service=issuer)
    secrets = await asyncio.gather(*(auth.token(SERVICE) for _ in range(50)))
    assert len(issuer.requests) == 1
    assert len({id(secret) for secret in secrets}) == 1
    first = secrets[0]
    assert first is not None
    renewed = await asyncio.gather(*(auth.token(SERVICE, refused=first) for _ in range(50)))
    assert len(issuer.requests) == 2, "fifty calls were refused with the same token: it is renewed once"
    assert {secret.reveal() for secret in renewed if secret} == {"secret-service-2"}
    assert await auth.token(SERVICE, refused=first) is renewed[0], "already renewed by another call"
    assert len(issuer.requests) == 2


@pytest.mark.parametrize(("after", "requests"), [(60 - EARLY_S - 0.001, 1), (60 - EARLY_S, 2)])
async def test_a_token_is_renewed_before_it_ends(after: float, requests: int) -> None:
    clock = Clock()
    issuer = Issuer(60.0, clock)
    auth = Auth(service=issuer, now=clock)
    await auth.token(SERVICE)
    clock.ahead(after)
    await auth.token(SERVICE)
    assert len(issuer.requests) == requests


async def test_each_user_has_a_token_and_none_needs_none() -> None:
    issuer = Issuer()
    auth = Auth(user=issuer)
    found = [await auth.token(TokenRequest("user_delegated", "t", user)) for user in ("ada", "bo", "ada")]
    assert [secret.reveal() for secret in found if secret] == ["secret-ada-1", "secret-bo-2", "secret-ada-1"]
    assert await auth.token(TokenRequest("none", "t")) is None
    with pytest.raises(AuthFailed, match="nobody provides a service_token"):
        await auth.token(SERVICE)


async def test_plain_callbacks_and_tokens_for_each_tool() -> None:
    auth = Auth(service=lambda request: Token(Secret(f"for-{request.tool}")), shared=False)
    first, second = await auth.token(SERVICE), await auth.token(TokenRequest("service_token", "other"))
    assert first is not None
    assert second is not None
    assert (first.reveal(), second.reveal()) == ("for-query_refund", "for-other")


@pytest.mark.parametrize("fault", ["raises", "none", "nonsense"])
async def test_a_failing_callback_says_its_kind_only(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    def callback(request: TokenRequest) -> Token | None:
        if fault == "raises":
            raise RuntimeError(f"the identity provider refused {VALUE}")
        return VALUE if fault == "nonsense" else None  # type: ignore[return-value]

    auth = Auth(service=callback)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AuthFailed) as caught:
        await auth.token(SERVICE)
    text = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert VALUE not in text
    assert "tok-7f3a" not in text


async def test_a_waiter_that_gives_up_takes_nothing_from_the_others() -> None:
    issuer = Issuer()
    auth = Auth(service=issuer)
    leaving = asyncio.create_task(auth.token(SERVICE))
    staying = asyncio.create_task(auth.token(SERVICE))
    await asyncio.sleep(0)
    leaving.cancel()
    found = await staying
    assert found is not None
    assert leaving.cancelled() or await asyncio.gather(leaving, return_exceptions=True)
    assert len(issuer.requests) == 1


async def test_when_all_waiters_leave_nothing_stays_behind() -> None:
    started = asyncio.Event()

    async def hangs(request: TokenRequest) -> Token:
        started.set()
        await asyncio.sleep(60)
        raise AssertionError("not reached")

    auth = Auth(service=hangs)
    tasks = [asyncio.create_task(auth.token(SERVICE)) for _ in range(3)]
    await started.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


async def test_what_an_upstream_echoes_is_redacted_in_every_form() -> None:
    auth = Auth(service=lambda _: Token(Secret(VALUE)))
    secret = await auth.token(SERVICE)
    assert secret is not None
    for form in secret.forms():
        assert auth.redact(f"<<{form}>>") in (f"<<{REDACTED}>>", f"<<{REDACTED}=>>")
    await auth.token(SERVICE, refused=secret)
    await auth.close()
    assert auth.redact(VALUE) == REDACTED, "also after it was replaced"
    assert auth.redact("nothing in here") == "nothing in here"


async def test_a_callback_that_returns_text_is_told_what_to_return() -> None:
    auth = Auth(service=lambda request: VALUE)  # type: ignore[arg-type, return-value]
    with pytest.raises(AuthFailed, match=r"returned a str, not a Token\(Secret") as caught:
        await auth.token(SERVICE)
    assert VALUE not in "".join(traceback.format_exception(caught.value))

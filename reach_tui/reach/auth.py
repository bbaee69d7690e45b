"""Tokens for calls (spec B10): fetched by callbacks, renewed once for all who wait, and never to be seen anywhere.

A token lives in a `Secret`, which shows itself to nobody but the one who sends it. What an upstream echoes back is
redacted before anything else looks at it.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias
from urllib.parse import quote, quote_plus

from reach_tui.base.errors import UsageError
from reach_tui.reach.spec import AuthType

REDACTED = "[redacted]"
EARLY_S = 30.0
"""A token is renewed so long before it ends, so that it does not end under way."""
KEPT = 256
"""So many tokens at most are remembered for redaction after they were replaced."""


class Secret:
    """A value that is not shown: no text, no representation, no copy, no pickle holds it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not value.strip():
            raise UsageError("an empty token", hint="the token callback must return one")
        self._value = value

    def reveal(self) -> str:
        """The value, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return REDACTED

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is neither copied nor pickled")

    def forms(self) -> Iterable[str]:
        """How it may stand in a text: plain, escaped for JSON (once, twice) and for URLs, in base64."""
        raw = self._value.encode("utf-8", "surrogatepass")
        plain = base64.b64encode(raw).decode().rstrip("=")
        escaped = json.dumps(self._value)[1:-1]
        return {
            self._value,
            escaped,
            json.dumps(escaped)[1:-1],
            quote(self._value, safe=""),
            quote_plus(self._value),
            plain,
        }


@dataclass(frozen=True, slots=True)
class Token:
    """A secret and when it ends, in seconds of the caller's clock; None where that is not known."""

    secret: Secret
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a callback is asked for."""

    auth_type: AuthType
    tool: str
    user: str | None = None
    """Whose token, for `user_delegated`: the name the context gives, never the token itself."""


TokenCallback: TypeAlias = Callable[[TokenRequest], "Token | Awaitable[Token | None] | None"]


class AuthFailed(Exception):
    """No token could be had. The callback's own exception is left out: it may hold what must not be shown."""


class Auth:
    """Holds tokens in memory, asks the callbacks when there is none or it ends, and asks once for all who wait.

    `service` gives one token per tool, or one for all with `shared`; `user` one for each user. `now` gives
    seconds of the clock that `Token.expires_at` is in.
    """

    def __init__(
        self,
        service: TokenCallback | None = None,
        user: TokenCallback | None = None,
        *,
        shared: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._callbacks: dict[AuthType, TokenCallback | None] = {"service_token": service, "user_delegated": user}
        self._shared = shared
        self._now = now
        self._tokens: dict[tuple[str, ...], Token] = {}
        self._under_way: dict[tuple[str, ...], asyncio.Task[Token]] = {}
        self._waiting: dict[asyncio.Task[Token], int] = {}
        self._seen: OrderedDict[str, None] = OrderedDict()

    def _key(self, request: TokenRequest) -> tuple[str, ...]:
        if request.auth_type == "user_delegated":
            return ("user", request.user or "")
        return ("service",) if self._shared else ("service", request.tool)

    async def token(self, request: TokenRequest, *, refused: Secret | None = None) -> Secret | None:
        """The secret to send, None for `auth_type` none. `refused` is one that was not accepted: it is renewed, unless
        another call did that already. Raises `AuthFailed`.
        """
        if request.auth_type == "none":
            return None
        key = self._key(request)
        known = self._tokens.get(key)
        if known is not None and known.secret is not refused and not self._ends(known):
            return known.secret
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._renew(key, request))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._settle(key, done))
        self._waiting[task] = self._waiting.get(task, 0) + 1
        try:
            # Shielded: one waiter that gives up must not take the token from the others.
            return (await asyncio.shield(task)).secret
        finally:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                del self._waiting[task]
                self._settle(key, task)
                task.cancel()  # nothing happens where it is done

    def _settle(self, key: tuple[str, ...], task: asyncio.Task[Token]) -> None:
        if self._under_way.get(key) is task:
            del self._under_way[key]
        if task.done() and not task.cancelled():
            task.exception()  # fetched, so that nobody is told about it where all waiters gave up

    async def _renew(self, key: tuple[str, ...], request: TokenRequest) -> Token:
        callback = self._callbacks[request.auth_type]
        found: Token | None = None
        failed = ""
        if callback is None:
            failed = f"nobody provides a {request.auth_type}"
        else:
            try:
                answer = callback(request)
                found = await answer if inspect.isawaitable(answer) else answer
            except Exception as error:  # noqa: BLE001 - its text may hold the secret; only its kind is passed on
                failed = f"the token callback failed ({type(error).__name__})"
        if found is not None and not isinstance(found, Token):
            failed = f"the token callback returned a {type(found).__name__}, not a Token(Secret(…), expires_at)"
        if not isinstance(found, Token):
            self._tokens.pop(key, None)
            raise AuthFailed(failed or f"no {request.auth_type} for this call")
        self._tokens[key] = found
        self.remember(found.secret)
        return found

    def _ends(self, token: Token) -> bool:
        return token.expires_at is not None and self._now() >= token.expires_at - EARLY_S

    def remember(self, secret: Secret) -> None:
        """Redact this one, too, from now on."""
        for form in secret.forms():
            self._seen[form] = None
            self._seen.move_to_end(form)
        while len(self._seen) > KEPT * 5:
            self._seen.popitem(last=False)

    def redact(self, text: str) -> str:
        """The text without any token that was handed out."""
        for form in sorted((form for form in self._seen if form in text), key=len, reverse=True):
            text = text.replace(form, REDACTED)
        return text

    async def close(self) -> None:
        """Give up what is being fetched, and forget all tokens."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tokens.clear()

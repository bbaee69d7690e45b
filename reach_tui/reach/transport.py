"""One try of a call: over HTTP (httpx, extra `reach`) or in this process. What goes wrong comes back as a value.

No exception of a client library leaves this module, since such exceptions hold the request with its token.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from reach_tui.base.errors import UsageError
from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads
from reach_tui.base.text import scrub_surrogates
from reach_tui.native.error_types import ERROR_TYPES
from reach_tui.reach.auth import Secret
from reach_tui.reach.feedback import Violation, of_exception, of_status, received
from reach_tui.reach.spec import HttpEndpoint, PythonEndpoint

if TYPE_CHECKING:
    import httpx

LARGEST_BODY = 2_000_000
"""Bytes of an answer that are read; the rest is not, and the answer says so."""
MOST_THREADS = 64
"""Plain functions that run at once; one that hangs holds its thread until it ends."""

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")

Function: TypeAlias = Callable[..., Any]


class ToolFault(Exception):
    """What a callable of this process raises to name its failure itself; the text goes to the model."""

    def __init__(
        self, error_type: str, detail: str = "", *, suggestion: str = "", retry_after_ms: float | None = None
    ) -> None:
        if error_type not in ERROR_TYPES or error_type == "none":
            raise ValueError(f"unknown error_type {error_type!r}")
        super().__init__(detail or error_type)
        self.error_type = error_type
        self.suggestion = suggestion
        self.retry_after_ms = retry_after_ms


@dataclass(frozen=True, slots=True)
class Answer:
    """What one try brought: a value and its text, or an error type of the closed enumeration.

    A callable may return one, to say more than its value: `metadata` as `exit_code`, or an error with its own words.
    """

    text: str = ""
    value: JsonValue = None
    error_type: str | None = None
    detail: str = ""
    violations: tuple[Violation, ...] = ()
    suggestion: str = ""
    retry_after_ms: float | None = None
    status: int | None = None
    """The HTTP status, None where there was none."""
    sent: bool = True
    """False where the call certainly never reached the tool."""
    cuts: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


def retry_after_ms(header: str | None, now: float) -> float | None:
    """Milliseconds of a `Retry-After` header: seconds or an HTTP date (RFC 9110, 10.2.3); None where it says nothing.

    `now` is seconds since 1970.
    """
    if header is None:
        return None
    word = header.strip()
    try:
        if word.isascii() and word.isdigit():
            return float(word[:9]) * 1000
        return max(0.0, (parsedate_to_datetime(word).timestamp() - now) * 1000)
    except (ValueError, TypeError, OverflowError):
        return None


class HttpTransport:
    """Sends calls with one shared `httpx.AsyncClient`, made at the first call unless one is given.

    Redirects are not followed, the environment's proxies and `.netrc` not read: a token goes where it was meant to.
    """

    def __init__(self, client: httpx.AsyncClient | None = None, *, wall: Callable[[], float] = time.time) -> None:
        self._client = client
        self._own = client is None
        self._wall = wall

    def client(self) -> httpx.AsyncClient:
        """The client in use. Raises `UsageError` where httpx is not installed."""
        if self._client is None:
            try:
                import httpx
            except ImportError:
                raise UsageError("httpx is not installed", hint="pip install 'reach-tui[reach]'") from None
            limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
            self._client = httpx.AsyncClient(timeout=None, limits=limits, follow_redirects=False, trust_env=False)
        return self._client

    async def send(
        self, endpoint: HttpEndpoint, params: Mapping[str, JsonValue], token: Secret | None, key: str, redact: Redact
    ) -> Answer:
        """One request. `key` goes along as `Idempotency-Key`. The caller bounds the time; cancellation passes."""
        try:
            client = self.client()
        except UsageError as error:
            return Answer(error_type="dependency_missing", detail=error.line(), sent=False)
        import httpx

        request = _request(client, endpoint, params, key)
        if isinstance(request, Answer):
            return request
        if token is not None and not _authorised(request, token):
            return Answer(error_type="auth_denied", detail="not sent: the token cannot stand in a header", sent=False)
        try:
            response = await client.send(request, stream=True)
            try:
                body, whole = await _read(response)
            finally:
                await response.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return Answer(error_type="network", detail=redact(f"{type(error).__name__}: {error}"), sent=False)
        except httpx.TimeoutException as error:
            return Answer(error_type="timeout", detail=type(error).__name__)
        except httpx.DecodingError as error:
            return Answer(error_type="bad_response", detail=redact(f"{type(error).__name__}: {error}"))
        except httpx.HTTPError as error:
            return Answer(error_type="network", detail=redact(f"{type(error).__name__}: {error}"))
        except (httpx.InvalidURL, ValueError, OSError) as error:
            return Answer(error_type="network", detail=redact(f"{type(error).__name__}: {error}"))
        return self._judge(response, body, whole, redact)

    def _judge(self, response: httpx.Response, body: bytes, whole: bool, redact: Redact) -> Answer:
        status = response.status_code
        text = redact(_decoded(body, response.charset_encoding))
        cuts = () if whole else (f"only the first {LARGEST_BODY} bytes were read",)
        error_type = of_status(status)
        wait = retry_after_ms(response.headers.get("retry-after"), self._wall())
        if error_type is not None:
            violations = _of_validation(text) if status == 422 else ()
            detail = f"HTTP {status} {response.reason_phrase}".strip() + (f": {text}" if text else "")
            return Answer(text, None, error_type, detail, violations, "", wait, status, cuts=cuts)
        kind = response.headers.get("content-type", "")
        if "json" not in kind:
            return Answer(text, text, status=status, cuts=cuts)
        try:
            value = loads(text) if whole else text
        except BadJson as error:
            detail = f"HTTP {status} with JSON that is none ({error}): {text}"
            return Answer(text, None, "bad_response", detail, status=status, cuts=cuts)
        return Answer(text, value, status=status, cuts=cuts)

    async def close(self) -> None:
        """Close the connections of a client of our own."""
        if self._own and self._client is not None:
            await self._client.aclose()
            self._client = None


Redact: TypeAlias = Callable[[str], str]


def _request(
    client: httpx.AsyncClient, endpoint: HttpEndpoint, params: Mapping[str, JsonValue], key: str
) -> httpx.Request | Answer:
    import httpx

    rest = dict(params)
    url = endpoint.url
    for name, value in params.items():
        if f"{{{name}}}" not in url:
            continue
        word = value if isinstance(value, str) else dumps(value)
        if word in ("", ".", ".."):  # would change the path itself
            violation = Violation(name, "a value that can stand in a path", received(value))
            return Answer(error_type="invalid_param", violations=(violation,), sent=False)
        url = url.replace(f"{{{name}}}", quote(scrub_surrogates(word), safe=""))
        del rest[name]
    if empty := _PLACE.search(url):  # values are quoted, so this one stood there before
        violation = Violation(empty[1], "a value: it is part of the address", "nothing")
        return Answer(error_type="invalid_param", violations=(violation,), sent=False)
    headers = {"Idempotency-Key": quote(key, safe="/:.-_ ")} if key else {}
    try:
        if endpoint.method in ("GET", "DELETE"):
            query = {name: _query(value) for name, value in rest.items() if value is not None}
            return client.build_request(endpoint.method, url, params=query or None, headers=headers)
        headers["Content-Type"] = "application/json"
        return client.build_request(endpoint.method, url, content=dumps(rest).encode(), headers=headers)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        return Answer(error_type="invalid_param", detail=f"{type(error).__name__}: {error}", sent=False)


def _authorised(request: httpx.Request, token: Secret) -> bool:
    """Put the token into the header; False where it has characters that none may have."""
    value = token.reveal()
    if not value.isascii() or not value.isprintable():
        return False
    request.headers["Authorization"] = f"Bearer {value}"
    return True


def _query(value: JsonValue) -> str | list[str]:
    if isinstance(value, list):
        return [item if isinstance(item, str) else dumps(item) for item in value]
    return scrub_surrogates(value) if isinstance(value, str) else dumps(value)


async def _read(response: httpx.Response) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY:
            return b"".join(parts)[:LARGEST_BODY], False
    return b"".join(parts), True


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def _of_validation(text: str) -> tuple[Violation, ...]:
    """The fields of a 422 answer in FastAPI's form, `{"detail": [{"loc": ["body", "id"], "msg": …, "input": …}]}`."""
    try:
        value = loads(text)
    except BadJson:
        return ()
    listed = value.get("detail") if isinstance(value, dict) else None
    found = []
    for item in listed if isinstance(listed, list) else ():
        loc = item.get("loc") if isinstance(item, dict) else None
        if isinstance(item, dict) and isinstance(loc, list):
            places = [str(part) for part in loc if part not in ("body", "query", "path")]
            found.append(Violation(".".join(places), str(item.get("msg", "")), received(item.get("input"))))
    return tuple(found[:20])


class Callables:
    """Functions of this process by tool name; async ones run in the loop, plain ones in a thread of their own.

    A function that has a parameter `token` which the call does not fill gets the `Secret` there. A plain function that
    runs into its timeout cannot be stopped: its thread lives on until it returns.
    """

    def __init__(self, functions: Mapping[str, Function] | None = None) -> None:
        self._functions = dict(functions or {})
        self._busy = 0
        self._lock = threading.Lock()

    def add(self, name: str, function: Function) -> None:
        """Answer calls of the tool `name` with this function."""
        self._functions[name] = function

    def has(self, name: str) -> bool:
        """True if a function was given for the tool, which then goes before its endpoint."""
        return name in self._functions

    def find(self, name: str, endpoint: PythonEndpoint | None) -> Function | None:
        """A tool's function: a given one, else what its endpoint names. Raises `ImportError`, `AttributeError`."""
        if name not in self._functions and endpoint is not None:
            module, _, path = endpoint.python.partition(":")
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
            self._functions[name] = found
        return self._functions.get(name)

    @property
    def busy(self) -> int:
        """Threads at work now, those of abandoned calls included."""
        return self._busy

    async def call(
        self, function: Function, params: Mapping[str, JsonValue], token: Secret | None, redact: Redact
    ) -> Answer:
        """One call. The caller bounds the time; cancellation passes."""
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        arguments: dict[str, Any] = dict(params)
        if token is not None and "token" not in arguments and _takes_token(function):
            arguments["token"] = token
        try:
            if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
                value = await function(**arguments)
            elif self._busy >= MOST_THREADS:
                return Answer(error_type="rate_limited", detail=f"{MOST_THREADS} functions are at work", sent=False)
            else:
                value = await self._in_thread(function, arguments)
                if inspect.isawaitable(value):
                    value = await value
            return _of_value(value, redact)
        except asyncio.CancelledError as error:
            if task is not None and task.cancelling() > cancelled:
                raise
            return Answer(error_type="cancelled", detail=redact(f"the tool cancelled itself {error}".strip()))
        except ToolFault as error:
            return Answer(
                error_type=error.error_type,
                detail=redact(str(error)),
                suggestion=redact(error.suggestion),
                retry_after_ms=error.retry_after_ms,
            )
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its failure, told as such
            if task is not None and task.cancelling() > cancelled:  # the tool turned a cancellation into its own error
                raise asyncio.CancelledError from None
            return Answer(error_type=of_exception(error), detail=redact(f"{type(error).__name__}: {error}"))

    async def _in_thread(self, function: Function, arguments: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def settle(value: Any, error: BaseException | None) -> None:
            if not future.done():
                future.set_result(value) if error is None else future.set_exception(error)

        def run() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = context.run(function, **arguments)
            except StopIteration as stop:  # cannot be set on a future
                error = RuntimeError(f"StopIteration: {stop.value}")
            except SystemExit as leave:  # a tool does not end the program
                error = RuntimeError(f"SystemExit: {leave.code}")
            except BaseException as raised:  # noqa: BLE001 - carried to the caller
                error = raised
            finally:
                with self._lock:
                    self._busy -= 1
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more

        with self._lock:
            self._busy += 1
        threading.Thread(target=run, name="reach-tool", daemon=True).start()
        return await future


def _takes_token(function: Function) -> bool:
    try:
        return "token" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _redacted(value: JsonValue, redact: Redact) -> JsonValue:
    return loads(redact(dumps(value))) if value is not None else None


def _of_value(value: Any, redact: Redact) -> Answer:
    if isinstance(value, Answer):
        return replace(
            value, text=redact(value.text), value=_redacted(value.value, redact), detail=redact(value.detail)
        )
    if isinstance(value, str):
        text = redact(scrub_surrogates(value))
        return Answer(text, text)
    try:
        text = redact(dumps(value))
        return Answer(text, loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        return Answer(
            error_type="bad_response", detail=f"a {type(value).__name__} that is no JSON ({type(error).__name__})"
        )

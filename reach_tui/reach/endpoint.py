"""Scores by a model behind an OpenAI-compatible endpoint (extra `reach-tui[reach]`); without one nothing is sent.

Scores are kept under the hash of model and prompt, so that a replay repeats exactly and sends nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reach_tui.base.errors import ConfigError
from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text, dumps, loads
from reach_tui.model import Candidate
from reach_tui.reach.recall import ScoringFailed
from reach_tui.reach.spec import ToolSpec

if TYPE_CHECKING:
    import ssl

TIMEOUT_S = 10.0
LARGEST_ANSWER = 1 << 20
_PROMPT = """\
You score tools for a request. For each tool give a score from 0 to 1: how sure you are that it is the right one for \
exactly this request. Read what each tool does NOT do. Answer with a JSON array only: \
[{"name": "<tool>", "score": <0..1>, "reason": "<a few words>"}, ...], one entry for each tool."""
_ARRAY = re.compile(r"\[.*\]", re.DOTALL)
_LONGEST_REASON = 200


class ScoreCache:
    """Scores by the hash of model and prompt, in memory and, with a `path`, in a file of JSON Lines that only grows."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._scores: dict[str, tuple[Candidate, ...]] = {}
        if self._path is not None and self._path.exists():
            with self._path.open("rb") as stream:
                for line in stream:
                    self._read(line)

    def get(self, key: str) -> tuple[Candidate, ...] | None:
        """The scores kept under `key`, None if there are none."""
        return self._scores.get(key)

    def put(self, key: str, scores: Sequence[Candidate]) -> None:
        """Keep scores; the first ones for a key stand. Raises `OSError` where the file cannot be written."""
        with self._lock:
            if key in self._scores:
                return
            self._scores[key] = tuple(scores)
            if self._path is not None:
                line = dumps({"key": key, "scores": [[one.name, one.score, one.reason] for one in scores]})
                with self._path.open("ab") as stream:
                    stream.write(line.encode() + b"\n")

    def _read(self, line: bytes) -> None:
        """One line of the file; a torn last one, or a stranger's, is passed over and asked for again."""
        try:
            record = as_object(loads(line))
        except BadJson:
            return
        key, rows = as_text(record.get("key")), record.get("scores")
        if key is not None and isinstance(rows, list):
            found = [_row(row) for row in rows]
            if all(one is not None for one in found):
                self._scores.setdefault(key, tuple(one for one in found if one is not None))


class EndpointScorer:
    """Asks a chat model for scores. `token` is asked for each request; what it returns is neither kept nor told.

    `replay`: only kept scores; nothing is sent, and what is not kept raises `ScoringFailed`. Raises `ConfigError` for
    an address that is none or carries a password, and where httpx is not installed.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        token: Callable[[], str | None] | None = None,
        cache: ScoreCache | None = None,
        timeout_s: float = TIMEOUT_S,
        replay: bool = False,
    ) -> None:
        _check_address(base_url)
        if not replay:
            _httpx()
        self.name = f"endpoint {model}"
        self.cache = cache or ScoreCache()
        self.replay = replay
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._token = token
        self._timeout_s = timeout_s

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """The model's scores. Raises `ScoringFailed` where it does not answer, or not with scores."""
        prompt, key, kept = self._look_up(intent, tools)
        if kept is not None:
            return kept
        httpx = _httpx()
        content, deadline = bytearray(), time.monotonic() + self._timeout_s
        try:
            with (
                httpx.Client(timeout=self._timeout_s, verify=_trust()) as client,
                client.stream("POST", self._url, headers=self._headers(), json=self._body(prompt)) as answer,
            ):
                for part in answer.iter_bytes():
                    _take(content, part)
                    if time.monotonic() > deadline:
                        raise ScoringFailed(f"no whole answer within {self._timeout_s:g} s")
        except httpx.HTTPError as error:
            raise ScoringFailed(f"no answer ({type(error).__name__})") from error
        return self._keep(key, answer.status_code, bytes(content), tools)

    async def score_async(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """`score` without holding up the event loop."""
        prompt, key, kept = self._look_up(intent, tools)
        if kept is not None:
            return kept
        httpx = _httpx()
        content = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                httpx.AsyncClient(timeout=self._timeout_s, verify=_trust()) as client,
                client.stream("POST", self._url, headers=self._headers(), json=self._body(prompt)) as answer,
            ):
                async for part in answer.aiter_bytes():
                    _take(content, part)
        except TimeoutError as error:
            raise ScoringFailed(f"no whole answer within {self._timeout_s:g} s") from error
        except httpx.HTTPError as error:
            raise ScoringFailed(f"no answer ({type(error).__name__})") from error
        return self._keep(key, answer.status_code, bytes(content), tools)

    def _look_up(self, intent: str, tools: Sequence[ToolSpec]) -> tuple[str, str, Sequence[Candidate] | None]:
        prompt = prompt_of(intent, tools)
        key = hashlib.sha256(dumps([self._model, _PROMPT, prompt]).encode()).hexdigest()
        kept = self.cache.get(key)
        if kept is None and self.replay:
            raise ScoringFailed("these scores were not kept, and a replay sends nothing")
        return prompt, key, kept

    def _headers(self) -> dict[str, str]:
        token = self._token() if self._token else None
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _body(self, prompt: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": _PROMPT}, {"role": "user", "content": prompt}]
        return {"model": self._model, "temperature": 0, "seed": 0, "messages": messages}

    def _keep(self, key: str, status: int, content: bytes, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        if status != 200:
            raise ScoringFailed(f"the endpoint answered with status {status}")
        scores = read_scores(content, [tool.name for tool in tools])
        self.cache.put(key, scores)
        return scores


def _check_address(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        whole = False
    if not whole:
        raise ConfigError("not an http or https address", "reranking endpoint", "for example https://host/v1")
    if parts.username or parts.password:
        raise ConfigError("the address carries a password", "reranking endpoint", "hand it over as `token`")


def prompt_of(intent: str, tools: Sequence[ToolSpec]) -> str:
    """What the model is shown: the request, and each tool with its description, parameters and samples."""
    shown: list[JsonValue] = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_schema,
            "samples": [sample.model_dump(exclude_defaults=True) for sample in tool.sample_calls],
        }
        for tool in tools
    ]
    return dumps({"request": intent, "tools": shown})


def read_scores(content: bytes, names: Sequence[str]) -> list[Candidate]:
    """The scores in an answer, in the order of `names`; strange names are passed over.

    Raises `ScoringFailed` where there is no array of names and numbers from 0 to 1, or none for these tools.
    """
    try:
        text = _message(loads(content))
        found = _ARRAY.search(text)
        rows = loads(found[0]) if found else None
    except BadJson as error:
        raise ScoringFailed("the answer is not JSON") from error
    if not isinstance(rows, list):
        raise ScoringFailed("the answer holds no array of scores")
    scores: dict[str, Candidate] = {}
    for row in rows:
        one = _row([as_object(row).get(key, "") for key in ("name", "score", "reason")])
        if one is None:
            raise ScoringFailed("an entry of the answer has no name, or no score from 0 to 1")
        scores.setdefault(one.name, one)
    chosen = [scores[name] for name in names if name in scores]
    if not chosen:
        raise ScoringFailed("the answer scores none of the tools")
    return chosen


def _take(content: bytearray, part: bytes) -> None:
    content += part
    if len(content) > LARGEST_ANSWER:
        raise ScoringFailed(f"the answer is larger than {LARGEST_ANSWER >> 20} MiB")


def _message(answer: JsonValue) -> str:
    choices = as_object(answer).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    text = as_text(as_object(as_object(first).get("message")).get("content"))
    if text is None:
        raise ScoringFailed("the answer holds no message")
    return text


def _row(row: JsonValue) -> Candidate | None:
    if not isinstance(row, list) or len(row) != 3:
        return None
    name, score, reason = row
    if not isinstance(name, str) or isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return Candidate(name, float(score), str(reason)[:_LONGEST_REASON]) if 0 <= score <= 1 else None


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise ConfigError("a reranking endpoint needs httpx", None, "pip install 'reach-tui[reach]'") from error
    return httpx


@cache
def _trust() -> ssl.SSLContext:
    """The certificates trusted for HTTPS; reading them takes longer than a request."""
    import ssl

    return ssl.create_default_context()

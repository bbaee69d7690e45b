"""Embeddings that the caller brings, and a model behind an OpenAI-compatible endpoint, asked over the loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.errors import ConfigError
from reach_tui.model import Candidate
from reach_tui.reach.embedding import EmbeddingRecall, tool_text
from reach_tui.reach.endpoint import LARGEST_ANSWER, EndpointScorer, ScoreCache, prompt_of, read_scores
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.recall import ScoringFailed
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router
from tests.reach.tools import shop, tool

USER = RouteContext(user_token=True)
WORDS = ("refund", "parcel", "invoice")
TOOLS = [tool("refunds", "refund"), tool("parcels", "parcel parcel"), tool("invoices", "invoice")]
SECRET = "sk-never-shown-anywhere"


class Counting:
    """Counts three words; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(text.count(word)) for word in WORDS] for text in texts]


def test_embeddings_recall_by_cosine() -> None:
    router = Router(ToolList(TOOLS), recall=EmbeddingRecall(Counting()))
    routing = router.route("a refund and another refund and a parcel")
    assert [one.name for one in routing.route.candidates] == ["refunds", "parcels", "invoices"]
    assert [one.score for one in routing.route.candidates] == pytest.approx([2 / 5**0.5, 1 / 5**0.5, 0], abs=1e-6)
    assert routing.scorer == "embedding"
    assert router.route("nothing of it").decision == "no_capability"


def test_a_tool_is_embedded_once_until_its_text_changes() -> None:
    embed = Counting()
    recall = EmbeddingRecall(embed)
    recall.prepare(TOOLS)
    for _ in range(2):
        recall.recall("refund", {"refunds", "parcels"}, 5)
    assert embed.asked == [tool_text(TOOLS[0]), tool_text(TOOLS[1]), "refund"]
    changed = [tool("refunds", "refund of money"), *TOOLS[1:]]
    recall.prepare(changed)
    recall.recall("refund", {"refunds", "parcels"}, 5)
    assert embed.asked[3:] == [tool_text(changed[0])]
    assert next(one.name for one in recall.score("parcel", changed)) == "parcels"


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0, 2.0]] * 5, [[float("nan")] * 3] * 5, [[]] * 5, [["x"]] * 5],
)
def test_what_are_no_vectors_is_told_and_keywords_stand_in(vectors: list[Any]) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return vectors[: len(texts)] if len(texts) > 1 else [[1.0, 2.0, 3.0]]

    routing = Router(ToolList(TOOLS), recall=EmbeddingRecall(embed)).route("refund")
    assert (routing.scorer, routing.tool) == ("lexical", "refunds")
    assert routing.degraded is not None
    assert routing.degraded.startswith("embedding: ")


class Model(BaseHTTPRequestHandler):
    """Answers as its class says."""

    status = 200
    body = b""
    slow = 0.0
    seen: list[tuple[str, str | None, dict[str, Any]]] = []  # noqa: RUF012 - reset by the fixture

    def do_POST(self) -> None:
        """One chat completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((self.path, self.headers["Authorization"], request))
        self.send_response(self.status)
        self.end_headers()
        for at in range(0, len(self.body), 1 << 16):
            if self.slow:
                threading.Event().wait(self.slow)
            try:
                self.wfile.write(self.body[at : at + (1 << 16)])
            except OSError:
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Quiet."""


def answer(*scores: tuple[str, object], before: str = "", after: str = "") -> bytes:
    """A chat completion with these scores."""
    rows = [{"name": name, "score": score, "reason": "because"} for name, score in scores]
    content = before + json.dumps(rows) + after
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


@pytest.fixture
def address() -> Iterator[str]:
    """A model on the loopback."""
    Model.status, Model.slow, Model.seen = 200, 0.0, []
    Model.body = answer(("query_refund", 0.9), ("query_return", 0.2))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join(5)


def scorer(address: str, **options: Any) -> EndpointScorer:
    """A scorer with a token."""
    return EndpointScorer(address, "some-model", token=lambda: SECRET, **options)


def test_a_models_scores_decide_and_are_asked_for_once(address: str, tmp_path: Path) -> None:
    kept = tmp_path / "scores.jsonl"
    router = Router(ToolList(shop()), scorer=scorer(address, cache=ScoreCache(kept)))
    first = router.route("退款到账没", USER)
    assert (first.tool, first.scorer, first.degraded) == ("query_refund", "lexical, endpoint some-model", None)
    assert router.route("退款到账没", USER) == first
    ((path, token, request),) = Model.seen
    assert (path, token) == ("/v1/chat/completions", f"Bearer {SECRET}")
    assert (request["model"], request["temperature"]) == ("some-model", 0)
    assert "query_refund" in request["messages"][1]["content"]
    assert SECRET not in kept.read_text() + repr(first)
    replay = EndpointScorer("http://127.0.0.1:9/v1", "some-model", cache=ScoreCache(kept), replay=True)
    replayed = Router(ToolList(shop()), scorer=replay)
    assert replayed.route("退款到账没", USER) == first
    missing = replayed.route("取消订单", USER)
    assert missing.degraded == "endpoint some-model: these scores were not kept, and a replay sends nothing"
    assert len(Model.seen) == 1


def test_another_model_or_another_description_is_asked_anew(address: str) -> None:
    cache = ScoreCache()
    one, tools = scorer(address, cache=cache), [tool("query_refund"), tool("query_return")]
    for _ in range(2):
        one.score("refund", tools)
    EndpointScorer(address, "other-model", cache=cache).score("refund", tools)
    one.score("refund", [tools[0], tool("query_return", "Changed.")])
    assert len(Model.seen) == 3


def test_the_model_is_awaited_too(address: str) -> None:
    routing = asyncio.run(Router(ToolList(shop()), scorer=scorer(address)).route_async("退款到账没", USER))
    assert (routing.tool, len(Model.seen)) == ("query_refund", 1)


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (500, b"", "status 500"),
        (401, SECRET.encode(), "status 401"),
        (302, b"", "status 302"),
        (200, b"", "not JSON"),
        (200, b"<html>", "not JSON"),
        (200, b"[]", "no message"),
        (200, b'{"choices": []}', "no message"),
        (200, b'{"choices": [{"message": {"content": "I cannot"}}]}', "no array"),
        (200, answer(("query_refund", 90)), "no score from 0 to 1"),
        (200, answer(("query_refund", "0.9")), "no score from 0 to 1"),
        (200, answer(("query_refund", True)), "no score from 0 to 1"),
        (200, answer(("somebody", 0.9)), "none of the tools"),
        (200, b"x" * (LARGEST_ANSWER + 1), "larger than 1 MiB"),
    ],
)
def test_any_other_answer_is_told_and_keywords_stand_in(
    address: str, status: int, body: bytes, told: str, waiting: bool
) -> None:
    Model.status, Model.body = status, body
    router = Router(ToolList(shop()), scorer=scorer(address))
    routing = asyncio.run(router.route_async("退款到账没", USER)) if waiting else router.route("退款到账没", USER)
    assert (routing.tool, routing.scorer) == ("query_refund", "lexical")
    assert routing.degraded is not None
    assert told in routing.degraded
    assert SECRET not in routing.degraded


@pytest.mark.parametrize("waiting", [False, True])
def test_a_slow_body_does_not_hold_one_up(address: str, waiting: bool) -> None:
    Model.body, Model.slow = b" " * (1 << 19), 0.05
    router = Router(ToolList(shop()), scorer=scorer(address, timeout_s=0.15))
    routing = asyncio.run(router.route_async("退款到账没", USER)) if waiting else router.route("退款到账没", USER)
    assert routing.degraded == "endpoint some-model: no whole answer within 0.15 s"


def test_nobody_listening_is_told() -> None:
    routing = Router(ToolList(shop()), scorer=scorer("http://127.0.0.1:9/v1")).route("退款到账没", USER)
    assert routing.degraded == "endpoint some-model: no answer (ConnectError)"


@pytest.mark.parametrize(
    "bad", ["ftp://x/v1", "nonsense", "", "http://x:99999999/v1", "http://[::1/v1", f"https://user:{SECRET}@host/v1"]
)
def test_an_address_that_is_none_or_holds_a_password_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError) as caught:
        EndpointScorer(bad, "m")
    assert SECRET not in caught.value.line()


def test_words_around_the_scores_are_passed_over() -> None:
    body = answer(("b", 0.5), ("a", 1), ("x", 0), before="Here:\n```json\n", after="\n```")
    assert read_scores(body, ["a", "b"]) == [Candidate("a", 1.0, "because"), Candidate("b", 0.5, "because")]


@given(st.binary(max_size=300))
def test_any_bytes_are_scores_or_are_refused(content: bytes) -> None:
    with pytest.raises(ScoringFailed):
        read_scores(content, ["a"])


def test_a_torn_or_strange_cache_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    cache = ScoreCache(path)
    cache.put("k", [Candidate("a", 0.5, "r")])
    cache.put("k", [Candidate("a", 0.1, "later")])
    with path.open("ab") as stream:
        stream.write(b'[]\n{"key": 5}\n{"key": "x", "scores": [["a", 7, ""]]}\n\xff\n{"key": "torn", "sco')
    again = ScoreCache(path)
    assert again.get("k") == (Candidate("a", 0.5, "r"),)
    assert (again.get("x"), again.get("torn"), again.get("nothing")) == (None, None, None)


def test_a_prompt_shows_what_tells_tools_apart() -> None:
    shown = json.loads(prompt_of("x", shop()[:1]))
    assert shown["request"] == "x"
    assert {"name", "description", "parameters", "samples"} == set(shown["tools"][0])
    assert any(sample.get("counter_example") for sample in shown["tools"][0]["samples"])

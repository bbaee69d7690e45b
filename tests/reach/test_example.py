"""The examples against real HTTP services on the loopback that time out, deny, rate-limit, break and recover."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.shop.loop_agent import TURNS, Agent, Say, Script, Turn, Use, converse, main, since
from examples.shop.services import DENIED, DOWN, RATE_LIMITED, SILENT, Fault, Shop, registry, served
from reach_tui.base.jsonio import JsonValue, loads
from reach_tui.base.sqlite import reading
from reach_tui.reach import Asking, Auth, Breakers, BreakerSettings, EventLog, Executor, Reach, Router, SlotFiller
from reach_tui.reach.decision import NoCapability
from reach_tui.reach.handle import Answered
from reach_tui.stores.reach import ReachReader


@pytest.fixture(scope="module")
def url_and_shop() -> Iterator[tuple[str, Shop]]:
    shop = Shop()
    with served(shop) as url:
        yield url, shop


@pytest.fixture
def shop(url_and_shop: tuple[str, Shop]) -> Shop:
    shop = url_and_shop[1]
    shop.faults.clear()
    shop.made.clear()
    shop.seen.clear()
    return shop


@pytest.fixture
def url(url_and_shop: tuple[str, Shop]) -> str:
    return url_and_shop[0]


@asynccontextmanager
async def layer(url: str, shop: Shop, path: Path, timeout_ms: int = 20_000) -> AsyncIterator[Reach]:
    tools = registry(url, timeout_ms=timeout_ms)
    breakers = Breakers(BreakerSettings(probe_after_s=0.3))
    executor = Executor(auth=Auth(service=shop.desk.token, user=shop.desk.token), breakers=breakers)
    async with Reach(tools, Router(tools), executor, slots=SlotFiller(), events=EventLog(path), wall=since()) as reach:
        yield reach


async def told(reach: Reach, turns: list[Turn], *, session: str = "s", user: str | None = "ada") -> Agent:
    assert isinstance(reach.events, EventLog)
    return await converse(reach, reach.events, session, session, turns, user=user)


def answers(agent: Agent) -> list[Answered]:
    return [heard.answered for heard in agent.heard if heard.answered is not None]


def errors(path: Path) -> list[tuple[str, str | None]]:
    with reading(path) as connection:
        return [tuple(row) for row in connection.execute("SELECT step, error_type FROM event ORDER BY id")]


async def test_a_service_that_recovers_is_retried(shop: Shop, url: str, tmp_path: Path) -> None:
    shop.fail("query_refund", RATE_LIMITED, DOWN)
    async with layer(url, shop, tmp_path / "a.db") as reach:
        (answered,) = answers(await told(reach, TURNS["refund"]))
    assert answered.value == {"orderId": "1000200030004001", "status": "paid", "amount": 49.9}
    assert errors(tmp_path / "a.db") == [
        ("route", None), ("execute", "rate_limited"), ("execute", "upstream_5xx"), ("execute", "none"),
    ]  # fmt: skip
    (call,) = ReachReader(tmp_path / "a.db").calls()
    assert [(slot.name, slot.value, slot.source, slot.matches) for slot in call.slots or ()] == [
        ("order_id", "1000200030004001", "user", 1)
    ]


async def test_last_week_is_asked_then_looked_up_then_asked_again(shop: Shop, url: str, tmp_path: Path) -> None:
    async with layer(url, shop, tmp_path / "a.db") as reach:
        agent = await told(reach, TURNS["last week"])
    first, unsure, found, many, last = agent.heard
    assert first.answered is not None
    assert first.answered.call_key is None
    assert [one.about for one in first.answered.ask] == ["order_id"]
    assert unsure.handle.decision == "clarify"
    assert found.answered is not None
    assert isinstance(found.answered.value, dict)
    assert isinstance(found.answered.value["orders"], list)
    assert len(found.answered.value["orders"]) == 3, "last week by the dictionary, not by a guess"
    assert many.answered is not None
    assert many.answered.call_key is None
    assert set(many.answered.ask[0].options) == {"1000200030004101", "1000200030004102", "1000200030004103"}
    assert last.answered is not None
    assert last.answered.ok
    steps = [step.kind.value for step in ReachReader(tmp_path / "a.db").steps("s")]
    assert steps.count("call") == 2
    assert steps.count("decision") + steps.count("note") == 3
    search = next(iter(ReachReader(tmp_path / "a.db").calls()))
    assert {slot.name: (slot.value, slot.source) for slot in search.slots or ()} == {
        "nickname": ("林小雨", "user"),
        "from_date": ("2026-05-25", "dictionary"),
        "to_date": ("2026-05-31", "dictionary"),
    }


async def test_no_capability_goes_to_a_person(shop: Shop, url: str, tmp_path: Path) -> None:
    signals: list[NoCapability] = []
    async with layer(url, shop, tmp_path / "a.db") as reach:
        assert isinstance(reach.events, EventLog)
        await converse(reach, reach.events, "s", "t", TURNS["not covered"], user="ada", escalate=signals.append)
    (signal,) = signals
    assert (signal.who, signal.asked) == ("ada", "Please transcribe voice-note-17.ogg and answer her.")
    assert shop.seen == []
    assert errors(tmp_path / "a.db") == [("route", "no_capability")]


@pytest.mark.parametrize("fault", [DENIED, DOWN, SILENT, Fault(429, (("Retry-After", "0"),)), Fault(401)])
async def test_a_write_is_sent_once_and_its_state_is_read(fault: Fault, shop: Shop, url: str, tmp_path: Path) -> None:
    shop.fail("create_refund", fault)
    async with layer(url, shop, tmp_path / "a.db", timeout_ms=1_500) as reach:
        write, state = answers(await told(reach, TURNS["write"]))
    assert shop.seen.count("create_refund") == 1
    assert not write.ok
    assert write.fell_back_from == ()
    assert state.ok
    if fault in (DOWN, SILENT):
        assert "read the state first" in write.for_model


async def test_a_rotated_token_is_renewed_once(shop: Shop, url: str, tmp_path: Path) -> None:
    async with layer(url, shop, tmp_path / "a.db") as reach:
        await told(reach, TURNS["refund"])
        issued = shop.desk.issued
        shop.desk.revoke()
        results = await asyncio.gather(*(told(reach, TURNS["refund"], session=f"s{number}") for number in range(10)))
    assert all(one.ok for agent in results for one in answers(agent))
    assert shop.desk.issued == issued + 1


async def test_an_open_breaker_takes_the_tool_from_the_router_until_it_recovers(
    shop: Shop, url: str, tmp_path: Path
) -> None:
    shop.fail("query_refund", *[DOWN] * 6)

    def ask() -> Script:
        heard = yield Use("query_refund_status")
        yield Say(heard.text)

    async with layer(url, shop, tmp_path / "a.db") as reach:
        turn = ("Has the refund for order 1000200030004001 arrived?", ask)
        agent = await told(reach, [turn, turn])
        assert reach.breakers is not None
        assert reach.breakers.blocked() == {"query_refund"}
        assert agent.heard[1].answered is not None
        assert agent.heard[1].answered.outcome.tries[0].error_type == "upstream_5xx"
        blocked = await told(reach, [turn], session="blocked")
        handle = blocked.heard[0].handle
        assert "query_refund" not in [one.name for one in handle.candidates]
        assert [(one.name, one.rule) for one in handle.routing.left] == [("query_refund", "breaker_open")]
        await asyncio.sleep(0.31)
        shop.faults.clear()
        (recovered,) = answers(await told(reach, [turn], session="recovered"))
        assert recovered.ok
        assert reach.breakers.blocked() == frozenset()


async def test_without_a_users_token_and_in_a_read_only_session_writes_are_not_there(
    shop: Shop, url: str, tmp_path: Path
) -> None:
    async with layer(url, shop, tmp_path / "a.db") as reach:
        text = "Refund 25 yuan for order 1000200030004001, the cup came broken, I keep the rest"
        params: dict[str, JsonValue] = {"amount": 25, "reason": "damaged"}
        for asking, error_type in (
            (Asking("no-user", text), "auth_denied"),
            (Asking("read-only", text, user="ada", readonly=True), "policy_blocked"),
        ):
            assert "create_refund" not in [one.name for one in reach.ask("refund", asking).candidates]
            forced = await reach.ask("refund", asking, tool="create_refund").run(params)
            assert forced.outcome.failure is not None
            assert forced.outcome.failure.error_type == error_type
        allowed = await reach.ask("refund", Asking("user", text, user="ada")).run(params)
        assert allowed.ok
    assert shop.seen == ["create_refund"]


async def test_the_sdk_runs_over_the_layer(shop: Shop, url: str, tmp_path: Path) -> None:
    from examples.shop.sdk_agent import Scripted, answer, as_tools  # the toolkit loads for seconds

    path = tmp_path / "sdk.db"
    async with layer(url, shop, path) as reach:
        model = Scripted(
            ("query_refund", {"order_id": "12ab"}),
            ("query_refund", {"order_id": "1000200030004001"}),
            "Your 49.90 have been paid.",
        )
        asking = Asking("sdk", "Has the refund for order 1000200030004001 arrived?", turn=1)
        said = await answer(reach, asking, model, asking.text, only=("query_refund", "search_order"))
        assert said == "Your 49.90 have been paid."
        assert len(as_tools(reach, lambda: asking)) == len(reach.registry.tools())
    outputs = [item["output"] for item in model.heard[-1] if item.get("type") == "function_call_output"]
    repair = loads(outputs[0])
    assert isinstance(repair, dict)
    assert (repair["error_type"], repair["field"]) == ("invalid_param", "order_id")
    assert loads(outputs[1]) == {"orderId": "1000200030004001", "status": "paid", "amount": 49.9}
    assert shop.seen == ["query_refund"], "the malformed call never left"
    assert [error for step, error in errors(path) if step == "execute"] == ["invalid_param", "none"]


async def test_the_example_runs_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await main(tmp_path / "shop.db")
    said = capsys.readouterr().out
    assert 'refund: execute query_refund: {"orderId":"1000200030004001"' in said
    assert "No tool was called" in said
    assert len(list(ReachReader(tmp_path / "shop.db").sessions())) == len(TURNS)


async def test_tokens_are_nowhere(shop: Shop, url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The services repeat the token in their errors; it is in no database, queue, log, error, record or screen text."""
    caplog.set_level(logging.DEBUG)
    shop.fail("query_refund", DENIED, Fault(401), DOWN)
    shop.fail("create_refund", DENIED)
    path = tmp_path / "shop.db"
    async with layer(url, shop, path) as reach:
        agents = [await told(reach, turns, session=name) for name, turns in TURNS.items()]
        raw = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    raw += b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    texts = [repr(agent) + "".join(heard.text for heard in agent.heard) for agent in agents]
    for words in (["calls", str(path), "--jsonl"], ["sessions", str(path), "--jsonl"], ["report", str(path)]):
        done = subprocess.run([sys.executable, "-m", "reach_tui", *words], capture_output=True, text=True, check=True)
        texts += [done.stdout, done.stderr]
    texts.append(caplog.text)
    assert len(shop.desk.every) >= 2
    for token in shop.desk.every:
        assert token.encode() not in raw
        assert not any(token in text for text in texts)
    assert any("[redacted]" in text for text in texts), "it was echoed, and redacted"

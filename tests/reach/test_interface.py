"""The narrow interface: a handle, one run, a result plus events; every layer replaceable, and usable alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import StoreUnreadable, UsageError
from reach_tui.base.jsonio import JsonValue
from reach_tui.base.sqlite import reading
from reach_tui.model import Candidate, Route, Session, StepKind, ToolCall
from reach_tui.native.event import Event
from reach_tui.reach.asking import Asking
from reach_tui.reach.breaker import Breakers, BreakerSettings
from reach_tui.reach.budget import ChainBudget
from reach_tui.reach.decision import decide
from reach_tui.reach.events import EventLog
from reach_tui.reach.executor import Executor, Outcome
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.interface import Reach
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import ANYBODY, Router, Routing
from reach_tui.reach.slots import SlotFiller
from reach_tui.reach.spec import SlotSource, ToolSpec
from reach_tui.reach.transport import ToolFault
from tests.reach.clocks import ORDER_SCHEMA, Clock, tool

ORDER = "1000200030004001"


class Scores:
    """A router whose scores are given."""

    def __init__(self, *scores: tuple[str, float]) -> None:
        self.candidates = tuple(Candidate(name, score) for name, score in scores)
        self.asked: list[tuple[str, RouteContext]] = []

    def route(self, intent: str, context: RouteContext = ANYBODY) -> Routing:
        self.asked.append((intent, context))
        return Routing(Route("recorded", intent, self.candidates, decide(self.candidates)))


class Kept:
    """A recorder that keeps what it gets."""

    def __init__(self) -> None:
        self.calls: dict[str, ToolCall] = {}
        self.events: list[Event] = []
        self._places: Counter[str] = Counter()

    def session(self, session: Session) -> None:
        raise AssertionError("not asked for")

    def message(self, session_id: str, kind: StepKind, text: str, *, turn: int = 0, at: int | None = None) -> int:
        return self.place(session_id)

    def place(self, session_id: str) -> int:
        self._places[session_id] += 1
        return self._places[session_id]

    def record(self, call: ToolCall | None, events: Iterable[Event]) -> None:
        if call is not None:
            self.calls[call.key] = call
        self.events += events

    @property
    def steps(self) -> list[tuple[str, str | None, str | None]]:
        return [(event.step, event.decision, event.error_type) for event in self.events]


def raising(error_type: str) -> Callable[..., Any]:
    async def function(**_: Any) -> None:
        raise ToolFault(error_type)

    return function


async def fine(**params: Any) -> dict[str, Any]:
    return {"got": params}


def layer(
    scores: Scores, functions: Mapping[str, Callable[..., Any]], specs: Iterable[ToolSpec] = (), **more: Any
) -> tuple[Reach, Kept]:
    kept = Kept()
    named = {spec.name: spec for spec in specs}
    registry = ToolList([named.get(name) or tool(name, idempotent=False) for name in functions])
    return Reach(registry, scores, Executor(functions), events=kept, **more), kept


async def test_ask_run_result_and_events() -> None:
    scores = Scores(("query_refund", 0.9), ("query_payment", 0.4))
    reach, kept = layer(scores, {"query_refund": fine, "query_payment": fine})
    asking = Asking("s", "where is my refund?", "task-1", turn=3)
    handle = reach.ask("refund_status", asking)
    assert (handle.decision, handle.tool, [one.name for one in handle.candidates]) == (
        "execute", "query_refund", ["query_refund", "query_payment"],
    )  # fmt: skip
    assert handle.clarifications == ()
    assert handle.no_capability is None
    answered = await handle.run({"order_id": ORDER})
    assert (answered.ok, answered.tool, answered.value) == (True, "query_refund", {"got": {"order_id": ORDER}})
    assert answered.for_model == f'{{"got":{{"order_id":"{ORDER}"}}}}'
    assert answered.for_people() == ""
    assert kept.steps == [("route", "execute", None), ("execute", None, "none")]
    assert {(event.trace_id, event.intent, event.call_key) for event in kept.events} == {
        ("task-1", "refund_status", answered.call_key)
    }
    assert scores.asked[0][0] == "where is my refund?"
    call = kept.calls[answered.call_key or ""]
    assert (call.status, call.flagged, call.turn, call.arguments) == ("completed", False, 3, {"order_id": ORDER})
    with pytest.raises(UsageError, match="has been run"):
        await handle.run()
    with pytest.raises(UsageError, match="has been run"):
        handle.choose("query_payment")


async def test_a_question_back_and_a_choice() -> None:
    reach, kept = layer(Scores(("a", 0.66), ("b", 0.61), ("c", 0.5), ("d", 0.4)), {"a": fine, "b": fine})
    handle = reach.ask("x", Asking("s"))
    assert handle.tool is None
    (question,) = handle.clarifications
    assert (question.about, question.options, question.reason) == (
        "tool",
        ("a", "b", "c"),
        "top 0.66 < 0.75, gap 0.05 < 0.15",
    )
    with pytest.raises(UsageError, match="the decision is clarify"):
        await handle.run()
    handle.choose("b")
    assert (await handle.run()).tool == "b"
    assert kept.steps == [("route", "clarify", None), ("route", "clarify", None), ("execute", None, "none")]
    assert kept.events[1].detail == "chosen by the model or the user"


async def test_a_capability_that_is_not_there_is_a_signal() -> None:
    registry = ToolList([tool("query_refund", description="Refund of one order")])
    kept = Kept()
    reach = Reach(registry, Router(registry), Executor(), events=kept)
    handle = reach.ask("fly", Asking("s", "fly me to the moon", "t", user="ada"))
    signal = handle.no_capability
    assert signal is not None
    assert (signal.asked, signal.who, signal.trace_id) == ("fly me to the moon", "ada", "t")
    assert kept.steps == [("route", "no_capability", "no_capability")]
    with pytest.raises(UsageError, match="no_capability"):
        await handle.run()


async def test_gaps_and_several_values_are_asked_for_and_nothing_is_called() -> None:
    spec = tool("query_refund", schema=ORDER_SCHEMA, slots={"order_id": SlotSource(sources=("history",))})
    scores = Scores(("query_refund", 0.9))
    reach, kept = layer(scores, {"query_refund": fine}, [spec], slots=SlotFiller())
    gap = await reach.ask("refund", Asking("s", "my refund?")).run()
    assert gap.outcome.failure is not None
    assert gap.outcome.failure.error_type == "slot_missing"
    assert gap.call_key is None
    asking = Asking("s", "my refund?")
    asking.history.add(f"orders {ORDER} and 1000200030004002", "user", "step 1 · user", 1, 1)
    several = await reach.ask("refund", asking).run()
    assert several.outcome.failure is not None
    assert several.outcome.failure.error_type == "needs_clarification"
    assert set(several.ask[0].options) == {ORDER, "1000200030004002"}
    assert kept.calls == {}
    assert [(event.step, event.error_type) for event in kept.events] == [
        ("clarify", "slot_missing"), ("clarify", "needs_clarification"),
    ]  # fmt: skip
    answered = await reach.ask("refund", asking).run({"order_id": ORDER})
    assert answered.ok, "the model said which"


async def test_the_second_candidate_takes_over_where_the_threshold_holds_for_it() -> None:
    scores = Scores(("a", 0.95), ("b", 0.78), ("c", 0.5))
    reach, kept = layer(scores, {"a": raising("timeout"), "b": fine, "c": fine})
    answered = await reach.ask("x", Asking("s")).run()
    assert (answered.tool, answered.fell_back_from) == ("b", ("a",))
    assert kept.steps == [
        ("route", "execute", None), ("execute", None, "timeout"),
        ("fallback", "execute", None), ("execute", None, "none"),
    ]  # fmt: skip
    assert [one.name for one in kept.events[2].candidates or ()] == ["b", "c"]
    assert [call.flagged for call in kept.calls.values()] == [True, False]


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([("a", 0.95), ("b", 0.74)], "the second is not sure enough"),
        ([("a", 0.99), ("b", 0.82), ("c", 0.7)], "two others are too close to one another"),
        ([("a", 0.95)], "there is no second"),
    ],
)
async def test_what_merely_came_near_does_not_take_over(scores: list[tuple[str, float]], why: str) -> None:
    reach, _ = layer(Scores(*scores), {"a": raising("timeout"), "b": fine, "c": fine})
    answered = await reach.ask("x", Asking("s")).run()
    assert (answered.tool, answered.ok) == ("a", False), why


@pytest.mark.parametrize("error_type", ["not_found", "invalid_param", "precondition_failed", "policy_blocked"])
async def test_a_failure_of_the_request_does_not_fall_back(error_type: str) -> None:
    reach, _ = layer(Scores(("a", 0.95), ("b", 0.78)), {"a": raising(error_type), "b": fine})
    assert (await reach.ask("x", Asking("s")).run()).tool == "a"


async def test_who_chose_the_tool_gets_that_tool_unless_asked_otherwise() -> None:
    scores = Scores(("a", 0.95), ("b", 0.78))
    reach, _ = layer(scores, {"a": raising("timeout"), "b": fine})
    assert (await reach.ask("x", Asking("s"), tool="a").run()).tool == "a"
    assert (await reach.ask("x", Asking("s"), tool="a").run(fallback=True)).tool == "b"
    assert (await reach.ask("x", Asking("s")).run(fallback=False)).tool == "a"
    unknown = await reach.ask("x", Asking("s"), tool="no_such").run()
    assert unknown.outcome.failure is not None
    assert unknown.outcome.failure.error_type == "tool_unknown"


async def test_a_write_that_was_sent_is_not_done_another_way() -> None:
    specs = [tool(name, side_effect="write", idempotent=False) for name in ("a", "b")]
    scores = Scores(("a", 0.95), ("b", 0.78))
    reach, _ = layer(scores, {"a": raising("timeout"), "b": fine}, specs)
    for _ in range(5):
        assert (await reach.ask("x", Asking("s")).run()).tool == "a"
    answered = await reach.ask("x", Asking("s")).run()
    assert (answered.tool, answered.ok) == ("b", True), "the breaker is open: nothing was sent, so b may do it"


async def test_a_fallback_reaches_no_further() -> None:
    specs = [tool("a", idempotent=False), tool("b", side_effect="write"), tool("c", side_effect="notify")]
    for second in ("b", "c"):
        reach, _ = layer(Scores(("a", 0.95), (second, 0.78)), {"a": raising("network"), "b": fine, "c": fine}, specs)
        assert (await reach.ask("x", Asking("s")).run()).tool == "a"


async def test_cancellation_is_recorded_and_passes(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def hangs(**_: Any) -> None:
        started.set()
        await asyncio.sleep(60)

    registry = ToolList([tool("a", timeout_ms=60_000)])
    path = tmp_path / "a.db"
    async with Reach(registry, Scores(("a", 0.9)), Executor({"a": hangs}), events=EventLog(path)) as reach:
        task = asyncio.create_task(reach.ask("x", Asking("s")).run())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with reading(path) as connection:
        assert tuple(connection.execute("SELECT status, flagged, result, metadata FROM tool_call").fetchone()) == (
            "cancelled", None, None, '{"interrupted":true}',
        )  # fmt: skip
        rows = connection.execute("SELECT step, error_type, retryable FROM event ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [("route", None, None), ("execute", "cancelled", 1)]


async def test_a_fault_of_a_replaced_executor_is_recorded_and_raised() -> None:
    class Broken:
        async def execute(self, *_: object, **__: object) -> Outcome:
            raise ZeroDivisionError

    kept = Kept()
    reach = Reach(ToolList([tool("a")]), Scores(("a", 0.9)), Broken(), events=kept)
    with pytest.raises(ZeroDivisionError):
        await reach.ask("x", Asking("s")).run()
    assert kept.steps[-1] == ("execute", None, "tool_internal")


async def test_an_end_that_cannot_be_recorded_hides_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Full(Kept):
        def record(self, call: ToolCall | None, events: Iterable[Event]) -> None:
            if call is not None and call.status != "running":
                raise StoreUnreadable("the event queue cannot be written", "a.db")
            super().record(call, events)

    async def hangs() -> None:
        await asyncio.sleep(60)

    registry = ToolList([tool("a", side_effect="write", idempotent=False, timeout_ms=60_000)])
    reach = Reach(registry, Scores(("a", 0.9)), Executor({"a": fine}), events=Full())
    assert (await reach.ask("x", Asking("s")).run()).ok
    assert "is not recorded" in caplog.text
    hanging = Reach(registry, Scores(("a", 0.9)), Executor({"a": hangs}), events=Full())
    task = asyncio.create_task(hanging.ask("x", Asking("s")).run())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_without_slots_and_events_and_with_a_router_that_waits() -> None:
    class Slow(Scores):
        async def route_async(self, intent: str, context: RouteContext = ANYBODY) -> Routing:
            await asyncio.sleep(0)
            return self.route(intent, context)

    scores = Slow(("a", 0.9))
    reach = Reach(ToolList([tool("a")]), scores, Executor({"a": fine}))
    handle = await reach.ask_async("x", Asking("s"))
    answered = await handle.run({"n": 1})
    assert (answered.ok, answered.call_key, answered.step) == (True, None, None)
    plain = Reach(ToolList([tool("a")]), Scores(("a", 0.9)), Executor({"a": fine}))
    assert (await (await plain.ask_async("x", Asking("s"))).run()).ok
    await reach.close()


async def test_given_values_are_never_replaced() -> None:
    spec = tool("a", schema=ORDER_SCHEMA, slots={"order_id": SlotSource(sources=("user",))})
    reach, kept = layer(Scores(("a", 0.9)), {"a": fine}, [spec], slots=SlotFiller())
    asking = Asking("s", f"order {ORDER}", origins={"order_id": ("step 4 · search_order", 4)})
    answered = await reach.ask("x", asking).run({"order_id": "1000200030009999"})
    assert answered.value == {"got": {"order_id": "1000200030009999"}}
    filled = await reach.ask("x", asking).run({"order_id": None})
    assert filled.value == {"got": {"order_id": ORDER}}
    first, _ = kept.calls.values()
    assert [(slot.origin, slot.origin_step) for slot in first.slots or ()] == [("step 4 · search_order", 4)]


async def test_the_chains_budget_holds_over_several_asks() -> None:
    clock = Clock()

    async def slow(**_: Any) -> str:
        clock.ahead(0.06)
        return "ok"

    kept = Kept()
    executor = Executor({"a": slow}, now=clock, sleep=clock.sleep)
    reach = Reach(ToolList([tool("a", idempotent=False)]), Scores(("a", 0.9)), executor, events=kept)
    asking = Asking("s", budget=ChainBudget(150, now=clock))  # the steps may take 120 ms
    results = [await reach.ask("x", asking).run() for _ in range(4)]
    assert [one.outcome.failure.error_type if one.outcome.failure else "none" for one in results] == [
        "none", "none", "budget_exhausted", "budget_exhausted",
    ]  # fmt: skip
    assert sum(call.duration_ms or 0 for call in kept.calls.values()) == 120


BEHAVIOURS = ["fine", "timeout", "network", "rate_limited", "auth_denied", "upstream_5xx", "raises", "hang", "absent"]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(BEHAVIOURS), min_size=3, max_size=3),
    st.lists(st.sampled_from([0.99, 0.95, 0.8, 0.78, 0.6, 0.3]), min_size=3, max_size=3),
    st.integers(1, 8),
    st.sampled_from([None, 0.005]),
)
def test_a_write_is_done_once_over_all_candidates(
    behaviours: list[str], scores: list[float], asks: int, cancel_after: float | None
) -> None:
    """One ask leads to one sending at most, whichever of the candidates fails how, with breakers opening on the way."""
    sent: Counter[int] = Counter()

    def function(behaviour: str) -> Callable[..., Any]:
        async def upstream(number: int) -> str:
            sent[number] += 1
            if behaviour == "hang":
                await asyncio.sleep(60)
            if behaviour == "raises":
                raise ZeroDivisionError
            if behaviour != "fine":
                raise ToolFault(behaviour)
            return "ok"

        return upstream

    names = ["a", "b", "c"]
    chosen = dict(zip(names, behaviours, strict=True))
    functions = {name: function(behaviour) for name, behaviour in chosen.items() if behaviour != "absent"}
    registry = ToolList([tool(name, side_effect="write", idempotent=False, timeout_ms=10) for name in names])
    ranked = sorted(zip(names, scores, strict=True), key=lambda one: -one[1])

    async def scenario() -> None:
        reach = Reach(registry, Scores(*ranked), Executor(functions), events=Kept())
        for number in range(asks):
            handle = reach.ask("x", Asking("s"))
            if handle.tool is None:
                handle.choose(ranked[0][0])
            task = asyncio.create_task(handle.run({"number": number}, fallback=True))
            if cancel_after is not None:
                await asyncio.sleep(cancel_after)
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
    assert set(sent.values()) <= {1}


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["fine", "timeout", "network", "hang"]), st.sampled_from([None, 0.0, 0.002, 0.01])),
        min_size=1,
        max_size=12,
    )
)
def test_no_event_is_lost_or_doubled_under_cancellation(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, float | None]]
) -> None:
    """Each call that began has one row, one decision and one end, whenever it was cancelled."""
    path = tmp_path_factory.mktemp("cancel") / "a.db"
    sent: Counter[str] = Counter()

    async def upstream(kind: str, number: int) -> str:
        sent[str(number)] += 1
        await asyncio.sleep(60 if kind == "hang" else 0.003)
        if kind != "fine":
            raise ToolFault(kind)
        return "ok"

    async def scenario() -> None:
        spec = tool("a", side_effect="write", idempotent=False, timeout_ms=30)
        patient = Breakers(BreakerSettings(in_a_row=100, more_than=100))
        executor = Executor({"a": upstream}, breakers=patient)
        async with Reach(ToolList([spec]), Scores(("a", 0.9)), executor, events=EventLog(path)) as reach:

            async def one(number: int, kind: str, patience: float | None) -> None:
                task = asyncio.create_task(
                    reach.ask("x", Asking(f"s{number % 3}")).run({"kind": kind, "number": number})
                )
                if patience is not None:
                    await asyncio.sleep(patience)
                    task.cancel()
                await asyncio.gather(task, return_exceptions=True)

            await asyncio.gather(*(one(number, *run) for number, run in enumerate(runs)))

    asyncio.run(scenario())
    with reading(path) as connection:
        keys = [row[0] for row in connection.execute("SELECT key FROM tool_call WHERE status <> 'running'")]
        running = connection.execute("SELECT count(*) FROM tool_call WHERE status = 'running'").fetchone()[0]
        events = Counter(tuple(row) for row in connection.execute("SELECT call_key, step FROM event"))
    assert running == 0
    assert events == Counter([(key, step) for key in keys for step in ("route", "execute")])
    assert len(keys) >= sum(patience is None for _, patience in runs)
    assert set(sent.values()) <= {1}


def test_importing_the_layer_costs_nothing_and_needs_no_extra() -> None:
    code = (
        "import sys; import reach_tui.reach as reach; assert 'pydantic' not in sys.modules; "
        "[getattr(reach, name) for name in reach._MODULE_OF]; "
        "heavy = {'httpx', 'redis', 'sqlite_utils', 'textual', 'click', 'numpy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_each_layer_runs_alone(tmp_path: Path) -> None:
    spec = tool("a", schema=ORDER_SCHEMA)
    params: dict[str, JsonValue] = {"order_id": ORDER}
    assert (await Executor({"a": fine}).execute(spec, params)).ok
    assert Router(ToolList([tool("query_refund")])).route("query the refund").route.candidates
    assert SlotFiller().fill("a", spec.params_schema, params, Asking("s").for_slots(1)).complete
    with EventLog(tmp_path / "a.db") as log:
        assert log.message("s", StepKind.NOTE, "alone") == 1

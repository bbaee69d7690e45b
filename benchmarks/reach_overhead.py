"""What the Agent-Reach layer adds to a call: ask, slots, check, a local function, events; 100 tools, no network.

    python benchmarks/reach_overhead.py [--calls 2000] [--tools 100]

Prints wall and processor time a call, the parts of it, and what an append to the event queue costs in both modes.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reach_tui.model import StepKind
from reach_tui.reach.asking import Asking
from reach_tui.reach.events import EventLog
from reach_tui.reach.executor import Executor
from reach_tui.reach.interface import Reach
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router
from reach_tui.reach.slots import SlotFiller
from reach_tui.reach.spec import SampleCall, SlotSource, ToolSpec

THINGS = ("order", "refund", "parcel", "invoice", "customer", "ticket", "coupon", "address", "payment", "stock")
VERBS = ("query", "create", "cancel", "search", "update", "list", "export", "check", "assign", "archive")


def tools(count: int) -> list[ToolSpec]:
    """So many tools, each of its own verb and thing."""
    found = []
    for number in range(count):
        verb, thing = VERBS[number // 10 % 10], THINGS[number % 10]
        name = f"{verb}_{thing}" + (f"_{number // 100}" if number >= 100 else "")
        found.append(
            ToolSpec(
                name=name,
                description=f"{verb.title()}s one {thing} by its number of 16 digits. Does not work by date or by "
                f"customer; use search_{thing} for that. Read the state with query_{thing} first.",
                params_schema={
                    "type": "object",
                    "properties": {f"{thing}_id": {"type": "string", "pattern": "^[0-9]{16}$"}},
                    "required": [f"{thing}_id"],
                    "additionalProperties": False,
                },
                auth_type="none",
                timeout_ms=1_000,
                idempotent=True,
                side_effect="read",
                sample_calls=(SampleCall(utterance=f"{verb} {thing} 1000200030004001"),),
                slots={f"{thing}_id": SlotSource(sources=("user",))},
            )
        )
    return found


async def answer(**_: str) -> dict[str, str]:
    """The tool."""
    return {"status": "paid", "amount": "49.90"}


def median_us(values: list[float]) -> str:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return f"{statistics.median(ordered) * 1e6:6.0f} µs median, {ordered[len(ordered) * 95 // 100] * 1e6:6.0f} µs p95"


def timed(what: Callable[[], object], times: int) -> list[float]:
    """Wall seconds of each of so many runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        what()
        found.append(time.perf_counter() - began)
    return found


async def run(calls: int, count: int, folder: Path) -> None:
    """The whole of it, then its parts."""
    registry = ToolList(tools(count))
    executor = Executor({spec.name: answer for spec in registry.tools()})
    log = EventLog(folder / "overhead.db")
    reach = Reach(registry, Router(registry), executor, slots=SlotFiller(), events=log)
    names = [(verb, thing) for verb in VERBS for thing in THINGS]
    whole: list[float] = []
    cpu = time.process_time()
    for number in range(calls):
        verb, thing = names[number % len(names)]
        asking = Asking(f"session-{number // 200}", f"{verb} the {thing} 100020003000{number % 10_000:04d}, please")
        began = time.perf_counter()
        handle = reach.ask(f"{verb}_{thing}", asking, tool=f"{verb}_{thing}")
        answered = await handle.run()
        whole.append(time.perf_counter() - began)
        assert answered.ok, answered.for_model
    await reach.close()
    cpu = (time.process_time() - cpu) / calls
    print(f"whole call       {median_us(whole)}; processor time with the writer's thread {cpu * 1e6:.0f} µs")
    asking = Asking("s", "query the refund 1000200030004001, please")
    router, spec = Router(registry), registry.get("query_refund") or registry.tools()[0]
    print(f"  route          {median_us(timed(lambda: router.route(asking.text), 1_000))}")
    params = {"refund_id": "1000200030004001"}
    print(f"  check          {median_us(timed(lambda: executor.check(spec, params), 1_000))}")
    for power_safe in (False, True):
        with EventLog(folder / f"append-{power_safe}.db", power_safe=power_safe) as other:
            place = other.place("s")
            assert place == 1
            costs = timed(lambda: other.message("s", StepKind.NOTE, "x" * 200), 500)
            print(f"  append{', fsync' if power_safe else '       '}  {median_us(costs)}")


def main() -> None:
    """Run it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=2_000)
    options.add_argument("--tools", type=int, default=100)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(chosen.calls, chosen.tools, Path(folder)))


if __name__ == "__main__":
    main()

"""A plain loop that uses the layer: ask for a handle, look at the decision, run it, hand the text to the model, go on.

The model is a script, so that no network beyond the loopback is needed: python -m examples.shop.loop_agent [FILE.db]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from examples.shop.services import DENIED, DOWN, RATE_LIMITED, Shop, registry, served
from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Session, StepKind
from reach_tui.reach import Asking, Auth, ChainBudget, EventLog, Executor, Reach, Router, SlotFiller
from reach_tui.reach.decision import NoCapability
from reach_tui.reach.handle import Answered, Handle

DAY = 1_780_304_400_000
"""2026-06-01 09:00 UTC."""


@dataclass(frozen=True, slots=True)
class Say:
    """The model speaks to the user; the turn is over."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """The model wants something done; the router finds the tool unless the model names one."""

    intent: str
    params: dict[str, JsonValue] = field(default_factory=dict)
    tool: str | None = None
    words: str = ""
    """What to route by, where it is not what the user said."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the model hears back."""

    handle: Handle
    answered: Answered | None = None

    @property
    def text(self) -> str:
        """What goes into its context."""
        if self.answered is not None:
            return self.answered.for_model
        if self.handle.no_capability is not None:
            return self.handle.no_capability.summary()
        return f"ask which: {', '.join(map(str, self.handle.clarifications[0].options))}"


Script: TypeAlias = Generator["Use | Say", "Heard", None]
Turn: TypeAlias = tuple[str, Callable[[], Script]]


@dataclass(slots=True)
class Agent:
    """One session: keeps what was said and returned, so that slots can be filled from it."""

    reach: Reach
    events: EventLog
    asking: Asking
    wall: Callable[[], int]
    escalate: Callable[[NoCapability], None]
    """Gets the formal signal that a person has to take over."""
    heard: list[Heard] = field(default_factory=list)

    async def turn(self, number: int, text: str, script: Script) -> str:
        """One turn of the user; returns what the model said."""
        session = self.asking.session_id
        step = self.events.message(session, StepKind.USER, text, turn=number, at=self.wall())
        self.asking.history.add(text, "user", f"step {step} · user", self.wall(), step)
        action = next(script)
        while isinstance(action, Use):
            heard = await self._use(action, replace(self.asking, text=text, turn=number))
            self.heard.append(heard)
            if heard.answered is not None and heard.answered.ok:
                place = heard.answered.step
                origin = f"step {place} · {heard.answered.tool}"
                self.asking.results.add(heard.answered.for_model, "result", origin, self.wall(), place)
            action = script.send(heard)
        self.events.message(session, StepKind.ASSISTANT, action.text, turn=number, at=self.wall())
        return action.text

    async def _use(self, action: Use, asking: Asking) -> Heard:
        handle = self.reach.ask(action.intent, replace(asking, text=action.words or asking.text), tool=action.tool)
        if handle.no_capability is not None:
            self.escalate(handle.no_capability)
        if handle.tool is None:
            return Heard(handle)
        return Heard(handle, await handle.run(action.params))


async def converse(
    reach: Reach,
    events: EventLog,
    session: str,
    title: str,
    turns: Sequence[Turn],
    *,
    user: str | None = None,
    readonly: bool = False,
    chain_ms: float = 60_000,
    escalate: Callable[[NoCapability], None] = lambda signal: None,
) -> Agent:
    """A whole session."""
    row = Session("reach", session, title=title, project="shop-example", model="scripted", started_at=reach.wall())
    events.session(row)
    asking = Asking(session, user=user, readonly=readonly, budget=ChainBudget(chain_ms))
    agent = Agent(reach, events, asking, reach.wall, escalate)
    for number, (text, script) in enumerate(turns, start=1):
        await agent.turn(number, text, script())
    events.session(replace(row, ended_at=reach.wall(), outcome="success", turns=len(turns)))
    return agent


def since(day: int = DAY) -> Callable[[], int]:
    """A clock that begins at `day`, so that `last week` is the same week whenever this is run."""
    began = time.monotonic()
    return lambda: day + round((time.monotonic() - began) * 1000)


# The scripted model, one function a turn.


def where_is_my_refund() -> Script:
    """The router finds the tool, the slot filler the number; the model only says what came."""
    heard = yield Use("query_refund_status")
    assert heard.answered is not None
    yield Say(f"Your refund: {heard.text}" if heard.answered.ok else heard.answered.for_people())


def last_week_in_chinese() -> Script:
    """No number in the sentence: the layer asks for it instead of guessing."""
    heard = yield Use("query_refund_status")
    assert heard.answered is not None
    yield Say(f"请告诉我：{', '.join(one.about for one in heard.answered.ask)}")


def search_then_ask() -> Script:
    """The router is not sure, so the model chooses among its candidates; then three orders fit: asked, not guessed."""
    wish = Use("find_order", {"nickname": "林小雨"}, words="昵称是林小雨，帮我找找上周下过的单")
    found = yield wish
    if found.answered is None:
        yield replace(wish, tool=found.handle.candidates[0].name)
    heard = yield Use("query_refund_status", tool="query_refund")
    assert heard.answered is not None
    options = [str(option) for one in heard.answered.ask for option in one.options]
    yield Say(f"有 {len(options)} 个订单：{'、'.join(options)}，是哪一个？")


def that_one() -> Script:
    """The model says the whole of what is meant: a number alone names no intent."""
    heard = yield Use("query_refund_status", words="1000200030004103 那笔退款到账没")
    yield Say(heard.text)


def not_covered() -> Script:
    """Nothing fits: a person takes over."""
    heard = yield Use("transcribe_audio")
    yield Say(f"I cannot do that. {heard.text}")


def refund_it() -> Script:
    """A write: sent once, whatever happens to it."""
    heard = yield Use("create_refund", {"amount": 49.9, "reason": "damaged"}, tool="create_refund")
    assert heard.answered is not None
    if not heard.answered.ok:
        state = yield Use("query_refund_status", tool="query_refund")
        yield Say(f"{heard.answered.for_people()} The refund now: {state.text}")
    else:
        yield Say(f"Done: {heard.text}")


TURNS: dict[str, list[Turn]] = {
    "refund": [("Has the refund for order 1000200030004001 arrived?", where_is_my_refund)],
    "last week": [
        ("帮我看看上周那笔退款到账没", last_week_in_chinese),
        ("我叫林小雨。", search_then_ask),
        ("1000200030004103 那一单", that_one),
    ],
    "not covered": [("Please transcribe voice-note-17.ogg and answer her.", not_covered)],
    "write": [("Order 1000200030004001 came broken, refund 49.9", refund_it)],
}


async def main(path: Path) -> None:
    """Run all sessions against services that fail now and then, and say what the model said."""
    shop = Shop()
    with served(shop) as url:
        tools = registry(url)
        events = EventLog(path)
        executor = Executor(auth=Auth(service=shop.desk.token, user=shop.desk.token))
        async with Reach(tools, Router(tools), executor, slots=SlotFiller(), events=events, wall=since()) as reach:
            shop.fail("query_refund", RATE_LIMITED, DOWN)
            shop.fail("create_refund", DENIED)
            for name, turns in TURNS.items():
                agent = await converse(reach, events, f"example-{name}", name, turns, user="ada")
                for heard in agent.heard:
                    print(f"{name}: {heard.handle.decision} {heard.handle.tool or '-'}: {heard.text}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(Path(folder) / "shop.db"))

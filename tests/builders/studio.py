"""Where the sample sessions are recorded: the Agent-Reach layer at work, with a clock and a model that follow a script.

The model's part is scripted: which tool, which arguments, what scores, what it knows of their origin. The rest is real:
decisions, checks, HTTP to a FastAPI application, time limits, fallbacks, feedback, events through the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Candidate, Route, Slot, ToolCall
from reach_tui.native.event import Event
from reach_tui.reach import Asking, EventLog, Executor, Filling, HttpTransport, Reach, ToolList
from reach_tui.reach.decision import decide
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.router import ANYBODY, Routing
from reach_tui.reach.slots import Context as SlotContext
from reach_tui.reach.slots import Declared
from reach_tui.reach.spec import HttpEndpoint, ToolSpec
from reach_tui.reach.transport import Answer

LOCAL = frozenset({"bash", "read_file", "edit_file", "run_subagent", "http_get"})
"""Tools that are functions of the agent's own process; the others are services."""
PATIENCE_MS = {"track_parcel": 300, "run_subagent": 60_000}
"""Timeouts where they are not 3 s. The one that a script runs into is short, since it is really waited for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers next."""

    text: str
    ms: int
    """How long it takes on the script's clock."""
    status: int = 200
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    silent: bool = False
    """It never answers: the layer's time limit ends it."""
    killed: bool = False
    """The agent's process dies while it waits: nothing is recorded any more."""


class _Records:
    """The event log of a process that may die."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.dead = False
        self.session, self.message, self.place = log.session, log.message, log.place

    def record(self, call: ToolCall | None, events: Iterable[Event]) -> None:
        if not self.dead:
            self.log.record(call, events)


class Studio:
    """The layer with everything scripted that a model would do. Use as a context; the database is new."""

    def __init__(self, path: Path) -> None:
        self.now = 0
        """Milliseconds since 1970 UTC on the script's clock."""
        self.candidates: tuple[Candidate, ...] = ()
        self.slots: dict[str, tuple[Slot, ...]] = {}
        self.replies: list[Reply] = []
        self.records = _Records(EventLog(path))
        self._tools: dict[str, ToolSpec] = {}
        self._runner = asyncio.Runner()
        client = httpx.AsyncClient(transport=httpx.ASGITransport(self._services()), base_url="http://shop.example")
        self._client = client
        self._executor = Executor(http=HttpTransport(client), now=lambda: self.now / 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.records.log.close()

    def _services(self) -> FastAPI:
        app = FastAPI()

        @app.post("/tools/{tool}")
        async def call(tool: str) -> PlainTextResponse:
            reply = await self._next()
            return PlainTextResponse(reply.text, reply.status)

        return app

    async def _next(self) -> Reply:
        reply = self.replies.pop(0)
        self.now += reply.ms
        self.records.dead = reply.killed
        if reply.silent:
            await asyncio.sleep(60)
        return reply

    async def _function(self, **_: Any) -> Answer:
        reply = await self._next()
        return Answer(reply.text, reply.text, metadata=reply.metadata)

    def _spec(self, name: str) -> ToolSpec:
        if name not in self._tools:
            self._tools[name] = ToolSpec(
                name=name,
                description=f"{name} of the invented shop",
                params_schema={"type": "object"},
                auth_type="none",
                timeout_ms=PATIENCE_MS.get(name, 3_000),
                idempotent=False,
                side_effect="read" if name in ("track_parcel", "http_get") else "write",
                sample_calls=(),
                endpoint=None
                if name in LOCAL
                else HttpEndpoint(method="POST", url=f"http://shop.example/tools/{name}"),
            )
            if name in LOCAL:
                self._executor.callables.add(name, self._function)
        return self._tools[name]

    def route(self, intent: str, context: RouteContext = ANYBODY) -> Routing:
        """The router's part: the model's scores, and the double threshold over them."""
        route = Route("recorded", intent, self.candidates, decide(self.candidates))
        return Routing(route, scorer="scripted")

    def fill(
        self,
        tool_name: str,
        params_schema: Mapping[str, JsonValue],
        given: Mapping[str, JsonValue],
        context: SlotContext,
        declared: Mapping[str, Declared] | None = None,
    ) -> Filling:
        """The slots' part: what the script knows of each value. Nothing is asked for: this agent calls all the same."""
        return Filling(self.slots.get(tool_name, ()))

    def call(
        self, intent: str, asking: Asking, tool: str | None, arguments: Mapping[str, JsonValue], *replies: Reply
    ) -> int:
        """Ask and run; returns the place of the call that answered."""
        for one in (tool, *(candidate.name for candidate in self.candidates)):
            if one is not None:
                self._spec(one)
        registry = ToolList(self._tools.values())
        reach = Reach(registry, self, self._executor, slots=self, events=self.records, wall=lambda: self.now)
        routed = self.route(intent).tool
        handle = reach.ask(intent, asking, tool=None if tool in (None, routed) else tool)
        if tool is None:
            return 0
        self.replies[:] = replies
        answered = self._runner.run(handle.run(arguments))
        assert not self.replies, "the script went on otherwise"
        self.records.dead = False
        return answered.step or 0

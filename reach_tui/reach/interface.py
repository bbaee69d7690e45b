"""The narrow interface (spec B20, seed 2.2): an orchestrator asks for a handle, runs it, and gets a result plus events.

Registry, router, slots, executor and events are each whatever keeps their protocol; slots and events may be left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

from reach_tui.base.clock import now_ms
from reach_tui.reach.asking import Asking, Filler, Routes
from reach_tui.reach.breaker import Breakers
from reach_tui.reach.events import EventLog, Recorder
from reach_tui.reach.executor import Caller, Executor
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.handle import Handle, Layers, fill
from reach_tui.reach.router import Routing
from reach_tui.reach.spec import Registry


class Reach:
    """The layers put together. For one event loop; `wall` gives milliseconds since 1970 UTC."""

    def __init__(
        self,
        registry: Registry,
        router: Routes,
        executor: Caller,
        *,
        slots: Filler | None = None,
        events: Recorder | None = None,
        breakers: Breakers | None = None,
        wall: Callable[[], int] = now_ms,
    ) -> None:
        self.registry = registry
        self.router = router
        self.executor = executor
        self.slots = slots
        self.events = events
        self.wall = wall
        known = executor.breakers if isinstance(executor, Executor) else None
        self.breakers = breakers or known
        if isinstance(executor, Executor) and isinstance(events, EventLog) and events.redact is None:
            events.redact = executor.auth.redact  # no token that the executor handed out is ever kept

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def ask(self, intent: str, asking: Asking, *, tool: str | None = None) -> Handle:
        """A handle for what is wanted. With `tool` somebody has chosen; the router's opinion is recorded all the same.

        A decision that leads to no call (clarify, no_capability) is recorded at once.
        """
        return self._handle(intent, asking, tool, self.router.route(asking.text or intent, self._context(asking)))

    async def ask_async(self, intent: str, asking: Asking, *, tool: str | None = None) -> Handle:
        """`ask`, but a router that can is awaited, so that others run while its model answers."""
        route_async = getattr(self.router, "route_async", None)
        if route_async is None:
            return self.ask(intent, asking, tool=tool)
        return self._handle(intent, asking, tool, await route_async(asking.text or intent, self._context(asking)))

    def _context(self, asking: Asking) -> RouteContext:
        return asking.for_router(self.breakers.blocked() if self.breakers is not None else frozenset())

    def _handle(self, intent: str, asking: Asking, tool: str | None, routing: Routing) -> Handle:
        layers = Layers(self.registry, self.executor, self.slots, self.events, self.wall)
        handle = Handle(layers, asking, intent, routing, tool or routing.tool, chosen=tool is not None)
        if handle.tool is None:
            handle.ledger.decided(routing.route, handle.why)
        else:
            spec = self.registry.get(handle.tool)
            handle.filling = fill(self.slots, spec, routing.params, asking, self.wall)
        return handle

    async def close(self) -> None:
        """Close what this object was given: connections are ended, events written."""
        if isinstance(self.executor, Executor):
            await self.executor.close()
        if isinstance(self.events, EventLog):
            await asyncio.to_thread(self.events.close)

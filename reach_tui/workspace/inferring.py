"""Routes and slots of calls that recorded none, inferred lazily: only for the sessions that are looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from reach_tui.infer.intent import Intent, IntentReader
from reach_tui.infer.routes import RouteInference, Settings
from reach_tui.model import Route, Session, StepKind, ToolCall
from reach_tui.workspace.judged import JudgedCall, JudgedStep
from reach_tui.workspace.slots import SessionSlots
from reach_tui.workspace.sources import Source
from reach_tui.workspace.tool_sets import PersonsRegistry, ToolSets, remembered

if TYPE_CHECKING:
    from reach_tui.infer.candidates import ToolSet
    from reach_tui.workspace.workspace import Workspace


class SessionRoutes:
    """The routes of one session's calls. Steps are given in order; any call among them can be asked for, at any time.

    Methods may be called from any thread, one at a time waits for the other.
    """

    def __init__(self, routes: RouteInference) -> None:
        self.tools = routes.tools
        self._routes = routes
        self._reader = IntentReader()
        self._intents: dict[int, Intent] = {}
        self._lock = threading.Lock()
        self._given = 0

    def read(self, steps: list[JudgedStep], upto: int) -> None:
        """Take in the steps before the one at place `upto` that are not known yet."""
        with self._lock:
            while self._given < min(upto, len(steps)):
                self._take(steps[self._given])

    def add(self, one: JudgedStep) -> None:
        """Take in the next step."""
        with self._lock:
            self._take(one)

    def _take(self, one: JudgedStep) -> None:
        if one.step.kind is StepKind.CALL:
            self._intents[one.step.number] = self._reader.at(one.step.turn)
        self._reader.see(one.step)
        self._given += 1

    def route(self, call: ToolCall) -> Route:
        """The call's route: recorded, else inferred from what came before it, which must have been taken in."""
        if call.route is not None:
            return call.route
        with self._lock:
            intent = self._intents.get(call.step) or self._reader.at(call.turn)
            return self._routes.route(intent, call)


class Inference:
    """Routes and slots over one source; its tool sets are made once."""

    def __init__(
        self,
        workspace: Workspace,
        source: Source,
        registry: PersonsRegistry | None = None,
        settings: Settings | None = None,
        *,
        person_first: bool = False,
    ) -> None:
        self._workspace = workspace
        self._source = source
        self._registry = registry
        self._settings = settings or Settings()
        self._sets = ToolSets(source, workspace.engine, registry, person_first=person_first)
        self._routes: dict[ToolSet, RouteInference] = {}
        self._lock = threading.Lock()

    def routes(self, session_id: str) -> SessionRoutes:
        """What tells the routes of a session. Raises `StoreError`."""
        tools = self._sets.of(session_id)
        with self._lock:
            return SessionRoutes(remembered(self._routes, tools, lambda: RouteInference(tools, self._settings)))

    def warm_up(self) -> None:
        """Make the tool set and its index (a third of a second at first), so that the first call need not wait.

        Raises `StoreError`.
        """
        self.routes("")

    def slots(self, session: Session | str) -> SessionSlots:
        """What tells the slots of a session. Raises `StoreError`."""
        return SessionSlots(self._source, session, self._registry.set.tools if self._registry else ())

    def told(
        self,
        session: Session | str,
        steps: Iterable[JudgedStep],
        wanted: Callable[[JudgedCall], bool] = lambda _: True,
    ) -> Iterator[JudgedStep]:
        """The steps of a session, its wanted calls with their routes and slots. Raises `StoreError`."""
        routes = self.routes(session if isinstance(session, str) else session.id)
        slots = self.slots(session)
        for one in steps:
            if one.judged is not None and wanted(one.judged):
                call = slots.insight(one.judged.call, with_belief=False).call
                yield replace(one, judged=replace(one.judged, call=replace(call, route=routes.route(call))))
            else:
                yield one
            routes.add(one)
            slots.add(one)

    def calls(self, calls: Iterable[JudgedCall]) -> Iterator[JudgedCall]:
        """These calls in order, with routes and slots; session by session, as a source gives them. Raises `StoreError`.

        The steps of each session that has one of them are read.
        """
        for session_id, group in groupby(calls, key=lambda judged: judged.call.session_id):
            yield from self._of_session(session_id, {judged.call.key: judged for judged in group})

    def _of_session(self, session_id: str, chosen: dict[str, JudgedCall]) -> Iterator[JudgedCall]:
        told: dict[str, JudgedCall] = {}
        steps = self._workspace.judged_steps(self._source, session_id)
        for one in self.told(session_id, steps, lambda judged: judged.call.key in chosen):
            if one.judged is not None and one.judged.call.key in chosen:
                told[one.judged.call.key] = one.judged
                if len(told) == len(chosen):
                    break
        yield from (told.get(key, judged) for key, judged in chosen.items())

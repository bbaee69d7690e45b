"""Replaying sessions under changed settings: recorded routes as they are, inferred ones for all other calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reach_tui.analyze.story import Told
from reach_tui.analyze.timeouts import Durations, advice
from reach_tui.analyze.timeouts import of_session as durations_of
from reach_tui.infer.routes import K, Settings
from reach_tui.model import Route, Session, Step
from reach_tui.reach.breaker import BreakerSettings
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router
from reach_tui.replay.whatif import Changes, Replayed, replay
from reach_tui.workspace.inferring import Inference
from reach_tui.workspace.judged import JudgedStep
from reach_tui.workspace.sources import Source
from reach_tui.workspace.tool_sets import PersonsRegistry
from reach_tui.workspace.workspace import Workspace

ADVISED = "p99"
"""Timeouts as the trace's own durations advise them: P99 × 1.3 by tool."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What a person may change; None leaves what was in force."""

    t1: float | None = None
    gap: float | None = None
    floor: float | None = None
    k: int | None = None
    registry: Path | None = None
    """A folder of tools, or a bundled registry's name."""
    degraded: bool = False
    """The fallback switch: keywords alone. Inferred routes are keywords already."""
    guard_after: int = 5
    guard_rule: str = "same_error"
    timeouts: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by tool, `*` for all others."""
    advised_timeouts: bool = False
    breaker: bool = False
    infer: bool = True
    """Infer routes for calls that recorded none."""

    @property
    def reroutes(self) -> bool:
        """True if scores are computed anew."""
        return self.registry is not None or self.k is not None or self.degraded


@dataclass(frozen=True, slots=True)
class Recording:
    """A session as it is replayed: read once, replayed as often as settings change."""

    session: Session
    steps: list[JudgedStep]
    told: list[Told]
    """The same with a route for every call: recorded, else inferred with the usual settings."""


class Replay:
    """Replays the sessions of one source under one set of settings."""

    def __init__(self, workspace: Workspace, source: Source, settings: ReplaySettings) -> None:
        self._workspace = workspace
        self._source = source
        self.settings = settings
        self._registry = PersonsRegistry(settings.registry) if settings.registry is not None else None
        self._usual = Inference(workspace, source)
        changed = Settings(k=settings.k or K)
        self._changed = Inference(workspace, source, self._registry, changed, person_first=True)
        self._timeouts: Mapping[str, int] | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with files of the registry, which are left out of it."""
        return tuple(f"{one.where}: {one.text()}" for one in self._registry.problems) if self._registry else ()

    def sessions(self, session_id: str | None = None) -> Iterator[Session]:
        """The sessions to replay: all that are no stored copies, or the one. Raises `StoreError`."""
        for session in self._source.reader.sessions():
            if session.copy_of is None and session_id in (None, session.id):
                yield session

    def read(self, session: Session) -> Recording:
        """Read a session. Raises `StoreError`."""
        steps = list(self._workspace.judged_steps(self._source, session.id))
        routes = self._usual.routes(session.id) if self.settings.infer else None
        told = []
        for one in steps:
            if one.judged is None:
                told.append(Told(one.step))
            else:
                call = one.judged.call
                if routes is not None:
                    call = replace(call, route=routes.route(call))
                told.append(Told(replace(one.step, call=call), one.judged.verdict))
            if routes is not None:
                routes.add(one)
        return Recording(session, steps, told)

    def run(self, recording: Recording) -> Replayed:
        """One session under the settings. Raises `StoreError`."""
        settings = self.settings
        changes = Changes(
            settings.t1,
            settings.gap,
            settings.floor,
            self._reroute(recording) if settings.reroutes else None,
            settings.guard_after,
            settings.guard_rule,
            self._limits(),
            BreakerSettings() if settings.breaker else None,
            ToolList(self._registry.set.tools) if self._registry is not None else None,
        )
        return replay(recording.session.id, recording.told, changes)

    def _limits(self) -> Mapping[str, int]:
        if not self.settings.advised_timeouts:
            return self.settings.timeouts
        if self._timeouts is None:
            durations = Durations()
            for session in self._source.reader.sessions():
                judged = self._workspace.judged_calls(self._source, [session.id])
                durations.include(durations_of((one.call, one.verdict) for one in judged))
            advised = {one.tool: one.advised for one in advice(durations, {}) if one.advised is not None}
            self._timeouts = {**advised, **self.settings.timeouts}
        return self._timeouts

    def _reroute(self, recording: Recording) -> Callable[[Step, Route], Route]:
        """Routes anew: among the person's tools, or among those the session had."""
        routes = self._changed.routes(recording.session.id)
        routes.read(recording.steps, len(recording.steps))
        router = Router(ToolList(routes.tools.tools), k=self.settings.k or K, degraded=self.settings.degraded)

        def again(step: Step, route: Route) -> Route:
            if route.basis == "inferred" and step.call is not None:
                return replace(routes.route(replace(step.call, route=None)), thresholds=route.thresholds)
            gone = {one.name: one.reason or "was filtered out" for one in route.dropped}
            found = router.route(route.intent, RouteContext(user_token=True, denied=gone), basis=route.basis)
            return replace(found.route, thresholds=route.thresholds)

        return again

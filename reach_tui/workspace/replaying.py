"""Replaying sessions under changed settings: recorded routes as they are, inferred ones for all other calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reach_tui.analyze.story import Told
from reach_tui.analyze.timeouts import Durations, advice
from reach_tui.analyze.timeouts import of_session as durations_of
from reach_tui.infer.registries import bundled
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
    breaker_after: int = BreakerSettings().in_a_row
    """Failures in a row that open the breaker."""
    budget_ms: int | None = None
    """Time that the calls after one request share."""
    retries: bool | None = None
    """Look at retries: None where a registry is named; without one True takes what ships for that kind of store."""

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


Again = Callable[[Step, Route], Route]
Watch = Callable[[], None]
"""Called for each step or session that was read; may raise to stop."""


def _unwatched() -> None:
    pass


class Replay:
    """Replays the sessions of one source under one set of settings, and under others after `use`.

    One thread at a time. Raises `ConfigError` where the registry cannot be used.
    """

    def __init__(self, workspace: Workspace, source: Source, settings: ReplaySettings) -> None:
        self._workspace = workspace
        self._source = source
        self._usual = Inference(workspace, source)
        self._timeouts: Mapping[str, int] | None = None
        self.settings = replace(settings, registry=None)
        self._registry: PersonsRegistry | None = None
        self._changed: Inference | None = None
        self._again: tuple[str, Again] | None = None
        """The other router over a session, by its id: kept while registry, k and fallback switch are the same."""
        self.use(settings)

    def use(self, settings: ReplaySettings) -> None:
        """Replay under these settings from now on. Raises `ConfigError`; the old ones stand then."""
        before = self.settings
        if settings.registry != before.registry:
            self._registry = PersonsRegistry(settings.registry) if settings.registry is not None else None
            self._changed = None
        if settings.k != before.k:
            self._changed = None
        if self._changed is None or settings.degraded != before.degraded:
            self._again = None
        self.settings = settings

    def refresh(self) -> tuple[str, ...] | None:
        """Look at the registry's folder again: tools that changed, None where nothing did. Raises `RegistryError`."""
        changed = self._registry.refresh() if self._registry is not None else None
        if changed:
            self._again = None
        return changed

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with files of the registry: their last good version counts, or they are left out of it."""
        return tuple(f"{one.where}: {one.text()}" for one in self._registry.problems) if self._registry else ()

    def sessions(self, session_id: str | None = None) -> Iterator[Session]:
        """The sessions to replay: all that are no stored copies, or the one. Raises `StoreError`."""
        for session in self._source.reader.sessions():
            if session.copy_of is None and session_id in (None, session.id):
                yield session

    def read(self, session: Session, watch: Watch = _unwatched) -> Recording:
        """Read a session. Raises `StoreError`."""
        routes = self._usual.routes(session.id) if self.settings.infer else None
        steps, told = [], []
        for one in self._workspace.judged_steps(self._source, session.id):
            watch()
            steps.append(one)
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

    def run(self, recording: Recording, watch: Watch = _unwatched) -> Replayed:
        """One session under the settings. `watch` is called where sessions have to be read. Raises `StoreError`."""
        settings = self.settings
        changes = Changes(
            settings.t1,
            settings.gap,
            settings.floor,
            self._reroute(recording) if settings.reroutes else None,
            settings.guard_after,
            settings.guard_rule,
            self._limits(watch),
            BreakerSettings(in_a_row=settings.breaker_after) if settings.breaker else None,
            self._retrying(),
            settings.budget_ms,
        )
        return replay(recording.session.id, recording.told, changes)

    def _retrying(self) -> ToolList | None:
        wanted = self.settings.retries
        if wanted is False or (wanted is None and self._registry is None):
            return None
        return ToolList(self._registry.set.tools if self._registry is not None else bundled(self._source.kind).values())

    def _limits(self, watch: Watch) -> Mapping[str, int]:
        if not self.settings.advised_timeouts:
            return self.settings.timeouts
        if self._timeouts is None:
            durations = Durations()
            for session in self._source.reader.sessions():
                watch()
                judged = self._workspace.judged_calls(self._source, [session.id])
                durations.include(durations_of((one.call, one.verdict) for one in judged))
            self._timeouts = {one.tool: one.advised for one in advice(durations, {}) if one.advised is not None}
        return {**self._timeouts, **self.settings.timeouts}

    def _reroute(self, recording: Recording) -> Again:
        """Routes anew: among the person's tools, or among those the session had. Each step is asked once."""
        if self._again is None or self._again[0] != recording.session.id:
            again, known = self._router(recording), dict[int, Route]()

            def asked(step: Step, route: Route) -> Route:
                if step.number not in known:
                    known[step.number] = again(step, route)
                return known[step.number]

            self._again = recording.session.id, asked
        return self._again[1]

    def _router(self, recording: Recording) -> Again:
        k = self.settings.k or K
        if self._changed is None:
            self._changed = Inference(self._workspace, self._source, self._registry, Settings(k=k), person_first=True)
        routes = self._changed.routes(recording.session.id)
        routes.read(recording.steps, len(recording.steps))
        router = Router(ToolList(routes.tools.tools), k=k, degraded=self.settings.degraded)

        def again(step: Step, route: Route) -> Route:
            if route.basis == "inferred" and step.call is not None:
                return replace(routes.route(replace(step.call, route=None)), thresholds=route.thresholds)
            gone = {one.name: one.reason or "was filtered out" for one in route.dropped}
            found = router.route(route.intent, RouteContext(user_token=True, denied=gone), basis=route.basis)
            return replace(found.route, thresholds=route.thresholds)

        return again

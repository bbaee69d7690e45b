"""Feeds the report's inferred part: every step of the sessions in scope is read, so it is made on request only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from reach_tui.analyze.inferred import Inferred, Told, of_session
from reach_tui.infer.registries import bundled
from reach_tui.model import Session
from reach_tui.report.inferred import InferredRows, build
from reach_tui.workspace.inferring import Inference
from reach_tui.workspace.reporting import Selection
from reach_tui.workspace.sources import Source
from reach_tui.workspace.tool_sets import PersonsRegistry
from reach_tui.workspace.workspace import Workspace


@dataclass(slots=True)
class InferredCollector:
    """Adds up the sessions of any number of sources."""

    workspace: Workspace
    selection: Selection
    registry: PersonsRegistry | None = None
    sums: Inferred = field(default_factory=Inferred)

    def tallies(self, source: Source) -> Iterator[str]:
        """Add up the sessions of a source in scope; gives the id of each. Raises `StoreError`."""
        inference = Inference(self.workspace, source, self.registry)
        limits = {name: tool.timeout_ms for name, tool in bundled(source.kind).items()}
        if self.registry is not None:
            limits |= {tool.name: tool.timeout_ms for tool in self.registry.set.tools}
        self.sums.limits |= limits
        for session in source.reader.sessions():
            if self.selection.takes(session):
                self.sums.include(self._session(source, inference, session))
                yield session.id

    def _session(self, source: Source, inference: Inference, session: Session) -> Inferred:
        routes, slots = inference.routes(session.id), inference.slots(session)
        told: list[Told] = []
        for one in self.workspace.judged_steps(source, session.id):
            if one.judged is not None:
                insight = slots.insight(one.judged.call, with_belief=False)
                call = replace(insight.call, route=routes.route(one.judged.call), result=None)  # sums need no texts
                told.append(Told(call, one.judged.verdict, insight.confidence))
            routes.add(one)
            slots.add(one)
        return of_session(source.kind, told, len(routes.tools), self.selection.wanted())

    def rows(self) -> InferredRows:
        """The rows of everything added so far."""
        return build(self.sums)

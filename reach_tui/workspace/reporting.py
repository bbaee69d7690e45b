"""Feeds the report: the sessions in scope, from the side index, and from the store what it does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from reach_tui import __version__
from reach_tui.analyze import health
from reach_tui.analyze.labelled import LabelCounts, label_counts
from reach_tui.analyze.pairs import Wanted, originals
from reach_tui.analyze.tally import Tally
from reach_tui.base.errors import StoreError
from reach_tui.index.digest import judged, tally_of
from reach_tui.index.totals import tallied, tallied_tools, verdicts
from reach_tui.index.workers import Workers
from reach_tui.model import Glance, Label, Session
from reach_tui.report.build import build
from reach_tui.report.jsonout import record
from reach_tui.report.model import ROOTS, Report, Scope, StoreScope
from reach_tui.taxonomy import default
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Selection:
    """What a report counts. Times are of the sessions' start, half-open, in ms; `tools` empty means all."""

    scope: str = ROOTS
    tools: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None

    def takes(self, session: Session) -> bool:
        """True for a session in scope; one without a time is not where a time was asked for."""
        if self.scope == ROOTS and not session.own_work:
            return False
        if self.since is None and self.until is None:
            return True
        start = session.started_at
        if start is None:
            return False
        return (self.since is None or start >= self.since) and (self.until is None or start < self.until)

    def wanted(self) -> Wanted:
        """Which calls are counted: originals, of the tools asked for. The others are still seen as what came before."""
        tools = frozenset(self.tools)
        if not tools:
            return originals

        def one_of_the_tools(call: Glance) -> bool:
            return originals(call) and not tools.isdisjoint((call.tool, call.shown_tool, call.target))

        return one_of_the_tools

    def uses(self, shown: str) -> bool:
        """True for a tool (`tool`, or `tool→target`) whose calls are counted."""
        return not set(self.tools).isdisjoint((shown, *shown.split("→")))


@dataclass(slots=True)
class Collector:
    """Adds up sessions of any number of sources."""

    workspace: Workspace
    selection: Selection = field(default_factory=Selection)
    tally: Tally = field(default_factory=Tally)
    _stores: dict[Source, Counter[str]] = field(default_factory=dict)
    _first: int | None = None
    _last: int | None = None
    _labels: LabelCounts = field(default_factory=LabelCounts)

    def tallies(self, source: Source) -> Iterator[str]:
        """Add up the sessions of a source in scope; gives the id of each that has to be read. Raises `StoreError`."""
        self._stores.setdefault(source, Counter())
        listed = cache(lambda: list(source.reader.sessions()))
        takes = self.selection.takes
        try:
            total = yield from self._total(source, listed)
        except StoreError:  # what can be read before it breaks off counts; then the error comes again
            self._see(listed())
            for session in filter(takes, listed()):
                for one in judged(source.reader, self.workspace.engine, [session]):
                    self._add(source, tally_of(one, self.selection.wanted()), [session])
                    yield session.id
        else:
            chosen = [session for session in listed() if takes(session)]
            self._see(listed())
            self._add(source, total, chosen)
            labels, known = labels_in_scope(self.workspace, source, listed(), chosen)
            self._labels += label_counts(labels, known, self.selection.uses if self.selection.tools else None)

    def _see(self, sessions: Sequence[Session]) -> None:
        self.tally.include(Tally(health=health.of_sessions(sessions)))

    def _total(self, source: Source, listed: Callable[[], Sequence[Session]]) -> Generator[str, None, Tally]:
        reader, engine, selection = source.reader, self.workspace.engine, self.selection
        if selection.tools:
            chosen = [session for session in listed() if selection.takes(session)]
            return (yield from tallied_tools(reader, engine, listed(), chosen, selection.wanted(), selection.uses))
        with Workers() as digester:
            return (yield from tallied(reader, engine, listed, selection.takes, digester))

    def _add(self, source: Source, total: Tally, sessions: Sequence[Session]) -> None:
        self.tally.include(total)
        sums = self._stores[source]
        sums["sessions"] += total.sessions
        sums["calls"] += total.rates.total.calls
        starts = [session.started_at for session in sessions if session.started_at is not None]
        self._first = min((one for one in (self._first, *starts) if one is not None), default=None)
        self._last = max((one for one in (self._last, *starts) if one is not None), default=None)

    def report(self) -> Report:
        """The report on everything added so far."""
        taxonomy = default()  # verdicts are of this codebook, whichever one people label with
        stores = tuple(
            StoreScope(source.kind, source.name, sums["sessions"], sums["calls"])
            for source, sums in self._stores.items()
        )
        scope = Scope(
            stores=stores,
            scope=self.selection.scope,
            tools=self.selection.tools,
            since=self.selection.since,
            until=self.selection.until,
            sessions=sum(one.sessions for one in stores),
            calls=sum(one.calls for one in stores),
            first=self._first,
            last=self._last,
            rules_version=self.workspace.engine.version,
            taxonomy=f"{taxonomy.id} {taxonomy.version}",
            tool_version=__version__,
        )
        return build(self.tally, scope, taxonomy, self._labels)


def labels_in_scope(
    workspace: Workspace, source: Source, sessions: Sequence[Session], chosen: Sequence[Session]
) -> tuple[list[Label], dict[str, tuple[str, bool | None]]]:
    """The labels in force on the chosen sessions, of all there are; of the labelled ones' calls tool and verdict."""
    by_id = {session.id: session for session in chosen}
    labels = [one for one in workspace.labels_in_force(source) if one.session_id in by_id]
    labelled = [by_id[name] for name in {one.session_id for one in labels if one.call_key is not None}]
    return labels, verdicts(source.reader, workspace.engine, sessions, labelled)


def comparable(report: Report) -> Mapping[str, Any]:
    """A report in the form that `compare` takes."""
    return record(report)

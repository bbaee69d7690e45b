"""Feeds the report: sessions in scope are read one by one, judged, and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reach_tui import __version__
from reach_tui.analyze import health
from reach_tui.analyze.pairs import Wanted, originals
from reach_tui.analyze.tally import Tally, of_session
from reach_tui.base.errors import UsageError
from reach_tui.model import Session, ToolCall
from reach_tui.report.build import build
from reach_tui.report.jsonout import record
from reach_tui.report.model import ROOTS, Report, Scope, StoreScope
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

_SAVED_LIMIT = 64 << 20


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

        def one_of_the_tools(call: ToolCall) -> bool:
            return originals(call) and not tools.isdisjoint((call.tool, call.shown_tool, call.target))

        return one_of_the_tools


@dataclass(slots=True)
class Collector:
    """Adds up sessions of any number of sources."""

    workspace: Workspace
    selection: Selection = field(default_factory=Selection)
    tally: Tally = field(default_factory=Tally)
    _stores: dict[Source, Counter[str]] = field(default_factory=dict)
    _first: int | None = None
    _last: int | None = None

    def tallies(self, source: Source) -> Iterator[Tally]:
        """The sessions of a source in scope, each added to the sums and given back. Raises `StoreError`."""
        sums = self._stores.setdefault(source, Counter())
        sessions = list(source.reader.sessions())
        self.tally += Tally(health=health.of_sessions(sessions))
        engine, wanted = self.workspace.engine, self.selection.wanted()
        for session in sessions:
            if not self.selection.takes(session):
                continue
            steps = list(source.reader.steps(session.id))
            pairs = [(step.call, engine.judge(step.call)) for step in steps if step.call is not None]
            one = of_session(session, pairs, [step for step in steps if step.call is None], wanted)
            self.tally += one
            sums["sessions"] += one.sessions
            sums["calls"] += one.rates.total.calls
            self._see(session.started_at)
            yield one

    def _see(self, start: int | None) -> None:
        if start is not None:
            self._first = start if self._first is None else min(self._first, start)
            self._last = start if self._last is None else max(self._last, start)

    def report(self) -> Report:
        """The report on everything added so far."""
        taxonomy = self.workspace.taxonomy
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
        return build(self.tally, scope, taxonomy)


def saved_report(path: Path) -> Mapping[str, Any] | None:
    """The JSON object of a report that was saved in a file; None where the file is something else."""
    from reach_tui.base.jsonio import BadJson, loads

    try:
        if not path.is_file() or path.stat().st_size > _SAVED_LIMIT:
            return None
        with open(path, "rb") as file:
            if not file.read(64).lstrip().startswith(b"{"):
                return None
            file.seek(0)
            value = loads(file.read())
    except BadJson:
        return None
    except OSError as error:
        raise UsageError(error.strerror or str(error), path, "name a trace, or a saved report") from None
    return value if isinstance(value, dict) and {"scope", "tools", "guards"} <= value.keys() else None


def comparable(report: Report) -> Mapping[str, Any]:
    """A report in the form that `compare` takes."""
    return record(report)

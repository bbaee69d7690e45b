"""What stands behind a number of a report: every call, session or step that it counts. Read only when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from reach_tui.analyze.attribution import Cause, cause_of
from reach_tui.analyze.behind import Course, Number, SessionNumber
from reach_tui.analyze.classes import FailureClass
from reach_tui.analyze.health import oddities
from reach_tui.analyze.labelled import label_count
from reach_tui.analyze.pairs import Pairs
from reach_tui.index.digest import Kind, judged, kind_of, tally_of
from reach_tui.index.totals import each_of, kinds_of
from reach_tui.model import Session, Step
from reach_tui.workspace.judged import JudgedCall
from reach_tui.workspace.reporting import Selection, labels_in_scope
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that a number counts: a call, a step that is none, or else the session itself."""

    source: Source
    session_id: str
    judged: JudgedCall | None = None
    step: Step | None = None
    session: Session | None = None
    """Where it was at hand."""


@dataclass(frozen=True, slots=True)
class Search:
    """Where a query looks: one source; `watch` is called for every session that is read."""

    workspace: Workspace
    source: Source
    selection: Selection
    watch: Callable[[], None]

    def sessions(self) -> tuple[list[Session], list[Session]]:
        """All sessions there are, and those in scope, the newest first."""
        sessions = list(self.source.reader.sessions())
        return sessions, [session for session in sessions if self.selection.takes(session)]

    def calls(self, session_ids: Sequence[str]) -> Iterator[JudgedCall]:
        """The calls of these sessions."""
        current: str | None = None
        for one in self.workspace.judged_calls(self.source, session_ids):
            if one.call.session_id != current:
                current = one.call.session_id
                self.watch()
            yield one


class Query(Protocol):
    """What a number counts."""

    @property
    def things(self) -> str:
        """calls, sessions, steps …"""

    def hits(self, search: Search) -> Iterator[Hit]:
        """All of it in one source, newest session first. Raises `StoreError`."""


@dataclass(frozen=True, slots=True)
class CallQuery:
    """What a call and its verdict must be by themselves; None leaves a field open."""

    tool: str | None = None
    classes: frozenset[FailureClass] | None = None
    """One of these."""
    rule: str | None = None
    hidden: bool | None = None
    failed: bool | None = None
    soft: bool | None = None
    flagged: bool | None = None
    flag_known: bool | None = None
    cause: Cause | None = None
    reach: str | None = None

    things = "calls"

    def takes(self, judged: JudgedCall) -> bool:
        """True for a call that the row counts."""
        return self.counts(kind_of(judged.call, judged.verdict))

    def counts(self, kind: Kind) -> bool:
        """True for calls of this kind. Copies are counted once, at their original."""
        if kind.copied:
            return False
        wanted = (
            (self.rule, kind.rule),
            (self.hidden, kind.hidden),
            (self.failed, kind.failed),
            (self.soft, kind.soft),
            (self.flagged, kind.flagged),
            (self.flag_known, kind.flagged is not None),
        )
        if any(value is not None and value != found for value, found in wanted):
            return False
        if self.tool is not None and self.tool not in (kind.tool, kind.shown_tool):
            return False
        if self.classes is not None and FailureClass(kind.tool, *kind.failure_class) not in self.classes:
            return False
        if self.cause is None and self.reach is None:
            return True
        cause = cause_of(kind.category)
        return self.cause in (None, cause) and self.reach in (None, cause.reach)

    def hits(self, search: Search) -> Iterator[Hit]:
        """Only sessions are read that hold such a call by the side index, or that it does not know."""
        sessions, chosen = search.sessions()
        known = kinds_of(search.source.reader, search.workspace.engine, sessions)
        ids = [one.id for one in chosen if one.id not in known or any(map(self.counts, known[one.id]))]
        wanted = search.selection.wanted()
        for one in search.calls(ids):
            if self.takes(one) and wanted(one.call):
                yield Hit(search.source, one.call.session_id, one)


@dataclass(frozen=True, slots=True)
class Behind:
    """The calls and steps that an analysis counts, each session by itself."""

    number: Number
    things: str = "calls"

    def hits(self, search: Search) -> Iterator[Hit]:
        """Only sessions are read whose figures in the side index have any, or that it does not know."""
        reader, engine = search.source.reader, search.workspace.engine
        sessions, chosen = search.sessions()
        # what is counted of some tools alone may be there although there is none of it among all calls
        known = {} if search.selection.tools else each_of(reader, engine, sessions, chosen, self.number.count)
        for session in chosen:
            if known.get(session.id, 1):
                search.watch()
                yield from self._of(search, session)

    def _of(self, search: Search, session: Session) -> Iterator[Hit]:
        told = list(search.workspace.judged_steps(search.source, session.id))
        calls = {id(one.judged.call): one.judged for one in told if one.judged is not None}
        pairs: Pairs = [(one.call, one.verdict) for one in calls.values()]
        steps = [one.step for one in told if one.judged is None]
        for place in self.number.find(Course(session, pairs, steps, search.selection.wanted())):
            if isinstance(place, Step):
                yield Hit(search.source, session.id, step=place, session=session)
            else:
                yield Hit(search.source, session.id, calls[id(place)], session=session)


@dataclass(frozen=True, slots=True)
class Counting:
    """The sessions that a number counts."""

    number: SessionNumber

    things = "sessions"

    def hits(self, search: Search) -> Iterator[Hit]:
        """Only sessions are read that the side index does not know."""
        reader, engine = search.source.reader, search.workspace.engine
        sessions, chosen = search.sessions()
        known = each_of(reader, engine, sessions, chosen, self.number.count)
        for session in chosen:
            count = known.get(session.id)
            if count is None:
                search.watch()
                count = sum(self.number.count(tally_of(one)) for one in judged(reader, engine, [session]))
            if count:
                yield Hit(search.source, session.id, session=session)


@dataclass(frozen=True, slots=True)
class OddSessions:
    """The sessions of which their own rows say this; of all sessions, in scope or not."""

    what: str

    things = "sessions"

    def hits(self, search: Search) -> Iterator[Hit]:
        """No session is read for it."""
        for session in search.source.reader.sessions():
            for what in oddities(session):
                if what == self.what:
                    yield Hit(search.source, session.id, session=session)


@dataclass(frozen=True, slots=True)
class Labelled:
    """What people's labels are of; a call comes once for each label that is counted."""

    measure: str
    """A field of `LabelCounts`."""

    @property
    def things(self) -> str:
        """Labels of calls, or of sessions."""
        return "labels"

    def hits(self, search: Search) -> Iterator[Hit]:
        """Only sessions with labels are read."""
        labels, known = labels_in_scope(search.workspace, search.source, *search.sessions())
        uses = search.selection.uses if search.selection.tools else None
        counted = [one for one in labels if getattr(label_count(one, known, uses), self.measure)]
        yield from (Hit(search.source, one.session_id) for one in counted if one.call_key is None)
        often = Counter(one.call_key for one in counted if one.call_key is not None)
        ids = dict.fromkeys(one.session_id for one in counted if one.call_key is not None)
        for one in search.calls(list(ids)) if ids else ():
            for _ in range(often[one.call.key]):
                yield Hit(search.source, one.call.session_id, one)


def matching(
    workspace: Workspace,
    sources: Sequence[Source],
    query: Query,
    selection: Selection,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[Hit]:
    """What stands behind a number, source by source, newest session first. Raises `StoreError`."""
    for source in sources:
        yield from query.hits(Search(workspace, source, selection, watch))

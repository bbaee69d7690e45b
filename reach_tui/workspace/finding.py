"""The calls behind a number: every call that a report's row counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reach_tui.index.digest import Kind, kind_of
from reach_tui.index.totals import kinds_of
from reach_tui.workspace.judged import JudgedCall
from reach_tui.workspace.reporting import Selection
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class CallQuery:
    """What a call must be; None leaves a field open."""

    tool: str | None = None
    category: str | None = None
    subcategory: str | None = None
    rule: str | None = None
    hidden: bool | None = None
    failed: bool | None = None
    soft: bool | None = None

    def takes(self, judged: JudgedCall) -> bool:
        """True for a call that the row counts."""
        return self.counts(kind_of(judged.call, judged.verdict))

    def counts(self, kind: Kind) -> bool:
        """True for calls of this kind. Copies are counted once, at their original."""
        if kind.copied:
            return False
        wanted = (
            (self.category, kind.category),
            (self.subcategory, kind.subcategory),
            (self.rule, kind.rule),
            (self.hidden, kind.hidden),
            (self.failed, kind.failed),
            (self.soft, kind.soft),
        )
        fits = all(value is None or value == found for value, found in wanted)
        return fits and (self.tool is None or self.tool in (kind.tool, kind.shown_tool))


def matching(
    workspace: Workspace, sources: Sequence[Source], query: CallQuery, selection: Selection
) -> Iterator[tuple[Source, JudgedCall]]:
    """The calls behind a number, source by source, newest session first. Raises `StoreError`.

    Only sessions are read that hold such a call by the side index, or that it does not know.
    """
    for source in sources:
        sessions = list(source.reader.sessions())
        known = kinds_of(source.reader, workspace.engine, sessions)
        chosen = [session for session in sessions if selection.takes(session)]
        ids = [one.id for one in chosen if one.id not in known or any(map(query.counts, known[one.id]))]
        for judged in workspace.judged_calls(source, ids):
            if query.takes(judged):
                yield source, judged

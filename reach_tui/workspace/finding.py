"""The calls behind a number: every call that a report's row counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

    def takes(self, judged: JudgedCall) -> bool:
        """True for a call that the row counts. Copies are counted once, at their original."""
        call, verdict = judged.call, judged.verdict
        if call.copy_of is not None:
            return False
        wanted = (
            (self.category, verdict.category),
            (self.subcategory, verdict.subcategory),
            (self.rule, verdict.rule),
            (self.hidden, judged.hidden),
            (self.failed, verdict.failed),
        )
        fits = all(value is None or value == found for value, found in wanted)
        return fits and (self.tool is None or self.tool in (call.tool, call.shown_tool))


def matching(
    workspace: Workspace, sources: Sequence[Source], query: CallQuery, selection: Selection
) -> Iterator[tuple[Source, JudgedCall]]:
    """The calls behind a number, source by source, newest session first. Raises `StoreError`."""
    for source in sources:
        ids = [session.id for session in source.reader.sessions() if selection.takes(session)]
        for judged in workspace.judged_calls(source, ids):
            if query.takes(judged):
                yield source, judged

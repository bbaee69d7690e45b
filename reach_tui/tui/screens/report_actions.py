"""Comparing and exporting, for the report's screen and the comparison's: what to choose, then a worker."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report
from reach_tui.tui.report_numbers import Counted
from reach_tui.tui.report_rows import ReportRow
from reach_tui.tui.screens.dialogs import Choice, NoteDialog, PickDialog
from reach_tui.tui.screens.exporting import Exports
from reach_tui.tui.screens.queue_choice import ChoosesQueues
from reach_tui.workspace import Source
from reach_tui.workspace.comparing import Side, Sides, at_time
from reach_tui.workspace.report_export import export_report
from reach_tui.workspace.reporting import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE, _HALVES, _DAY = "file", "halves", "day"
_DIGITS = "1234567890"


class ReportActions(Exports, ChoosesQueues):
    """`x` on a report, and `c` where there is one to compare with."""

    @property
    def side(self) -> Side:
        """What the report counts."""
        raise NotImplementedError  # the screen does

    def exported(self) -> tuple[Report, Comparison | None] | None:
        """What is written to a file; None while it is not there."""
        raise NotImplementedError  # the screen does

    def open_row(self, row: ReportRow | None) -> None:
        """List what a row counts, the first of its numbers that is not 0."""
        if row is None or not row.behind:
            self.reach.say("no list of calls stands behind this line")
            return
        numbers = [one for one in row.behind if one.count]
        if not numbers:
            self.reach.say(f"{row.about}: there is none")
            return
        from reach_tui.tui.screens.calls import CallsScreen

        first, *others = numbers
        self.app.push_screen(
            CallsScreen(self.sources_of(), first.query, first.about, self._began(first), tuple(others))
        )

    def _began(self, number: Counted) -> Selection:
        """What the report counts, of the span that the row is about."""
        selection = self.side.selection
        if number.began is None:
            return selection
        first, end = number.began
        ends = [one for one in (end, selection.until) if one is not None]
        return replace(selection, since=max(first, selection.since or first), until=min(ends, default=None))

    # Exporting

    def export_name(self) -> str | None:
        """`report`, or `comparison`."""
        ready = self.exported()
        return None if ready is None else "comparison" if ready[1] is not None else "report"

    def export_to(self, form: str, target: Path) -> int:
        """Write it. Raises `ReachError`."""
        ready = self.exported()
        return export_report(*ready, form, target, self.side.sources) if ready is not None else 0

    # Comparing

    def compare(self, report: Report) -> None:
        """Choose what was before."""
        sources = self.side.sources
        choices: list[Choice] = []
        if len(sources) > 1:
            choices += [
                Choice(_DIGITS[number], str(number), source.name, f"{source.kind}: before; the others: after")
                for number, source in enumerate(sources[:6])
            ]
        others = (
            (_HALVES, "older half", "what began in the first half of the time, against the second"),
            (_DAY, "a day", "what began before a day that you name, against what came since"),
            (_FILE, "a file or folder", "a trace, or a report saved as JSON: before"),
        )
        for name, head, text in others:
            choices.append(Choice(_DIGITS[len(choices)], name, head, text))

        def chosen(name: str | None) -> None:
            if name is not None:
                self._compare_with(name, report)

        self.app.push_screen(PickDialog("compare with what was before", choices), chosen)

    def _compare_with(self, name: str, report: Report) -> None:
        if name == _FILE:
            self._ask("path of a trace, a folder, or a saved report", "", self._compare_file)
        elif name == _DAY:
            self._ask("the first day of what came after (2026-06-01)", "", self._compare_day)
        elif name == _HALVES:
            self._compare_halves(report)
        else:
            before = self.side.sources[int(name)]
            rest = tuple(source for source in self.side.sources if source is not before)
            self._show(Sides(replace(self.side, sources=(before,)), replace(self.side, sources=rest)))

    def _ask(self, title: str, value: str, then: Callable[[str], None]) -> None:
        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                then(text.strip())

        self.app.push_screen(NoteDialog(title, value), answered)

    def _compare_file(self, text: str) -> None:
        self._show(Sides(Path(text).expanduser(), self.side))

    def _compare_day(self, text: str) -> None:
        try:
            day = datetime.fromisoformat(text).astimezone()
        except ValueError:
            self.reach.say(f"{text}: not a day; write 2026-06-01", severity="warning")
            return
        self._show(at_time(self.side, int(day.timestamp() * 1000)))

    def _compare_halves(self, report: Report) -> None:
        first, last = report.scope.first, report.scope.last
        if first is None or last is None or last <= first:
            self.reach.say("the sessions have no span of time to halve", severity="warning")
        else:
            self._show(at_time(self.side, (first + last) // 2))

    def _show(self, sides: Sides) -> None:
        from reach_tui.tui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(sides))

    def sources_of(self) -> list[Source]:
        """The sources, for lists of calls."""
        return list(self.side.sources)

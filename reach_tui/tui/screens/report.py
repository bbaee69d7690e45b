"""The report on everything that is open; Enter on a number lists the calls behind it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.base.errors import ReachError
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report
from reach_tui.report.tables import headline
from reach_tui.tui.commands import REPORT, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.report_rows import ReportRow, report_rows
from reach_tui.tui.screens.reading import ReadingList, ReadingScreen
from reach_tui.tui.screens.report_actions import ReportActions
from reach_tui.tui.widgets.line_view import cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.comparing import Side
from reach_tui.workspace.reading import Stopped, read_all
from reach_tui.workspace.reporting import Collector, Selection

if TYPE_CHECKING:
    from reach_tui.report.inferred import InferredRows


class ReportList(ReadingList):
    """The rows of the report."""

    def __init__(self) -> None:
        super().__init__(id="report")
        self.rows: list[ReportRow] = []

    def show(self, rows: list[ReportRow]) -> None:
        """Show these rows; the cursor stays on what it stood for."""
        before = self.row
        self.rows = rows
        self.set_count(len(rows))
        if before is not None and before.behind and self.row is not None and not before.same(self.row):
            self.cursor = next((index for index, row in enumerate(rows) if before.same(row)), self.cursor)

    @property
    def row(self) -> ReportRow | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def line_at(self, index: int, width: int) -> Line:
        row = self.rows[index]
        return [(cursor_mark(self, index), "key"), *row.line]


class ReportScreen(ReportActions, ReadingScreen):
    """Rates, classes, guards, causes, loops and data health of the open traces."""

    commands_of = REPORT
    BINDINGS: ClassVar[list[Binding]] = bindings_for(REPORT)  # type: ignore[assignment]
    reads = "report"

    @dataclass
    class Built(Message):
        """The report is there."""

        report: Report
        problems: list[ReachError]

    @dataclass
    class Inferring(Message):
        """So many sessions have been inferred, in so many seconds."""

        sessions: int
        seconds: float

    @dataclass
    class Inferred(Message):
        """The inferred part is there."""

        rows: InferredRows
        problems: list[ReachError]

    def __init__(self, sources: list[Source]) -> None:
        super().__init__()
        self._sources = sources
        self.report: Report | None = None
        self._inferred: InferredRows | None = None
        self._status = ""
        self.selection = Selection()
        self.count_soft = False
        """True once the person has switched the soft signals on."""

    def compose_body(self) -> ComposeResult:
        yield ReportList()

    def begin(self) -> None:
        self._collect()

    @property
    def report_list(self) -> ReportList:
        """The list, with its own type."""
        return self.query_one(ReportList)

    @work(thread=True, group="report", description="report", exit_on_error=False)
    def _collect(self) -> None:
        collector = Collector(self.reach.workspace, self.selection)
        with suppress(Stopped):
            problems = read_all(self._sources, collector.tallies, self.telling())
            self.post_message(self.Built(collector.report(), problems))

    def how_far(self, message: ReadingScreen.Progress) -> str:
        return f"{super().how_far(message)}, {message.sessions / max(message.seconds, 0.001):,.0f} a second"

    @on(Built)
    def _built(self, message: Built) -> None:
        self.report = message.report
        self.warn(message.problems)
        self.lay_out()
        self.refresh_bars()

    def lay_out(self) -> None:
        if self.report is not None:
            self.report_list.show(
                report_rows(self.report, self.report_list.line_width, self.reach.glyphs, soft=self.count_soft)
            )

    def action_open(self) -> None:
        self.open_row(self.report_list.row)

    @property
    def side(self) -> Side:
        """What the report counts."""
        return Side(tuple(self._sources), self.selection)

    def exported(self) -> tuple[Report, Comparison | None] | None:
        """The report, once it is there."""
        return (self.report, None) if self.report is not None else None

    def action_compare(self) -> None:
        """Hold it against what was before."""
        if self.report is not None:
            self.compare(self.report)
        else:
            self.reach.say("the report is not there yet")

    def action_soft(self) -> None:
        """Show the soft signals of each tool, or not."""
        self.count_soft = not self.count_soft
        self.lay_out()
        state = "soft signals are shown below each tool" if self.count_soft else "soft signals are left out again"
        self.reach.say(state)

    # The inferred part, symptoms, metrics, suggestions

    def action_inferred(self) -> None:
        """Show the inferred part, or leave it out again; the first time every step is read."""
        if self.report is None:
            self.reach.say("the report is not there yet")
        elif self._inferred is None:
            if not self._status:
                self._status = "inferring …  Escape stops"
                self._infer()
        else:
            shown = None if self.report.inferred is not None else self._inferred
            self._show_inferred(shown)
        self.refresh_bars()

    @work(thread=True, group="report", description="inferred", exit_on_error=False)
    def _infer(self) -> None:
        from reach_tui.workspace.inferred_report import InferredCollector

        collector = InferredCollector(self.reach.workspace, self.selection)
        with suppress(Stopped):
            problems = read_all(self._sources, collector.tallies, self.telling(self.Inferring))
            self.post_message(self.Inferred(collector.rows(), problems))

    @on(Inferring)
    def _inferring(self, message: Inferring) -> None:
        self._status = f"{message.sessions:,} sessions inferred …  Escape stops"
        self.refresh_bars()

    @on(Inferred)
    def _now_inferred(self, message: Inferred) -> None:
        self._inferred, self._status = message.rows, ""
        self.warn(message.problems)
        self._show_inferred(message.rows)
        self.refresh_bars()

    def _show_inferred(self, rows: InferredRows | None) -> None:
        if self.report is None:
            return
        listed = self.report_list
        without = [row.line for row in listed.rows]
        self.report = replace(self.report, inferred=rows)
        self.lay_out()
        first = next((i for i, row in enumerate(listed.rows) if i >= len(without) or row.line != without[i]), None)
        if rows is None:
            self.reach.say("the inferred part is left out again")
        elif first is not None:  # its first table on top
            listed.cursor = min(first + 1, listed.count - 1)
            listed.top = first
        else:
            self.reach.say("nothing could be inferred: there is no call with a request before it")

    def action_symptoms(self) -> None:
        """The symptoms over what the report is about."""
        from reach_tui.tui.screens.symptoms import SymptomsScreen

        self.app.push_screen(SymptomsScreen(self._sources))

    def action_metrics(self) -> None:
        """The four metrics over what the report is about."""
        from reach_tui.tui.screens.metrics import MetricsScreen

        self.app.push_screen(MetricsScreen(self._sources))

    def action_suggestions(self) -> None:
        """What to change first."""
        from reach_tui.tui.screens.suggestions import SuggestionsScreen

        self.app.push_screen(SuggestionsScreen(self._sources))

    def action_back(self) -> None:
        if self._status:  # the first Escape stops inferring
            self.workers.cancel_group(self, self.reads)
            self._status = ""
            self.refresh_bars()
            return
        super().action_back()

    def head(self, width: int) -> tuple[Line, Line]:
        text = headline(self.report.scope) if self.report is not None else "report"
        right: Line = (
            [(f"{self._status} ", "key")]
            if self._status
            else [("Enter shows the calls behind a number ", "dim")]
            if width >= 140
            else []
        )
        return [(f" {text}", "title")], right

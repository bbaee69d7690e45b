"""Before and after: what changed in each tool and class, and whether it is more than chance."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.base.errors import ReachError
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report
from reach_tui.tui.commands import COMPARE, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.report_rows import comparison_rows
from reach_tui.tui.screens.reading import ReadingScreen
from reach_tui.tui.screens.report import ReportList
from reach_tui.tui.screens.report_actions import ReportActions
from reach_tui.workspace.comparing import Compared, Side, Sides, compared
from reach_tui.workspace.reading import Stopped


class CompareScreen(ReportActions, ReadingScreen):
    """Two sides, counted and held side by side."""

    commands_of = COMPARE
    BINDINGS: ClassVar[list[Binding]] = bindings_for(COMPARE)  # type: ignore[assignment]
    reads = "compare"

    @dataclass
    class Done(Message):
        """The comparison, or why there is none."""

        found: Compared | ReachError

    def __init__(self, sides: Sides) -> None:
        super().__init__()
        self._sides = sides
        self.found: Compared | None = None

    @property
    def side(self) -> Side:
        """What came after."""
        return self._sides.after

    def exported(self) -> tuple[Report, Comparison | None] | None:
        """The report on what came after, with the comparison."""
        return (self.found.after, self.found.comparison) if self.found is not None else None

    def compose_body(self) -> ComposeResult:
        yield ReportList()

    def begin(self) -> None:
        self._compare()

    @property
    def report_list(self) -> ReportList:
        """The list, with its own type."""
        return self.query_one(ReportList)

    @work(thread=True, group="compare", description="compare", exit_on_error=False)
    def _compare(self) -> None:
        with suppress(Stopped):
            try:
                self.post_message(self.Done(compared(self.reach.workspace, self._sides, self.telling())))
            except ReachError as error:
                self.post_message(self.Done(error))

    @on(Done)
    def _done(self, message: Done) -> None:
        if isinstance(message.found, ReachError):
            self.reach.say(message.found.line(), severity="error")
            self.wait(f"no comparison: {message.found.line()}")
            return
        self.found = message.found
        self.warn(self.found.problems)
        self.lay_out()
        self.refresh_bars()

    def lay_out(self) -> None:
        if self.found is not None:
            self.report_list.show(comparison_rows(self.found, self.report_list.line_width))

    def action_open(self) -> None:
        self.open_row(self.report_list.row)

    def head(self, width: int) -> tuple[Line, Line]:
        before = self._sides.before
        name = before.name if isinstance(before, Path) else ", ".join(one.name for one in before.sources[:2])
        right: Line = [("Enter shows the calls after ", "dim")] if width >= 100 else []
        left: Line = [(" before and after", "title"), (f"  against {name}", "dim")]
        return left, right

"""Before and after: what changed in each tool and class, and whether it is more than chance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding
from textual.message import Message
from textual.worker import Worker, get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report
from reach_tui.tui.commands import COMPARE, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.report_rows import comparison_rows
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.report import ReportList
from reach_tui.tui.screens.report_actions import ReportActions
from reach_tui.workspace.comparing import Compared, Side, Sides, compared

_TELL_SECONDS = 0.2


class _Stopped(Exception):
    """The person has left."""


class CompareScreen(ReportActions, FramedScreen):
    """Two sides, counted and held side by side."""

    commands_of = COMPARE
    BINDINGS: ClassVar[list[Binding]] = bindings_for(COMPARE)  # type: ignore[assignment]

    @dataclass
    class Progress(Message):
        """So many sessions have been read."""

        sessions: int

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

    def make_list(self) -> ReportList:
        return ReportList()

    def begin(self) -> None:
        self.report_list.waiting = "reading …  Escape stops"
        self.report_list.focus()
        self._compare()

    @property
    def report_list(self) -> ReportList:
        """The list, with its own type."""
        return self.query_one(ReportList)

    @work(thread=True, group="compare", description="compare", exit_on_error=False)
    def _compare(self) -> None:
        watch = _Watch(self, get_current_worker())
        try:
            found: Compared | ReachError = compared(self.reach.workspace, self._sides, watch)
        except ReachError as error:
            found = error
        except _Stopped:
            return
        self.post_message(self.Done(found))

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        self.report_list.waiting = f"{message.sessions:,} sessions read …  Escape stops"
        self.report_list.refresh()

    @on(Done)
    def _done(self, message: Done) -> None:
        rows = self.report_list
        if isinstance(message.found, ReachError):
            self.reach.say(message.found.line(), severity="error")
            rows.waiting = f"no comparison: {message.found.line()}"
            rows.refresh()
            return
        self.found = message.found
        for problem in self.found.problems[:3]:
            self.reach.say(problem.line(), severity="warning")
        rows.rows = comparison_rows(self.found, rows.line_width)
        rows.set_count(len(rows.rows))
        self.refresh_bars()

    def action_open(self) -> None:
        rows = self.report_list
        row = rows.rows[rows.cursor] if rows.rows else None
        if row is not None and row.query is not None:
            from reach_tui.tui.screens.calls import CallsScreen

            self.app.push_screen(CallsScreen(self.sources_of(), row.query, row.about, self.side.selection))

    def action_back(self) -> None:
        self.workers.cancel_group(self, "compare")
        self.app.pop_screen()

    def head(self, width: int) -> tuple[Line, Line]:
        before = self._sides.before
        name = before.name if isinstance(before, Path) else ", ".join(one.name for one in before.sources[:2])
        right: Line = [("Enter shows the calls after ", "dim")] if width >= 100 else []
        left: Line = [(" before and after", "title"), (f"  against {name}", "dim")]
        return left, right


class _Watch:
    """Tells the screen how many sessions were read, and ends the work when the person has left."""

    def __init__(self, screen: CompareScreen, worker: Worker[object]) -> None:
        self._screen, self._worker = screen, worker
        self._sessions, self._told = 0, 0.0

    def __call__(self) -> None:
        if self._worker.is_cancelled:
            raise _Stopped
        self._sessions += 1
        if time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self._screen.post_message(CompareScreen.Progress(self._sessions))

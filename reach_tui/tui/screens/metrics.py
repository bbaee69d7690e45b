"""The four metrics over everything that is open: rates, weeks, groups, and the tasks against with their step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.analyze.metric_words import WORDS
from reach_tui.analyze.outcomes import GROUPS
from reach_tui.base.errors import ReachError
from reach_tui.report.metrics import plain
from reach_tui.tui.commands import METRICS, bindings_for
from reach_tui.tui.lines import Line, padded, spread, wrap
from reach_tui.tui.metric_rows import MetricRow, metric_rows
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.screens.dialogs import TextDialog
from reach_tui.tui.screens.exporting import Exports
from reach_tui.tui.widgets.line_view import Bar, LineList, cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.measuring import Measuring

_TELL_SECONDS = 0.2
_MOST_AGAINST = 500


class MetricList(LineList):
    """The rows of the metrics."""

    def __init__(self) -> None:
        super().__init__(id="metrics")
        self.rows: list[MetricRow] = []
        self.waiting = ""

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.waiting}", "dim")] if index == 1 else []


class WordsDialog(TextDialog):
    """What each word means."""

    def __init__(self) -> None:
        super().__init__("what the words mean", [])

    def _build(self, width: int) -> list[Line]:
        lines: list[Line] = []
        for word, text in WORDS:
            lines.append([(word, "title")])
            lines += [[("  ", "text"), (row, "text")] for row in wrap(plain(text), width - 2)]
        return lines


class MetricsScreen(Exports, OpensCalls):
    """End to end, first pass, coverage, attribution; by tool, model, project or week."""

    commands_of = METRICS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(METRICS)  # type: ignore[assignment]

    @dataclass
    class Progress(Message):
        """So many sessions have been read."""

        sessions: int

    @dataclass
    class Measured(Message):
        """Everything has been added up."""

        found: Measuring
        problems: list[ReachError]

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self._sources = list(sources)
        self.several = len(self._sources) > 1
        self.found: Measuring | None = None
        self.by = GROUPS[0]

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield MetricList()
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.metric_list.waiting = "reading …  Escape stops"
        self.metric_list.focus()
        self._measure()

    @property
    def metric_list(self) -> MetricList:
        """The list, with its own type."""
        return self.query_one(MetricList)

    @work(thread=True, group="measure", description="measure", exit_on_error=False)
    def _measure(self) -> None:
        worker, told = get_current_worker(), time.monotonic()
        measuring = Measuring(self.reach.workspace, _MOST_AGAINST)
        problems: list[ReachError] = []
        for source in self._sources:
            try:
                for count in measuring.take(source):
                    if worker.is_cancelled:
                        return
                    if time.monotonic() - told > _TELL_SECONDS:
                        told = time.monotonic()
                        self.post_message(self.Progress(count))
            except ReachError as error:
                problems.append(error)
        self.post_message(self.Measured(measuring, problems))

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        self.metric_list.waiting = f"{message.sessions:,} sessions read …  Escape stops"
        self.metric_list.refresh()

    @on(Measured)
    def _measured(self, message: Measured) -> None:
        self.found = message.found
        for problem in message.problems[:3]:
            self.reach.say(problem.line(), severity="warning")
        self._lay_out()

    def on_resize(self) -> None:
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        rows = self.metric_list
        if self.found is not None:
            rows.rows = metric_rows(self.found, self.by, rows.line_width, self.reach.glyphs, self._title_of)
            rows.set_count(len(rows.rows))
        for bar in self.query(Bar):
            bar.refresh()

    def _title_of(self, session_id: str) -> str:
        source = self.found.homes.get(session_id) if self.found is not None else None
        return self.reach.title_of(source, session_id) if source is not None else session_id

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Go to the step that speaks against the task."""
        rows = self.metric_list
        task = rows.rows[rows.cursor].task if rows.rows else None
        if task is None or self.found is None:
            self.reach.say("Enter on a task against goes to its step; d says what the words mean")
            return
        source = self.found.homes[task.session_id]
        self.open_key(source, task.session_id, task.at_step if task.at_step is not None else task.first_step)

    def action_group(self) -> None:
        """The next grouping."""
        self.by = GROUPS[(GROUPS.index(self.by) + 1) % len(GROUPS)]
        self._lay_out()

    def action_definitions(self) -> None:
        """What each word means."""
        self.app.push_screen(WordsDialog())

    def export_name(self) -> str | None:
        """`metrics`, once they are there."""
        return "metrics" if self.found is not None else None

    def export_to(self, form: str, target: Path) -> int:
        """Write them. Raises `ReachError`."""
        from reach_tui.workspace.metrics_export import export_metrics

        assert self.found is not None
        return export_metrics(self.found, form, target, tuple(self._sources), self._title_of)

    def action_back(self) -> None:
        self.workers.cancel_group(self, "measure")
        self.app.pop_screen()

    def _top(self, width: int) -> list[Line]:
        names = ", ".join(one.name for one in self._sources[:3])
        more = f" +{len(self._sources) - 3}" if len(self._sources) > 3 else ""
        right: Line = [(f"by {self.by} ", "key")]
        left: Line = [(" metrics ", "title"), (f"· {names}{more}", "dim")]
        return [spread(left, right, width), [(self.reach.glyphs.rule * width, "rule")]]

    def _bottom(self, width: int) -> list[Line]:
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]

"""The four metrics over everything that is open: rates, weeks, groups, and the tasks against with their step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.analyze.metric_words import WORDS
from reach_tui.analyze.outcomes import GROUPS
from reach_tui.base.errors import ReachError
from reach_tui.report.metrics import plain
from reach_tui.tui.commands import METRICS, bindings_for
from reach_tui.tui.lines import Line, wrap
from reach_tui.tui.metric_rows import MetricRow, metric_rows
from reach_tui.tui.screens.base import named
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.screens.dialogs import TextDialog
from reach_tui.tui.screens.exporting import Exports
from reach_tui.tui.screens.reading import ReadingList, ReadingScreen
from reach_tui.tui.widgets.line_view import cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.measuring import Measuring
from reach_tui.workspace.reading import Stopped, read_all

_MOST_AGAINST = 500


class MetricList(ReadingList):
    """The rows of the metrics."""

    def __init__(self) -> None:
        super().__init__(id="metrics")
        self.rows: list[MetricRow] = []

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]


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


class MetricsScreen(Exports, OpensCalls, ReadingScreen):
    """End to end, first pass, coverage, attribution; by tool, model, project or week."""

    commands_of = METRICS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(METRICS)  # type: ignore[assignment]
    reads = "measure"

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

    def compose_body(self) -> ComposeResult:
        yield MetricList()

    def begin(self) -> None:
        self._measure()

    @property
    def metric_list(self) -> MetricList:
        """The list, with its own type."""
        return self.query_one(MetricList)

    @work(thread=True, group="measure", description="measure", exit_on_error=False)
    def _measure(self) -> None:
        measuring = Measuring(self.reach.workspace, _MOST_AGAINST)
        with suppress(Stopped):
            problems = read_all(self._sources, measuring.take, self.telling())
            self.post_message(self.Measured(measuring, problems))

    @on(Measured)
    def _measured(self, message: Measured) -> None:
        self.found = message.found
        self.warn(message.problems)
        self.lay_out()

    def lay_out(self) -> None:
        rows = self.metric_list
        if self.found is not None:
            rows.rows = metric_rows(self.found, self.by, rows.line_width, self.reach.glyphs, self._title_of)
            rows.set_count(len(rows.rows))
        self.refresh_bars()

    def _title_of(self, session_id: str) -> str:
        source = self.found.homes.get(session_id) if self.found is not None else None
        return self.reach.title_of(source, session_id) if source is not None else session_id

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
        self.lay_out()

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

    def head(self, width: int) -> tuple[Line, Line]:
        right: Line = [(f"by {self.by} ", "key")]
        left: Line = [(" metrics ", "title"), (f"· {named(self._sources)}", "dim")]
        return left, right

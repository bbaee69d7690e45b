"""The calls behind a number of the report; Enter opens the session at the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.tui.call_lines import CallLine, draw, line_of
from reach_tui.tui.commands import CALLS, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import Source
from reach_tui.workspace.finding import CallQuery, matching
from reach_tui.workspace.reporting import Selection

MOST = 10_000
"""Calls listed at the most."""
_BATCH = 200


class CallList(LineList):
    """Calls of many sessions."""

    def __init__(self) -> None:
        super().__init__(id="calls")
        self.calls: list[CallLine] = []
        self.advice = "reading …"

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice}", "dim")] if index == 1 else []

    def line_at(self, index: int, width: int) -> Line:
        app, one = app_of(self), self.calls[index]
        return draw(one, width, app.glyphs, app.now(), one.source.name, cursor=index == self.cursor)


class CallsScreen(OpensCalls, FramedScreen):
    """A list of calls, filled while they are found."""

    commands_of = CALLS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(CALLS)  # type: ignore[assignment]

    @dataclass
    class Found(Message):
        """Some calls have been found."""

        calls: list[CallLine]
        last: bool

    def __init__(self, sources: list[Source], query: CallQuery, about: str, selection: Selection) -> None:
        super().__init__()
        self._sources = sources
        self.several = len(sources) > 1
        self._query = query
        self._about = about
        self._selection = selection
        self.complete = False

    def compose_body(self) -> ComposeResult:
        yield CallList()

    def begin(self) -> None:
        self.call_list.focus()
        self._find()

    @property
    def call_list(self) -> CallList:
        """The list, with its own type."""
        return self.query_one(CallList)

    @work(thread=True, group="find", description="find", exit_on_error=False)
    def _find(self) -> None:
        worker = get_current_worker()
        batch: list[CallLine] = []
        found = 0
        try:
            for source, judged in matching(self.reach.workspace, self._sources, self._query, self._selection):
                batch.append(line_of(source, judged, self.reach.glyphs))
                found += 1
                if len(batch) >= _BATCH or found == _BATCH // 10:
                    self.post_message(self.Found(batch, last=False))
                    batch = []
                if worker.is_cancelled or found >= MOST:
                    break
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
        self.post_message(self.Found(batch, last=True))

    @on(Found)
    def _found(self, message: Found) -> None:
        self.call_list.calls += message.calls
        self.complete = message.last
        if message.last:
            self.call_list.advice = "no such call"
        self.call_list.set_count(len(self.call_list.calls))
        self.refresh_bars()

    def action_open(self) -> None:
        rows = self.call_list
        if rows.calls:
            self.open_call(rows.calls[rows.cursor])

    def action_back(self) -> None:
        self.workers.cancel_group(self, "find")
        self.app.pop_screen()

    def head(self, width: int) -> tuple[Line, Line]:
        count = len(self.call_list.calls)
        more = "" if self.complete else " …"
        limit = f" (the first {MOST:,})" if count >= MOST else ""
        right: Line = [(f"{count:,} call{'' if count == 1 else 's'}{limit}{more} ", "dim")]
        return [(f" {one_line(self._about)}", "title")], right

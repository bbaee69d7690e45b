"""What stands behind a number of the report: calls, steps or sessions; Enter opens the session there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.tui.call_lines import CallLine, draw, line_of, line_of_session, line_of_step
from reach_tui.tui.commands import CALLS, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.report_numbers import Counted
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import Source
from reach_tui.workspace.finding import Hit, Query, matching
from reach_tui.workspace.reading import Stopped, Watch
from reach_tui.workspace.reporting import Selection

MOST = 10_000
"""Calls listed at the most."""
_BATCH = 200
_TELL_SECONDS = 0.2


class CallList(LineList):
    """Calls of many sessions, steps of theirs, or the sessions."""

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
        """Some have been found by that run; what an earlier one still sends is not shown."""

        run: int
        calls: list[CallLine]
        last: bool

    @dataclass
    class Progress(Message):
        """So many sessions have been read."""

        run: int
        sessions: int

    def __init__(
        self,
        sources: list[Source],
        query: Query,
        about: str,
        selection: Selection,
        others: Sequence[Counted] = (),
    ) -> None:
        """`others`: the other numbers of the same row."""
        super().__init__()
        self._sources = sources
        self.several = len(sources) > 1
        self._query = query
        self._about = about
        self._selection = selection
        self._others = [*others]
        self._read = 0
        self._run = 0
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

    @work(thread=True, group="find", description="find", exclusive=True, exit_on_error=False)
    def _find(self) -> None:
        worker, run, query = get_current_worker(), self._run, self._query
        watch = Watch(lambda: worker.is_cancelled, lambda read: self.post_message(self.Progress(run, read)))
        batch: list[CallLine] = []
        found, told = 0, 0.0
        try:
            for hit in matching(self.reach.workspace, self._sources, query, self._selection, watch):
                if worker.is_cancelled:
                    return
                batch.append(self._line(hit))
                found += 1
                if len(batch) >= _BATCH or time.monotonic() - told > _TELL_SECONDS:
                    self.post_message(self.Found(run, batch, last=False))
                    batch, told = [], time.monotonic()
                if found >= MOST:
                    break
        except Stopped:
            return
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
        self.post_message(self.Found(run, batch, last=True))

    def _line(self, hit: Hit) -> CallLine:
        glyphs = self.reach.glyphs
        if hit.judged is not None:
            return line_of(hit.source, hit.judged, glyphs)
        title = self.reach.title_of(hit.source, hit.session_id)
        if hit.step is not None:
            return line_of_step(hit, hit.step, title, glyphs)
        return line_of_session(hit, title, glyphs)

    @on(Found)
    def _found(self, message: Found) -> None:
        if message.run != self._run:
            return
        self.call_list.calls += message.calls
        self.complete = message.last
        if message.last:
            self.call_list.advice = f"no such {self._query.things}"
        self.call_list.set_count(len(self.call_list.calls))
        self.refresh_bars()

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        if message.run == self._run and not self.complete:
            self._read = message.sessions
            self.call_list.advice = f"{message.sessions:,} sessions read …  Escape leaves"
            self.call_list.refresh()
            self.refresh_bars()

    def action_next_number(self) -> None:
        """List what the next number of the report's row counts."""
        if not self._others:
            self.reach.say("the line has no other number")
            return
        following = self._others.pop(0)
        self._others.append(Counted(self._query, self._about, 0))
        self._query, self._about = following.query, following.about
        self._run, self._read, self.complete = self._run + 1, 0, False
        rows = self.call_list
        rows.calls, rows.advice = [], "reading …"
        rows.set_count(0)
        self._find()
        self.refresh_bars()

    def action_open(self) -> None:
        rows = self.call_list
        if rows.calls:
            self.open_call(rows.calls[rows.cursor])

    def action_back(self) -> None:
        self.workers.cancel_group(self, "find")
        self.app.pop_screen()

    def head(self, width: int) -> tuple[Line, Line]:
        count, things = len(self.call_list.calls), self._query.things
        more = "" if self.complete else f", {self._read:,} sessions read …" if self._read else " …"
        limit = f" (the first {MOST:,})" if count >= MOST else ""
        right: Line = [(f"{count:,} {things[:-1] if count == 1 else things}{limit}{more} ", "dim")]
        return [(f" {one_line(self._about)}", "title")], right

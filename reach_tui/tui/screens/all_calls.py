"""Every call of every session as one list, however many; what is seen is read, the rest is only counted."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.timer import Timer
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.tui.call_lines import CallLine, draw, line_of
from reach_tui.tui.call_pages import CallPages, View
from reach_tui.tui.commands import ALL_CALLS, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.rows import title_of
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.screens.counted import CountedSessions
from reach_tui.tui.widgets.line_view import LineList, app_of

_AGAIN_SECONDS = 1.0
_VIEWS = tuple(View)


class EveryCall(LineList):
    """The rows; a row whose session is being read shows where it stands."""

    def __init__(self) -> None:
        super().__init__(id="every-call")
        self.pages = CallPages((), View.ALL)
        self.advice = ""

    def line_at(self, index: int, width: int) -> Line:
        app, pages, cursor = app_of(self), self.pages, index == self.cursor
        number = pages.number(index)
        title = title_of(pages.entry(number).judged)
        one = pages.line(index)
        if one is not None:
            return draw(one, width, app.glyphs, app.now(), title, cursor=cursor)
        text = "changed since it was counted" if pages.is_read(number) else "…"
        return [(app.glyphs.cursor if cursor else " ", "key"), (f" {text}  {title}", "dim")]

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice}", "dim")] if index == 1 else []


class AllCallsScreen(OpensCalls, FramedScreen):
    """All calls, newest session first."""

    commands_of = ALL_CALLS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(ALL_CALLS)  # type: ignore[assignment]

    @dataclass
    class Read(Message):
        """The calls of a session."""

        pages: CallPages
        number: int
        lines: list[CallLine]

    def __init__(self, sessions: CountedSessions) -> None:
        super().__init__()
        self._sessions = sessions
        self.several = len(sessions.sources) > 1
        self._view = View.ALL
        self._counted = -1
        self._wanted: list[int] = []
        self._asked = threading.Event()
        self._left = False
        self._timer: Timer | None = None

    def compose_body(self) -> ComposeResult:
        yield EveryCall()

    def begin(self) -> None:
        rows = self.call_list
        rows.focus()
        rows.saw = self._ask
        self._lay_out()
        self._read()
        self._timer = self.set_interval(_AGAIN_SECONDS, self._lay_out_if_more)

    def on_unmount(self) -> None:
        self._left = True
        self._asked.set()  # or the thread would wait for ever, and the program with it

    @property
    def call_list(self) -> EveryCall:
        """The list, with its own type."""
        return self.query_one(EveryCall)

    def _lay_out_if_more(self) -> None:
        if self._sessions.progress.counted != self._counted:
            self._lay_out()

    def _lay_out(self) -> None:
        """Take the sessions counted by now; the cursor stays on its call."""
        rows = self.call_list
        place = rows.pages.place(rows.cursor) if rows.pages.count else None
        beside = rows.cursor - rows.top
        progress = self._sessions.progress
        self._counted = progress.counted
        rows.pages = CallPages(self._sessions.entries.values(), self._view)
        waiting = progress.counted < progress.sessions
        rows.advice = "counting …" if waiting else f"no {self._view.value}:  v shows others"
        row = rows.pages.row(place) if place is not None else None
        rows.set_count(rows.pages.count)
        if row is not None:
            rows.top = row - beside
            rows.cursor = row
        self._ask()
        self.refresh_bars()

    # Reading what is seen

    def _ask(self) -> None:
        rows = self.call_list
        height = rows.size.height or self.app.size.height
        self._wanted = rows.pages.wanted(range(rows.top, min(rows.count, rows.top + height)))
        if self._wanted:
            self._asked.set()

    @work(thread=True, group="read", description="read", exit_on_error=False)
    def _read(self) -> None:
        worker, told = get_current_worker(), False
        while not (worker.is_cancelled or self._left):
            self._asked.wait()
            self._asked.clear()
            while not (worker.is_cancelled or self._left) and (wanted := self._wanted):
                pages, number = self.call_list.pages, wanted[0]
                self._wanted = wanted[1:]
                try:
                    lines = self._lines(pages, number)
                except ReachError as error:
                    lines = []
                    if not told:
                        told = True
                        self.app.call_from_thread(self.reach.say, error.line(), severity="error")
                self.post_message(self.Read(pages, number, lines))

    def _lines(self, pages: CallPages, number: int) -> list[CallLine]:
        entry, view, workspace = pages.entry(number), pages.view, self.reach.workspace
        calls = workspace.judge(entry.source, entry.source.reader.calls([entry.judged.session.id]))
        return [line_of(entry.source, one, self.reach.glyphs) for one in calls if view.takes(one)]

    @on(Read)
    def _some_read(self, message: Read) -> None:
        rows = self.call_list
        if message.pages is rows.pages:
            rows.pages.put(message.number, message.lines)
            rows.redraw_lines(index for index in rows.seen if index in rows.pages.rows_of(message.number))

    # Keys

    def action_open(self) -> None:
        rows = self.call_list
        one = rows.pages.line(rows.cursor) if rows.count else None
        if one is not None:
            self.open_call(one)

    def action_view_calls(self) -> None:
        """All calls, the failed ones, the hidden ones."""
        self._view = _VIEWS[(_VIEWS.index(self._view) + 1) % len(_VIEWS)]
        self._lay_out()

    def action_back(self) -> None:
        self.app.pop_screen()

    # Bars

    def head(self, width: int) -> tuple[Line, Line]:
        progress = self._sessions.progress
        count = self.call_list.count
        more = "" if progress.counted >= progress.sessions else f" · {progress.counted / progress.sessions:.0%} counted"
        right: Line = [(f"{count:,} calls{more} ", "dim")]
        left: Line = [(f" {self._view.value}", "title"), ("  newest session first", "dim")]
        return left, right

"""The calls behind a number of the report; Enter opens the session at the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.model import Session
from reach_tui.tui.commands import CALLS, bindings_for
from reach_tui.tui.glyphs import mark_of
from reach_tui.tui.lines import Line, fit, padded, spread
from reach_tui.tui.rows import about_call, when
from reach_tui.tui.screens.base import ListScreen
from reach_tui.tui.widgets.line_view import Bar, LineList
from reach_tui.workspace import JudgedCall, JudgedSession, Source
from reach_tui.workspace.finding import CallQuery, matching
from reach_tui.workspace.reporting import Selection

MOST = 10_000
"""Calls listed at the most."""
_BATCH = 200


class CallList(LineList):
    """Calls of many sessions."""

    def __init__(self) -> None:
        super().__init__(id="calls")
        self.calls: list[tuple[Source, JudgedCall]] = []

    def line_at(self, index: int, width: int) -> Line:
        from reach_tui.tui.app import ReachApp

        assert isinstance(self.app, ReachApp)
        source, judged = self.calls[index]
        call = judged.call
        mark = mark_of(call, judged.verdict, self.app.glyphs)
        evidence = one_line(judged.verdict.evidence.text) if judged.verdict.evidence else ""
        rest = max(10, width - 2 - 13 - 3 - 18 - 1)
        half = rest // 2
        return [
            (self.app.glyphs.cursor if index == self.cursor else " ", "key"),
            (" ", "text"),
            (fit(when(call.started_at, self.app.now()), 13), "dim"),
            (f"{mark.glyph}  ", mark.style),
            (f"{fit(call.shown_tool, 18)} ", mark.style),
            (f"{fit(about_call(call.arguments), half - 1)} ", "text"),
            (fit(evidence or source.name, rest - half), "dim"),
        ]


class CallsScreen(ListScreen):
    """A list of calls, filled while they are found."""

    commands_of = CALLS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(CALLS)  # type: ignore[assignment]

    @dataclass
    class Found(Message):
        """Some calls have been found."""

        calls: list[tuple[Source, JudgedCall]]
        last: bool

    def __init__(self, sources: list[Source], query: CallQuery, about: str, selection: Selection) -> None:
        super().__init__()
        self._sources = sources
        self._query = query
        self._about = about
        self._selection = selection
        self.complete = False

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield CallList()
        yield Horizontal(id="filter-line")
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.call_list.focus()
        self._find()

    @property
    def call_list(self) -> CallList:
        """The list, with its own type."""
        return self.query_one(CallList)

    @work(thread=True, group="find", description="find", exit_on_error=False)
    def _find(self) -> None:
        worker = get_current_worker()
        batch: list[tuple[Source, JudgedCall]] = []
        found = 0
        try:
            for pair in matching(self.reach.workspace, self._sources, self._query, self._selection):
                batch.append(pair)
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
        self.call_list.set_count(len(self.call_list.calls))
        for bar in self.query(Bar):
            bar.refresh()

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        rows = self.call_list
        if rows.calls:
            source, judged = rows.calls[rows.cursor]
            self._open(source, judged)

    @work(thread=True, group="open", description="open", exclusive=True, exit_on_error=False)
    def _open(self, source: Source, judged: JudgedCall) -> None:
        try:
            session = source.reader.session(judged.call.session_id)
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
            return
        self.app.call_from_thread(self._show, source, session, judged.call.session_id, judged.call.key)

    def _show(self, source: Source, session: Session | None, session_id: str, key: str) -> None:
        from reach_tui.tui.screens.session import SessionScreen

        shown = session or Session(source.kind, session_id)
        self.app.push_screen(SessionScreen(source, JudgedSession(shown), several=len(self._sources) > 1, at=key))

    def action_back(self) -> None:
        self.workers.cancel_group(self, "find")
        self.app.pop_screen()

    def _top(self, width: int) -> list[Line]:
        count = len(self.call_list.calls)
        more = "" if self.complete else " …"
        limit = f" (the first {MOST:,})" if count >= MOST else ""
        right: Line = [(f"{count:,} calls{limit}{more} ", "dim")]
        return [
            spread([(f" {one_line(self._about)}", "title")], right, width),
            [(self.reach.glyphs.rule * width, "rule")],
        ]

    def _bottom(self, width: int) -> list[Line]:
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]

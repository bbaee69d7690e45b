"""What labels and times suggest to change, each with the calls that speak for it. Nothing is changed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.worker import Worker, get_current_worker

from reach_tui.analyze.suggestions import Suggestion
from reach_tui.base.errors import ReachError
from reach_tui.tui.commands import SUGGESTIONS, bindings_for
from reach_tui.tui.lines import Line, padded, spread
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.suggestion_rows import SuggestionRow, suggestion_rows
from reach_tui.tui.widgets.line_view import Bar, LineList, cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.finding import CallQuery
from reach_tui.workspace.reporting import Selection
from reach_tui.workspace.suggesting import Example, suggested

_TELL_SECONDS = 0.2


class _Stopped(Exception):
    """The person has left."""


class SuggestionList(LineList):
    """Suggestions and their examples."""

    def __init__(self) -> None:
        super().__init__(id="suggestions")
        self.rows: list[SuggestionRow] = []
        self.waiting = ""

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.waiting}", "dim")] if index == 1 else []


class SuggestionsScreen(OpensCalls):
    """Rules to narrow, failures that no rule finds, limits to move; Enter shows the calls."""

    commands_of = SUGGESTIONS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SUGGESTIONS)  # type: ignore[assignment]

    @dataclass
    class Progress(Message):
        """So many sessions have been read."""

        sessions: int

    @dataclass
    class Done(Message):
        """The suggestions, or why there are none."""

        found: tuple[list[Suggestion], dict[str, Example]] | ReachError

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self._sources = list(sources)
        self.several = len(self._sources) > 1
        self.found: list[Suggestion] | None = None
        self._examples: Mapping[str, Example] = {}

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield SuggestionList()
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.suggestion_list.waiting = "reading …  Escape stops"
        self.suggestion_list.focus()
        self._suggest()

    @property
    def suggestion_list(self) -> SuggestionList:
        """The list, with its own type."""
        return self.query_one(SuggestionList)

    @work(thread=True, group="suggest", description="suggest", exit_on_error=False)
    def _suggest(self) -> None:
        watch = _Watch(self, get_current_worker())
        try:
            found = suggested(self.reach.workspace, self._sources, watch)
        except ReachError as error:
            self.post_message(self.Done(error))
        except _Stopped:
            return
        else:
            self.post_message(self.Done(found))

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        self.suggestion_list.waiting = f"{message.sessions:,} sessions read …  Escape stops"
        self.suggestion_list.refresh()

    @on(Done)
    def _done(self, message: Done) -> None:
        if isinstance(message.found, ReachError):
            self.reach.say(message.found.line(), severity="error")
            self.suggestion_list.waiting = f"no suggestions: {message.found.line()}"
            self.suggestion_list.refresh()
            return
        self.found, self._examples = message.found
        self._lay_out()

    def on_resize(self) -> None:
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        rows = self.suggestion_list
        if self.found is not None:
            width, glyphs = rows.line_width, self.reach.glyphs
            rows.rows = suggestion_rows(self.found, self._examples, width, glyphs, self._title_of)
            rows.set_count(len(rows.rows))
        for bar in self.query(Bar):
            bar.refresh()

    def _title_of(self, example: Example) -> str:
        return self.reach.title_of(example.source, example.session_id)

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """The call of the row; for a time limit the tool's calls."""
        rows = self.suggestion_list
        row = rows.rows[rows.cursor] if rows.rows else None
        if row is None or row.suggestion is None:
            return
        example = row.example or next(filter(None, map(self._examples.get, row.suggestion.examples)), None)
        if example is not None:
            self.open_key(example.source, example.session_id, example.key)
        elif row.suggestion.tool:
            from reach_tui.tui.screens.calls import CallsScreen

            query = CallQuery(row.suggestion.tool)
            self.app.push_screen(CallsScreen(self._sources, query, row.suggestion.what, Selection()))
        else:
            self.reach.say("the evidence is in its numbers: no call stands for it")

    def action_back(self) -> None:
        self.workers.cancel_group(self, "suggest")
        self.app.pop_screen()

    def _top(self, width: int) -> list[Line]:
        left: Line = [(" what to change first ", "title"), ("· nothing is changed by itself", "dim")]
        right: Line = [(f"{len(self.found):,} suggestions ", "dim")] if self.found is not None else []
        return [spread(left, right, width), [(self.reach.glyphs.rule * width, "rule")]]

    def _bottom(self, width: int) -> list[Line]:
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]


class _Watch:
    """Tells the screen how many sessions were read, and ends the work when the person has left."""

    def __init__(self, screen: SuggestionsScreen, worker: Worker[object]) -> None:
        self._screen, self._worker = screen, worker
        self._sessions, self._told = 0, 0.0

    def __call__(self) -> None:
        if self._worker.is_cancelled:
            raise _Stopped
        self._sessions += 1
        if time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self._screen.post_message(SuggestionsScreen.Progress(self._sessions))

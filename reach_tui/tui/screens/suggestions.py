"""What labels and times suggest to change, each with the calls that speak for it. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.analyze.suggestions import Suggestion
from reach_tui.base.errors import ReachError
from reach_tui.tui.commands import SUGGESTIONS, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.screens.reading import ReadingList, ReadingScreen
from reach_tui.tui.suggestion_rows import SuggestionRow, suggestion_rows
from reach_tui.tui.widgets.line_view import cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.finding import CallQuery
from reach_tui.workspace.reading import Stopped
from reach_tui.workspace.reporting import Selection
from reach_tui.workspace.suggesting import Example, suggested


class SuggestionList(ReadingList):
    """Suggestions and their examples."""

    def __init__(self) -> None:
        super().__init__(id="suggestions")
        self.rows: list[SuggestionRow] = []

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]


class SuggestionsScreen(OpensCalls, ReadingScreen):
    """Rules to narrow, failures that no rule finds, limits to move; Enter shows the calls."""

    commands_of = SUGGESTIONS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SUGGESTIONS)  # type: ignore[assignment]
    reads = "suggest"

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

    def compose_body(self) -> ComposeResult:
        yield SuggestionList()

    def begin(self) -> None:
        self._suggest()

    @property
    def suggestion_list(self) -> SuggestionList:
        """The list, with its own type."""
        return self.query_one(SuggestionList)

    @work(thread=True, group="suggest", description="suggest", exit_on_error=False)
    def _suggest(self) -> None:
        with suppress(Stopped):
            try:
                self.post_message(self.Done(suggested(self.reach.workspace, self._sources, self.telling())))
            except ReachError as error:
                self.post_message(self.Done(error))

    @on(Done)
    def _done(self, message: Done) -> None:
        if isinstance(message.found, ReachError):
            self.reach.say(message.found.line(), severity="error")
            self.wait(f"no suggestions: {message.found.line()}")
            return
        self.found, self._examples = message.found
        self.lay_out()

    def lay_out(self) -> None:
        rows = self.suggestion_list
        if self.found is not None:
            width, glyphs = rows.line_width, self.reach.glyphs
            rows.rows = suggestion_rows(self.found, self._examples, width, glyphs, self._title_of)
            rows.set_count(len(rows.rows))
        self.refresh_bars()

    def _title_of(self, example: Example) -> str:
        return self.reach.title_of(example.source, example.session_id)

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

    def head(self, width: int) -> tuple[Line, Line]:
        left: Line = [(" what to change first ", "title"), ("· nothing is changed by itself", "dim")]
        right: Line = [(f"{len(self.found):,} suggestions ", "dim")] if self.found is not None else []
        return left, right

"""What the screens with a list share: moving, the key line, the filter line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.css.query import NoMatches
from textual.screen import Screen

from reach_tui.tui.commands import commands_for, shown_keys
from reach_tui.tui.lines import Line, padded, spread, width_of
from reach_tui.tui.widgets.line_view import Bar, LineList, LineView

if TYPE_CHECKING:
    from textual.widgets import Input

    from reach_tui.tui.app import ReachApp
    from reach_tui.workspace import Source


def named(sources: Sequence[Source]) -> str:
    """The names of the first sources, and how many more there are."""
    more = f" +{len(sources) - 3}" if len(sources) > 3 else ""
    return ", ".join(source.name for source in sources[:3]) + more


class ListScreen(Screen[None]):
    """A screen around one list, with a filter line and a line of keys."""

    commands_of: ClassVar[str]
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-narrow"), (100, "-wide")]  # type: ignore[misc]
    filter_hint: ClassVar[str] = "filter"

    @property
    def reach(self) -> ReachApp:
        """The app, with its own type."""
        from reach_tui.tui.app import ReachApp

        assert isinstance(self.app, ReachApp)
        return self.app

    @property
    def line_list(self) -> LineList:
        """The list the cursor keys move."""
        return self.query_one(LineList)

    @property
    def moving_view(self) -> LineView:
        """The view that the cursor keys move: the focused one, else the list."""
        focused = self.focused
        return focused if isinstance(focused, LineView) else self.line_list

    def _move(self, step: int) -> None:
        view = self.moving_view
        if isinstance(view, LineList):
            view.cursor += step
        else:
            view.scroll_lines(step)

    def action_down(self) -> None:
        self._move(1)

    def action_up(self) -> None:
        self._move(-1)

    def action_page_down(self) -> None:
        self._move(self.moving_view.page())

    def action_page_up(self) -> None:
        self._move(-self.moving_view.page())

    def action_first(self) -> None:
        self._move(-self.moving_view.count)

    def action_last(self) -> None:
        self._move(self.moving_view.count)

    def action_search(self) -> None:
        """Search everything that is open."""
        self.reach.open_search()

    def action_label_queue(self) -> None:
        """Go on with the labelling queue, or draw one."""
        self.reach.open_queue()

    def action_follow(self) -> None:
        self.reach.action_follow()

    def action_theme(self) -> None:
        self.reach.action_theme()

    def action_help(self) -> None:
        from reach_tui.tui.screens.dialogs import HelpDialog

        self.app.push_screen(HelpDialog(self.commands_of))

    # The filter line

    async def action_filter(self) -> None:
        """Open the filter line, or go back into it."""
        from textual.widgets import Input  # not needed for the first frame

        line = self.query_one("#filter-line")
        try:
            entry = line.query_one(Input)
        except NoMatches:
            entry = Input(placeholder=self.filter_hint, classes="reach-input")
            entry.cursor_blink = False
            await line.mount(entry)
        line.add_class("-open")
        entry.focus()

    @property
    def filtering(self) -> bool:
        """True while the filter line has the keyboard."""
        return self.focused is not None and self.focused.has_class("reach-input")

    def close_filter(self, *, clear: bool) -> bool:
        """Leave the filter line; True if there was one to leave or clear."""
        line = self.query_one("#filter-line")
        if not line.has_class("-open"):
            return False
        from textual.widgets import Input

        entry = line.query_one(Input)
        if clear:
            entry.value = ""
        if clear or not entry.value:
            line.remove_class("-open")
        self.line_list.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.close_filter(clear=False)

    # The key line

    def key_line(self, width: int) -> Line:
        """Keys with a word each, as many as fit; `? keys` always."""
        line: Line = []
        last: Line = []
        for command in commands_for(self.commands_of):
            if not command.footer:
                continue
            keys = self.reach.keymap.get(command.id, command.keys).split(",")[0]
            pieces: Line = [(shown_keys(keys), "key"), (f" {command.footer}   ", "dim")]
            if command.id == "help":
                last = pieces
            elif width_of(line) + width_of(pieces) + 9 <= width:
                line += pieces
        return line + last

    def keys_below(self, width: int) -> list[Line]:
        """A rule, and the key line."""
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]

    def on_bar_clicked(self, event: Bar.Clicked) -> None:
        """A word or key of the key line was clicked: do it."""
        for command in commands_for(self.commands_of):
            keys = self.reach.keymap.get(command.id, command.keys).split(",")[0]
            if command.footer and event.text in (command.footer, shown_keys(keys)):
                self.call_later(self.run_action, command.action_name)
                return


class FramedScreen(ListScreen):
    """One list between a title and the keys."""

    def make_list(self) -> LineList:
        """The list."""
        raise NotImplementedError  # the screen does

    def begin(self) -> None:
        """Once everything is mounted: start reading."""
        raise NotImplementedError  # the screen does

    def head(self, width: int) -> tuple[Line, Line]:
        """What stands at the left and at the right of the first line."""
        raise NotImplementedError  # the screen does

    def action_open(self) -> None:
        """Open the row under the cursor."""
        raise NotImplementedError  # the screen does

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield self.make_list()
        yield Horizontal(id="filter-line")
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#bottom", Bar).show(self.keys_below)
        self.line_list.focus()
        self.begin()

    def refresh_bars(self) -> None:
        """Draw the lines around the list anew."""
        for bar in self.query(Bar):
            bar.refresh()

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

    def _top(self, width: int) -> list[Line]:
        return [spread(*self.head(width), width), [(self.reach.glyphs.rule * width, "rule")]]

"""What the screens share: the frame of title and keys, moving in what stands between, the keys that work everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen

from reach_tui.tui.commands import commands_for, shown_keys
from reach_tui.tui.lines import Line, padded, spread, width_of
from reach_tui.tui.widgets.line_view import Bar, LineList, LineView, app_of

if TYPE_CHECKING:
    from reach_tui.tui.app import ReachApp
    from reach_tui.workspace import Source


def named(sources: Sequence[Source]) -> str:
    """The names of the first sources, and how many more there are."""
    more = f" +{len(sources) - 3}" if len(sources) > 3 else ""
    return ", ".join(source.name for source in sources[:3]) + more


class FramedScreen(Screen[None]):
    """What a screen is about, between a title and a line of keys."""

    commands_of: ClassVar[str]
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-narrow"), (100, "-wide")]  # type: ignore[misc]

    def compose_body(self) -> ComposeResult:
        """What stands between the title and the keys."""
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

    @property
    def reach(self) -> ReachApp:
        """The app, with its own type."""
        return app_of(self)

    # The frame

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield from self.compose_body()
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self.title_lines)
        self.query_one("#bottom", Bar).show(self.keys_below)
        self.moving_view.focus()
        self.begin()

    def title_lines(self, width: int) -> list[Line]:
        """The first line, and a rule."""
        return [spread(*self.head(width), width), [(self.reach.glyphs.rule * width, "rule")]]

    def refresh_title(self) -> None:
        """Draw the title anew."""
        self.query_one("#top", Bar).refresh()

    def refresh_bars(self) -> None:
        """Draw the lines around the body anew."""
        for bar in self.query(Bar):
            bar.refresh()

    # Moving

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

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

    # Keys of every screen

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

"""Widgets that draw lines: a scrolling view, a list with a cursor, a fixed bar. Only what is visible is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from reach_tui.tui.lines import Line, padded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reach_tui.tui.app import ReachApp

_KEPT_STRIPS = 512


def app_of(widget: Widget) -> ReachApp:
    """The app, with its own type."""
    return cast("ReachApp", widget.app)


def to_strip(line: Line, width: int, widget: Widget, *, cursor: bool = False) -> Strip:
    """A line as a strip of exactly `width` cells on the widget's background (the cursor's where `cursor`)."""
    palette = app_of(widget).palette
    back = palette["cursor"] if cursor else Style(bgcolor=widget.background_colors[1].rich_color)
    pieces: list[list[str]] = []
    for text, name in padded(line, width):
        # blanks look the same in any foreground: joined to their neighbour they cost no bytes
        if pieces and (name == pieces[-1][1] or (text.isspace() and not pieces[-1][1].startswith("evidence"))):
            pieces[-1][0] += text
        else:
            pieces.append([text, name])
    return Strip([Segment(text, back + palette[name]) for text, name in pieces], width)


class LineView(Widget, can_focus=True):
    """A scrolling view over lines made on demand by `line_at`; a scroll bar stands in its last column.

    Not Textual's ScrollView: there a changed number of lines lays the whole screen out again, some 40 ms a key.
    """

    DEFAULT_CSS = "LineView { width: 1fr; height: 1fr; background: $background; }"

    top: var[int] = var(0, init=False)
    """The first visible line."""
    saw: Callable[[], None] | None = None
    """Called when other lines have become visible."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._strips: dict[tuple[int, int, bool], Strip] = {}
        self._count = 0

    def line_at(self, index: int, width: int) -> Line:
        """The line to draw; asked only for visible ones."""
        raise NotImplementedError  # subclasses draw

    @property
    def line_width(self) -> int:
        """Cells of a line: the content without the scroll bar."""
        return max(0, self.size.width - 1)

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self._count

    def set_count(self, count: int) -> None:
        """Say how many lines there are, and draw anew."""
        self._strips.clear()
        self._count = count
        self.top = self.top  # validated anew
        self.refresh()

    def set_count_unseen(self, count: int) -> None:
        """Say how many lines there are where no visible one has changed: nothing but the scroll bar is drawn anew."""
        bar = [self._bar_piece(y) for y in range(self.size.height)]
        self._strips.clear()
        self._count = count
        for y, piece in enumerate(bar):
            if piece != self._bar_piece(y):
                self.refresh(Region(self.line_width, y, 1, 1))

    def redraw_lines(self, indexes: Iterable[int]) -> None:
        """Draw some lines anew, those that are visible."""
        for index in indexes:
            for cursor in (False, True):
                self._strips.pop((index, self.line_width, cursor), None)
            y = index - self.top
            if 0 <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    @property
    def seen(self) -> range:
        """The lines that are visible."""
        return range(self.top, min(self._count, self.top + self.size.height))

    def redraw(self) -> None:
        """Forget drawn lines and draw the visible ones anew."""
        self._strips.clear()
        self.refresh()

    def validate_top(self, top: int) -> int:
        return max(0, min(top, self._count - self.size.height))

    def watch_top(self) -> None:
        self.refresh()
        if self.saw is not None:
            self.saw()

    def on_resize(self) -> None:
        self.top = self.top
        if self.saw is not None:
            self.saw()

    def is_cursor(self, index: int) -> bool:
        """True for the line that is drawn as chosen."""
        return False

    def empty_line(self, index: int, width: int) -> Line:
        """What stands in a view without lines: what to do next."""
        return []

    def render_line(self, y: int) -> Strip:
        index, width = y + self.top, self.line_width
        if not 0 <= index < self._count:
            return to_strip(self.empty_line(index, width) if not self._count else [], width + 1, self)
        key = (index, width, self.is_cursor(index))
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            strip = to_strip(self.line_at(index, width), width, self, cursor=key[2])
            self._strips[key] = strip
        return Strip.join([strip, to_strip([self._bar_piece(y)], 1, self)])

    def _bar_piece(self, y: int) -> tuple[str, str]:
        height = self.size.height
        if self._count <= height:
            return (" ", "text")
        thumb = max(1, height * height // self._count)
        start = self.top * (height - thumb) // max(1, self._count - height)
        return (app_of(self).glyphs.mark_left if start <= y < start + thumb else " ", "rule")

    def scroll_lines(self, lines: int) -> None:
        """Scroll by so many lines."""
        self.top += lines

    def page(self) -> int:
        """Lines of one page."""
        return max(1, self.size.height - 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-3)

    def clicked_bar(self, event: events.Click) -> bool:
        """True for a click on the scroll bar, which has scrolled there."""
        if event.x < self.line_width or self._count <= self.size.height:
            return False
        self.top = event.y * self._count // max(1, self.size.height) - self.size.height // 2
        return True

    def on_click(self, event: events.Click) -> None:
        self.clicked_bar(event)


class LinesView(LineView):
    """A scrolling view over lines that are made for a width by one function."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._build: Callable[[int], Sequence[Line]] | None = None
        self._built_width = -1

    def show(self, build: Callable[[int], Sequence[Line]], *, keep_scroll: bool = False) -> None:
        """Show what `build` makes for the view's width (and makes again when the width changes)."""
        self._build, self._built_width = build, -1
        self._rebuild()
        if not keep_scroll:
            self.top = 0

    def _rebuild(self) -> None:
        width = self.line_width
        if self._build is not None and width > 0 and width != self._built_width:
            self._built_width = width
            self._lines = self._build(width)
            self.set_count(len(self._lines))

    def on_resize(self) -> None:
        self._rebuild()
        super().on_resize()

    def line_at(self, index: int, width: int) -> Line:
        return self._lines[index]


class LineList(LineView):
    """A list with a cursor; a row costs nothing until it is visible."""

    cursor: var[int] = var(0, init=False)
    follow: Callable[[], None] | None = None
    """Called at once when the cursor has moved: a message would come a frame later, and cost a second one."""

    @dataclass
    class Highlighted(Message):
        """The cursor stands on another row."""

        line_list: LineList
        index: int

        @property
        def control(self) -> LineList:
            return self.line_list

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LineList.Highlighted)

    @dataclass
    class Chosen(Message):
        """A row was opened with the mouse."""

        line_list: LineList
        index: int

        @property
        def control(self) -> LineList:
            return self.line_list

    def is_cursor(self, index: int) -> bool:
        return index == self.cursor

    def set_count(self, count: int) -> None:
        super().set_count(count)
        if count and self.cursor >= count:
            self.cursor = count - 1

    def validate_cursor(self, cursor: int) -> int:
        place = max(0, min(cursor, self._count - 1)) if self._count else 0
        if place == self.cursor:  # at an end of the list: the key is answered all the same
            self._refresh_row(place)
        return place

    def watch_cursor(self, old: int, new: int) -> None:
        self._refresh_row(old)
        self._refresh_row(new)
        self.reveal(new)
        if self.follow is not None:
            self.follow()
        self.post_message(self.Highlighted(self, new))

    def _refresh_row(self, index: int) -> None:
        y = index - self.top
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def reveal(self, index: int) -> None:
        """Scroll just far enough that the row is visible."""
        height = self.size.height
        if index < self.top:
            self.top = index
        elif height and index >= self.top + height:
            self.top = index - height + 1

    def on_resize(self) -> None:
        super().on_resize()
        self.reveal(self.cursor)

    def on_click(self, event: events.Click) -> None:
        if self.clicked_bar(event):
            return
        index = event.y + self.top
        if 0 <= index < self._count:
            again = index == self.cursor
            self.cursor = index
            if again or event.chain > 1:
                self.post_message(self.Chosen(self, index))


def cursor_mark(rows: LineList, index: int) -> str:
    """The cursor's glyph before the chosen row, a blank before all others."""
    return app_of(rows).glyphs.cursor if index == rows.cursor else " "


class Bar(Widget):
    """One or more fixed lines, drawn without layout; pieces can be clicked."""

    DEFAULT_CSS = "Bar { height: 1; background: $background; }"

    @dataclass
    class Clicked(Message):
        """A piece was clicked."""

        bar: Bar
        text: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._draw: Callable[[int], Sequence[Line]] = lambda width: ()

    def show(self, draw: Callable[[int], Sequence[Line]]) -> None:
        """Draw these lines (made for the bar's width) from now on."""
        self._draw = draw
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self._draw(width)
        return to_strip(lines[y] if y < len(lines) else [], width, self)

    def on_click(self, event: events.Click) -> None:
        lines = self._draw(self.size.width)
        if event.y >= len(lines):
            return
        from rich.cells import cell_len

        left = event.x
        for text, _ in lines[event.y]:
            size = cell_len(text)
            if left < size:
                self.post_message(self.Clicked(self, text.strip()))
                return
            left -= size

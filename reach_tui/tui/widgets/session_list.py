"""The sessions as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from reach_tui.tui.lines import Line
from reach_tui.tui.rows import SessionRow, session_columns, session_line
from reach_tui.tui.tree import Key
from reach_tui.tui.widgets.line_view import LineList

if TYPE_CHECKING:
    from reach_tui.tui.app import ReachApp


class SessionList(LineList):
    """The rows of the session list."""

    def __init__(self) -> None:
        super().__init__(id="list")
        self.rows: list[tuple[Key, SessionRow]] = []
        self.several = False
        self.advice: list[str] = []

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice[index - 1]}", "dim")] if 0 < index <= len(self.advice) else []

    def line_at(self, index: int, width: int) -> Line:
        app = cast("ReachApp", self.app)
        columns = session_columns(width, self.several)
        return session_line(self.rows[index][1], columns, app.glyphs, app.now(), cursor=index == self.cursor)

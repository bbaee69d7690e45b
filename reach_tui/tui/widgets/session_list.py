"""The sessions as a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reach_tui.tui.lines import Line
from reach_tui.tui.rows import session_columns, session_line
from reach_tui.tui.session_tree import Entry, Key, Row
from reach_tui.tui.widgets.line_view import LineList, app_of


class SessionList(LineList):
    """The rows of the session list."""

    def __init__(self) -> None:
        super().__init__(id="list")
        self.rows: list[Row] = []
        self.several = False
        self.advice: list[str] = []

    def show(self, rows: list[Row], cursor: int | None = None) -> None:
        """Show these rows: the cursor on that one, or (None) on its session, which stays where it is on screen."""
        before, place, top, height = self.rows, self.cursor, self.top, self.size.height
        if cursor is None:
            cursor = _place(rows, before[place][0], place) if place < len(before) else 0
            top += cursor - place
        top = max(0, min(top, len(rows) - height))
        end = min(len(rows), top + height)
        same = (
            0 < end == min(len(before), top + height)
            and (cursor, top) == (place, self.top)
            and all(rows[index] == before[index] for index in range(top, end))
        )
        self.rows = rows
        if same:
            self.set_count_unseen(len(rows))
            return
        self.set_count(len(rows))
        self.top = top
        self.cursor = cursor
        self.reveal(self.cursor)

    def renew(self, entries: Mapping[Key, Entry]) -> None:
        """Draw the visible rows whose counts have changed; none changes its place."""
        changed = []
        for index in self.seen:
            key, row = self.rows[index]
            entry = entries.get(key)
            if entry is not None and entry.judged is not row.judged:
                self.rows[index] = key, replace(row, judged=entry.judged)
                changed.append(index)
        self.redraw_lines(changed)

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice[index - 1]}", "dim")] if 0 < index <= len(self.advice) else []

    def line_at(self, index: int, width: int) -> Line:
        app = app_of(self)
        columns = session_columns(width, self.several)
        return session_line(self.rows[index][1], columns, app.glyphs, app.now(), cursor=index == self.cursor)


def _place(rows: list[Row], key: Key, near: int) -> int:
    """Where a session is now; where it was, if it is gone."""
    if near < len(rows) and rows[near][0] == key:
        return near
    return next((index for index, row in enumerate(rows) if row[0] == key), near)

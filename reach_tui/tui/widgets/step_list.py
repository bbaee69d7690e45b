"""The steps of a session as a list, repeats folded."""

from __future__ import annotations

from reach_tui.tui.lines import Line
from reach_tui.tui.rows import StepRow, step_line
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import JudgedStep


class StepList(LineList):
    """The steps of a session, repeats folded."""

    def __init__(self) -> None:
        super().__init__(id="steps")
        self.steps: list[JudgedStep] = []
        self.rows: list[StepRow] = []
        self.digits: dict[str, str] = {}
        self.advice: list[str] = []

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice[index - 1]}", "dim")] if 0 < index <= len(self.advice) else []

    def line_at(self, index: int, width: int) -> Line:
        row = self.rows[index]
        return step_line(
            self.steps[row.index],
            row,
            width,
            app_of(self).glyphs,
            cursor=index == self.cursor,
            digits=max(2, len(str(len(self.steps)))),
            saved=self.digits,
        )

    def row_of(self, index: int) -> int:
        """The row that shows a step: its own, or the fold it is in."""
        rows = self.rows
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            if rows[middle].index <= index:
                low = middle + 1
            else:
                high = middle
        return max(0, low - 1)

"""The two lists of the replay: the session's steps with what differs, and the differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reach_tui.replay.differences import Difference
from reach_tui.tui.lines import Line
from reach_tui.tui.replay_rows import difference_line, marked_step_line
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import JudgedStep


class ReplaySteps(LineList):
    """The steps of a session, one a row."""

    def __init__(self) -> None:
        super().__init__(id="steps")
        self.steps: Sequence[JudgedStep] = ()
        self.found: Mapping[int, Sequence[Difference]] = {}
        """What differs, by step number."""
        self.waiting = ""

    def forget(self) -> None:
        """Draw lines anew when they are next seen; what is on screen stays until it is asked for."""
        self._strips.clear()

    def line_at(self, index: int, width: int) -> Line:
        step = self.steps[index]
        return marked_step_line(
            step,
            self.found.get(step.step.number, ()),
            width,
            app_of(self).glyphs,
            cursor=index == self.cursor,
            digits=max(2, len(str(len(self.steps)))),
        )

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.waiting}", "dim")] if index == 1 else []


class DifferenceList(LineList):
    """What differs, the flips first."""

    def __init__(self) -> None:
        super().__init__(id="flips")
        self.found: Sequence[Difference] = ()
        self.waiting: Sequence[str] = ()

    def line_at(self, index: int, width: int) -> Line:
        glyphs = app_of(self).glyphs
        chosen = index == self.cursor and self.has_focus
        return difference_line(self.found[index], width, glyphs, cursor=chosen, digits=4)

    def is_cursor(self, index: int) -> bool:
        return index == self.cursor and self.has_focus

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.waiting[index]}", "dim")] if index < len(self.waiting) else []

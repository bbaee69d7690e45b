"""The line above the keys into which a person types what the list shall be filtered by."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.css.query import NoMatches

from reach_tui.tui.screens.base import FramedScreen

if TYPE_CHECKING:
    from textual.widgets import Input


class FilterLine(FramedScreen):
    """A screen with a filter line; it is made when it is first asked for, and hears itself what is typed."""

    filter_hint: ClassVar[str]

    async def action_filter(self) -> None:
        """Open the filter line, or go back into it."""
        from textual.widgets import Input  # not needed for the first frame

        try:
            entry = self.query_one("#filter-line", Input)
        except NoMatches:
            entry = Input(placeholder=self.filter_hint, id="filter-line", classes="reach-input")
            entry.cursor_blink = False
            await self.mount(entry, before="#bottom")
        entry.display = True
        entry.focus()

    @property
    def filtering(self) -> bool:
        """True while the filter line has the keyboard."""
        return self.focused is not None and self.focused.id == "filter-line"

    def close_filter(self, *, clear: bool) -> bool:
        """Leave the filter line; True if there was one to leave or clear."""
        line = self.query("#filter-line")
        if not line or not line.first().display:
            return False
        from textual.widgets import Input

        entry = line.first(Input)
        if clear:
            entry.value = ""
        if clear or not entry.value:
            entry.display = False
        self.line_list.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.close_filter(clear=False)

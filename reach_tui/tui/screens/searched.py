"""A session's screen that searches: words typed into the filter line leave only the steps that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.tui.lines import Line
from reach_tui.tui.rows import search_text
from reach_tui.tui.screens.filter_line import FilterLine
from reach_tui.tui.screens.followed import FollowedSession
from reach_tui.tui.widgets.line_view import LineList
from reach_tui.workspace import JudgedStep

if TYPE_CHECKING:
    from textual.widgets import Input


class SearchedSession(FilterLine, FollowedSession):
    """Looks for words in the steps, in a thread, and again when more steps have been read."""

    filter_hint: ClassVar[str] = "search in texts, arguments and results"

    @dataclass
    class Found(Message):
        """The indexes of the steps that hold the words searched for."""

        words: str
        indexes: set[int]

    def __init__(self) -> None:
        super().__init__()
        self.status: tuple[str, str] = ("", "dim")
        """What the last key did, and its style."""
        self.hits: set[int] | None = None
        """The steps that hold the words; None where nothing is searched for."""
        self._words = ""
        self._searched: tuple[list[JudgedStep], int] | None = None
        """The steps that the words were last looked for in, and how many there were."""
        self._typed_at: int | None = None
        """Where the cursor stood when the words began to be typed; None once a hit has been chosen."""

    async def action_filter(self) -> None:
        if self.hits is None and self.step_list.rows:
            self._typed_at = self.step_list.rows[self.step_list.cursor].index
        await super().action_filter()

    def close_filter(self, *, clear: bool) -> bool:
        if not clear:
            self._typed_at = None
        return super().close_filter(clear=clear)

    def lift_filter(self) -> None:
        """Show every step again; the cursor stays on its step."""
        self._words, self.hits, self._typed_at = "", None, None
        super().close_filter(clear=True)
        self.refold()

    @on(LineList.Highlighted)
    def _hit_chosen(self) -> None:
        self._typed_at = None
        if self.hits is not None and self.status[0]:
            self.status = ("", "dim")  # how many hits there are is said again
            self.refresh_bars()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._words = event.value.strip()
        if self._words:
            self._search_words()
        else:
            self.hits = None
            self.refold()
            self.inspect()

    def search_on(self) -> None:
        """Look for the words in what has been read since, if there are any."""
        steps = self.step_list.steps
        if self._words and self._searched != (steps, len(steps)):
            self._search_words()

    def _search_words(self) -> None:
        steps = self.step_list.steps
        self._searched = steps, len(steps)
        self._search(self._words, list(steps))

    @work(thread=True, group="search", description="search", exclusive=True, exit_on_error=False)
    def _search(self, words: str, steps: list[JudgedStep]) -> None:
        worker = get_current_worker()
        needle = words.casefold()
        hits: set[int] = set()
        for index, judged in enumerate(steps):
            if needle in search_text(judged):
                hits.add(index)
            if worker.is_cancelled:
                return
        self.post_message(self.Found(words, hits))

    @on(Found)
    def _found(self, message: Found) -> None:
        if message.words == self._words:
            self.hits, self.status = message.indexes, ("", "dim")
            self.refold()
            self.inspect()

    # What the words change on screen

    def kept_place(self, chosen: int) -> int:
        """The step that the cursor belongs on: the one it left to type, until a hit is chosen; else `chosen`."""
        if self._typed_at is None:
            return chosen
        left, self._typed_at = self._typed_at, self._typed_at if self._words else None
        return left

    @property
    def search_advice(self) -> list[str]:
        """What a list without a hit says."""
        return [f"no step holds “{self._words}”", "Escape clears the filter"] if self.hits is not None else []

    @property
    def search_status(self) -> Line:
        """How many steps the search found; nothing where none is made."""
        if self.hits is None:
            return []
        return [(f"{len(self.hits)} of {len(self.step_list.steps)} steps have “{self._words}” ", "key")]

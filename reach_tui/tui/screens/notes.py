"""Open coding, second half: the notes that have no class yet, grouped by giving several of them one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.base.errors import ReachError
from reach_tui.model import Label
from reach_tui.tui.commands import NOTES, bindings_for
from reach_tui.tui.lines import Line, fit
from reach_tui.tui.queue_lines import code_digits
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import Source
from reach_tui.workspace.queueing import class_notes, notes, step_back

Noted = tuple[Source, Label]


class NoteList(LineList):
    """The notes; chosen ones are marked."""

    def __init__(self) -> None:
        super().__init__(id="notes")
        self.notes: list[Noted] = []
        self.chosen: set[str] = set()
        self.advice = ""

    def line_at(self, index: int, width: int) -> Line:
        app = app_of(self)
        source, label = self.notes[index]
        glyphs, marked = app.glyphs, label.uid in self.chosen
        place = app.title_of(source, label.session_id)
        room = min(48, width // 3)
        return [
            (glyphs.cursor if index == self.cursor else " ", "key"),
            (f" {glyphs.dot if marked else ' '} ", "label"),
            (fit(label.note, max(10, width - room - 5)), "title" if marked else "text"),
            (" ", "text"),
            (fit(place, room), "dim"),
        ]

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.advice}", "dim")] if index == 1 else []


class NotesScreen(OpensCalls, FramedScreen):
    """Space chooses notes, a digit gives them all that class."""

    commands_of = NOTES
    BINDINGS: ClassVar[list[Binding]] = bindings_for(NOTES)  # type: ignore[assignment]

    class Changed(Message):
        """The notes without a class, as they are on disk."""

        def __init__(self, found: list[Noted], text: str, *, failed: bool = False) -> None:
            super().__init__()
            self.found = found
            self.text = text
            self.failed = failed

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self.sources = tuple(sources)
        self.several = len(self.sources) > 1
        self.status: tuple[str, str] = ("", "dim")

    def compose_body(self) -> ComposeResult:
        yield NoteList()

    def begin(self) -> None:
        self._program = self.reach  # a screen that was left knows its program no more
        self.note_list.advice = "reading …"
        self.reach.on_label_thread(lambda: self._read(""))

    @property
    def note_list(self) -> NoteList:
        """The list, with its own type."""
        return self.query_one(NoteList)

    # In the label thread; the screen may have been left meanwhile, what was asked for is done all the same

    def _read(self, text: str) -> None:
        try:
            self.post_message(self.Changed(notes(self._program.workspace, self.sources), text))
        except ReachError as error:
            self._fail(error.line())

    def _fail(self, text: str) -> None:
        self._program.call_later(self._program.say, text, severity="error")
        self.post_message(self.Changed([], text, failed=True))

    def _give(self, chosen: list[Noted], category: str) -> None:
        try:
            count = class_notes(self._program.workspace, chosen, category)
        except ReachError as error:
            self._fail(f"NOT saved: {error.line()}")
            return
        self._read(f"{count} notes saved as {category}, u undoes it in one step")

    def _step_back(self, *, redo: bool) -> None:
        try:
            labels = step_back(self._program.workspace, self.sources, redo=redo)
        except ReachError as error:
            self._fail(f"NOT done: {error.line()}")
            return
        word = "redone" if redo else "undone"
        self._read(f"{len(labels)} labels {word}" if labels else f"nothing to be {word}")

    @on(Changed)
    def _changed(self, message: Changed) -> None:
        rows = self.note_list
        self.status = (message.text, "flagged" if message.failed else "label")
        if not message.failed:
            rows.notes = message.found
            rows.chosen &= {label.uid or "" for _, label in message.found}
            rows.advice = "no notes without a class: e in the labelling queue writes one"
            rows.set_count(len(rows.notes))
        self.refresh_bars()

    # Keys

    def action_choose_note(self) -> None:
        """Choose the note, or not, and go down one."""
        rows = self.note_list
        if rows.notes:
            rows.chosen ^= {rows.notes[rows.cursor][1].uid or ""}
            rows.redraw()
            rows.cursor += 1
        self.refresh_title()

    def action_label(self, digit: str) -> None:
        """Give the chosen notes (else the one under the cursor) a class, in one step of undo."""
        rows = self.note_list
        category = self.reach.workspace.taxonomy.by_key(digit)
        if category is None or not rows.notes:
            return
        chosen = [one for one in rows.notes if one[1].uid in rows.chosen] or [rows.notes[rows.cursor]]
        self.reach.on_label_thread(lambda: self._give(chosen, category.id))

    def action_undo(self) -> None:
        self.reach.on_label_thread(lambda: self._step_back(redo=False))

    def action_redo(self) -> None:
        self.reach.on_label_thread(lambda: self._step_back(redo=True))

    def action_open(self) -> None:
        """Open the call in its session."""
        rows = self.note_list
        if rows.notes:
            source, label = rows.notes[rows.cursor]
            self.open_key(source, label.session_id, label.call_key or "")

    def action_back(self) -> None:
        self.app.pop_screen()

    # Bars

    def head(self, width: int) -> tuple[Line, Line]:
        rows = self.note_list
        text, style = self.status
        right: Line = [(f"{text} ", style)] if text else []
        left: Line = [(" notes without a class", "title"), (f" · {len(rows.notes):,}", "dim")]
        left += [(f" · {len(rows.chosen):,} chosen", "key")] if rows.chosen else []
        return left, right

    def keys_below(self, width: int) -> list[Line]:
        rule, keys = super().keys_below(width)
        return [rule, code_digits(self.reach.workspace.taxonomy, None, width), keys]

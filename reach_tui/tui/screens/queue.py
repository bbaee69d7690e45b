"""The labelling queue: one call after the other, one key labels it, keeps the label and shows the next."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import ScreenResume

from reach_tui.base.errors import ReachError
from reach_tui.tui.commands import QUEUE, bindings_for
from reach_tui.tui.lines import Line, padded
from reach_tui.tui.queue_lines import Head, View, code_lines, done_lines, head_lines, item_lines
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.tui.screens.queue_choice import ChoosesQueues
from reach_tui.tui.screens.queue_labels import QueueLabels
from reach_tui.tui.screens.queue_reading import QueueReading
from reach_tui.tui.widgets.line_view import Bar, LinesView, LineView
from reach_tui.workspace import JudgedSession
from reach_tui.workspace.queue_desk import Desk, Place


class QueueScreen(ChoosesQueues, QueueLabels):
    """Label the calls of a queue; leave at any time, and come back to the same place."""

    commands_of = QUEUE
    BINDINGS: ClassVar[list[Binding]] = bindings_for(QUEUE)  # type: ignore[assignment]

    def compose_body(self) -> ComposeResult:
        yield LinesView(id="item")
        yield Bar(id="codes")

    def begin(self) -> None:
        self._program = self.reach  # a screen that was left knows its program no more
        self.query_one("#codes", Bar).show(self._codes)
        self.view.show(self._body)
        self.open_queue()

    @property
    def view(self) -> LinesView:
        """Where the item is shown."""
        return self.query_one("#item", LinesView)

    @property
    def moving_view(self) -> LineView:
        return self.view

    @on(QueueReading.Opened)
    def _is_open(self, message: QueueReading.Opened) -> None:
        self.take_desk(message.desk, message.item)
        if message.desk.role == "adjudicator" or not message.desk.queue.recipe.get("size"):
            self.blind = False  # what others say is what it is about
        self.go(message.desk.place.first())

    @on(QueueReading.Noted)
    def _noted(self, message: QueueReading.Noted) -> None:
        self._notes = message.count

    # Showing

    def go(self, position: int | None) -> None:
        """Show an item; None: all are done."""
        self.position = position
        self.first_cause = self.together = False
        self.want()
        self.shown()

    def shown(self) -> None:
        judged = self.item.judged if self.item is not None else None
        if judged is not None and not self.hides:
            verdict, codebook = judged.verdict, self.reach.workspace.taxonomy
            paths = codebook.of_failure(verdict.category, verdict.subcategory)
            self.point_at(paths[0].partition("/")[0] if paths else None)
        self._shown_at = time.monotonic()
        self.redraw()
        if self._typed and self.item is not None:
            self._typed.pop(0)()

    def redraw(self, *, keep_scroll: bool = False) -> None:
        self.view.show(self._body, keep_scroll=keep_scroll)
        self.refresh_bars()

    def refresh_bars(self) -> None:
        """Draw the title anew; the codebook is, when its class changes, and the keys never are."""
        self.refresh_title()

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw, keep_scroll=True)

    def set_status(self, text: str, style: str = "dim") -> None:
        """What the last key did, at the right of the head."""
        self.status = (text, style)
        self.refresh_bars()

    def _body(self, width: int) -> list[Line]:
        item, desk = self.item, self.desk
        if desk is None:
            return [[], *([(f"  {row}", "text")] for row in [self.wait])]
        if self.position is None:
            return done_lines(width, desk.place.total, self._notes, self.reach.glyphs)
        if item is None:
            return [[(f" {desk.item(self.position).call_key}", "title")], [], [("  reading …", "dim")]]
        own = self.own
        cause = self.first_cause or (own is not None and own.first_cause)
        view = View(
            self.reach.glyphs, self.reach.workspace.by, self.view.size.height, self.hides, self.together, cause,
            desk.role == "adjudicator",
        )  # fmt: skip
        return item_lines(item, width, view)

    # Moving

    def action_next_item(self) -> None:
        self._beside(1)

    def action_previous_item(self) -> None:
        self._beside(-1)

    def _beside(self, step: int) -> None:
        if self.desk is None:
            return
        if self.position is None:
            self.go(len(self.desk.queue.items) if step < 0 else self.desk.place.first())
            return
        other = self.desk.place.beside(self.position, step)
        if other is None:
            self.set_status("the last item" if step > 0 else "the first item")
        else:
            self.go(other)

    def action_open(self) -> None:
        """Open the call in its session; Escape there comes back."""
        from reach_tui.tui.screens.session import SessionScreen

        item = self.item
        if item is None or item.source is None or item.session is None:
            self.set_status("the call is not there to open", "soft")
            return
        shown = JudgedSession(item.session)
        several = len(self.sources) > 1
        self.app.push_screen(SessionScreen(item.source, shown, several=several, at=item.item.call_key))

    @on(ScreenResume)
    def _resumed(self) -> None:
        """Labels may have been given meanwhile, in a session."""
        desk = self.desk
        if desk is not None and self.app.screen is self and self._away:
            self._away = False
            self.reach.on_label_thread(lambda: self._look_again(desk))

    def _look_again(self, desk: Desk) -> None:
        try:
            place = desk.find_place()
        except ReachError as error:
            self._program.call_later(self._program.say, error.line(), severity="error")
            return
        self._program.call_later(self._placed, desk, place)

    def _placed(self, desk: Desk, place: Place) -> None:
        if not self.is_attached:
            return
        for position in desk.place.pending:
            place.begin(position)
        desk.place = place
        self.items.clear()
        self.want()
        self.refresh_bars()

    _away = False

    def on_screen_suspend(self) -> None:
        self._away = not isinstance(self.app.screen, NoteDialog | PickDialog)

    # Switches

    def action_blind(self) -> None:
        self.blind = not self.blind
        self.set_status(
            "blind: verdicts wait for your answer" if self.blind else "verdicts and others' labels are shown"
        )
        self.redraw(keep_scroll=True)

    def action_open_coding(self) -> None:
        self.coding = not self.coding
        words = "open coding: e writes what went wrong, and goes on; N groups the notes later"
        self.set_status(words if self.coding else "classes again: 1-9 and 0")

    def action_next_category(self) -> None:
        self._move_cursor(1)

    def action_previous_category(self) -> None:
        self._move_cursor(-1)

    def point_at(self, category_id: str | None) -> None:
        """The codebook shows that class, if it has it."""
        found = self.reach.workspace.taxonomy.find(category_id or "")
        if found is not None and found is not self.cursor:
            self.cursor = found
            self.query_one("#codes", Bar).refresh()

    def _move_cursor(self, step: int) -> None:
        classes = self.reach.workspace.taxonomy.categories
        here = classes.index(self.cursor) if self.cursor else 0
        self.cursor = classes[(here + step) % len(classes)]
        self.query_one("#codes", Bar).refresh()

    def action_notes(self) -> None:
        """Group the notes that have no class yet."""
        from reach_tui.tui.screens.notes import NotesScreen

        self.app.push_screen(NotesScreen(self.sources))

    def action_back(self) -> None:
        self.app.pop_screen()

    # Bars

    def title_lines(self, width: int) -> list[Line]:
        desk = self.desk
        if desk is None:
            return [padded([(" labelling queue", "title")], width), [(self.reach.glyphs.rule * width, "rule")]]
        place, (text, style) = desk.place, self.status
        head = Head(
            desk.queue.name, desk.queue.by, len(place.done), place.total, desk.minutes_left, self.position, self.blind,
            self.coding, text, style,
        )  # fmt: skip
        return head_lines(head, width, self.reach.glyphs)

    def _codes(self, width: int) -> list[Line]:
        taxonomy = self.reach.workspace.taxonomy
        return code_lines(taxonomy, self.cursor or taxonomy.categories[0], width, self.reach.glyphs)

"""The labelling queue: one call after the other, one key labels it, keeps the label and shows the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import ScreenResume

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import ReachError
from reach_tui.model import Label
from reach_tui.taxonomy import Category
from reach_tui.tui.commands import QUEUE, bindings_for
from reach_tui.tui.lines import Line, padded
from reach_tui.tui.queue_lines import Head, View, code_lines, done_lines, head_lines, item_lines
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.tui.screens.label_commands import level_2_choices
from reach_tui.tui.screens.queue_choice import ChoosesQueues
from reach_tui.tui.screens.queue_reading import QueueReading
from reach_tui.tui.widgets.line_view import Bar, LinesView, LineView
from reach_tui.workspace import JudgedCall, JudgedSession, Source
from reach_tui.workspace.queue_desk import UNCODED, Answer, Desk, Item, Place

Given = list[tuple[JudgedCall, Label]]


class QueueScreen(ChoosesQueues, QueueReading):
    """Label the calls of a queue; leave at any time, and come back to the same place."""

    commands_of = QUEUE
    BINDINGS: ClassVar[list[Binding]] = bindings_for(QUEUE)  # type: ignore[assignment]

    def __init__(self, sources: Sequence[Source], what: str) -> None:
        super().__init__(sources, what)
        self.blind = True
        self.coding = False
        self.together = False
        self.first_cause = False
        self.status: tuple[str, str] = ("", "dim")
        self.last: tuple[Item, Given] | None = None
        """What was labelled last, for refining and repeating."""
        self.cursor: Category | None = None
        """The class that the codebook shows."""
        self._shown_at = 0.0
        self._typed: list[Callable[[], None]] = []
        """Keys that came before their item was read; none is lost."""
        self._notes = 0

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield LinesView(id="item")
        yield Bar(id="codes")
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self._program = self.reach  # a screen that was left knows its program no more
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#codes", Bar).show(self._codes)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.view.focus()
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
            self._point_at(judged.verdict.category)
        self._shown_at = time.monotonic()
        self.redraw()
        if self._typed and self.item is not None:
            self._typed.pop(0)()

    def redraw(self, *, keep_scroll: bool = False) -> None:
        self.view.show(self._body, keep_scroll=keep_scroll)
        self.refresh_bars()

    def refresh_bars(self) -> None:
        """Draw the head anew; the codebook is, when its class changes, and the keys never are."""
        self.query_one("#top", Bar).refresh()

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw, keep_scroll=True)

    def set_status(self, text: str, style: str = "dim") -> None:
        """What the last key did, at the right of the head."""
        self.status = (text, style)
        self.refresh_bars()

    @property
    def own(self) -> Label | None:
        """The person's label of the item on screen."""
        return self.desk.own(self.item) if self.desk is not None else None

    @property
    def hides(self) -> bool:
        """True while verdict and others' labels of the item on screen wait for the person's own."""
        return self.blind and (self.own is None or self.own.category == UNCODED)

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

    def _advance(self, following: int | None) -> None:
        """Go on after an item was answered or put off."""
        assert self.desk is not None
        self.go(following if following is not None else self.desk.place.first())

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

    # Labels

    def action_label(self, digit: str) -> None:
        """Label the item with a level-1 category, and go on."""
        category = self.reach.workspace.taxonomy.by_key(digit)
        if category is None:
            self.set_status(f"no class has the key {digit}")
        elif self.coding:
            self.set_status("open coding: e writes a note, o ends it and brings the classes back", "soft")
        else:
            self._answer(lambda: self._give(category.id))

    def action_repeat_label(self) -> None:
        if self.last is None or self.last[1][0][1].category in (None, UNCODED):
            self.set_status("no label given yet to repeat")
            return
        label = self.last[1][0][1]
        self._answer(lambda: self._give(str(label.category), label.subcategory))

    def _answer(self, give: Callable[[], None]) -> None:
        """Answer the item on screen; if it is still being read, as soon as it is there."""
        if self.desk is None or self.position is None:
            self.set_status("nothing to label" if self.desk else "")
        elif self.item is None:
            self._typed.append(give)
        else:
            give()

    def _give(
        self, category: str, subcategory: str | None = None, note: str | None = None, *, go_on: bool = True
    ) -> None:
        desk, item = self.desk, self.item
        if desk is None or item is None or item.judged is None:
            self.set_status("the call is not there to label: s skips it", "soft")
            return
        spent = int((time.monotonic() - self._shown_at) * 1000)
        own = self.own
        shown = desk.shown(item, spent, blind=self.hides)
        label = desk.label(
            item, item.judged, category, subcategory=subcategory, shown=shown,
            note=note if note is not None else own.note if own else "",
            first_cause=self.first_cause or bool(own and own.first_cause),
        )  # fmt: skip
        given: Given = [(item.judged, label)]
        if self.together:
            given += [
                (one, desk.label(item, one, category, subcategory=subcategory, shown=shown)) for one in item.alike
            ]
        self.last = (item, given)
        self._point_at(category)
        places = [place for _, one in given if (place := desk.position_of(one)) is not None]
        following = desk.place.after(item.item.position)
        for place in places:
            desk.place.begin(place)
        while following in places:
            following = desk.place.after(following)
        self._write(item, given, spent)
        if go_on:
            self._advance(following)

    def _write(self, item: Item, given: Given, spent: int | None = None) -> None:
        """Save in the label thread; the screen says so when it is on disk."""
        desk = self.desk
        assert desk is not None
        self.set_status("saving …")

        def save() -> None:
            self._tell(lambda answer: self._written(answer, spent, len(given)), desk.save(item, given))

        self.reach.on_label_thread(save)

    def _tell(self, done: Callable[[Answer], None], answer: Answer) -> None:
        """In the label thread: let the screen know, without waiting for it; a fault is said even if it is closed."""

        def told() -> None:
            if self.is_attached:
                done(answer)
            elif answer.error is not None:
                self._program.say(f"NOT saved: {answer.error.line()}", severity="error")

        self._program.call_later(told)

    def _written(self, answer: Answer, spent: int | None, count: int) -> None:
        desk = self.desk
        if desk is None:
            return
        desk.take_in(answer)
        if answer.error is not None:
            self._not_done(answer)
            return
        if spent is not None:
            desk.spent(spent)
        self.put_labels(answer.labels)
        many = f"{count} labels " if count > 1 else ""
        self.set_status(f"{many}saved {_clock()}", "label")
        if any(desk.position_of(label) == self.position for label in answer.labels):
            self.redraw(keep_scroll=True)

    def _not_done(self, answer: Answer) -> None:
        """A write failed: say so, and come back to the item, which is still to do."""
        assert answer.error is not None
        self.reach.say(f"NOT saved: {answer.error.line()}", severity="error")
        self._typed.clear()
        if answer.position is not None and (self.position is None or answer.position != self.position):
            self.go(answer.position)
        self.set_status(f"NOT saved: {answer.error.what}", "flagged")

    def action_refine(self) -> None:
        """Give the label just given its second level."""
        item, given = self._given()
        category = self.reach.workspace.taxonomy.find(given[0][1].category or "") if given else None
        if item is None or category is None:
            self.set_status("label first (1-9, 0), then ; refines it")
            return

        def chosen(subcategory: str | None) -> None:
            if subcategory is not None:
                self._relabel(item, [(judged, replace(label, subcategory=subcategory)) for judged, label in given])

        call = given[0][0].call
        title = f"{category.key} {category.name} · step {call.step} {call.tool}"
        self.app.push_screen(PickDialog(title, level_2_choices(category)), chosen)

    def _given(self) -> tuple[Item | None, Given]:
        """What was labelled last, else the person's label of the item on screen."""
        if self.last is not None:
            return self.last
        item = self.item
        own = self.own
        return (item, [(item.judged, own)]) if item and item.judged and own else (None, [])

    def _relabel(self, item: Item, given: Given) -> None:
        given = [(judged, replace(label, at=now_ms(), id=None, uid=None)) for judged, label in given]
        self.last = (item, given)
        self._write(item, given)

    def action_note(self) -> None:
        """Write a note to the item on screen; without a class it is kept as one still to be grouped."""
        item = self.item
        if item is None or item.judged is None:
            self.set_status("no call to write a note to")
            return
        own = self.own
        before = own.note if own else ""

        def written(note: str | None) -> None:
            if note is None or note.strip() == before.strip() or self.item is not item:
                return
            if own is not None and item.judged is not None:
                self._relabel(item, [(item.judged, replace(own, note=note.strip()))])
            else:
                self._notes += 1
                self._give(UNCODED, note=note.strip(), go_on=self.coding)

        call = item.judged.call
        self.app.push_screen(NoteDialog(f"note · step {call.step} {call.shown_tool}", before), written)

    def action_first_cause(self) -> None:
        """The call on screen is where its session began to go wrong, or is not."""
        item = self.item
        own = self.own
        if item is None or item.judged is None:
            return
        if own is not None:
            self._relabel(item, [(item.judged, replace(own, first_cause=not own.first_cause))])
        else:
            self.first_cause = not self.first_cause
            self.set_status(
                "first cause: the label you give now says so" if self.first_cause else "not the first cause"
            )
            self.redraw(keep_scroll=True)

    def action_together(self) -> None:
        """The next label goes to every identical failure of the session, in one step of undo."""
        if self.item is None or not self.item.alike:
            self.set_status("no other failure of this session says the same")
            return
        self.together = not self.together
        self.redraw(keep_scroll=True)

    def action_undo(self) -> None:
        self._step_back(redo=False)

    def action_redo(self) -> None:
        self._step_back(redo=True)

    def _step_back(self, *, redo: bool) -> None:
        desk = self.desk
        if desk is None:
            return
        self._typed.clear()

        def step() -> None:
            self._tell(lambda answer: self._stepped(answer, redo=redo), desk.redo() if redo else desk.undo())

        self.reach.on_label_thread(step)

    def _stepped(self, answer: Answer, *, redo: bool) -> None:
        desk = self.desk
        if desk is None:
            return
        if answer.error is not None:
            self.reach.say(f"NOT done: {answer.error.line()}", severity="error")
            self.set_status("NOT done", "flagged")
            return
        if not answer.labels:
            self.set_status("nothing to redo" if redo else "nothing to undo")
            return
        desk.take_in(answer)
        self.last = None
        self.put_labels(answer.labels)
        if answer.position is not None:
            self.go(answer.position)
        where = "" if answer.position is not None else " outside this queue"
        many = f"{len(answer.labels)} labels " if len(answer.labels) > 1 else ""
        state = answer.labels[0].category or "no label"
        self.set_status(f"{many}{'redone' if redo else 'undone'}{where} {_clock()}: now {state}", "label")

    # Putting off

    def action_defer(self) -> None:
        self._put_off("defer", "later: it comes back last")

    def action_skip(self) -> None:
        """Not at all; on a skipped item: back into the queue."""
        skipped = self.desk is not None and self.position in self.desk.place.skipped
        self._put_off(
            "return" if skipped else "skip", "back in the queue" if skipped else "skipped: p and s take it back"
        )

    def _put_off(self, action: str, words: str) -> None:
        desk, position = self.desk, self.position
        if desk is None or position is None:
            return
        following = desk.place.after(position)
        before = desk.place.off.get(position)
        desk.place.put_off(position, action)

        def done(answer: Answer) -> None:
            if answer.error is not None:
                desk.place.put_off(position, before)
                self._not_done(answer)

        self.reach.on_label_thread(lambda: self._tell(done, desk.put_off(position, action)))
        if action != "return":
            self._advance(following)
        self.set_status(words)

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

    def _point_at(self, category_id: str | None) -> None:
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

    def _top(self, width: int) -> list[Line]:
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

    def _bottom(self, width: int) -> list[Line]:
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]


def _clock() -> str:
    return f"{datetime.now().astimezone():%H:%M:%S}"

"""Giving labels in the queue: written in the label thread, told when on disk; refined, repeated, undone, put off."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reach_tui.base.clock import now_ms
from reach_tui.base.text import shown_name
from reach_tui.model import Label
from reach_tui.taxonomy import Category
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.tui.screens.label_commands import level_2_choices
from reach_tui.tui.screens.queue_reading import QueueReading
from reach_tui.workspace import JudgedCall, Source
from reach_tui.workspace.queue_desk import UNCODED, Answer, Item

if TYPE_CHECKING:
    from reach_tui.tui.app import ReachApp

Given = list[tuple[JudgedCall, Label]]


class QueueLabels(QueueReading):
    """What the label keys do to the item on screen."""

    _program: ReachApp

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

    def go(self, position: int | None) -> None:
        """Show an item; None: all are done."""
        raise NotImplementedError  # the screen does

    def set_status(self, text: str, style: str = "dim") -> None:
        """What the last key did."""
        raise NotImplementedError  # the screen does

    def point_at(self, category_id: str | None) -> None:
        """The codebook shows that class, if it has it."""
        raise NotImplementedError  # the screen does

    @property
    def own(self) -> Label | None:
        """The person's label of the item on screen."""
        return self.desk.own(self.item) if self.desk is not None else None

    @property
    def hides(self) -> bool:
        """True while verdict and others' labels of the item on screen wait for the person's own."""
        return self.blind and (self.own is None or self.own.category == UNCODED)

    def _advance(self, following: int | None) -> None:
        """Go on after an item was answered or put off."""
        assert self.desk is not None
        self.go(following if following is not None else self.desk.place.first())

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
        self.point_at(category)
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
        title = f"{category.key} {category.name} · step {call.step} {shown_name(call.tool)}"
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
        self.app.push_screen(NoteDialog(f"note · step {call.step} {shown_name(call.shown_tool)}", before), written)

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


def _clock() -> str:
    return f"{datetime.now().astimezone():%H:%M:%S}"

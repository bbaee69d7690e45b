"""One session: its steps on the left, what the chosen one is about on the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.tui.commands import SESSION, bindings_for
from reach_tui.tui.folding import fold_rows
from reach_tui.tui.labelling import Labelling, Outcome
from reach_tui.tui.lines import Line, spread
from reach_tui.tui.panels import Style
from reach_tui.tui.panels import inspect as panel_lines
from reach_tui.tui.rows import title_of
from reach_tui.tui.screens.diagnosed import DiagnosedSession, place_of
from reach_tui.tui.screens.followed import FollowedSession
from reach_tui.tui.screens.label_commands import LabelCommands
from reach_tui.tui.screens.searched import SearchedSession
from reach_tui.tui.session_title import facts_line, failures_line
from reach_tui.tui.widgets.line_view import LineList, LinesView
from reach_tui.tui.widgets.step_list import StepList
from reach_tui.workspace import JudgedCall, JudgedSession, JudgedStep, Source

_BATCH = 200


class SessionScreen(LabelCommands, SearchedSession, DiagnosedSession):
    """Step through a session: verdict, route, slots, arguments and result of each call; label the failures."""

    commands_of = SESSION
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SESSION)  # type: ignore[assignment]

    @dataclass
    class Read(Message):
        """Some steps have been read and judged."""

        steps: list[JudgedStep]
        last: bool

    def __init__(
        self, source: Source, judged: JudgedSession, *, several: bool = False, at: str | int | None = None
    ) -> None:
        super().__init__()
        self.source = source
        self.judged = judged
        self._several = several
        self._at = at
        """The call (by its key) or step (by its number) to go to as soon as it has been read."""
        self.loaded = False
        self.count_soft = False
        self._unfolded: set[int] = set()
        self._touched = False
        self._wish: bool | None = None
        """Set while a failure asked for has not been read yet: True for a hidden one."""
        self._back_to: int | None = None

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            yield StepList()
            yield LinesView(id="inspector")

    def begin(self) -> None:
        self.labelling = Labelling(self.reach, self.source, self.judged.session.id, self._label_done)
        self.step_list.follow = self.inspect
        self._read()

    # Reading

    @work(thread=True, group="read", description="read", exit_on_error=False)
    def _read(self) -> None:
        worker = get_current_worker()
        batch: list[JudgedStep] = []
        size = 40  # the first screenful soon, then larger pieces
        try:
            for judged in self.reach.workspace.judged_steps(self.source, self.judged.session.id):
                batch.append(judged)
                if len(batch) >= size:
                    self.post_message(self.Read(batch, last=False))
                    batch, size = [], min(size * 2, _BATCH * 10)
                    if worker.is_cancelled:
                        return
        except ReachError as error:
            self.post_message(self.ReadingFailed(error))
        self.post_message(self.Read(batch, last=True))

    @on(Read)
    def _some_read(self, message: Read) -> None:
        steps = self.step_list
        first = not steps.steps
        for judged in message.steps:
            if judged.judged is not None and judged.judged.label is not None:
                self._note_digit(judged.judged)
        steps.steps += message.steps
        self.loaded = message.last
        self.refold()
        if first:
            self.inspect()
        if self._at is not None:
            self._go_to(self._at)
        if message.last:
            self.diagnose()
        if self._wish is not None and self.jump(1, hidden=self._wish):
            self.set_status("", "dim")

    def _go_to(self, at: str | int) -> None:
        if (where := place_of(self.step_list.steps, at)) is not None:
            self._at = None
            self.show_step(where)

    def show_step(self, index: int) -> None:
        self._unhide(index)
        steps = self.step_list
        row = steps.rows[steps.row_of(index)]
        if row.repeats > 1 and row.index != index:
            self._unfolded.add(row.index - 1)
            self.refold()
        steps.cursor = steps.row_of(index)

    def _unhide(self, index: int) -> bool:
        """Lift the filter where it hides the step, for it would leave the cursor beside it; True if it was lifted."""
        if self.hits is None or index in self.hits:
            return False
        self.lift_filter()
        self.set_status("filter lifted: it hid this step", "dim")
        return True

    @on(FollowedSession.ReadingFailed)
    def _not_read(self, message: FollowedSession.ReadingFailed) -> None:
        self.set_status(message.error.line(), "flagged")
        self.reach.say(message.error.line(), severity="error")

    def _note_digit(self, judged: JudgedCall) -> None:
        label = judged.label
        digits = self.step_list.digits
        if label is None or label.category is None:
            digits.pop(judged.call.key, None)
        else:
            category = self.reach.workspace.taxonomy.find(label.category)
            digits[judged.call.key] = category.key if category else "*"

    # The list

    def refold(self) -> None:
        steps = self.step_list
        self.search_on()
        chosen = self.kept_place(steps.rows[steps.cursor].index if steps.rows else 0)
        steps.advice = self.search_advice
        steps.rows = fold_rows(steps.steps, self._unfolded, self.hits)
        with self.prevent(LineList.Highlighted):
            steps.set_count(len(steps.rows))
            steps.cursor = steps.row_of(chosen)
        self.refresh_bars()

    @property
    def current_call(self) -> JudgedCall | None:
        """The call under the cursor, None on a message."""
        return self.current.judged if self.current else None

    @on(LineList.Highlighted)
    def _moved(self) -> None:
        self._touched, self._wish = True, None

    def inspect(self, *, keep_scroll: bool = False) -> None:
        self.query_one("#inspector", LinesView).show(self._panels(), keep_scroll=keep_scroll)
        self.infer()

    def _panels(self) -> Callable[[int], Sequence[Line]]:
        if self.current is None:
            return lambda width: []
        step, belief, reading = self.told(self.current)
        style = Style(self.reach.glyphs, brief=self.has_class("-narrow"), reading=reading)
        return lambda width: panel_lines(step, width, style, belief=belief)

    def on_resize(self) -> None:
        self.call_after_refresh(self.inspect, keep_scroll=True)

    # Finding failures

    def is_failure(self, judged: JudgedStep, *, hidden: bool) -> bool:
        """True for what n (or h) stops at; soft signals count in when the person switched them on."""
        call = judged.judged
        if call is None:
            return False
        if hidden:
            return call.hidden or (self.count_soft and call.verdict.soft and call.call.flagged is not True)
        return call.verdict.failed is True or (self.count_soft and call.verdict.soft)

    def _indexes(self, step: int) -> Iterator[int]:
        steps = self.step_list
        start = steps.rows[steps.cursor].index if self._touched and steps.rows else -1
        return iter(range(start + 1, len(steps.steps)) if step > 0 else range(start - 1, -1, -1))

    def jump(self, step: int, *, hidden: bool) -> bool:
        """Move to the next (or previous) failure; a folded run counts once. False if there is none."""
        steps = self.step_list
        self._wish = None
        here = steps.cursor
        for index in self._indexes(step):
            row = self.step_list.row_of(index)
            if row == here and self._touched:
                continue
            if self.hits is not None and index not in self.hits:
                continue
            if self.is_failure(steps.steps[index], hidden=hidden):
                self._touched = True
                steps.cursor = row
                return True
        word = "hidden failure" if hidden else "failure"
        if not self.loaded and step > 0:
            self._wish = hidden
            self.set_status(f"reading on to the next {word} …", "dim")
        else:
            self.set_status(f"no {'further' if step > 0 else 'earlier'} {word}", "dim")
        return False

    def action_soft(self) -> None:
        self.count_soft = not self.count_soft
        self.set_status(
            "soft signals count as failures now" if self.count_soft else "soft signals are left out again", "dim"
        )

    # Going

    def action_open(self) -> None:
        if self.filtering:
            self.close_filter(clear=False)
        elif self.current is not None:
            from reach_tui.tui.screens.detail import DetailScreen

            self.app.push_screen(DetailScreen(self))

    def action_back(self) -> None:
        if not self.close_filter(clear=True):
            self.app.pop_screen()

    def action_next_panel(self) -> None:
        view = self.query_one("#inspector", LinesView)
        (self.step_list if view.has_focus else view).focus()

    def action_unfold(self) -> None:
        rows = self.step_list.rows
        row = rows[self.step_list.cursor] if rows else None
        if row is not None and row.repeats > 1:
            self._unfolded.add(row.index - 1)
            self.refold()
            self.inspect()

    def action_fold(self) -> None:
        rows = self.step_list.rows
        if rows and rows[self.step_list.cursor].unfolded:
            start = max((one for one in self._unfolded if one <= rows[self.step_list.cursor].index), default=None)
            if start is not None:
                self._unfolded.discard(start)
                self.refold()
                self.inspect()

    def action_origin(self) -> None:
        """Jump to where the weakest slot's value came from; from there back."""
        steps = self.step_list
        if self._back_to is not None:
            self._unhide(self._back_to)
            steps.cursor, self._back_to = steps.row_of(self._back_to), None
            return
        judged = self.told(self.current)[0].judged if self.current else None
        slots = judged.call.slots if judged else None
        known = [slot for slot in slots or () if slot.origin_step is not None]
        if not known:
            self.set_status("no slot of this step has an origin to jump to", "dim")
            return
        slot = min(known, key=lambda one: 1.0 if one.confidence is None else one.confidence)
        here = steps.rows[steps.cursor].index
        where = next((i for i, one in enumerate(steps.steps) if one.step.number == slot.origin_step), None)
        if where is not None:
            self._back_to = here
            said = "filter lifted" if self._unhide(where) else f"origin of {one_line(slot.name)}"
            steps.cursor = steps.row_of(where)
            back = steps.steps[here].step.number
            self.set_status(f"{said}; o goes back to step {back}", "dim")

    def action_problems(self) -> None:
        self._show_problems()

    @work(thread=True, group="problems", description="problems", exclusive=True, exit_on_error=False)
    def _show_problems(self) -> None:
        try:
            troubles = self.source.reader.troubles(self.judged.session.id)
            lines = [f"{one.what}: {one.where}" for one in troubles] or ["everything in this session could be read"]
        except ReachError as error:
            lines = [error.line()]
        from reach_tui.tui.screens.dialogs import TextDialog

        self.app.call_from_thread(self.app.push_screen, TextDialog("what could not be read", lines))

    # Labels

    def _label_done(self, outcome: Outcome) -> None:
        """A label command has ended: show what is on disk now."""
        if outcome.labels is not None:
            steps = self.step_list
            for index, judged in enumerate(steps.steps):
                call = judged.judged
                if call is not None and call.label != outcome.labels.get(call.call.key):
                    call = replace(call, label=outcome.labels.get(call.call.key))
                    steps.steps[index] = replace(judged, judged=call)
                    self._note_digit(call)
            steps.redraw()
            self.inspect(keep_scroll=True)
        else:
            self.reach.say(outcome.text, severity="error")
        self.set_status(outcome.text, "flagged" if outcome.failed else "label")

    # Bars

    @property
    def title_line(self) -> str:
        """The session's title, for the screens above."""
        return title_of(self.judged)

    def set_status(self, text: str, style: str) -> None:
        """What the last key did, at the right of the key line."""
        self.status = (text, style)
        self.refresh_bars()

    def title_lines(self, width: int) -> list[Line]:
        store = self.source.name if self._several else ""
        left = facts_line(self.title_line, self.judged.session, store, self.reach.now())
        steps, live = self.step_list.steps, self.reach.following
        right = failures_line(steps, self.reach.glyphs, loaded=self.loaded, live=live)
        return [spread(left, right, width), self.rule_line(width)]

    @property
    def status_line(self) -> Line:
        """What the last key did; else how many steps the search found."""
        text, style = self.status
        if self.hits is not None and not text:
            return self.search_status
        mark = f" {self.reach.glyphs.label} " if style == "label" else " "
        return [(mark, style), (text, style), (" ", "text")] if text else []

    def keys_below(self, width: int) -> list[Line]:
        return self.label_bar(width, self.status_line)

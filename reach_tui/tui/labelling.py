"""Giving labels from a screen: one thread writes them in order, and a label is shown only once it is on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import ReachError
from reach_tui.model import Label
from reach_tui.workspace import JudgedCall, Source

if TYPE_CHECKING:
    from reach_tui.tui.app import ReachApp


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a label command: the labels now in force, what to say, and whether it failed."""

    labels: dict[str | None, Label] | None
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """A label and the call it was given to."""

    judged: JudgedCall
    label: Label


class Labelling:
    """The label commands of one session's screen. `done` is called in the UI's thread after each write."""

    def __init__(self, app: ReachApp, source: Source, session_id: str, done: Callable[[Outcome], None]) -> None:
        self._app = app
        self._source = source
        self._session_id = session_id
        self._done = done
        self.last: Given | None = None
        """The label given last, for refining, repeating and notes."""

    def give(self, judged: JudgedCall, category: str, subcategory: str | None = None, note: str = "") -> None:
        """Label a call."""
        label = self._app.workspace.make_label(self._source, judged, category, subcategory, note)
        self.last = Given(judged, label)
        self._app.on_label_thread(lambda: self._save(judged, label))

    def again(self, judged: JudgedCall) -> bool:
        """Give the last label's category to another call; False if none was given yet."""
        if self.last is None or self.last.label.category is None:
            return False
        self.give(judged, self.last.label.category, self.last.label.subcategory)
        return True

    def refine(self, given: Given, subcategory: str) -> None:
        """The same label with a second level."""
        self._relabel(given, replace(given.label, subcategory=subcategory))

    def annotate(self, given: Given, note: str) -> None:
        """The same label with a note."""
        self._relabel(given, replace(given.label, note=note))

    def mark_first_cause(self, given: Given) -> None:
        """The same label, with the mark of the session's first cause, or without it."""
        self._relabel(given, replace(given.label, first_cause=not given.label.first_cause))

    def _relabel(self, given: Given, label: Label) -> None:
        label = replace(label, by=self._app.workspace.by, at=now_ms(), id=None)
        self.last = Given(given.judged, label)
        self._app.on_label_thread(lambda: self._save(given.judged, label))

    def undo(self) -> None:
        """Take the person's last label back."""
        self._app.on_label_thread(lambda: self._step_back(redo=False))

    def redo(self) -> None:
        """Give the label back that was undone last."""
        self._app.on_label_thread(lambda: self._step_back(redo=True))

    # In the label thread

    def _save(self, judged: JudgedCall, label: Label) -> None:
        workspace = self._app.workspace
        try:
            workspace.save_label(self._source, judged, label)
            self._tell(f"saved {self._clock()} in {workspace.label_path(self._source).name}")
        except ReachError as error:
            self._fail(f"NOT saved: {error.line()}")

    def _step_back(self, *, redo: bool) -> None:
        workspace = self._app.workspace
        try:
            store = workspace.label_store(self._source)
            label = store.redo(workspace.by) if redo else store.undo(workspace.by)
        except ReachError as error:
            self._fail(f"NOT done: {error.line()}")
            return
        if label is None:
            self._tell("nothing to redo" if redo else "nothing to undo")
            return
        elsewhere = "" if label.session_id == self._session_id else " in another session"
        state = label.category or "no label"
        self._tell(f"{'redone' if redo else 'undone'}{elsewhere}: now {state} · {self._clock()}")

    def _tell(self, text: str) -> None:
        try:
            labels = self._app.workspace.labels_of(self._source, self._session_id)
        except ReachError as error:
            self._fail(error.line())
            return
        self._answer(Outcome(labels, text))

    def _fail(self, text: str) -> None:
        self._answer(Outcome(None, text, failed=True))

    def _answer(self, outcome: Outcome) -> None:
        if self._app.is_running:
            self._app.call_from_thread(self._done, outcome)

    @staticmethod
    def _clock() -> str:
        return f"{datetime.now().astimezone():%H:%M:%S}"

"""The keys that find failures and label them, shared by the session and the full-screen call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reach_tui.base.jsonio import dumps
from reach_tui.base.text import shown_name
from reach_tui.tui.commands import LABEL_WORDS, SHORT_WORDS
from reach_tui.tui.labelling import Given, Labelling
from reach_tui.tui.lines import Line, padded, spread, width_of
from reach_tui.tui.screens.dialogs import Choice, NoteDialog, PickDialog

if TYPE_CHECKING:
    from reach_tui.taxonomy import Category
    from reach_tui.tui.app import ReachApp
    from reach_tui.workspace import JudgedCall, Source

_COPY_LIMIT = 100_000  # terminals drop longer clipboard writes


def level_2_choices(category: Category) -> list[Choice]:
    """The second level of a class, a digit each."""
    return [
        Choice(
            str((number + 1) % 10),
            one.id,
            one.name,
            f"{one.definition} For example: {one.example}" if one.example else one.definition,
        )
        for number, one in enumerate(category.subcategories[:10])
    ]


def digits_line(width: int) -> Line:
    """The ten label keys with a word each."""
    line: Line = [(" ", "text")]
    wide = width >= 92
    for digit, word in (LABEL_WORDS if wide else SHORT_WORDS).items():
        line += [(digit, "key"), (f" {word}{'  ' if wide else ' '}", "dim")]
    return line


class LabelCommands:
    """Actions for label, refine, repeat, note, undo, redo and copy; the host says which call and how to move on."""

    labelling: Labelling
    source: Source

    if TYPE_CHECKING:

        @property
        def reach(self) -> ReachApp: ...
        @property
        def current_call(self) -> JudgedCall | None: ...
        def set_status(self, text: str, style: str) -> None: ...
        def jump(self, step: int, *, hidden: bool) -> bool: ...
        def key_line(self, width: int) -> Line: ...

    def label_bar(self, width: int, status: Line) -> list[Line]:
        """The lines at the bottom: the label keys, then the other keys with the status at the right."""
        room = min(width_of(status), width // 2)
        keys = self.key_line(max(20, width - room - 2))
        return [
            [(self.reach.glyphs.rule * width, "rule")],
            padded(self._digits(width), width),
            spread([(" ", "text"), *keys], padded(status, room), width),
        ]

    def _digits(self, width: int) -> Line:
        """The label keys; with a word of the person's own codebook where one is set."""
        if not self.reach.workspace.settings.taxonomy:
            return digits_line(width)  # no file is read for the first screen
        from reach_tui.tui.queue_lines import code_digits

        return code_digits(self.reach.workspace.taxonomy, None, width)

    def action_next_failure(self) -> None:
        self.jump(1, hidden=False)

    def action_previous_failure(self) -> None:
        self.jump(-1, hidden=False)

    def action_next_hidden(self) -> None:
        self.jump(1, hidden=True)

    def action_previous_hidden(self) -> None:
        self.jump(-1, hidden=True)

    def action_label(self, digit: str) -> None:
        """Label the current call with a level-1 category and move on to the next failure."""
        judged = self.current_call
        category = self.reach.workspace.taxonomy.by_key(digit)
        if judged is None or category is None:
            self.set_status("a label hangs on a call: n goes to the next failure", "dim")
            return
        self.labelling.give(judged, category.id)
        self.jump(1, hidden=False)

    def action_repeat_label(self) -> None:
        judged = self.current_call
        if judged is None or not self.labelling.again(judged):
            self.set_status("no label given yet to repeat", "dim")
        else:
            self.jump(1, hidden=False)

    def _given(self) -> Given | None:
        """The label given last in this session, else the one of the current call."""
        if self.labelling.last is not None:
            return self.labelling.last
        judged = self.current_call
        return Given(judged, judged.label) if judged is not None and judged.label is not None else None

    def action_refine(self) -> None:
        given = self._given()
        category = self.reach.workspace.taxonomy.find(given.label.category or "") if given else None
        if given is None or category is None:
            self.set_status("label first (1-9, 0), then ; refines it", "dim")
            return

        def chosen(subcategory: str | None) -> None:
            if subcategory is not None:
                self.labelling.refine(given, subcategory)

        call = given.judged.call
        title = f"{category.key} {category.name} · step {call.step} {shown_name(call.tool)}"
        self.reach.push_screen(PickDialog(title, level_2_choices(category)), chosen)

    def action_first_cause(self) -> None:
        """The labelled call is where the session began to go wrong, or is not."""
        judged = self.current_call
        if judged is None or judged.label is None or judged.label.by != self.reach.workspace.by:
            self.set_status("label the call first, then f marks it as the first cause", "dim")
        else:
            self.labelling.mark_first_cause(Given(judged, judged.label))

    def action_note(self) -> None:
        judged = self.current_call
        given = Given(judged, judged.label) if judged is not None and judged.label is not None else self._given()
        if given is None:
            self.set_status("label first (1-9, 0), then e adds a note", "dim")
            return

        def written(note: str | None) -> None:
            if note is not None and note != given.label.note:
                self.labelling.annotate(given, note)

        self.reach.push_screen(
            NoteDialog(f"note · step {given.judged.call.step} · {given.label.category}", given.label.note), written
        )

    def action_undo(self) -> None:
        self.labelling.undo()

    def action_redo(self) -> None:
        self.labelling.redo()

    def action_copy_call(self) -> None:
        judged = self.current_call
        if judged is None:
            self.set_status("not a call", "dim")
            return
        source = self.source

        def make() -> None:
            """The JSON of megabytes is not made on the UI's thread."""
            from reach_tui.workspace.records import call_record

            text = dumps(call_record(source, judged), indent=2)
            self.reach.call_from_thread(self._copy, text[: _COPY_LIMIT + 1], len(text), "the call")

        self.reach.run_worker(make, thread=True, group="copy", description="copy", exit_on_error=False)

    def action_copy_evidence(self) -> None:
        judged = self.current_call
        evidence = judged.verdict.evidence if judged else None
        if evidence is None:
            self.set_status("no evidence to copy", "dim")
        else:
            self._copy(evidence.text, len(evidence.text), "the evidence")

    def _copy(self, text: str, size: int, what: str) -> None:
        cut = text[:_COPY_LIMIT]
        self.reach.copy_to_clipboard(cut)
        note = f" (the first {_COPY_LIMIT:,} of {size:,} characters)" if size > len(cut) else ""
        self.set_status(f"copied {what}{note}", "dim")

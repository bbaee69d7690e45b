"""The symptoms of one session, or of everything that is open: cause, action, and evidence that leads to its step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from reach_tui.analyze.symptoms.model import Finding
from reach_tui.base.errors import ReachError
from reach_tui.tui.commands import SYMPTOMS, bindings_for
from reach_tui.tui.lines import Line
from reach_tui.tui.screens.base import named
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.screens.reading import ReadingList, ReadingScreen
from reach_tui.tui.symptom_rows import SymptomRow, symptom_rows
from reach_tui.tui.widgets.line_view import cursor_mark
from reach_tui.workspace import Source
from reach_tui.workspace.reading import Stopped, read_all

if TYPE_CHECKING:
    from reach_tui.tui.screens.diagnosed import DiagnosedSession


class SymptomList(ReadingList):
    """Symptoms and their evidence."""

    def __init__(self) -> None:
        super().__init__(id="symptoms")
        self.rows: list[SymptomRow] = []

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]


class SymptomsScreen(OpensCalls, ReadingScreen):
    """The table over sessions; with `session` it is that screen's, and Enter goes back to it."""

    commands_of = SYMPTOMS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SYMPTOMS)  # type: ignore[assignment]
    reads = "diagnose"

    @dataclass
    class Diagnosed(Message):
        """The table is there."""

        findings: tuple[Finding, ...]
        homes: dict[str, Source]
        problems: list[ReachError]

    def __init__(self, sources: Sequence[Source], session: DiagnosedSession | None = None) -> None:
        super().__init__()
        self._sources = list(sources)
        self.several = len(self._sources) > 1
        self._session = session
        self.findings: tuple[Finding, ...] | None = None
        self._homes: dict[str, Source] = {}

    def compose_body(self) -> ComposeResult:
        yield SymptomList()

    def begin(self) -> None:
        if self._session is not None:
            self.findings = self._session.findings
            self.call_after_refresh(self.lay_out)
        else:
            self._diagnose()

    @property
    def symptom_list(self) -> SymptomList:
        """The list, with its own type."""
        return self.query_one(SymptomList)

    @work(thread=True, group="diagnose", description="diagnose", exit_on_error=False)
    def _diagnose(self) -> None:
        from reach_tui.workspace.diagnosing import Diagnosis

        diagnosis = Diagnosis(self.reach.workspace)
        with suppress(Stopped):
            problems = read_all(self._sources, diagnosis.take, self.telling())
            self.post_message(self.Diagnosed(diagnosis.findings(), diagnosis.homes, problems))

    @on(Diagnosed)
    def _diagnosed(self, message: Diagnosed) -> None:
        self.findings, self._homes = message.findings, message.homes
        self.warn(message.problems)
        self.lay_out()

    def lay_out(self) -> None:
        rows = self.symptom_list
        if self.findings is not None:
            titles = None if self._session is not None else self._title_of
            rows.rows = symptom_rows(self.findings, rows.line_width, self.reach.glyphs, titles)
            rows.set_count(len(rows.rows))
            if not rows.cursor:
                rows.cursor = next((i for i, row in enumerate(rows.rows) if row.shown is not None), 0)
                rows.top = 0
                rows.reveal(rows.cursor)
        self.refresh_bars()

    def _title_of(self, session_id: str) -> str:
        source = self._homes.get(session_id)
        return self.reach.title_of(source, session_id) if source is not None else session_id

    def action_open(self) -> None:
        """Go to the step that shows it."""
        rows = self.symptom_list
        shown = rows.rows[rows.cursor].shown if rows.rows else None
        if shown is None or shown.step is None:
            self.reach.say("Enter on a line of evidence goes to its step")
        elif self._session is not None:
            self.app.pop_screen()
            self._session.go_to_step(shown.step)
        elif shown.session_id in self._homes:
            self.open_key(self._homes[shown.session_id], shown.session_id, shown.step)

    def head(self, width: int) -> tuple[Line, Line]:
        found = [one for one in self.findings or () if one.found]
        about = self._session.title_line if self._session is not None else named(self._sources)
        left: Line = [(" symptoms ", "title"), (f"· {about}", "dim")]
        right: Line = (
            [(f"{len(found)} of {len(self.findings)} found ", "soft" if found else "good")] if self.findings else []
        )
        return left, right

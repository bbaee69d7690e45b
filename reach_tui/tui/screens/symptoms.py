"""The symptoms of one session, or of everything that is open: cause, action, and evidence that leads to its step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.worker import get_current_worker

from reach_tui.analyze.symptoms.model import Finding
from reach_tui.base.errors import ReachError
from reach_tui.tui.commands import SYMPTOMS, bindings_for
from reach_tui.tui.lines import Line, padded, spread
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.symptom_rows import SymptomRow, symptom_rows
from reach_tui.tui.widgets.line_view import Bar, LineList, cursor_mark
from reach_tui.workspace import Source

if TYPE_CHECKING:
    from reach_tui.tui.screens.diagnosed import DiagnosedSession

_TELL_SECONDS = 0.2


class SymptomList(LineList):
    """Symptoms and their evidence."""

    def __init__(self) -> None:
        super().__init__(id="symptoms")
        self.rows: list[SymptomRow] = []
        self.waiting = ""

    def line_at(self, index: int, width: int) -> Line:
        return [(cursor_mark(self, index), "key"), *self.rows[index].line]

    def empty_line(self, index: int, width: int) -> Line:
        return [(f"  {self.waiting}", "dim")] if index == 1 else []


class SymptomsScreen(OpensCalls):
    """The table over sessions; with `session` it is that screen's, and Enter goes back to it."""

    commands_of = SYMPTOMS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SYMPTOMS)  # type: ignore[assignment]

    @dataclass
    class Progress(Message):
        """So many sessions have been read."""

        sessions: int

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

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield SymptomList()
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.symptom_list.focus()
        self.symptom_list.waiting = "reading …  Escape stops"
        if self._session is not None:
            self.findings = self._session.findings
            self.call_after_refresh(self._lay_out)
        else:
            self._diagnose()

    @property
    def symptom_list(self) -> SymptomList:
        """The list, with its own type."""
        return self.query_one(SymptomList)

    @work(thread=True, group="diagnose", description="diagnose", exit_on_error=False)
    def _diagnose(self) -> None:
        from reach_tui.workspace.diagnosing import Diagnosis

        worker, told = get_current_worker(), time.monotonic()
        diagnosis = Diagnosis(self.reach.workspace)
        problems: list[ReachError] = []
        for source in self._sources:
            try:
                for count in diagnosis.take(source):
                    if worker.is_cancelled:
                        return
                    if time.monotonic() - told > _TELL_SECONDS:
                        told = time.monotonic()
                        self.post_message(self.Progress(count))
            except ReachError as error:
                problems.append(error)
        self.post_message(self.Diagnosed(diagnosis.findings(), diagnosis.homes, problems))

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        self.symptom_list.waiting = f"{message.sessions:,} sessions read …  Escape stops"
        self.symptom_list.refresh()

    @on(Diagnosed)
    def _diagnosed(self, message: Diagnosed) -> None:
        self.findings, self._homes = message.findings, message.homes
        for problem in message.problems[:3]:
            self.reach.say(problem.line(), severity="warning")
        self._lay_out()

    def on_resize(self) -> None:
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        rows = self.symptom_list
        if self.findings is not None:
            titles = None if self._session is not None else self._title_of
            rows.rows = symptom_rows(self.findings, rows.line_width, self.reach.glyphs, titles)
            rows.set_count(len(rows.rows))
            if not rows.cursor:
                rows.cursor = next((i for i, row in enumerate(rows.rows) if row.shown is not None), 0)
                rows.top = 0
                rows.reveal(rows.cursor)
        for bar in self.query(Bar):
            bar.refresh()

    def _title_of(self, session_id: str) -> str:
        source = self._homes.get(session_id)
        return self.reach.title_of(source, session_id) if source is not None else session_id

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_open()

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

    def action_back(self) -> None:
        self.workers.cancel_group(self, "diagnose")
        self.app.pop_screen()

    def _top(self, width: int) -> list[Line]:
        found = [one for one in self.findings or () if one.found]
        if self._session is not None:
            about = self._session.title_line
        else:
            about = ", ".join(one.name for one in self._sources[:3])
            about += f" +{len(self._sources) - 3}" if len(self._sources) > 3 else ""
        left: Line = [(" symptoms ", "title"), (f"· {about}", "dim")]
        right: Line = (
            [(f"{len(found)} of {len(self.findings)} found ", "soft" if found else "good")] if self.findings else []
        )
        return [spread(left, right, width), [(self.reach.glyphs.rule * width, "rule")]]

    def _bottom(self, width: int) -> list[Line]:
        return [[(self.reach.glyphs.rule * width, "rule")], padded([(" ", "text"), *self.key_line(width - 2)], width)]

"""A session's screen that diagnoses: its symptoms in one line, the list of them, and the replay of the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from reach_tui.tui.lines import Line, heading
from reach_tui.tui.screens.inferred import InferredSession
from reach_tui.tui.symptom_rows import symptoms_brief
from reach_tui.workspace import JudgedStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reach_tui.analyze.symptoms.model import Finding


class DiagnosedSession(InferredSession):
    """Looks for the ten symptoms once the session has been read; nothing is read a second time."""

    @dataclass
    class Diagnosed(Message):
        """The symptom table over the steps read so far."""

        findings: tuple[Finding, ...]
        steps: int

    def __init__(self) -> None:
        super().__init__()
        self.findings: tuple[Finding, ...] | None = None
        self._diagnosed = -1
        """Steps that `findings` are about."""
        self._asked = False

    @property
    def title_line(self) -> str:
        """The session's title."""
        raise NotImplementedError  # the session's screen does

    def show_step(self, index: int) -> None:
        """Move to that one of the steps; a fold it is in is opened."""
        raise NotImplementedError  # the session's screen does

    def diagnose(self) -> None:
        """Look for symptoms in what has been read."""
        self._diagnose(list(self.step_list.steps))

    @work(thread=True, group="diagnose", description="diagnose", exclusive=True, exit_on_error=False)
    def _diagnose(self, steps: list[JudgedStep]) -> None:
        from reach_tui.workspace.diagnosing import diagnosed_steps

        self.post_message(self.Diagnosed(diagnosed_steps(self.judged.session, steps), len(steps)))

    @on(Diagnosed)
    def _now_diagnosed(self, message: Diagnosed) -> None:
        self.findings, self._diagnosed = message.findings, message.steps
        self.refresh_bars()
        if self._asked:
            self.action_symptoms()

    def action_symptoms(self) -> None:
        """The symptoms of this session, with their evidence."""
        self._asked = self.findings is None or self._diagnosed != len(self.step_list.steps)
        if self._asked:
            if self.loaded:
                self.diagnose()
            return
        if self.app.screen is self:
            from reach_tui.tui.screens.symptoms import SymptomsScreen

            self.app.push_screen(SymptomsScreen([self.source], session=self))

    def go_to_step(self, number: int) -> None:
        """Move to the step of that number."""
        if (where := place_of(self.step_list.steps, number)) is not None:
            self.show_step(where)

    def action_replay(self) -> None:
        """Replay this session from the step under the cursor."""
        from reach_tui.tui.screens.replay import ReplayScreen

        at = self.current.step.number if self.current is not None else None
        self.app.push_screen(ReplayScreen(self.source, self.judged, at))

    def rule_line(self, width: int) -> Line:
        """The rule below the title, with the symptoms in it where there are any."""
        glyphs = self.reach.glyphs
        said = symptoms_brief(self.findings, max(0, width - 24)) if self.findings is not None else ""
        if not said:
            return [(glyphs.rule * width, "rule")]
        keys = self.reach.keymap.get("symptoms", "D").split(",")[0]
        line = heading(said, width - len(keys) - 10, glyphs)
        return [(text, "soft" if style == "dim" else style) for text, style in line] + [
            (f" {keys}", "key"), (" lists ", "dim"), (glyphs.rule * 2, "rule")
        ]  # fmt: skip


def place_of(steps: Sequence[JudgedStep], at: str | int) -> int | None:
    """Where the call of a key, or the step of a number, stands among the steps."""
    if isinstance(at, int):
        return next((i for i, one in enumerate(steps) if one.step.number == at), None)
    return next((i for i, one in enumerate(steps) if one.judged is not None and one.judged.call.key == at), None)

"""Sessions written by hand: what the person said, what was called, what came back."""

from __future__ import annotations

from dataclasses import dataclass, field

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.held import Belief
from reach_tui.infer.slots import Schemas, SlotIndex
from reach_tui.model import Result, Slot, Step, StepKind, ToolCall, Verdict

FINE = Verdict(False, 1.0)
WRONG = Verdict(True, 1.0, "context_gap", "wrong_target")
DOWN = Verdict(True, 1.0, "upstream_error", "http_5xx")
NOON = 1_780_920_000_000
"""2026-06-08T12:00:00Z, a Monday."""


@dataclass
class Story:
    """Steps of one session, with the calls' verdicts."""

    folder: str | None = "/srv/shop"
    schemas: Schemas = field(default_factory=dict)
    steps: list[tuple[Step, Verdict | None]] = field(default_factory=list)

    def user(self, text: str) -> Story:
        """The person says something."""
        return self._say(StepKind.USER, text)

    def says(self, text: str) -> Story:
        """The agent says something."""
        return self._say(StepKind.ASSISTANT, text)

    def _say(self, kind: StepKind, text: str) -> Story:
        self.steps.append((Step(len(self.steps) + 1, 1, kind, text), None))
        return self

    def call(self, tool: str, result: str | None = "ok", verdict: Verdict = FINE, /, **arguments: JsonValue) -> Story:
        """A call with its result."""
        call = self.make(tool, **arguments)
        answer = None if result is None else Result(result, len(result.encode("utf-8", "replace")))
        number = len(self.steps) + 1
        call = ToolCall(call.key, call.id, "s", tool, arguments, False, answer, number, 1, call.started_at)
        self.steps.append((Step(number, 1, StepKind.CALL, call=call), verdict))
        return self

    def make(self, tool: str, arguments: JsonValue = None, /, **named: JsonValue) -> ToolCall:
        """The call that comes next, without a result."""
        number = len(self.steps) + 1
        given = named if arguments is None else arguments
        return ToolCall(f"s/{number}", f"c{number}", "s", tool, given, step=number, turn=1, started_at=NOON)

    @property
    def index(self) -> SlotIndex:
        """All steps, taken in."""
        index = SlotIndex(self.folder, self.schemas)
        for step, verdict in self.steps:
            index.add(step, verdict)
        return index

    def slots(self, tool: str, arguments: JsonValue = None, /, **named: JsonValue) -> dict[str, Slot]:
        """The slots of a call that comes next, by name."""
        call = self.make(tool, arguments, **named)
        found = self.index.slots(call)
        assert len({slot.name for slot in found}) == len(found)
        assert all(slot.basis == "inferred" for slot in found)
        return {slot.name: slot for slot in found}

    def confidence(self, tool: str, **arguments: JsonValue) -> float | None:
        """The confidence of a call that comes next."""
        call, index = self.make(tool, **arguments), self.index
        return index.confidence(call, index.slots(call))

    def belief(self, tool: str, **arguments: JsonValue) -> Belief | None:
        """What an edit that comes next believes."""
        return self.index.belief(self.make(tool, **arguments))

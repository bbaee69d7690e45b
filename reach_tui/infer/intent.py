"""What a call was about, as far as was known before it: what was asked, and what the agent said it would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reach_tui.base.text import one_line
from reach_tui.model import Step, StepKind

MOST_ASKED = 2_000
"""Characters of the user's text that are looked at, from its beginning."""
MOST_SAID = 2_000
"""Characters of the assistant's texts of the turn that are looked at, the last ones."""
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Intent:
    """The last user text, and the assistant's texts of the same turn up to the call, newest first."""

    asked: str = ""
    said: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """One line for people: what was said last where something was said, and what was asked."""
        asked, said = clipped(one_line(self.asked)), clipped(one_line(self.said[0])) if self.said else ""
        return f"{asked} ⇒ {said}" if asked and said else asked or said

    @property
    def text(self) -> str:
        """Everything, for a scorer: what was said last first."""
        return "\n".join((*self.said, self.asked)) if self.said else self.asked


def clipped(text: str, most: int = _SHOWN) -> str:
    """The beginning of a text, with `…` where it was cut."""
    text = text.strip()
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@dataclass(slots=True)
class IntentReader:
    """Follows the steps of a session and knows the intent at each of them; sees nothing that comes later."""

    _asked: str = ""
    _turn: int | None = None
    _said: list[str] = field(default_factory=list)

    def see(self, step: Step) -> None:
        """Take in one step, in order. Results, arguments and verdicts are not looked at."""
        if step.kind is StepKind.USER:
            self._asked, self._turn, self._said = step.text[:MOST_ASKED], step.turn, []
        elif step.kind is StepKind.ASSISTANT and step.text.strip():
            if step.turn != self._turn:  # a turn without a user text of its own: the last request still stands
                self._turn, self._said = step.turn, []
            self._said.append(step.text[-MOST_SAID:])

    def at(self, turn: int) -> Intent:
        """The intent of a call that comes now, in this turn."""
        return Intent(self._asked, tuple(_newest(self._said)) if turn == self._turn else ())


def _newest(said: Sequence[str]) -> Iterator[str]:
    left = MOST_SAID
    for text in reversed(said):
        if left <= 0:
            return
        yield text[-left:]
        left -= len(text)

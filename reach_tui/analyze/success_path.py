"""Which tools return errors through the success path at all (seed A11): the list a maintainer works down."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze.pairs import Pairs, Wanted, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.base.text import one_line
from reach_tui.model import is_hidden

_KEPT = 600  # characters of evidence


class Example(NamedTuple):
    """A hidden error to look at."""

    call_key: str
    rule: str | None
    evidence: str


@dataclass(slots=True)
class SuccessPath(Sum):
    """Hidden errors by tool, those among them that the store records as a success, and the first of each."""

    hidden: Counter[str] = field(default_factory=Counter)
    recorded_success: Counter[str] = field(default_factory=Counter)
    example: dict[str, Example] = field(default_factory=dict)

    def include(self, other: SuccessPath) -> None:
        """Add another one to this."""
        add_up(self.hidden, other.hidden)
        add_up(self.recorded_success, other.recorded_success)
        for tool, example in other.example.items():
            self.example.setdefault(tool, example)


def of_session(pairs: Pairs, wanted: Wanted = originals) -> SuccessPath:
    """The hidden errors of one session by tool."""
    found = SuccessPath()
    for call, verdict in pairs:
        if is_hidden(call, verdict) and wanted(call):
            found.hidden[call.tool] += 1
            found.recorded_success[call.tool] += call.flagged is False
            if call.tool not in found.example:
                evidence = verdict.evidence.text if verdict.evidence else call.text or ""
                found.example[call.tool] = Example(call.key, verdict.rule, one_line(evidence[:_KEPT]))
    return found

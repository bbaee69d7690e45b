"""Whose reach ended (seed B1): each failure by its class, each session by its one decisive step.

Single failures are mostly recovered from and are not what makes a session fail, so the two counts are never added up
(taxonomy, section 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze import loops
from reach_tui.analyze.loops import Loop
from reach_tui.analyze.pairs import Pairs, Wanted, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.base.jsonio import as_object
from reach_tui.base.text import one_line
from reach_tui.detect.command import command_of
from reach_tui.detect.files import access
from reach_tui.model import Glance, Verdict
from reach_tui.taxonomy import Taxonomy, default

CAUSES = ("tool", "context", "execution", "model")
"""The seed's three kinds of out-of-reach, and the model's own reasoning."""
_LOOP = "loop_repetition"
_UNCLASSED = "model_reasoning"


class Cause(NamedTuple):
    """Whose reach, and the level-1 class."""

    reach: str
    category: str


@dataclass(frozen=True, slots=True)
class Decisive:
    """The step that decided a session, and why it is taken for that."""

    step: int
    call_key: str
    cause: Cause
    subcategory: str | None
    why: str


@dataclass(slots=True)
class Attribution(Sum):
    """Failures by cause, and sessions by the cause of their decisive failure."""

    failures: Counter[Cause] = field(default_factory=Counter)
    sessions: Counter[Cause] = field(default_factory=Counter)
    recovered: int = 0
    """Sessions with failures that were all recovered from: no cause is given."""

    def include(self, other: Attribution) -> None:
        """Add another one to this."""
        add_up(self.failures, other.failures)
        add_up(self.sessions, other.sessions)
        self.recovered += other.recovered


def cause_of(category: str | None, taxonomy: Taxonomy | None = None) -> Cause:
    """The cause of a failed call by the reach of its level-1 class."""
    category = category or _UNCLASSED
    found = (taxonomy or default()).find(category)
    return Cause(found.reach, category) if found and found.reach in CAUSES else Cause("model", _UNCLASSED)


def of_session(
    pairs: Pairs, folder: str | None = None, wanted: Wanted = originals, runs: Sequence[Loop] | None = None
) -> Attribution:
    """The failures of one session by cause; the session itself if a failure stayed unrecovered.

    `runs` are the loops among the wanted calls, where they are known.
    """
    found = Attribution()
    failed = [verdict for call, verdict in pairs if verdict.failed is True and wanted(call)]
    if not failed:
        return found
    taxonomy = default()
    for verdict in failed:
        found.failures[cause_of(verdict.category, taxonomy)] += 1
    if decided := decided_by(pairs, folder, wanted, runs):
        found.sessions[decided.cause] += 1
    else:
        found.recovered = 1
    return found


def decided_by(
    pairs: Pairs, folder: str | None = None, wanted: Wanted = originals, runs: Sequence[Loop] | None = None
) -> Decisive | None:
    """What decided a session, of its wanted calls alone."""
    return decisive([pair for pair in pairs if wanted(pair[0])], folder, runs)


def decisive(pairs: Pairs, folder: str | None = None, runs: Sequence[Loop] | None = None) -> Decisive | None:
    """The first failure that the session never recovered from; None if it recovered from all.

    Recovered means: the same tool later succeeded on the same subject (file, program, or the tool alone). Where that
    failure begins a run of three equal errors or calls, the session's class is the loop.
    """
    failed = [(place, *pair) for place, pair in enumerate(pairs) if pair[1].failed is True]
    failing = {call.tool for _, call, _ in failed}
    succeeded = [
        place for place, (call, verdict) in enumerate(pairs) if verdict.failed is False and call.tool in failing
    ]
    last: dict[tuple[str, str], int] = {}  # where each subject succeeded last, from the end back as far as needed
    for place, call, verdict in failed:
        wanted = subject(call, folder)
        while wanted not in last and succeeded and succeeded[-1] > place:
            success = succeeded.pop()
            last.setdefault(subject(pairs[success][0], folder), success)
        if last.get(wanted, -1) < place:
            return _decided(call, verdict, pairs, runs)
    return None


def _decided(call: Glance, verdict: Verdict, pairs: Pairs, runs: Sequence[Loop] | None) -> Decisive:
    said = one_line(verdict.explanation or (verdict.evidence.text if verdict.evidence else "") or "it failed")
    if runs is None:
        runs = loops.find(pairs)
    own = loops.uncopied(pairs) if runs else ()
    place = next((number for number, (one, _) in enumerate(own) if one.key == call.key), -1)
    for loop in runs:
        if loop.first <= place <= loop.last and loop.tool == call.tool:
            why = f"{call.shown_tool}, {loop.length} times without progress: {said}"
            return Decisive(call.step, call.key, Cause("model", _LOOP), loop.what, why)
    why = f"{call.shown_tool} failed and never succeeded there again: {said}"
    return Decisive(call.step, call.key, cause_of(verdict.category), verdict.subcategory, why)


def subject(call: Glance, folder: str | None = None) -> tuple[str, str]:
    """What a call works on, as far as its arguments say: tool and file, or tool and program, or the tool alone."""
    _, paths = access(call, folder)
    if paths:
        return call.tool, paths[0]
    command = command_of(as_object(call.arguments)) if call.arguments else ""
    return call.tool, command.split(maxsplit=1)[0] if command.strip() else ""

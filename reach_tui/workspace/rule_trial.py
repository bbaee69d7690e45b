"""What a rule file would change in a person's history: calls that another verdict or class is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reach_tui.workspace.records import Record, label_field, verdict_fields

if TYPE_CHECKING:
    from reach_tui.detect.engine import Engine
    from reach_tui.model import Label, ToolCall, Verdict
    from reach_tui.workspace.sources import Source
    from reach_tui.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Change:
    """A call that another verdict or class is given."""

    call: ToolCall
    before: Verdict
    after: Verdict
    label: Label | None

    @property
    def flips(self) -> bool:
        """The verdict itself changes, not only its class, rule or evidence."""
        return (self.before.failed, self.before.soft) != (self.after.failed, self.after.soft)


@dataclass(slots=True)
class Trial:
    """What a rule file does to a person's history, counted while the changes are streamed."""

    ids: frozenset[str]
    """The rules on trial."""
    calls: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    """Calls that a rule on trial decided, by rule."""
    labelled: int = 0
    """Those of them that a person has labelled."""
    right: int = 0
    """Those of them where the rule says what the label says."""
    flips: Counter[str] = field(default_factory=Counter)
    """Flipped verdicts by tool."""
    reclassified: int = 0

    @property
    def precision(self) -> float | None:
        """Share of the labelled calls decided by the rules where they agree with the label; None without any."""
        return self.right / self.labelled if self.labelled else None

    def run(self, calls: Iterable[tuple[ToolCall, Label | None]], before: Engine, after: Engine) -> Iterator[Change]:
        """The calls that change."""
        for call, label in calls:
            self.calls += 1
            new = after.judge(call)
            if new.rule in self.ids:
                self._count(new, label)
            old = before.judge(call)
            change = Change(call, old, new, label)
            if change.flips:
                self.flips[call.shown_tool] += 1
                yield change
            elif (old.category, old.subcategory) != (new.category, new.subcategory):
                self.reclassified += 1
                yield change

    def _count(self, verdict: Verdict, label: Label | None) -> None:
        self.decided[str(verdict.rule)] += 1
        if label is not None and verdict.failed is not None:
            self.labelled += 1
            self.right += verdict.failed is (label.category != "not_a_failure")


def changes(trial: Trial, workspace: Workspace, source: Source, before: Engine, after: Engine) -> Iterator[Change]:
    """What of a trace's calls changes, each with this person's label if it has one. Raises `StoreError`."""

    def labelled() -> Iterator[tuple[ToolCall, Label | None]]:
        labels: dict[str | None, Label] = {}
        current: str | None = None
        for call in source.reader.calls():
            if call.copy_of is not None:
                continue  # counted with its original
            if call.session_id != current:
                current = call.session_id
                labels = workspace.labels_of(source, current)
            yield call, labels.get(call.key)

    return trial.run(labelled(), before, after)


def change_record(source: Source, change: Change) -> Record:
    """A changed call, before and after."""
    call = change.call
    return {
        "store": source.kind,
        "path": source.file_of(call.session_id),
        "session_id": call.session_id,
        "call_key": call.key,
        "tool": call.shown_tool,
        "flagged": call.flagged,
        "flips": change.flips,
        "before": verdict_fields(change.before),
        "after": verdict_fields(change.after),
        "label": label_field(change.label) if change.label else None,
    }

"""What labels add up to: agreement between people, and the detectors held against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from reach_tui.analyze.agreement import Agreement, agreement
from reach_tui.analyze.detector_scores import Judged, Scores, scores
from reach_tui.labels.store import UNCODED
from reach_tui.model import Label, Verdict
from reach_tui.taxonomy import FAILURE, NOT_A_FAILURE, Taxonomy
from reach_tui.workspace.codebooks import Folding
from reach_tui.workspace.labelling import labels_in
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

Target = tuple[str, str, str]
"""Store kind, session id, call key."""


@dataclass(slots=True)
class Opinions:
    """Everybody's labels of one call."""

    annotators: dict[str, Label] = field(default_factory=dict)
    adjudicated: Label | None = None
    """The newest label of an adjudicator: it settles the matter, the others stay."""

    def truth(self) -> Label | None:
        """The adjudicated label, else one that all annotators share on level 1; None while they disagree."""
        if self.adjudicated is not None:
            return self.adjudicated
        classes = {label.category for label in self.annotators.values()}
        return max(self.annotators.values(), key=lambda label: label.at) if len(classes) == 1 else None

    @property
    def disputed(self) -> bool:
        """Annotators disagree on level 1 and nobody settled it."""
        return bool(self.annotators) and self.truth() is None


def opinions(labels: Iterable[Label], folding: Folding | None = None) -> dict[Target, Opinions]:
    """Labels in force by call; sessions' own labels and notes without a class yet are left out.

    With `folding`, only those of the chosen codebook, under the names its classes have today.
    """
    found: dict[Target, Opinions] = defaultdict(Opinions)
    for label in folded(labels, folding) if folding else labels:
        if label.call_key is None or label.category in (None, UNCODED):
            continue
        one = found[label.store, label.session_id, label.call_key]
        if label.role != "adjudicator":
            one.annotators[label.by] = label
        elif one.adjudicated is None or label.at >= one.adjudicated.at:
            one.adjudicated = label
    return dict(found)


def folded(labels: Iterable[Label], folding: Folding) -> Iterator[Label]:
    """The labels of the chosen codebook, under the names its classes have today; the log stays as it is."""
    for label in labels:
        if label.taxonomy == folding.chosen.id:
            now = folding.fold(label)
            yield (
                label if label.category is None else replace(label, category=now.category, subcategory=now.subcategory)
            )


def class_of(label: Label, level: int) -> str:
    """`level1`, or with level 2 `level1/level2` where a label has it."""
    return f"{label.category}/{label.subcategory}" if level == 2 and label.subcategory else str(label.category)


def agreement_of(found: Mapping[Target, Opinions], level: int = 1) -> Agreement:
    """How far the annotators agree on level 1, or on both levels."""
    return agreement(
        {by: class_of(label, level) for by, label in found[target].annotators.items()} for target in sorted(found)
    )


def disputes(found: Mapping[Target, Opinions]) -> list[Target]:
    """The calls somebody has to settle."""
    return [target for target in sorted(found) if found[target].disputed]


@dataclass(frozen=True, slots=True)
class Scored:
    """The detectors held against the labels of some traces."""

    scores: Scores
    disputed: int
    """Calls on which people disagree: not scored."""
    gone: int
    """Labelled calls that the traces no longer have."""


def score_labels(workspace: Workspace, sources: Iterable[Source]) -> Scored:
    """Judge every labelled call again with the rules in force. Raises `LabelError`, `StoreError`."""
    judged: list[Judged] = []
    disputed = gone = 0
    for source in sources:
        found = opinions(labels_in(workspace, source), workspace.folding)
        truth = {target: label for target, one in found.items() if (label := one.truth())}
        disputed += sum(one.disputed for one in found.values())
        rows = list(_judged(workspace, source, truth))
        gone += len(truth) - len(rows)
        judged += rows
    return Scored(scores(judged), disputed, gone)


def _judged(workspace: Workspace, source: Source, truth: Mapping[Target, Label]) -> Iterator[Judged]:
    sessions = sorted({session for _, session, _ in truth})
    if not sessions:
        return
    for one in workspace.judged_calls(source, sessions):
        label = truth.get((source.kind, one.call.session_id, one.call.key))
        if label is not None:
            verdict = one.verdict
            category, comparable = _said(workspace.taxonomy, verdict, str(label.category))
            yield Judged(
                verdict.failed, verdict.rule, category, str(label.category), one.call.key, one.call.tool, comparable
            )


def _said(codebook: Taxonomy, verdict: Verdict, label: str) -> tuple[str | None, bool]:
    """The verdict's class in the codebook people label with, and whether it has one there.

    Where several classes correspond, the one that the label names; where none does, only failed or not is compared.
    """
    if codebook.id == FAILURE or verdict.category in (None, NOT_A_FAILURE):
        return verdict.category, True
    classes = [path.partition("/")[0] for path in codebook.of_failure(verdict.category, verdict.subcategory)]
    if not classes:
        return f"{verdict.category} (no counterpart)", False
    return (label if label in classes else classes[0]), True

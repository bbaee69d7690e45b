"""Repeats in a session: a run of the same call, or of the same error, folds into one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reach_tui.tui.rows import StepRow
from reach_tui.workspace import JudgedStep

_SHORTEST = 3
"""A run shorter than this stays as it is (the taxonomy calls three identical calls a repetition)."""


def _same(one: JudgedStep, other: JudgedStep) -> bool:
    first, second = one.judged, other.judged
    if first is None or second is None or first.call.tool != second.call.tool:
        return False
    if first.verdict.failed and second.verdict.failed:
        return first.verdict.rule == second.verdict.rule and _error(one) == _error(other)
    return first.verdict.failed == second.verdict.failed and first.call.arguments == second.call.arguments


def _error(step: JudgedStep) -> str:
    assert step.judged is not None
    evidence = step.judged.verdict.evidence
    return evidence.text if evidence else ""


def fold_rows(steps: Sequence[JudgedStep], unfolded: set[int], keep: set[int] | None = None) -> list[StepRow]:
    """The visible rows. `unfolded`: the runs a person opened, by first index; `keep`: only a search's hits."""
    if keep is not None:
        return [StepRow(index) for index in range(len(steps)) if index in keep]
    rows: list[StepRow] = []
    for start, end in _runs(steps):
        if end - start < _SHORTEST or start in unfolded:
            rows += [StepRow(index, unfolded=end - start >= _SHORTEST) for index in range(start, end)]
        else:
            rows += [StepRow(start), StepRow(start + 1, repeats=end - start - 1)]
    return rows


def _runs(steps: Sequence[JudgedStep]) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(steps) + 1):
        if index == len(steps) or not _same(steps[start], steps[index]):
            yield start, index
            start = index

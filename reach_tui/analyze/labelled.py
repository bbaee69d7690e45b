"""How people's labels stand to the verdicts: how many there are, and on how many a person and the detectors differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from reach_tui.model import Label

FINE = "not_a_failure"


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Labels in force, one a target and person."""

    calls: int = 0
    disagree: int = 0
    """Of those on calls: the person says failed and the verdict says fine, or the reverse."""
    open: int = 0
    """Of those on calls: there is no verdict."""
    sessions: int = 0
    """Labels of whole sessions."""
    success: int = 0
    """Of those: the session did what was asked."""

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(
            self.calls + other.calls,
            self.disagree + other.disagree,
            self.open + other.open,
            self.sessions + other.sessions,
            self.success + other.success,
        )


def label_counts(
    labels: Iterable[Label], known: Mapping[str, tuple[str, bool | None]], uses: Callable[[str], bool] | None = None
) -> LabelCounts:
    """The counts; `known` gives tool and verdict by call key, `uses` says which tools are looked at (None: all).

    Labels of calls that are no longer there are left out, like those of a session under `uses`.
    """
    total = LabelCounts()
    for label in labels:
        total += label_count(label, known, uses)
    return total


def label_count(
    label: Label, known: Mapping[str, tuple[str, bool | None]], uses: Callable[[str], bool] | None = None
) -> LabelCounts:
    """What one label counts for."""
    if label.category is None:
        return LabelCounts()
    fine = label.category == FINE
    if label.call_key is None:
        return LabelCounts(sessions=1, success=int(fine)) if uses is None else LabelCounts()
    tool, failed = known.get(label.call_key, (None, None))
    if tool is None or (uses is not None and not uses(tool)):
        return LabelCounts()
    return LabelCounts(calls=1, disagree=int(failed is not None and failed is fine), open=int(failed is None))

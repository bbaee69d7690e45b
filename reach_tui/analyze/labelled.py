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
    calls = disagree = undecided = sessions = success = 0
    for label in labels:
        if label.category is None:
            continue
        fine = label.category == FINE
        if label.call_key is None:
            sessions += uses is None
            success += fine and uses is None
            continue
        tool, failed = known.get(label.call_key, (None, None))
        if tool is None or (uses is not None and not uses(tool)):
            continue
        calls += 1
        undecided += failed is None
        disagree += failed is not None and failed is fine
    return LabelCounts(calls, disagree, undecided, sessions, success)

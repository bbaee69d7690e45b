"""Does slot confidence predict? Failure rate by confidence band, AUC, gaps by tool and slot, composed slots apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from reach_tui.model import Slot, Verdict

PARAMETER = ("invalid_parameter", "context_gap", "stale_context")
"""Level-1 classes of failures that are about parameters: what slot confidence should foresee."""
BANDS = ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))
"""Half-open bands of a call's confidence; calls without a filled slot stand apart."""


def is_parameter_failure(verdict: Verdict) -> bool:
    """True for a failure of a class that is about parameters."""
    return verdict.failed is True and verdict.category in PARAMETER


def auc(scores: Iterable[float], positive: Iterable[bool]) -> float | None:
    """Chance that a positive has a higher score than a negative, ties half; None where one of the two is missing.

    Source: the Mann-Whitney statistic (J. A. Hanley, B. J. McNeil, Radiology 143 (1982) 29).
    """
    ranked = sorted(zip(scores, positive, strict=True))
    positives = sum(one for _, one in ranked)
    negatives = len(ranked) - positives
    if not positives or not negatives:
        return None
    total, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        rank = (place + 1 + end) / 2  # ranks from 1; equal scores share their mean
        total += rank * sum(one for _, one in ranked[place:end])
        place = end
    return (total - positives * (positives + 1) / 2) / (positives * negatives)


@dataclass(frozen=True, slots=True)
class Band:
    """Calls whose confidence lies in [low, high); both None: calls with nothing to fill."""

    low: float | None
    high: float | None
    calls: int
    failed: int
    """Failures about parameters."""

    @property
    def rate(self) -> float | None:
        """Share of failures, 0..1; None without calls."""
        return self.failed / self.calls if self.calls else None


@dataclass(slots=True)
class Confidence:
    """Sums over judged calls with slots. Only calls with a verdict (failed or fine) count for bands and AUC."""

    seen: Counter[tuple[float | None, bool]] = field(default_factory=Counter)
    """(confidence of the call, it is a parameter failure) -> calls."""
    sources: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(basis, source) -> slots; composed ones are a source of their own."""
    gaps: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(tool, slot) -> calls in which it was missing."""
    failures: Counter[str] = field(default_factory=Counter)
    """Tool -> failed calls: what gaps are held against."""
    stale: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(tool, slot) -> calls in which its value was outdated."""
    invented: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(tool, slot) -> calls in which its value stood nowhere before."""

    def add(self, tool: str, slots: Sequence[Slot], confidence: float | None, verdict: Verdict) -> None:
        """Count one call."""
        if verdict.failed is not None:
            self.seen[confidence, is_parameter_failure(verdict)] += 1
        self.failures[tool] += verdict.failed is True
        for slot in slots:
            self.sources[slot.basis, slot.source] += 1
            name = slot.name.split("[", 1)[0]
            for marked, counts in (("GAP", self.gaps), ("STALE", self.stale), ("INVENTED", self.invented)):
                if mark_of(slot) == marked:
                    counts[tool, name] += 1

    def __iadd__(self, other: Confidence) -> Confidence:
        for mine, theirs in (
            (self.seen, other.seen),
            (self.sources, other.sources),
            (self.gaps, other.gaps),
            (self.failures, other.failures),
            (self.stale, other.stale),
            (self.invented, other.invented),
        ):
            mine.update(theirs)  # type: ignore[arg-type]
        return self

    @property
    def calls(self) -> int:
        """Calls with a verdict."""
        return self.seen.total()

    def bands(self) -> list[Band]:
        """Failure rate per band of confidence, the lowest first; the last one: calls with nothing to fill."""
        found = []
        for low, high in BANDS:
            inside = {key: n for key, n in self.seen.items() if key[0] is not None and low <= key[0] < high}
            found.append(
                Band(low, min(high, 1.0), sum(inside.values()), sum(n for (_, bad), n in inside.items() if bad))
            )
        free = {key: n for key, n in self.seen.items() if key[0] is None}
        return [*found, Band(None, None, sum(free.values()), sum(n for (_, bad), n in free.items() if bad))]

    def auc(self, *, filled_only: bool = False) -> float | None:
        """AUC of (1 - confidence) for failures about parameters; a call with nothing to fill counts as confident."""
        scores: list[float] = []
        positive: list[bool] = []
        for (confidence, bad), count in self.seen.items():
            if confidence is None and filled_only:
                continue
            scores += [1 - (1.0 if confidence is None else confidence)] * count
            positive += [bad] * count
        return auc(scores, positive)


def mark_of(slot: Slot) -> str:
    """GAP, SCHEMA, STALE, INVENTED or AMBIGUOUS: the first that stands out in what lowered it; empty without one."""
    for word in ("GAP", "SCHEMA", "STALE", "INVENTED", "AMBIGUOUS"):
        if any(part.upper().startswith(f"{word}:") for part in slot.note.split("; ")):
            return word
    return ""

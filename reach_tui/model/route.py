"""Routes and slots: which tools were in question, and where each argument came from."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The double threshold (seed B, 3.2): execute if top >= t1 and gap >= gap; top < floor means no capability."""

    t1: float = 0.75
    gap: float = 0.15
    floor: float = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool with its score, 0..1."""

    name: str
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """A routing decision: candidates by falling score, and what followed from them."""

    basis: str
    """`recorded` or `inferred`."""
    intent: str
    candidates: tuple[Candidate, ...]
    decision: str
    """`execute`, `clarify` or `no_capability`."""
    thresholds: Thresholds = Thresholds()
    candidates_from: str = ""
    """Inferred only. Where the candidates come from: `recorded` (offered to the model), `registry` (the person's own)
    or `seen` (tools called in the database, described by the bundled registry)."""
    chosen: Candidate | None = None
    """Inferred only. The tool that was called with its own score, also where it is not among the candidates."""
    rank: int | None = None
    """Inferred only. The place of `chosen` among all tools that were scored, from 1."""
    dropped: tuple[Candidate, ...] = ()
    """Tools that a hard filter took out before any scoring; `reason` says why."""

    @property
    def gap(self) -> float | None:
        """Distance of the first to the second score; to 0 where there is no second; None without candidates."""
        if not self.candidates:
            return None
        second = self.candidates[1].score if len(self.candidates) > 1 else 0.0
        return round(self.candidates[0].score - second, 6)


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument's value and where it came from."""

    name: str
    value: JsonValue
    source: str
    """user, result, dictionary, default, argument, assistant, composed or none."""
    basis: str
    """`recorded` or `inferred`."""
    origin: str | None = None
    """Where it stands, for people: `step 8 · read`."""
    origin_step: int | None = None
    """The step to jump to."""
    matches: int | None = None
    confidence: float | None = None
    """0..1; None for composed slots."""
    note: str = ""
    """What lowered the confidence."""

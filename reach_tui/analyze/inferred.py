"""What inferred routes and slots, chains and durations of calls add up to: the report's part that reads every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from reach_tui.analyze import chains, timeouts
from reach_tui.analyze.confidence import Confidence, mark_of
from reach_tui.analyze.pairs import Wanted, originals
from reach_tui.analyze.routes import Agreement, of_calls
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.model import Slot, ToolCall, Verdict


@dataclass(slots=True)
class Inferred(Sum):
    """Sums over sessions whose calls have routes and slots."""

    agreement: dict[str, Agreement] = field(default_factory=dict)
    """By kind of store."""
    confidence: dict[str, Confidence] = field(default_factory=dict)
    """By kind of store."""
    origins: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind of store, where the candidates come from) -> calls."""
    gaps_failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(tool, slot) -> calls in which it was missing, and which failed."""
    composed: Counter[str] = field(default_factory=Counter)
    """Tool -> slots that the agent composed: counted apart, no figure of confidence holds them."""
    chains: chains.Chains = field(default_factory=chains.Chains)
    durations: timeouts.Durations = field(default_factory=timeouts.Durations)
    limits: dict[str, int] = field(default_factory=dict)
    """Tool -> time limit of its registry, in ms."""

    def include(self, other: Inferred) -> None:
        """Add another one to this."""
        for kind, agreement in other.agreement.items():
            self.agreement.setdefault(kind, Agreement()).include(agreement)
        for kind, sums in other.confidence.items():
            mine = self.confidence.setdefault(kind, Confidence())
            mine += sums
        add_up(self.origins, other.origins)
        add_up(self.gaps_failed, other.gaps_failed)
        add_up(self.composed, other.composed)
        self.chains.include(other.chains)
        self.durations.include(other.durations)
        self.limits |= other.limits

    @property
    def all_confidence(self) -> Confidence:
        """Over all stores."""
        total = Confidence()
        for one in self.confidence.values():
            total += one
        return total

    @property
    def all_agreement(self) -> Agreement:
        """Over all stores."""
        return sum(self.agreement.values(), start=Agreement())


def missing_slots(slots: Sequence[Slot]) -> set[str]:
    """Names of the slots that are gaps: required, and absent, null or empty."""
    return {slot.name.split("[", 1)[0] for slot in slots if mark_of(slot) == "GAP"}


@dataclass(frozen=True, slots=True)
class Told:
    """A call with its route and slots, its verdict, and the confidence in its slots."""

    call: ToolCall
    verdict: Verdict
    confidence: float | None


def of_session(kind: str, told: Iterable[Told], tools: int, wanted: Wanted = originals) -> Inferred:
    """One session's sums. `tools`: how many tools there were to choose from."""
    counted = [one for one in told if wanted(one.call)]
    pairs = [(one.call, one.verdict) for one in counted]
    sums, found = Confidence(), Inferred()
    for one in counted:
        slots = one.call.slots or ()
        sums.add(one.call.shown_tool, slots, one.confidence, one.verdict)
        if one.verdict.failed is True:
            add_up(found.gaps_failed, Counter((one.call.shown_tool, name) for name in missing_slots(slots)))
        found.composed[one.call.shown_tool] += sum(slot.source == "composed" for slot in slots)
        if one.call.route is not None and one.call.route.basis == "inferred":
            found.origins[kind, one.call.route.candidates_from] += 1
    routed = ((call, verdict, call.route) for call, verdict in pairs)
    found.agreement[kind] = of_calls(routed, tools)
    found.confidence[kind] = sums
    found.chains = chains.of_session(pairs)
    found.durations = timeouts.of_session(pairs)
    return found

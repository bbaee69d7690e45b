"""The regression run (seed B, 5.2): routing alone over all cases, against a baseline; who gained and who paid."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reach_tui.base.errors import ConfigError
from reach_tui.base.hashing import content_hash
from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Candidate
from reach_tui.reach.filters import RouteContext
from reach_tui.reach.router import Router
from reach_tui.replay.cases import Case

BASELINE_VERSION = 1
EVERYTHING = RouteContext(user_token=True)
"""Cases are asked in a session that may do everything: hard filters belong to a session, not to a description."""
NO_TOOL = "(none)"
"""Stands for the tool where none is right, or none came first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the router said to one case."""

    case: Case
    candidates: tuple[Candidate, ...]
    decision: str

    @property
    def chosen(self) -> str:
        """The tool that came first, whatever the decision."""
        return self.candidates[0].name if self.candidates else NO_TOOL

    @property
    def expected(self) -> str:
        """The right tool, or the right decision where there is none."""
        return self.case.tool or f"({self.case.decision})"

    @property
    def right(self) -> bool:
        """A right tool came first; for cases without a tool: the decision is right."""
        if self.chosen in self.case.forbidden and self.decision == "execute":
            return False
        return self.decision == self.case.decision if self.case.tool is None else self.chosen in self.case.right_tools

    @property
    def executed_wrongly(self) -> bool:
        """Something would have been called that should not have been."""
        if self.decision != "execute":
            return False
        return self.case.tool is None or self.chosen not in self.case.right_tools


@dataclass(frozen=True, slots=True)
class ToolAccuracy:
    """The cases of one expected tool."""

    tool: str
    right: int
    cases: int
    before: tuple[int, int] | None = None
    """Right and compared cases at the baseline and now, over the cases both know: (before, now); None without one."""
    compared: int = 0

    @property
    def damage(self) -> float:
        """Points lost against the baseline, 0..100; negative where points were won."""
        if self.before is None or not self.compared:
            return 0.0
        return 100 * (self.before[0] - self.before[1]) / self.compared


@dataclass(frozen=True, slots=True)
class Result:
    """The whole run."""

    outcomes: tuple[Outcome, ...]
    tools: tuple[ToolAccuracy, ...]
    """By damage, then by accuracy: what to look at first."""
    confused: tuple[tuple[str, str, int], ...]
    """Expected, chosen, how often; most frequent first (spec B16)."""
    lost: tuple[Outcome, ...] = ()
    """Right at the baseline, wrong now."""
    won: tuple[Outcome, ...] = ()
    fresh: int = 0
    """Cases that the baseline does not know, or knows in other words: not compared."""
    compared: int = 0
    """0: there was no baseline."""

    @property
    def right(self) -> int:
        """Cases that are right."""
        return sum(one.right for one in self.outcomes)

    @property
    def accuracy(self) -> float:
        """Top-1 accuracy, 0..1."""
        return self.right / len(self.outcomes)

    def regressed(self, tolerance: float = 0.0) -> bool:
        """True if more was lost than won, or a tool lost more than `tolerance` points (0..100)."""
        return len(self.lost) > len(self.won) or any(one.damage > tolerance for one in self.tools)

    def neighbours(self, tool: str) -> list[tuple[str, int]]:
        """Who took the cases that a tool lost, most first."""
        taken = Counter(one.chosen for one in self.lost if one.expected == tool)
        return sorted(taken.items(), key=lambda item: (-item[1], item[0]))


def run(cases: Sequence[Case], router: Router, baseline: Mapping[str, Any] | None = None) -> Result:
    """Route every case and compare with the baseline. Raises `ValueError` on no cases, `ConfigError` on a bad one."""
    if not cases:
        raise ValueError("no cases")
    outcomes = tuple(_outcome(case, router) for case in cases)
    known = _known(baseline) if baseline is not None else {}
    same = [(one, known[one.case.id][1]) for one in outcomes if known.get(one.case.id, ("",))[0] == digest(one.case)]
    lost = tuple(one for one, before in same if before and not one.right)
    won = tuple(one for one, before in same if not before and one.right)
    pairs = Counter((one.expected, one.chosen) for one in outcomes if not one.right and one.case.tool is not None)
    confused = sorted(
        ((expected, chosen, n) for (expected, chosen), n in pairs.items()), key=lambda row: (-row[2], row)
    )
    fresh = len(outcomes) - len(same) if baseline is not None else 0
    return Result(outcomes, _by_tool(outcomes, same), tuple(confused), lost, won, fresh, len(same))


def _outcome(case: Case, router: Router) -> Outcome:
    route = router.route(case.utterance, EVERYTHING, basis="inferred").route
    return Outcome(case, route.candidates, route.decision)


def _by_tool(outcomes: Iterable[Outcome], same: Iterable[tuple[Outcome, bool]]) -> tuple[ToolAccuracy, ...]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.expected].append(one)
    compared: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for one, before in same:
        compared[one.expected].append((before, one.right))
    found = []
    for tool, group in groups.items():
        pairs = compared.get(tool, [])
        sums = (sum(before for before, _ in pairs), sum(now for _, now in pairs)) if pairs else None
        found.append(ToolAccuracy(tool, sum(one.right for one in group), len(group), sums, len(pairs)))
    return tuple(sorted(found, key=lambda one: (-one.damage, one.right / one.cases, one.tool)))


def digest(case: Case) -> str:
    """What a baseline knows a case by: changed words or a changed answer make it another case."""
    answer: list[JsonValue] = [case.tool, case.decision, [*sorted(case.alternatives)], [*sorted(case.forbidden)]]
    return content_hash(case.utterance, answer, None)


def baseline_of(result: Result, router: Router) -> dict[str, JsonValue]:
    """The run as a baseline file: what was right, and under which settings."""
    thresholds = router.thresholds
    cases: dict[str, JsonValue] = {
        one.case.id: {"case": digest(one.case), "right": one.right, "chosen": one.chosen, "decision": one.decision}
        for one in result.outcomes
    }
    return {
        "version": BASELINE_VERSION,
        "accuracy": round(result.accuracy, 6),
        "settings": {"t1": thresholds.t1, "gap": thresholds.gap, "floor": thresholds.floor, "k": router.k},
        "cases": cases,
    }


def _known(baseline: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    cases = baseline.get("cases")
    if baseline.get("version") != BASELINE_VERSION or not isinstance(cases, dict):
        raise ConfigError("not a baseline of this version", None, "write a new one with --write-baseline")
    try:
        return {str(name): (str(one["case"]), bool(one["right"])) for name, one in cases.items()}
    except (TypeError, KeyError):
        raise ConfigError("not a baseline: a case lacks `case` or `right`", None, "write a new one") from None

"""Cases as trials of the sweep, and the sweep over k (seed B, 3.2)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from reach_tui.model import Candidate
from reach_tui.reach.router import Router
from reach_tui.reach.spec import ToolSpec
from reach_tui.replay.cases import Case
from reach_tui.replay.regress import EVERYTHING
from reach_tui.replay.sweep import Trial

WRONG, ASK = 5.0, 1.0
"""Cost of a wrong execution and of a question (seed 3.2: 5 : 1)."""
_CJK = 0x2E80  # code points from here on are one token each, as a rule of thumb


@dataclass(frozen=True, slots=True)
class Width:
    """One line of the sweep over k."""

    k: int
    top1: float
    """Share of the cases with a right tool among those with a tool, by the candidates that were handed on."""
    recall: float
    """Share of them whose right tool is among the candidates."""
    tokens: float
    """Mean size of the candidates' descriptions and samples, in tokens: a CJK character, or four others."""
    milliseconds: float
    """Mean time of a decision."""


def trial_of(case: Case, candidates: Sequence[Candidate], wrong: float = WRONG, ask: float = ASK) -> Trial:
    """What each decision would cost: 0 where it is right.

    Executing the right tool costs nothing, any other `wrong`; asking or turning away costs `ask`, unless that is right.
    """
    top = round(candidates[0].score, 6) if candidates else None
    second = candidates[1].score if len(candidates) > 1 else 0.0
    right = bool(candidates) and case.tool is not None and candidates[0].name in case.right_tools
    return Trial(
        top,
        None if top is None else round(top - second, 6),
        0.0 if right else wrong,
        0.0 if case.decision == "clarify" else ask,
        0.0 if case.decision == "no_capability" else ask,
    )


def trials(cases: Sequence[Case], router: Router, wrong: float = WRONG, ask: float = ASK) -> list[Trial]:
    """A trial for each case: with the scores it recorded, else with the router's."""
    found = []
    for case in cases:
        recorded = case.recorded
        scored = (
            router.route(case.utterance, EVERYTHING, basis="inferred").route.candidates
            if recorded is None
            else recorded
        )
        found.append(trial_of(case, scored, wrong, ask))
    return found


def widths(cases: Sequence[Case], router: Router, ks: Sequence[int]) -> list[Width]:
    """Accuracy, candidate tokens and time for each k; the router's own k is put back."""
    with_tool = [case for case in cases if case.tool is not None]
    sizes = {tool.name: _tokens(tool) for tool in router.registry.tools()}
    own, found = router.k, []
    try:
        for k in ks:
            router.k = k
            begun = time.perf_counter()
            routes = [router.route(case.utterance, EVERYTHING, basis="inferred").route.candidates for case in with_tool]
            spent = time.perf_counter() - begun
            first = sum(
                bool(one) and one[0].name in case.right_tools for case, one in zip(with_tool, routes, strict=True)
            )
            within = sum(
                any(candidate.name in case.right_tools for candidate in one)
                for case, one in zip(with_tool, routes, strict=True)
            )
            tokens = sum(sizes.get(candidate.name, 0.0) for one in routes for candidate in one)
            count = max(1, len(with_tool))
            found.append(Width(k, first / count, within / count, tokens / count, 1000 * spent / count))
    finally:
        router.k = own
    return found


def _tokens(tool: ToolSpec) -> float:
    text = " ".join([tool.name, tool.description, *(sample.utterance for sample in tool.sample_calls)])
    wide = sum(ord(character) >= _CJK for character in text)
    return wide + (len(text) - wide) / 4

"""Suggestions over a trace's labels and times, and over regression cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reach_tui.analyze.suggestions import Suggestion, in_order, of_pairs, of_scores, of_timeouts
from reach_tui.analyze.timeouts import Durations, advice, of_session
from reach_tui.workspace.label_figures import score_labels
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from reach_tui.reach.router import Router
    from reach_tui.replay.cases import Case


def of_traces(workspace: Workspace, sources: Sequence[Source], limits: dict[str, int]) -> list[Suggestion]:
    """From labels and recorded times; `limits` are a registry's time limits by tool. Raises `StoreError`."""
    durations = Durations()
    for source in sources:
        for session in source.reader.sessions():
            judged = workspace.judged_calls(source, [session.id])
            durations.include(of_session((one.call, one.verdict) for one in judged))
    return of_scores(score_labels(workspace, sources).scores) + of_timeouts(advice(durations, limits))


def of_cases(cases: Sequence[Case], router: Router) -> list[Suggestion]:
    """From regression cases: pairs to write anew, and thresholds to move where the data can carry it."""
    from reach_tui.replay.regress import run
    from reach_tui.replay.sweep import sweep
    from reach_tui.replay.trials import trials

    result = run(cases, router)
    examples: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in result.outcomes:
        if not one.right:
            examples[one.expected, one.chosen].append(one.case.id)
    found = of_pairs(result.confused, examples)
    used = router.thresholds
    swept = sweep(trials(cases, router), used)
    if swept.supported:
        what = f"move t1 from {used.t1:g} to {swept.t1.best:.2f} and gap from {used.gap:g} to {swept.gap.best:.2f}"
        why = (
            f"over {swept.cases} cases the loss is {swept.now:.3f} a case and could be {swept.loss:.3f}"
            f" (gain 95 % {swept.gain[0]:.3f} to {swept.gain[1]:.3f},"
            f" t1 95 % {swept.t1.low:.2f} to {swept.t1.high:.2f})"
        )
        found.append(Suggestion("threshold", what, why, (), swept.cases * (swept.now - swept.loss)))
    return found


def records(suggestions: Iterable[Suggestion]) -> list[Record]:
    """What most cases speak for first."""
    return [
        {"kind": one.kind, "what": one.what, "why": one.why, "examples": list(one.examples)}
        for one in in_order(suggestions)
    ]

"""Suggestions over a trace's labels and times, and over regression cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reach_tui.analyze.suggestions import Suggestion, in_order, of_pairs, of_scores, of_timeouts
from reach_tui.analyze.timeouts import Durations, advice, of_session
from reach_tui.infer.registries import bundled
from reach_tui.workspace.label_figures import score_labels
from reach_tui.workspace.labelling import labels_in
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from reach_tui.reach.router import Router
    from reach_tui.replay.cases import Case


def _unwatched() -> None:
    pass


def of_traces(
    workspace: Workspace, sources: Sequence[Source], limits: dict[str, int], watch: Callable[[], None] = _unwatched
) -> list[Suggestion]:
    """From labels and recorded times; `limits` are a registry's time limits by tool. Raises `StoreError`.

    `watch` is called for each session and may raise to stop.
    """
    durations = Durations()
    for source in sources:
        for session in source.reader.sessions():
            watch()
            judged = workspace.judged_calls(source, [session.id])
            durations.include(of_session((one.call, one.verdict) for one in judged))
    return of_scores(score_labels(workspace, sources).scores) + of_timeouts(advice(durations, limits))


@dataclass(frozen=True, slots=True)
class Example:
    """A call that a suggestion rests on."""

    source: Source
    session_id: str
    key: str


def suggested(
    workspace: Workspace, sources: Sequence[Source], watch: Callable[[], None] = _unwatched
) -> tuple[list[Suggestion], dict[str, Example]]:
    """What the traces suggest, most cases first, and where its examples are, by call key. Raises `StoreError`.

    Time limits of today are those of the registries that ship for the kinds of store.
    """
    limits = {name: tool.timeout_ms for source in sources for name, tool in bundled(source.kind).items()}
    found = in_order(of_traces(workspace, sources, limits, watch))
    wanted = {key for one in found for key in one.examples}
    examples = {
        label.call_key: Example(source, label.session_id, label.call_key)
        for source in sources
        for label in labels_in(workspace, source)
        if label.call_key in wanted and label.call_key is not None
    }
    return found, examples


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

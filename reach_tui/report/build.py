"""From sums to a report."""

from __future__ import annotations

from collections import Counter

from reach_tui.analyze.attribution import CAUSES, Cause
from reach_tui.analyze.classes import Classes, avoidable, avoidable_by_seed
from reach_tui.analyze.guards import AFTER, ANY, FLAG, SAME, TRUTH, Firing
from reach_tui.analyze.health import Health
from reach_tui.analyze.intervals import share
from reach_tui.analyze.labelled import LabelCounts
from reach_tui.analyze.metrics import Metrics
from reach_tui.analyze.rates import ToolCounts
from reach_tui.analyze.stale_edits import StaleEdits
from reach_tui.analyze.tally import Tally
from reach_tui.export.redact import Redactor
from reach_tui.report.model import (
    CauseRow,
    ClassRow,
    ConsecutiveRow,
    ConventionRow,
    Fix,
    HealthRow,
    LoopRow,
    MetricRow,
    Report,
    Scope,
    StaleRow,
    SuccessRow,
    ToolRow,
    Views,
)
from reach_tui.report.spans import over_time
from reach_tui.taxonomy import Taxonomy, default

_FIXES = 5
_SHOWN = 200  # characters of evidence
_READ_FIRST = "read again before each edit"


def build(tally: Tally, scope: Scope, taxonomy: Taxonomy | None = None, labels: LabelCounts | None = None) -> Report:
    """The report on everything in `tally`. Tools come by their failures, then by name."""
    taxonomy, labels = taxonomy or default(), labels or LabelCounts()
    causes = tally.attribution.failures
    guards = tally.guards
    return Report(
        scope=scope,
        tools=_tools(tally, taxonomy),
        total=tally.rates.total,
        stale=_stale(tally.stale_edits),
        stale_by_tool=tuple(_stale(tally.stale_edits, tool) for tool in sorted(tally.stale_edits.not_found)),
        metric=Views(guards.metric[FLAG], guards.metric[TRUTH]),
        consecutive=tuple(
            ConsecutiveRow(
                rule,
                after,
                Views(guards.fired[Firing(rule, after, FLAG)], guards.fired[Firing(rule, after, TRUTH)]),
                guards.where.get((rule, after), ()),
            )
            for rule in (SAME, ANY)
            for after in AFTER
        ),
        analyzer=Views(guards.analyzer[FLAG], guards.analyzer[TRUTH]),
        causes=_by_reach(causes),
        cause_classes=_by_class(causes),
        over_time=over_time(tally.over_time),
        session_causes=_by_class(tally.attribution.sessions),
        recovered_sessions=tally.attribution.recovered,
        success_path=_success_path(tally),
        loops=tuple(
            LoopRow(what, count, tally.loops.calls[what], tally.loops.sessions[what], tally.loops.example[what])
            for what, count in sorted(tally.loops.count.items())
            if count
        ),
        fixes=_fixes(tally, taxonomy),
        labels=labels,
        metrics=_metrics(tally.metrics, labels),
        conventions=_conventions(tally.health),
        health=_health(tally.health),
    )


def _tools(tally: Tally, taxonomy: Taxonomy) -> tuple[ToolRow, ...]:
    rows = [_tool(tool, counts, tally.classes, taxonomy) for tool, counts in tally.rates.tools.items()]
    return tuple(sorted(rows, key=lambda row: (-row.counts.failed, -row.counts.calls, row.tool)))


def _tool(tool: str, counts: ToolCounts, classes: Classes, taxonomy: Taxonomy) -> ToolRow:
    rows = tuple(
        ClassRow(kind.category, kind.subcategory, kind.rule, count, classes.hidden[kind], share(count, counts.failed))
        for kind, count in classes.of_tool(tool)
    )
    return ToolRow(tool, counts, rows, avoidable(classes, tool, taxonomy), avoidable_by_seed(classes, tool))


def _stale(found: StaleEdits, tool: str | None = None) -> StaleRow:
    def number(counts: Counter[str]) -> int:
        return counts.total() if tool is None else counts[tool]

    not_found, stale = number(found.not_found), number(found.stale)
    return StaleRow(tool, not_found, stale, number(found.re_read), number(found.written_only), share(stale, not_found))


def _by_reach(causes: Counter[Cause]) -> tuple[CauseRow, ...]:
    sums = Counter[str]()
    for cause, count in causes.items():
        sums[cause.reach] += count
    return tuple(CauseRow(reach, None, sums[reach], share(sums[reach], sums.total())) for reach in CAUSES)


def _by_class(causes: Counter[Cause]) -> tuple[CauseRow, ...]:
    return tuple(
        CauseRow(cause.reach, cause.category, count, share(count, causes.total()))
        for cause, count in sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    )


def _success_path(tally: Tally) -> tuple[SuccessRow, ...]:
    found, redactor = tally.success_path, Redactor()
    rows = [
        SuccessRow(
            tool,
            count,
            found.recorded_success[tool],
            found.example[tool].call_key,
            found.example[tool].rule,
            redactor.text(found.example[tool].evidence)[:_SHOWN],  # reports are passed on
        )
        for tool, count in found.hidden.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.hidden, row.tool)))


def _fixes(tally: Tally, taxonomy: Taxonomy) -> tuple[Fix, ...]:
    """The changes that would avoid most failures, one a tool and class."""
    sums = Counter[tuple[str, str, str]]()
    for kind, count in tally.classes.failed.items():
        if kind.category and kind.subcategory:
            sums[kind.tool, kind.category, kind.subcategory] += count
    fixes = []
    for (tool, category, subcategory), count in sums.items():
        of = tally.rates.tools[tool].failed
        level1 = taxonomy.find(category)
        level2 = level1.subcategory(subcategory) if level1 else None
        if subcategory == "stale_edit" and (stale := tally.stale_edits.stale[tool]):
            fixes.append(Fix(tool, _READ_FIRST, stale, of, "context", category, subcategory, stale=True))
        elif level2 is not None:
            fixes.append(Fix(tool, level2.fix, count, of, level2.avoidable_by, category, subcategory))
    return tuple(sorted(fixes, key=lambda fix: (-fix.count, fix.tool, fix.what))[:_FIXES])


def _metrics(found: Metrics, labels: LabelCounts) -> tuple[MetricRow, ...]:
    unknown = "needs a person's or the user's judgement of each task: no trace says it, and no session is labelled"
    judged = "of the sessions that people labelled: not a failure"
    routes = "" if found.routed else "no store in scope records routing decisions"
    return (
        MetricRow("end_to_end_success", labels.success, labels.sessions, share(labels.success, labels.sessions), judged)
        if labels.sessions
        else MetricRow("end_to_end_success", None, None, None, unknown),
        MetricRow(
            "first_pass", found.first_pass, found.sessions, share(found.first_pass, found.sessions),
            "sessions without a failed or unanswered call and without a clarification",
        ),
        MetricRow(
            "reach_coverage", found.covered if found.routed else None, found.routed or None,
            share(found.covered, found.routed), routes,
        ),
    )  # fmt: skip


def _conventions(found: Health) -> tuple[ConventionRow, ...]:
    return tuple(
        ConventionRow(habit.tool, habit.rule, one.flagged, one.silent, change) for habit, one, change in found.changes()
    )


def _health(found: Health) -> tuple[HealthRow, ...]:
    rows = [HealthRow(what, count) for what, count in sorted(found.counts.items()) if count]
    for habit, one, change in found.changes():
        what = f"{habit.tool}: the same error ({habit.rule}) is recorded {_CHANGES[change]}"
        rows.append(HealthRow(what, one.flagged + one.silent))
    return tuple(rows)


_CHANGES = {
    "both": "now as an error, now as a success",
    "unflagged, later flagged": "as a success at first, later as an error",
    "flagged, later unflagged": "as an error at first, later as a success",
}

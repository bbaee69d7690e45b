"""What stands behind each number of a report: a query for every one, and how many it is to find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reach_tui.analyze import health
from reach_tui.analyze.attribution import CAUSES, Cause
from reach_tui.analyze.behind import (
    CALLS,
    LOOPS,
    NOT_FOUND,
    RE_READ,
    SESSIONS,
    STALE,
    WRITTEN_ONLY,
    Decisive,
    Ended,
    Fired,
    Looped,
    Missed,
    OddCalls,
    OddSteps,
    Passed,
    Routed,
)
from reach_tui.analyze.classes import FailureClass, described, misused
from reach_tui.analyze.guards import ANALYZER, FLAG, METRIC, TRUTH, Firing
from reach_tui.report.compare import Change
from reach_tui.report.model import ClassRow, Fix, MetricRow, Report, StaleRow, ToolRow, Views
from reach_tui.report.spans import folded
from reach_tui.report.tables import cell, class_words, day, tool_name
from reach_tui.taxonomy import default
from reach_tui.workspace.finding import Behind, CallQuery, Counting, Labelled, OddSessions, Query


@dataclass(frozen=True, slots=True)
class Counted:
    """A number of a row: what it counts, in words too, and how much that is."""

    query: Query
    about: str
    count: int
    began: tuple[int, int | None] | None = None
    """Of sessions that began within this half-open span alone."""


Numbers = tuple[Counted, ...]
"""Of one row; the first that is not 0 is opened first."""


def tool_numbers(tool: ToolRow) -> Numbers:
    """Failed first, then what else the row counts."""
    name, counts, shown = tool.tool, tool.counts, tool_name(tool.tool)
    return (
        Counted(CallQuery(name, failed=True), f"{shown} · failed", counts.failed),
        Counted(CallQuery(name, hidden=True), f"{shown} · hidden", counts.hidden),
        Counted(CallQuery(name, flagged=True), f"{shown} · flagged", counts.flagged),
        Counted(Behind(Ended(name)), f"{shown} · ended", counts.ended),
        Counted(CallQuery(name), f"{shown} · all calls", counts.calls),
    )


def class_numbers(tool: str, one: ClassRow) -> Numbers:
    """The failures of a class, then the hidden ones where they are not all."""
    words, of = class_words(one), class_of(one)
    about = " · ".join(part for part in (tool_name(tool), words, of) if part)
    kinds = frozenset([_kind(tool, one)])
    told = (Counted(CallQuery(tool, kinds, failed=True), about, one.count),)
    if one.hidden in (0, one.count):
        return told
    return *told, Counted(CallQuery(tool, kinds, hidden=True), f"{about} · hidden", one.hidden)


def soft_numbers(tool: ToolRow) -> Numbers:
    """The soft signals of a tool."""
    return (Counted(CallQuery(tool.tool, soft=True), f"{tool_name(tool.tool)} · soft signals", tool.counts.soft),)


def fix_numbers(report: Report, fix: Fix) -> Numbers:
    """The failures that a change would avoid."""
    about = f"{tool_name(fix.tool)} · {class_of(fix)}"
    if fix.stale:
        return (Counted(Behind(Missed(fix.tool, STALE)), about, fix.count),)
    kinds = frozenset(
        kind
        for kind in _kinds(report, fix.tool)
        if (kind.category, kind.subcategory) == (fix.category, fix.subcategory)
    )
    return (Counted(CallQuery(fix.tool, kinds, failed=True), about, fix.count),)


def class_of(one: ClassRow | Fix) -> str:
    """`stale_context / stale_edit`."""
    return " / ".join(cell(part) for part in (one.category, one.subcategory) if part)


def guard_numbers(report: Report) -> tuple[Numbers, Numbers, Numbers]:
    """Of the three lines of defence: the correction is the one after five of the same error."""
    metric, *corrections, analyzer = _guards(report)
    return metric, corrections[_FIVE], analyzer


_FIVE = 1  # among the corrections: after 3, 5 and 10 of the same error


def change_numbers(report: Report, change: Change) -> Numbers:
    """What a change counts in the report on what came after."""
    about, count = f"{tool_name(change.tool)} · {change.failure_class or change.measure}, after", change.after[0]
    if change.failure_class is None:
        queries = {
            "failed": CallQuery(change.tool, failed=True),
            "hidden": CallQuery(change.tool, hidden=True),
            "flagged": CallQuery(change.tool, flagged=True),
        }
        return (Counted(queries[change.measure], about, count),)
    kinds = [
        kind
        for kind in _kinds(report, change.tool)
        if "/".join(part for part in kind[1:] if part) == change.failure_class
    ]
    return (Counted(CallQuery(change.tool, frozenset(kinds), failed=True), about, count),)


def table_numbers(report: Report) -> dict[str, Sequence[Numbers]]:
    """By table: what stands behind each of its rows, in order."""
    return {
        "Avoidable": list(_avoidable(report)),
        "Stale edits": [_stale(one) for one in report.stale_by_tool],
        "Three guards": _guards(report),
        "Attribution of failures": [
            (Counted(CallQuery(failed=True, cause=cause), f"{cause.reach} · {cause.category}", one.count),)
            for one in report.cause_classes
            if (cause := Cause(one.cause, one.category or ""))
        ],
        "Attribution over time": list(_spans(report)),
        "Attribution of sessions": [
            (Counted(Behind(Decisive(cause)), f"never recovered from · {cause.reach} · {cause.category}", one.count),)
            for one in report.session_causes
            if (cause := Cause(one.cause, one.category or ""))
        ],
        "Errors on the success path": [
            (
                Counted(CallQuery(one.tool, hidden=True), f"{tool_name(one.tool)}, on the success path", one.hidden),
                Counted(
                    CallQuery(one.tool, hidden=True, flagged=False),
                    f"{tool_name(one.tool)}, recorded as success",
                    one.recorded_success,
                ),
            )
            for one in report.success_path
        ],
        "Loops": [
            (
                Counted(Behind(Looped(one.what, CALLS)), f"{_words(one.what)} · every call", one.calls),
                Counted(Behind(Looped(one.what, LOOPS)), f"{_words(one.what)} · where each begins", one.count),
                Counted(Behind(Looped(one.what, SESSIONS)), f"{_words(one.what)} · one a session", one.sessions),
            )
            for one in report.loops
        ],
        "Labels": [
            (
                Counted(Labelled("calls"), "labelled calls", report.labels.calls),
                Counted(Labelled("disagree"), "label and verdict disagree", report.labels.disagree),
                Counted(Labelled("open"), "labelled, without a verdict", report.labels.open),
            )
        ],
        "Metrics": [_metric(one) for one in report.metrics],
        "Health of the data": list(_health(report)),
    }


def _avoidable(report: Report) -> Iterator[Numbers]:
    for tool in report.tools:
        kinds = _kinds(report, tool.tool)
        for one, chosen in ((tool.avoidable, described(kinds, default())), (tool.avoidable_seed, misused(kinds))):
            if one is not None and one.count:
                about = f"{tool_name(tool.tool)} · avoidable by its description, by the {one.by}"
                yield (Counted(CallQuery(tool.tool, chosen, failed=True), about, one.count),)


def _stale(one: StaleRow) -> Numbers:
    tool = one.tool or ""
    told = (
        (STALE, "stale edits", one.stale),
        (RE_READ, "stale edits, read again since", one.re_read),
        (WRITTEN_ONLY, "text not found, written only", one.written_only),
        (NOT_FOUND, "text not found", one.not_found),
    )
    return tuple(
        Counted(Behind(Missed(tool, kind)), f"{tool_name(tool)} · {words}", count) for kind, words, count in told
    )


def _guards(report: Report) -> list[Numbers]:
    return [
        _views(Firing(METRIC, 1, TRUTH), "error metric", report.metric),
        *(
            _views(Firing(row.rule, row.after, TRUTH), f"correction, {_words(row.rule)} after {row.after}", row.views)
            for row in report.consecutive
        ),
        _views(Firing(ANALYZER, 1, TRUTH), "offline analyzer", report.analyzer),
    ]


def _views(guard: Firing, about: str, views: Views) -> Numbers:
    return (
        Counted(Behind(Fired(guard)), f"{about} · in truth", views.by_truth),
        Counted(Behind(Fired(guard._replace(view=FLAG))), f"{about} · by flag", views.by_flag),
    )


def _spans(report: Report) -> Iterator[Numbers]:
    lines = folded(report.over_time.rows)
    ends = [*(line[0].start for line in lines[1:]), None]
    for (row, *more), end in zip(lines, ends, strict=False):
        if more:
            yield ()
            continue
        began = row.start, end
        since = f"in sessions begun in the {report.over_time.span} from {day(row.start)}"
        told: list[tuple[Query, str, int]] = [
            (CallQuery(failed=True), "failed", row.failed),
            (CallQuery(hidden=True), "hidden", row.hidden),
            *(
                (CallQuery(failed=True, reach=reach), f"failed by {reach}", count)
                for reach, count in zip(CAUSES, row.causes, strict=True)
            ),
            (Behind(Ended()), "ended", row.ended),
        ]
        yield tuple(Counted(query, f"{words} {since}", count, began) for query, words, count in told)


def _metric(one: MetricRow) -> Numbers:
    if one.count is None or one.of is None:
        return ()
    rest = one.of - one.count
    told: dict[str, list[tuple[Query, str, int]]] = {
        "end_to_end_success": [
            (Labelled("success"), "sessions labelled as no failure", one.count),
            (Labelled("sessions"), "labelled sessions", one.of),
        ],
        "first_pass": [
            (Counting(Passed(first=True)), "passed at first", one.count),
            (Counting(Passed(first=False)), "did not pass at first", rest),
        ],
        "reach_coverage": [
            (Behind(Routed(covered=True), "decisions"), "decisions within reach", one.count),
            (Behind(Routed(covered=False), "decisions"), "decisions out of reach", rest),
        ],
    }
    return tuple(Counted(*one) for one in told[one.metric])


def _health(report: Report) -> Iterator[Numbers]:
    plain = len(report.health) - len(report.conventions)  # which come last
    for row in report.health[:plain]:
        query: Query
        if row.what in health.OF_CALLS:
            query = Behind(OddCalls(row.what))
        elif health.of_sessions_rows(row.what):
            query = OddSessions(row.what)
        else:
            query = Behind(OddSteps(row.what), "steps")
        yield (Counted(query, row.what, row.count),)
    for one in report.conventions:
        flagged = CallQuery(one.tool, rule=one.rule, failed=True, flagged=True)
        silent = CallQuery(one.tool, rule=one.rule, failed=True, flagged=False)
        both = CallQuery(one.tool, rule=one.rule, failed=True, flag_known=True)
        about = f"{tool_name(one.tool)} · {one.rule}"
        yield (
            Counted(both, about, one.flagged + one.unflagged),
            Counted(flagged, f"{about} · recorded as an error", one.flagged),
            Counted(silent, f"{about} · recorded as a success", one.unflagged),
        )


def _kinds(report: Report, tool: str) -> list[FailureClass]:
    return [_kind(tool, one) for row in report.tools if row.tool == tool for one in row.classes]


def _kind(tool: str, one: ClassRow) -> FailureClass:
    return FailureClass(tool, one.category, one.subcategory, one.rule)


def _words(name: str) -> str:
    return name.replace("_", " ")

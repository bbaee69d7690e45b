"""The report as the contract's JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reach_tui.analyze.attribution import CAUSES
from reach_tui.analyze.classes import Avoidable
from reach_tui.analyze.rates import ToolCounts
from reach_tui.base.clock import to_iso
from reach_tui.report.model import CauseRow, Report, Scope, StaleRow, ToolRow, Views
from reach_tui.report.spans import starts_on

if TYPE_CHECKING:
    from reach_tui.report.compare import Change, Comparison

_DIGITS = 6

Json = dict[str, Any]


def record(report: Report, comparison: Comparison | None = None) -> Json:
    """The contract's keys, and some more; `compare` only with a comparison, `inferred` only where it was asked for."""
    answer: Json = {
        "scope": scope_record(report.scope),
        "tools": [_tool(row) for row in report.tools],
        "total": _counts(report.total),
        "stale_edits": {**_stale(report.stale), "by_tool": [_stale(row) for row in report.stale_by_tool]},
        "guards": {
            "error_metric": _views(report.metric),
            "consecutive": [
                {"after": row.after, **_views(row.views), "rule": row.rule, "where": list(row.where)}
                for row in report.consecutive
            ],
            "analyzer": _views(report.analyzer),
        },
        "attribution": [_cause(row, short=True) for row in report.causes],
        "attribution_classes": [_cause(row) for row in report.cause_classes],
        "over_time": {
            "span": report.over_time.span,
            "rows": [
                {
                    "start": starts_on(row.start),
                    "ended": row.ended,
                    "failed": row.failed,
                    "hidden": row.hidden,
                    "rate_failed": rounded(row.share),
                    **dict(zip(CAUSES, row.causes, strict=True)),
                }
                for row in report.over_time.rows
            ],
        },
        "attribution_sessions": [_cause(row) for row in report.session_causes],
        "recovered_sessions": report.recovered_sessions,
        "success_path": [
            {
                "tool": row.tool,
                "hidden": row.hidden,
                "recorded_success": row.recorded_success,
                "example_call_key": row.example_call_key,
                "rule": row.rule,
                "evidence": row.evidence,
            }
            for row in report.success_path
        ],
        "loops": [
            {
                "what": row.what,
                "count": row.count,
                "calls": row.calls,
                "sessions": row.sessions,
                "example_call_key": row.example_call_key,
            }
            for row in report.loops
        ],
        "fix_first": [
            {
                "tool": fix.tool,
                "fix": fix.what,
                "count": fix.count,
                "of": fix.of,
                "share": rounded(fix.count / fix.of),
                "avoidable_by": fix.avoidable_by,
            }
            for fix in report.fixes
        ],
        "labels": {
            "calls": report.labels.calls,
            "disagree": report.labels.disagree,
            "open": report.labels.open,
            "sessions": report.labels.sessions,
        },
        "metrics": [
            {
                "metric": row.metric,
                "count": row.count,
                "of": row.of,
                "share": rounded(row.share),
                "note": row.note or None,
            }
            for row in report.metrics
        ],
        "conventions": [
            {
                "tool": row.tool,
                "rule": row.rule,
                "flagged": row.flagged,
                "unflagged": row.unflagged,
                "change": row.change,
            }
            for row in report.conventions
        ],
        "health": [{"what": row.what, "count": row.count} for row in report.health],
    }
    if report.inferred is not None:
        from reach_tui.report import inferred

        answer["inferred"] = inferred.record(report.inferred)
    if comparison is not None:
        answer["compare"] = _comparison(comparison)
    return answer


def rounded(value: float | None) -> float | None:
    """A share with six digits; None stays None."""
    return None if value is None else round(value, _DIGITS)


def _interval(value: tuple[float, float] | None) -> list[float | None] | None:
    return None if value is None else [rounded(value[0]), rounded(value[1])]


def scope_record(scope: Scope) -> Json:
    """What was counted, and with what."""
    return {
        "scope": scope.scope,
        "stores": [
            {"store": one.store, "path": one.path, "sessions": one.sessions, "calls": one.calls} for one in scope.stores
        ],
        "tools": list(scope.tools),
        "since": to_iso(scope.since),
        "until": to_iso(scope.until),
        "sessions": scope.sessions,
        "calls": scope.calls,
        "first_session_at": to_iso(scope.first),
        "last_session_at": to_iso(scope.last),
        "rules_version": scope.rules_version,
        "taxonomy": scope.taxonomy,
        "tool_version": scope.tool_version,
    }


def _counts(counts: ToolCounts) -> Json:
    return {
        "calls": counts.calls,
        "results": counts.results,
        "flagged": counts.flagged,
        "hidden": counts.hidden,
        "failed": counts.failed,
        "soft": counts.soft,
        "unknown": counts.unknown,
        "checks": counts.checks,
        "false_flags": counts.false_flags,
        "of_flagged": counts.known,
        "of_failed": counts.ended,
        "rate_flagged": rounded(counts.rate_flagged),
        "rate_failed": rounded(counts.rate_failed),
        "interval": _interval(counts.interval),
    }


def _tool(row: ToolRow) -> Json:
    return {
        "tool": row.tool,
        **_counts(row.counts),
        "classes": [
            {
                "category": one.category,
                "subcategory": one.subcategory,
                "rule": one.rule,
                "count": one.count,
                "hidden": one.hidden,
                "share": rounded(one.share),
            }
            for one in row.classes
        ],
        "avoidable": _avoidable(row.avoidable),
        "avoidable_seed": _avoidable(row.avoidable_seed) if row.avoidable_seed else None,
    }


def _avoidable(one: Avoidable) -> Json:
    return {"count": one.count, "of": one.of, "share": rounded(one.share), "by": one.by}


def _stale(row: StaleRow) -> Json:
    named = {} if row.tool is None else {"tool": row.tool}
    return {
        **named,
        "not_found": row.not_found,
        "stale": row.stale,
        "share": rounded(row.share),
        "re_read": row.re_read,
        "written_only": row.written_only,
    }


def _views(views: Views) -> Json:
    return {"by_flag": views.by_flag, "by_truth": views.by_truth}


def _cause(row: CauseRow, *, short: bool = False) -> Json:
    category = {} if short else {"category": row.category}
    return {"cause": row.cause, **category, "count": row.count, "share": rounded(row.share)}


def _comparison(comparison: Comparison) -> Json:
    return {
        "before": comparison.before,
        "after": comparison.after,
        "differences": list(comparison.differences),
        "notes": list(comparison.notes),
        "tools": [_change(one) for one in comparison.tools],
        "classes": [_change(one) for one in comparison.classes],
    }


def _change(one: Change) -> Json:
    """One row of a comparison."""
    return {
        "tool": one.tool,
        "measure": one.measure,
        "class": one.failure_class,
        "before": {"count": one.before[0], "of": one.before[1], "rate": rounded(one.rate_before)},
        "after": {"count": one.after[0], "of": one.after[1], "rate": rounded(one.rate_after)},
        "change": rounded(one.change),
        "interval": _interval(one.interval),
        "p": rounded(one.p),
        "p_adjusted": rounded(one.p_adjusted),
        "beyond_chance": one.beyond_chance,
    }

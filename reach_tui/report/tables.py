"""The report as titled tables of cleaned text: what the text, Markdown and HTML forms have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reach_tui.analyze.attribution import CAUSES
from reach_tui.analyze.intervals import share
from reach_tui.base.text import one_line, shown_name
from reach_tui.report.compare import Change, Comparison
from reach_tui.report.model import CauseRow, ClassRow, Report, Scope, StaleRow, ToolRow
from reach_tui.report.spans import folded, spark, starts_on

_CUT = 160
_CLASSES = 6  # in the one line of a tool's classes
_NO = "–"
RATES_NOTE = "By flag: of the calls that the store calls done or failed. In truth: of the ended calls."


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a title, a head, rows as wide as the head, and the columns that hold numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    note: str = ""


def cell(value: object) -> str:
    """A value for people, on one line, safe and not too long; `–` for what is not known."""
    if value is None:
        return _NO
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = one_line(str(value)[: 4 * _CUT])
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def tool_name(name: str | None) -> str:
    """A tool in a table; one without a name says so."""
    return cell(None if name is None else shown_name(name[: 4 * _CUT]))


def percent(value: float | None, digits: int = 2) -> str:
    """A share in per cent: `3.35 %`; 0 without decimals."""
    if value is None:
        return _NO
    return "0 %" if value == 0 else f"{100 * value:.{digits}f} %"


def day(ms: int | None) -> str | None:
    """`1 Jun 2026` in UTC."""
    if ms is None:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment.day} {moment:%b %Y}"


def headline(scope: Scope) -> str:
    """`threads.db · 1 Jun 2026 – 17 Jun 2026 · 400 root sessions`."""
    names = list(dict.fromkeys(one_line(one.path) for one in scope.stores))
    shown = ", ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "") if names else "nothing"
    days = list(dict.fromkeys(filter(None, (day(scope.first), day(scope.last)))))
    kind = f"{'root ' if scope.scope == 'roots' else ''}session{'' if scope.sessions == 1 else 's'}"
    calls = f"{scope.calls:,} call{'' if scope.calls == 1 else 's'}"
    tools = f"only {', '.join(map(tool_name, scope.tools))}" if scope.tools else ""
    parts = (shown, " – ".join(days), f"{scope.sessions:,} {kind}", calls, tools)
    return " · ".join(part for part in parts if part)


def scope_line(scope: Mapping[str, Any]) -> str:
    """`threads.db · 2026-06-01 – 2026-06-17 · 400 sessions · 12,000 calls`, from a report's JSON."""
    stores = [one for one in scope.get("stores") or () if isinstance(one, Mapping)]
    names = list(dict.fromkeys(cell(one.get("path")) for one in stores))
    shown = ", ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")
    days = dict.fromkeys(cell(scope[key])[:10] for key in ("first_session_at", "last_session_at") if scope.get(key))
    counts = [f"{cell(scope.get(key))} {key[:-1] if scope.get(key) == 1 else key}" for key in ("sessions", "calls")]
    return " · ".join(part for part in (shown or "nothing", " – ".join(days), *counts) if part)


def class_words(row: ClassRow) -> str:
    """What a class is called for people: the rule's own words, else the taxonomy's."""
    name = row.rule.partition(".")[2] if row.rule and not row.rule.startswith("flag.") else ""
    return cell((name or row.subcategory or row.category or row.rule or "unclassed").replace("_", " "))


def classes_line(row: ToolRow, stale: StaleRow | None) -> str:
    """A tool's classes on one line, the most frequent first, the same words once; stale edits are named."""
    counts = Counter[str]()
    for one in row.classes:
        counts[class_words(one)] += one.count
    edits = {class_words(one) for one in row.classes if one.subcategory == "stale_edit"}
    words = []
    for name, count in counts.most_common(_CLASSES):
        extra = f" ({stale.stale} stale)" if stale and stale.stale and name in edits else ""
        words.append(f"{name} {count:,}{extra}")
    if rest := counts.total() - sum(count for _, count in counts.most_common(_CLASSES)):
        words.append(f"other {rest:,}")
    return " · ".join(words)


def guards_lines(report: Report) -> list[str]:
    """The three lines of defence, by flag and in truth."""
    same = next(row.views for row in report.consecutive if (row.rule, row.after) == ("same_error", 5))
    return [
        f"error metric {report.metric.by_flag:,} → {report.metric.by_truth:,}",
        f"correction after 5: {same.by_flag:,} → {same.by_truth:,} times",
        f"analyzer by flag {report.analyzer.by_flag:,} → {report.analyzer.by_truth:,}",
    ]


def fix_lines(report: Report) -> list[str]:
    """What to change first."""
    return [f"{tool_name(fix.tool)}: {cell(fix.what)}: {fix.count:,} of {fix.of:,}" for fix in report.fixes]


def tables(report: Report) -> list[Table]:
    """Everything but the tools' own table; empty ones are left out."""
    found = [table for make in _TABLES if (table := make(report)).rows]
    if report.inferred is not None:
        from reach_tui.report.inferred import tables as inferred_tables  # which is made of tables itself

        found += inferred_tables(report.inferred)
    return found


def _classes(report: Report) -> Table:
    rows = [
        (
            tool_name(tool.tool), class_words(one), cell(one.category), cell(one.subcategory), cell(one.count),
            percent(one.share, 1), cell(one.hidden),
        )
        for tool in report.tools
        for one in tool.classes
    ]  # fmt: skip
    head = ("tool", "class", "category", "subcategory", "count", "share", "hidden")
    return Table("Failure classes", head, tuple(rows), frozenset({4, 5, 6}))


def _avoidable(report: Report) -> Table:
    rows = [
        (tool_name(tool.tool), one.by, cell(one.count), cell(one.of), percent(one.share, 1))
        for tool in report.tools
        for one in (tool.avoidable, tool.avoidable_seed)
        if one is not None and one.count
    ]
    note = "Failures that a better description of the tool alone would avoid."
    return Table("Avoidable", ("tool", "grouping", "count", "of", "share"), tuple(rows), frozenset({2, 3, 4}), note)


def _stale(report: Report) -> Table:
    rows = [
        (tool_name(one.tool), *map(cell, (one.not_found, one.stale)), percent(one.share, 1),
         cell(one.re_read), cell(one.written_only))
        for one in report.stale_by_tool
    ]  # fmt: skip
    head = ("tool", "not found", "stale", "share", "re-read since", "written only")
    note = "Stale: an edit of the same session had changed the file successfully before."
    return Table("Stale edits", head, tuple(rows), frozenset(range(1, 6)), note)


def _guards(report: Report) -> Table:
    rows = [("error metric", "each failure", report.metric), ("offline analyzer", "each result", report.analyzer)]
    rows[1:1] = [
        (f"correction, {row.rule.replace('_', ' ')}", f"after {row.after}", row.views) for row in report.consecutive
    ]
    texts = tuple((name, when, cell(views.by_flag), cell(views.by_truth)) for name, when, views in rows)
    note = "What each line of defence saw by the store's flag, and what it would have seen."
    return Table("Three guards", ("guard", "speaks", "by flag", "in truth"), texts, frozenset({2, 3}), note)


def _causes(title: str, rows: tuple[CauseRow, ...], note: str) -> Table:
    texts = tuple((cell(one.cause), cell(one.category), cell(one.count), percent(one.share, 1)) for one in rows)
    return Table(title, ("out of reach", "class", "count", "share"), texts, frozenset({2, 3}), note)


def _failures(report: Report) -> Table:
    return _causes("Attribution of failures", report.cause_classes, "Each failed call by its class.")


def time_line(report: Report, width: int = 60) -> str:
    """`▁▂▅█ by week from 2026-01-05, highest 5.2 %`: the failure rate over time; empty for less than two spans."""
    rows = report.over_time.rows
    if len(rows) < 2:
        return ""
    highest = max((row.share for row in rows if row.share is not None), default=None)
    line = spark([row.share for row in rows], width)
    return f"{line}  by {report.over_time.span} from {starts_on(rows[0].start)}, highest {percent(highest)}"


def _over_time(report: Report) -> Table:
    found = report.over_time
    rows = [
        (starts_on(row.start), cell(row.ended), cell(row.failed), percent(row.share), cell(row.hidden),
         *map(cell, row.causes))
        if not more
        else (f"… {1 + len(more)} {found.span}s", "0", "", _NO, *[""] * (1 + len(row.causes)))
        for row, *more in folded(found.rows)
    ]  # fmt: skip
    head = (found.span, "ended", "failed", "rate", "hidden", *CAUSES)
    note = "By the start of the session (UTC): ended calls, failures, and by whose reach ended."
    return Table("Attribution over time", head, tuple(rows) if len(rows) > 1 else (), frozenset(range(1, 9)), note)


def _labels(report: Report) -> Table:
    found = report.labels
    if not found.calls:
        return Table("Labels", (), ())
    note = "People's labels of calls in scope, and how many contradict today's verdict on whether the call failed."
    row = (cell(found.calls), cell(found.disagree), percent(share(found.disagree, found.calls), 1), cell(found.open))
    return Table("Labels", ("labels", "disagree", "share", "without a verdict"), (row,), frozenset(range(4)), note)


def _sessions(report: Report) -> Table:
    note = (
        "Sessions by their first failure that was never recovered from; "
        f"{report.recovered_sessions:,} more recovered from all of theirs."
    )
    return _causes("Attribution of sessions", report.session_causes, note)


def _success_path(report: Report) -> Table:
    rows = [
        (tool_name(one.tool), cell(one.hidden), cell(one.recorded_success), cell(one.rule), cell(one.evidence),
         cell(one.example_call_key))
        for one in report.success_path
    ]  # fmt: skip
    head = ("tool", "hidden", "recorded as success", "rule", "evidence", "example call")
    return Table("Errors on the success path", head, tuple(rows), frozenset({1, 2}))


def _loops(report: Report) -> Table:
    rows = [
        (cell(one.what.replace("_", " ")), *map(cell, (one.count, one.calls, one.sessions)),
         cell(one.example_call_key))
        for one in report.loops
    ]  # fmt: skip
    return Table("Loops", ("kind", "count", "calls", "sessions", "first one"), tuple(rows), frozenset({1, 2, 3}))


def _metrics(report: Report) -> Table:
    rows = [
        (cell(one.metric.replace("_", " ")), cell(one.count), cell(one.of), percent(one.share, 1), cell(one.note))
        for one in report.metrics
    ]
    return Table("Metrics", ("metric", "count", "of", "share", "note"), tuple(rows), frozenset({1, 2, 3}))


def _health(report: Report) -> Table:
    rows = tuple((cell(one.what), cell(one.count)) for one in report.health)
    return Table("Health of the data", ("what", "count"), rows, frozenset({1}))


_TABLES: tuple[Callable[[Report], Table], ...] = (
    _classes, _avoidable, _stale, _guards, _failures, _over_time, _sessions, _success_path, _loops, _labels, _metrics,
    _health,
)  # fmt: skip


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The tools' changes, then the classes'."""
    head = ("tool", "measure", "before", "after", "points", "95 % interval", "p", "more than chance")
    right = frozenset({2, 3, 4, 5, 6})
    note = (
        "p: Fisher's exact test, two-sided mid-p, adjusted for the rows of the table (Holm). Not a cause: a difference."
    )
    told = [one for one in comparison.tools if one.before[0] or one.after[0]]
    yield Table("Before and after", head, tuple(_change(one, one.measure) for one in told), right, note)
    moved = [one for one in comparison.classes if one.before[0] or one.after[0]]
    rows = tuple(_change(one, cell(one.failure_class)) for one in moved)
    if rows:
        yield Table("Classes before and after", ("tool", "class", *head[2:]), rows, right)


def _change(one: Change, name: str) -> tuple[str, ...]:
    interval = one.interval
    sides = [
        f"{count:,} of {of:,} ({percent(rate)})" if rate is not None else _NO
        for (count, of), rate in ((one.before, one.rate_before), (one.after, one.rate_after))
    ]
    change = _NO if one.change is None else f"{100 * one.change:+.2f}"
    between = _NO if interval is None else f"{100 * interval[0]:+.2f} … {100 * interval[1]:+.2f}"
    p = _NO if one.p_adjusted is None else f"{one.p_adjusted:.4f}" if one.p_adjusted >= 0.0001 else "<0.0001"
    chance = _NO if one.beyond_chance is None else "yes" if one.beyond_chance else "no"
    return tool_name(one.tool), name, *sides, change, between, p, chance

"""The report as rows of a list; a row with a number knows the calls behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

from reach_tui.report.compare import Change
from reach_tui.report.model import ClassRow, Report, ToolRow
from reach_tui.report.tables import (
    Table,
    cell,
    class_words,
    comparison_tables,
    fix_lines,
    guards_lines,
    percent,
    tables,
    time_line,
)
from reach_tui.report.text import bar
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit
from reach_tui.workspace.comparing import Compared
from reach_tui.workspace.finding import CallQuery

_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", ".:-=+*#@")
_SKIPPED = {"Failure classes"}  # told below each tool


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of the report, and the calls it counts (None: nothing to open)."""

    line: Line
    query: CallQuery | None = None
    about: str = ""


def report_rows(report: Report, width: int, glyphs: Glyphs, *, soft: bool = False) -> list[ReportRow]:
    """Tools with their classes, what to fix first, then every table of the report; `soft` signals if asked for."""
    rows = [*_tool_rows(report, glyphs, soft=soft), ReportRow([])]
    if line := time_line(report, max(12, min(60, width - 64))):
        shown = line.translate(_ASCII_BLOCKS) if glyphs.rule.isascii() else line
        rows.append(ReportRow([("over time     ", "title"), (shown, "text")]))
    rows.append(ReportRow([("three guards  ", "title"), ("   ".join(guards_lines(report)), "text")]))
    for number, text in enumerate(fix_lines(report)):
        rows.append(ReportRow([("fix first     " if number == 0 else " " * 14, "title"), (text, "text")]))
    queries = _queries(report)
    for table in tables(report):
        if table.title not in _SKIPPED:
            rows += table_rows(table, queries.get(table.title, []))
    return rows


def _tool_rows(report: Report, glyphs: Glyphs, *, soft: bool) -> Iterator[ReportRow]:
    head = f"{'tool':<24} {'calls':>8} {'by flag':>8} {'':>8} {'in truth':>9} {'':>8}"
    yield ReportRow([(head, "dim"), ("   95 % interval", "dim")])
    for tool in report.tools:
        yield _tool_row(tool, glyphs)
        for one in tool.classes:
            if one.count:
                query = CallQuery(tool.tool, one.category, one.subcategory, one.rule, failed=True)
                words = class_words(one)
                line: Line = [(" " * 26, "text"), (f"{one.count:>6,} ", "hidden" if one.hidden else "flagged")]
                line += [(f"{percent(one.share, 1):>7}  ", "dim"), (words, "text")]
                yield ReportRow(line, query, f"{tool.tool} · {words}")
        if soft and tool.counts.soft:
            yield _soft_row(tool, glyphs)


def _soft_row(tool: ToolRow, glyphs: Glyphs) -> ReportRow:
    share = f"{percent(tool.counts.soft / tool.counts.calls, 1):>7}  " if tool.counts.calls else ""
    line: Line = [(" " * 26, "text"), (f"{tool.counts.soft:>6,} ", "soft"), (share, "dim")]
    words = f"{glyphs.soft} soft: suspicious without proof, not counted above"
    return ReportRow([*line, (words, "soft")], CallQuery(tool.tool, soft=True), f"{tool.tool} · soft signals")


def _tool_row(tool: ToolRow, glyphs: Glyphs) -> ReportRow:
    counts = tool.counts
    low_high = counts.interval
    interval = f"   {percent(low_high[0], 1)} – {percent(low_high[1], 1)}" if low_high else ""
    line: Line = [
        (f"{fit(tool.tool, 24)} ", "title"),
        (f"{counts.calls:>8,} {counts.flagged:>8,} {percent(counts.rate_flagged):>8}", "text"),
        (f" {counts.failed:>9,} {percent(counts.rate_failed):>8} ", "hidden" if counts.hidden else "text"),
        (f"{bar(counts.rate_failed or 0.0, 0.2):<6}", "bar"),
        (interval, "dim"),
    ]
    mark = f"  {glyphs.hidden} {counts.hidden:,} hidden" if counts.hidden else ""
    return ReportRow([*line, (mark, "hidden")], CallQuery(tool.tool, failed=True), tool.tool)


def _queries(report: Report) -> dict[str, list[tuple[CallQuery, str]]]:
    """By table: the query of each of its rows, in order."""
    causes = [
        (CallQuery(category=one.category, failed=True), f"{one.cause} · {one.category}") for one in report.cause_classes
    ]
    path = [(CallQuery(one.tool, hidden=True), f"{one.tool}, on the success path") for one in report.success_path]
    return {"Attribution of failures": causes, "Errors on the success path": path}


def table_rows(table: Table, queries: Sequence[tuple[CallQuery | None, str]] = ()) -> Iterator[ReportRow]:
    """A table below a blank line; `queries` are those of its rows, in order."""
    yield ReportRow([])
    yield ReportRow([(table.title, "title"), (f"  {table.note}", "dim")])
    cells = [table.head, *table.rows]
    widths = [min(40, max(cell_len(row[column]) for row in cells)) for column in range(len(table.head))]
    for number, row in enumerate(cells):
        line: Line = []
        for column, text in enumerate(row):
            style = "dim" if number == 0 else "text"
            line.append((fit(text, widths[column], right=column in table.right) + "  ", style))
        query, about = queries[number - 1] if 0 < number <= len(queries) else (None, "")
        yield ReportRow(line, query, about)


def comparison_rows(found: Compared) -> list[ReportRow]:
    """What is compared, what to read it with, then the changes; a row leads to the calls of what came after."""
    comparison = found.comparison
    rows = [
        ReportRow([("before  ", "title"), (scope_line(comparison.before), "text")]),
        ReportRow([("after   ", "title"), (scope_line(comparison.after), "text")]),
    ]
    rows += [ReportRow([("not alike  ", "flagged"), (cell(one), "flagged")]) for one in comparison.differences]
    rows += [ReportRow([("note       ", "soft"), (cell(one), "soft")]) for one in comparison.notes]
    told = [[one for one in some if one.before[0] or one.after[0]] for some in (comparison.tools, comparison.classes)]
    classes = {
        (tool.tool, "/".join(part for part in (one.category, one.subcategory, one.rule) if part)): one
        for tool in found.after.tools
        for one in tool.classes
    }
    for table, changes in zip(comparison_tables(comparison), told, strict=False):
        rows += _marked(table_rows(table, [_behind(one, classes) for one in changes]), changes)
    if not told[0]:
        rows += [ReportRow([]), ReportRow([("no call failed on either side", "dim")])]
    return rows


def _behind(change: Change, classes: Mapping[tuple[str, str], ClassRow]) -> tuple[CallQuery | None, str]:
    """The calls that a change counts after; the store's flag alone is no query."""
    about = f"{change.tool} · {change.failure_class or change.measure}, after"
    if change.failure_class is not None:
        one = classes.get((change.tool, change.failure_class))
        if one is None:
            return None, ""
        return CallQuery(change.tool, one.category, one.subcategory, one.rule, failed=True), about
    if change.measure == "hidden":
        return CallQuery(change.tool, hidden=True), about
    return (CallQuery(change.tool, failed=True), about) if change.measure == "failed" else (None, "")


def _marked(rows: Iterable[ReportRow], changes: Sequence[Change]) -> Iterator[ReportRow]:
    """More than chance stands out: worse in the colour of failures, better in that of the good."""
    for number, row in enumerate(rows):
        change = changes[number - 3] if 3 <= number < len(changes) + 3 else None
        if change is not None and change.beyond_chance:
            style = "hidden" if (change.change or 0) > 0 else "good"
            row = ReportRow([(text, style) for text, _ in row.line], row.query, row.about)
        yield row


def scope_line(scope: Mapping[str, Any]) -> str:
    """`threads.db · 2026-06-01 – 2026-06-17 · 400 sessions · 12,000 calls`, from a report's JSON."""
    stores = [one for one in scope.get("stores") or () if isinstance(one, Mapping)]
    names = list(dict.fromkeys(cell(one.get("path")) for one in stores))
    shown = ", ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")
    days = dict.fromkeys(cell(scope[key])[:10] for key in ("first_session_at", "last_session_at") if scope.get(key))
    counts = [f"{cell(scope.get(key))} {key}" for key in ("sessions", "calls")]
    return " · ".join(part for part in (shown or "nothing", " – ".join(days), *counts) if part)

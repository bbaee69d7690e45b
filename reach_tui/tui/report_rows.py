"""The report as rows of a list; a row with a number knows the calls behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len

from reach_tui.report.model import Report, ToolRow
from reach_tui.report.tables import Table, class_words, fix_lines, guards_lines, percent, tables
from reach_tui.report.text import bar
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit
from reach_tui.workspace.finding import CallQuery

_SKIPPED = {"Failure classes"}  # told below each tool


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of the report, and the calls it counts (None: nothing to open)."""

    line: Line
    query: CallQuery | None = None
    about: str = ""


def report_rows(report: Report, width: int, glyphs: Glyphs) -> list[ReportRow]:
    """Tools with their classes, what to fix first, then every table of the report."""
    rows = [*_tool_rows(report, glyphs), ReportRow([])]
    rows.append(ReportRow([("three guards  ", "title"), ("   ".join(guards_lines(report)), "text")]))
    for number, text in enumerate(fix_lines(report)):
        rows.append(ReportRow([("fix first     " if number == 0 else " " * 14, "title"), (text, "text")]))
    queries = _queries(report)
    for table in tables(report):
        if table.title not in _SKIPPED:
            rows += _table_rows(table, width, queries.get(table.title, []), glyphs)
    return rows


def _tool_rows(report: Report, glyphs: Glyphs) -> Iterator[ReportRow]:
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


def _table_rows(table: Table, width: int, queries: list[tuple[CallQuery, str]], glyphs: Glyphs) -> Iterator[ReportRow]:
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

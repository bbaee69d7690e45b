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
_WIDE, _ROOMY = 96, 116
_SKIPPED = {"Failure classes"}  # told below each tool


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of the report, and the calls it counts (None: nothing to open)."""

    line: Line
    query: CallQuery | None = None
    about: str = ""


def report_rows(report: Report, width: int, glyphs: Glyphs, *, soft: bool = False) -> list[ReportRow]:
    """What to fix first, tools with their classes, then every table of the report; `soft` signals if asked for."""
    rows = [*_summary(report, width, glyphs), ReportRow([]), *_tool_rows(report, width, glyphs, soft=soft)]
    queries = _queries(report)
    for table in tables(report):
        if table.title not in _SKIPPED:
            rows += table_rows(table, queries.get(table.title, []))
    return rows


def _summary(report: Report, width: int, glyphs: Glyphs) -> Iterator[ReportRow]:
    """The answer in a few lines."""
    told = [("three guards", text) for text in _guards(report, width)]
    told += [("fix first", text) for text in fix_lines(report)]
    if line := time_line(report, max(12, min(60, width - 64))):
        told.append(("over time", line.translate(_ASCII_BLOCKS) if glyphs.rule.isascii() else line))
    before = ""
    for name, text in told:
        yield ReportRow([(f"{name if name != before else '':<14}", "title"), (text, "text")])
        before = name


def _guards(report: Report, width: int) -> list[str]:
    lines = guards_lines(report)
    together = "   ".join(lines)
    return [together] if cell_len(together) + 16 <= width else lines


def _tool_rows(report: Report, width: int, glyphs: Glyphs, *, soft: bool) -> Iterator[ReportRow]:
    wide = width >= _WIDE
    name_width = 24 if wide else 16
    head = f"{'tool':<{name_width}} {'calls':>8} {'by flag':>8} {'':>8} {'in truth':>9} {'':>8}"
    yield ReportRow([(head, "dim"), (f"{'':7}  95 % interval" if wide else "", "dim")])
    for tool in report.tools:
        yield _tool_row(tool, name_width, glyphs, wide=wide)
        for one in tool.classes:
            if one.count:
                query = CallQuery(tool.tool, one.category, one.subcategory, one.rule, failed=True)
                words = class_words(one)
                line: Line = [
                    (" " * (name_width + 2), "text"),
                    (f"{one.count:>6,} ", "hidden" if one.hidden else "flagged"),
                ]
                line += [(f"{percent(one.share, 1):>7}  ", "dim"), (words, "text")]
                yield ReportRow(line, query, f"{tool.tool} · {words}")
        if soft and tool.counts.soft:
            yield _soft_row(tool, name_width, glyphs)


def _soft_row(tool: ToolRow, name_width: int, glyphs: Glyphs) -> ReportRow:
    share = f"{percent(tool.counts.soft / tool.counts.calls, 1):>7}  " if tool.counts.calls else ""
    line: Line = [(" " * (name_width + 2), "text"), (f"{tool.counts.soft:>6,} ", "soft"), (share, "dim")]
    words = f"{glyphs.soft} soft: no proof, not counted above"
    return ReportRow([*line, (words, "soft")], CallQuery(tool.tool, soft=True), f"{tool.tool} · soft signals")


def _tool_row(tool: ToolRow, name_width: int, glyphs: Glyphs, *, wide: bool) -> ReportRow:
    counts = tool.counts
    line: Line = [
        (f"{fit(tool.tool, name_width)} ", "title"),
        (f"{counts.calls:>8,} {counts.flagged:>8,} {percent(counts.rate_flagged):>8}", "text"),
        (f" {counts.failed:>9,} {percent(counts.rate_failed):>8} ", "hidden" if counts.hidden else "text"),
    ]
    if wide:
        low_high = counts.interval
        interval = f" {percent(low_high[0], 1):>6} – {percent(low_high[1], 1):<8}" if low_high else " " * 18
        line += [(f"{_bar(counts.rate_failed or 0.0, glyphs):<6}", "bar"), (interval, "dim")]
    mark = f" {glyphs.hidden} {counts.hidden:,}{' hidden' if wide else ''}" if counts.hidden else ""
    return ReportRow([*line, (mark, "hidden")], CallQuery(tool.tool, failed=True), tool.tool)


def _bar(share: float, glyphs: Glyphs) -> str:
    text = bar(share, 0.2)
    return text.replace("▓", "#").replace("▒", "-") if glyphs.rule.isascii() else text


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
            shown = fit(text, widths[column], right=column in table.right)
            line.append((shown.rstrip() if column == len(row) - 1 else f"{shown}  ", style))
        query, about = queries[number - 1] if 0 < number <= len(queries) else (None, "")
        yield ReportRow(line, query, about)


def comparison_rows(found: Compared, width: int) -> list[ReportRow]:
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
        table = table if width >= _ROOMY else _narrow(table)
        rows += _marked(table_rows(table, [_behind(one, classes) for one in changes]), changes)
    if not told[0]:
        rows += [ReportRow([]), ReportRow([("no call failed on either side", "dim")])]
    return rows


def _narrow(table: Table) -> Table:
    """For small screens: shares without their counts, and no p-values."""
    told = [column for column, name in enumerate(table.head) if name != "p"]
    rows = tuple(tuple(_share_of(row[column]) for column in told) for row in table.rows)
    right = frozenset(number for number, column in enumerate(told) if column in table.right)
    head = tuple({"more than chance": "clear"}.get(table.head[column], table.head[column]) for column in told)
    return Table(table.title, head, rows, right, table.note)


def _share_of(text: str) -> str:
    """`42.31 %` of `11 of 26 (42.31 %)`."""
    return text[text.rindex("(") + 1 : -1] if " of " in text and text.endswith(" %)") else text


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

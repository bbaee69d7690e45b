"""The report as plain text, for a terminal or a pipe: no colour, no escape codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size

from reach_tui.report import tables as shared
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report

WIDTH = 120
_BAR = 6
_SCALE = 0.2  # where the bars end at the latest: a tool that always fails must not flatten all the others
_TOOL = 28
_NARROWEST = 40


def render(report: Report, comparison: Comparison | None = None, width: int = WIDTH) -> str:
    """The whole report. Lines of the first screenful are cut at `width` cells; tables below it fold nothing."""
    width = max(_NARROWEST, width)
    rule = "─" * width
    lines = [shared.headline(report.scope), rule, *_tools(report, width), rule, *_after(report)]
    for table in [*(shared.comparison_tables(comparison) if comparison else ()), *shared.tables(report)]:
        lines += ["", *_table(table)]
    if comparison is not None:
        lines[1:1] = [
            f"before: {shared.scope_line(comparison.before)}",
            *(f"! not alike: {one}" for one in map(shared.cell, comparison.differences)),
            *map(shared.cell, comparison.notes),
        ]
    return "\n".join(lines) + "\n"


def document(title: str, found: Iterable[shared.Table]) -> str:
    """Tables below a title, as plain text."""
    lines = [shared.cell(title), "─" * WIDTH, *(line for table in found for line in ("", *_table(table)))]
    return "\n".join(lines) + "\n"


def _after(report: Report) -> Iterator[str]:
    first = "three guards", "      ".join(shared.guards_lines(report))
    line = "over time", shared.time_line(report)
    for name, text in [first, line, *zip_longest(["fix first"], shared.fix_lines(report), fillvalue="")]:
        if text:
            yield f"{name:<14}{text}"


def bar(share: float, most: float, cells: int = _BAR) -> str:
    """`▓▓▓▒`: a share on a scale that ends at `most`, in half cells; something for everything above 0."""
    if share <= 0 or most <= 0:
        return ""
    halves = max(1, round(2 * cells * min(1.0, share / most)))
    return "▓" * (halves // 2) + "▒" * (halves % 2)


def _tools(report: Report, width: int) -> Iterator[str]:
    stale = {row.tool: row for row in report.stale_by_tool}
    most = min(_SCALE, max((row.counts.rate_failed or 0.0 for row in report.tools), default=_SCALE))
    names = max([4, *(cell_len(shared.tool_name(row.tool)) for row in report.tools)])
    names = min(names, _TOOL)
    heads = f"{'calls':>8} {'by flag':>7} {'':>8} {'ended':>9}  {'in truth, of ended':<24}classes"
    yield f"{set_cell_size('tool', names)} {heads}"
    for row in report.tools:
        counts = row.counts
        flagged = f"{counts.flagged:>7,} {shared.percent(counts.rate_flagged):>8}"
        failed = (
            f"{counts.failed:>7,} {shared.percent(counts.rate_failed):>8} {bar(counts.rate_failed or 0, most):<{_BAR}}"
        )
        name = set_cell_size(_cut(shared.tool_name(row.tool), names), names)
        rates = f"{flagged} {counts.ended:>9,} {failed}"
        line = f"{name} {counts.calls:>8,} {rates}  {shared.classes_line(row, stale.get(row.tool))}"
        yield _cut(line.rstrip(), width)


def _cut(line: str, width: int) -> str:
    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


def _table(table: shared.Table) -> Iterator[str]:
    widths = [max(cell_len(line[column]) for line in (table.head, *table.rows)) for column in range(len(table.head))]
    yield table.title
    if table.note:
        yield table.note
    yield _row(table.head, widths, table.right)
    for row in table.rows:
        yield _row(row, widths, table.right)


def _row(cells: Iterable[str], widths: list[int], right: frozenset[int]) -> str:
    padded = []
    for column, (text, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - cell_len(text))
        padded.append(blank + text if column in right else text + blank)
    return "  ".join(padded).rstrip()

"""The report as rows of a list; a row with numbers knows what they count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from reach_tui.report.compare import Change
from reach_tui.report.model import Report, ToolRow
from reach_tui.report.tables import (
    Table,
    cell,
    class_words,
    comparison_tables,
    fix_lines,
    guards_lines,
    percent,
    scope_line,
    tables,
    time_line,
    tool_name,
)
from reach_tui.report.text import bar
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, wrap
from reach_tui.tui.report_numbers import (
    Numbers,
    change_numbers,
    class_numbers,
    class_of,
    fix_numbers,
    guard_numbers,
    soft_numbers,
    table_numbers,
    tool_numbers,
)
from reach_tui.workspace.comparing import Compared

_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", ".:-=+*#@")
_WIDE = 116
_CLASS = 32
_LEAVING = ("example call", "p", "recorded as success", "rule", "95 % interval")
_SHORT = {"more than chance": "clear"}
_LEAST, _TALLEST = 24, 3  # cells and lines of a table's text that does not fit
_SKIPPED = {"Failure classes"}  # told below each tool


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of the report, and what its numbers count (empty: nothing to open)."""

    line: Line
    behind: Numbers = ()

    @property
    def about(self) -> str:
        """What the first of its numbers counts, in words."""
        return self.behind[0].about if self.behind else ""

    def same(self, other: ReportRow) -> bool:
        """True for the same numbers, however the row is laid out."""
        return self.behind == other.behind


def report_rows(report: Report, width: int, glyphs: Glyphs, *, soft: bool = False) -> list[ReportRow]:
    """What to fix first, tools with their classes, then every table of the report; `soft` signals if asked for."""
    rows = [*_summary(report, width, glyphs), ReportRow([]), *_tool_rows(report, width, glyphs, soft=soft)]
    numbers = table_numbers(report)
    for table in tables(report):
        if table.title not in _SKIPPED:
            rows += table_rows(table, width - 1, numbers.get(table.title, ()))
    return rows


def _summary(report: Report, width: int, glyphs: Glyphs) -> Iterator[ReportRow]:
    """The answer in a few lines."""
    told: list[tuple[str, str, Numbers]] = list(_guards(report, width))
    told += [
        ("fix first", text, fix_numbers(report, fix)) for text, fix in zip(fix_lines(report), report.fixes, strict=True)
    ]
    if line := time_line(report, max(12, min(60, width - 64))):
        told.append(("over time", line.translate(_ASCII_BLOCKS) if glyphs.rule.isascii() else line, ()))
    before = ""
    for name, text, behind in told:
        yield ReportRow([(f"{name if name != before else '':<14}", "title"), (text, "text")], behind)
        before = name


def _guards(report: Report, width: int) -> Iterator[tuple[str, str, Numbers]]:
    lines, behind = guards_lines(report), guard_numbers(report)
    together = "   ".join(lines)
    if cell_len(together) + 16 <= width:
        yield "three guards", together, tuple(one for numbers in behind for one in numbers)
    else:
        yield from (("three guards", text, numbers) for text, numbers in zip(lines, behind, strict=True))


def _tool_rows(report: Report, width: int, glyphs: Glyphs, *, soft: bool) -> Iterator[ReportRow]:
    wide = width >= _WIDE
    name_width = 24 if wide else 16
    head = f"{'tool':<{name_width}} {'calls':>7} {'by flag':>8} {'':>8} {'ended':>7} {'in truth':>9} {'':>8}"
    yield ReportRow([(head, "dim"), (f"{'':7}  95 % interval" if wide else "", "dim")])
    for tool in report.tools:
        yield _tool_row(tool, name_width, glyphs, wide=wide)
        for one in tool.classes:
            if one.count:
                words, of = class_words(one), class_of(one)
                line: Line = [
                    (" " * (name_width + 2 if wide else 2), "text"),
                    (f"{one.count:>6,} ", "hidden" if one.hidden else "flagged"),
                    (f"{percent(one.share, 1):>7}  ", "dim"),
                    (fit(words, max(_CLASS, cell_len(words))) if wide else words, "text"),
                    (f"  {of}" if of != words else "", "dim"),
                ]
                yield ReportRow(line, class_numbers(tool.tool, one))
        if soft and tool.counts.soft:
            yield _soft_row(tool, name_width + 2 if wide else 2, glyphs)


def _soft_row(tool: ToolRow, left: int, glyphs: Glyphs) -> ReportRow:
    share = f"{percent(tool.counts.soft / tool.counts.calls, 1):>7}  " if tool.counts.calls else ""
    line: Line = [(" " * left, "text"), (f"{tool.counts.soft:>6,} ", "soft"), (share, "dim")]
    words = f"{glyphs.soft} soft: no proof, not counted above"
    return ReportRow([*line, (words, "soft")], soft_numbers(tool))


def _tool_row(tool: ToolRow, name_width: int, glyphs: Glyphs, *, wide: bool) -> ReportRow:
    counts = tool.counts
    line: Line = [
        (f"{fit(tool_name(tool.tool), name_width)} ", "title"),
        (f"{counts.calls:>7,} {counts.flagged:>8,} {percent(counts.rate_flagged):>8} {counts.ended:>7,}", "text"),
        (f" {counts.failed:>9,} {percent(counts.rate_failed):>8} ", "hidden" if counts.hidden else "text"),
    ]
    if wide:
        low_high = counts.interval
        interval = f" {percent(low_high[0], 1):>6} – {percent(low_high[1], 1):<8}" if low_high else " " * 18
        line += [(f"{_bar(counts.rate_failed or 0.0, glyphs):<6}", "bar"), (interval, "dim")]
    mark = f" {glyphs.hidden} {counts.hidden:,}{' hidden' if wide else ''}" if counts.hidden else ""
    return ReportRow([*line, (mark, "hidden")], tool_numbers(tool))


def _bar(share: float, glyphs: Glyphs) -> str:
    text = bar(share, 0.2)
    return text.replace("▓", "#").replace("▒", "-") if glyphs.rule.isascii() else text


def table_rows(
    table: Table, width: int, behind: Sequence[Numbers] = (), styles: Sequence[str] = ()
) -> Iterator[ReportRow]:
    """A table below a blank line, its texts folded to `width`; `behind` and `styles` are those of its rows, in order.

    A style takes the place of the usual one.
    """
    table = _fitting(table, width)
    yield ReportRow([])
    yield from _titled(table, width)
    widths = _widths(table, width)
    for number, row in enumerate([table.head, *table.rows]):
        of = behind[number - 1] if 0 < number <= len(behind) else ()
        style = "dim" if number == 0 else styles[number - 1] if number <= len(styles) else "text"
        for line in _folded(row, widths, table.right):
            yield ReportRow([(line, style)], of)


def _titled(table: Table, width: int) -> Iterator[ReportRow]:
    """Title and note on one line, or the note below."""
    if cell_len(table.title) + 2 + cell_len(table.note) <= width:
        yield ReportRow([(table.title, "title"), (f"  {table.note}", "dim")])
    else:
        yield ReportRow([(table.title, "title")])
        yield from (ReportRow([(row, "dim")]) for row in wrap(table.note, width))


def _widths(table: Table, width: int) -> list[int]:
    """Cells of each column: what its widest text needs; the widest texts give way where that is too much."""
    rows = [table.head, *table.rows]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(table.head))]
    texts = [column for column in range(len(widths)) if column not in table.right]
    over = sum(widths) + 2 * (len(widths) - 1) - width
    for column in sorted(texts, key=lambda column: -widths[column]):
        given = max(0, min(over, widths[column] - _LEAST))
        widths[column] -= given
        over -= given
    return widths


def _folded(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> Iterator[str]:
    """A row's lines: more than one where a text does not fit."""
    cells = [
        [text] if column in right else wrap(text, widths[column])[: _TALLEST + 1] for column, text in enumerate(row)
    ]
    height = min(_TALLEST, max(map(len, cells)))
    for number in range(height):
        line = ""
        for column, lines in enumerate(cells):
            text = lines[number] if number < len(lines) else ""
            if number == _TALLEST - 1 and len(lines) > _TALLEST:
                text = fit(f"{text} {lines[number + 1]}", widths[column])
            line += fit(text, widths[column], right=column in right) + "  "
        yield line.rstrip()


def comparison_rows(found: Compared, width: int) -> list[ReportRow]:
    """What is compared, what to read it with, then the changes; a row leads to the calls of what came after."""
    comparison = found.comparison
    said = [("before", scope_line(comparison.before), "text"), ("after", scope_line(comparison.after), "text")]
    said += [("not alike", cell(text), "flagged") for text in comparison.differences]
    said += [("note", cell(text), "soft") for text in comparison.notes]
    rows = [
        ReportRow([(fit("" if number else name, 11), "title" if style == "text" else style), (row, style)])
        for name, text, style in said
        for number, row in enumerate(wrap(text, width - 12))
    ]
    told = [[one for one in some if one.before[0] or one.after[0]] for some in (comparison.tools, comparison.classes)]
    for table, changes in zip(comparison_tables(comparison), told, strict=False):
        rows += table_rows(
            table, width - 1, [change_numbers(found.after, one) for one in changes], list(map(_style, changes))
        )
    if not told[0]:
        rows += [ReportRow([]), ReportRow([("no call failed on either side", "dim")])]
    return rows


def _fitting(table: Table, width: int) -> Table:
    """For small screens: without what says least, column by column, until it fits; shares then without counts."""
    for name in _LEAVING:
        if sum(_widths(table, width)) + 2 * (len(table.head) - 1) <= width:
            break
        told = [column for column, head in enumerate(table.head) if head != name]
        rows = tuple(tuple(_share_of(row[column]) for column in told) for row in table.rows)
        right = frozenset(number for number, column in enumerate(told) if column in table.right)
        head = tuple(_SHORT.get(table.head[column], table.head[column]) for column in told)
        table = Table(table.title, head, rows, right, table.note)
    return table


def _share_of(text: str) -> str:
    """`42.31 %` of `11 of 26 (42.31 %)`."""
    return text[text.rindex("(") + 1 : -1] if " of " in text and text.endswith(" %)") else text


def _style(change: Change) -> str:
    """More than chance stands out: worse in the colour of failures, better in that of the good."""
    if not change.beyond_chance:
        return "text"
    return "hidden" if (change.change or 0) > 0 else "good"

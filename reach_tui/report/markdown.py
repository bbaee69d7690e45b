"""The report as Markdown tables. Text of the traces cannot become markup: it is escaped character by character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reach_tui.report import tables as shared
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report

_ACTIVE = re.compile(r"[\\`*_{}\[\]<>#|~&!$]")


def render(report: Report, comparison: Comparison | None = None) -> str:
    """The whole report as Markdown text."""
    return "\n".join(_lines(report, comparison)) + "\n"


def document(title: str, found: Iterable[shared.Table]) -> str:
    """Tables below a title, as Markdown text."""
    return "\n".join([f"# {_text(title)}", "", *(line for table in found for line in _table(table))]) + "\n"


def _text(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match[0] if match[0] not in "<>&" else f"&#{ord(match[0])};", text)


def _lines(report: Report, comparison: Comparison | None) -> Iterator[str]:
    yield f"# Hidden errors: {_text(shared.headline(report.scope))}"
    yield ""
    if comparison is not None:
        yield f"Before: {_text(shared.scope_line(comparison.before))}"
        yield ""
        for one in comparison.differences:
            yield f"- **Not alike:** {_text(shared.cell(one))}"
        yield from (f"- {_text(shared.cell(one))}" for one in comparison.notes)
        yield ""
        for table in shared.comparison_tables(comparison):
            yield from _table(table)
    yield from _table(_tools(report))
    yield from (f"- {_text(line)}" for line in shared.guards_lines(report))
    yield ""
    if fixes := shared.fix_lines(report):
        yield "Fix first:"
        yield ""
        yield from (f"- {_text(line)}" for line in fixes)
        yield ""
    for table in shared.tables(report):
        yield from _table(table)
    yield f"Made by reach-tui {_text(report.scope.tool_version)}, rules {_text(report.scope.rules_version)}."


def _tools(report: Report) -> shared.Table:
    stale = {row.tool: row for row in report.stale_by_tool}
    rows = []
    for row in report.tools:
        counts, interval = row.counts, row.counts.interval
        between = "–" if interval is None else f"{shared.percent(interval[0])} … {shared.percent(interval[1])}"
        numbers = (
            counts.flagged,
            shared.percent(counts.rate_flagged),
            shared.cell(counts.ended),
            counts.failed,
            shared.percent(counts.rate_failed),
            between,
        )
        more = (counts.hidden, counts.soft, counts.unknown, shared.classes_line(row, stale.get(row.tool)))
        rows.append((shared.tool_name(row.tool), shared.cell(counts.calls), *(str(one) for one in (*numbers, *more))))
    head = (
        "tool", "calls", "by flag", "", "ended", "in truth", "", "95 % interval", "hidden", "soft", "unknown",
        "classes",
    )  # fmt: skip
    return shared.Table("Tools", head, tuple(rows), frozenset(range(1, 11)), shared.RATES_NOTE)


def _table(table: shared.Table) -> Iterator[str]:
    yield f"## {_text(table.title)}"
    yield ""
    if table.note:
        yield _text(table.note)
        yield ""
    yield _row(table.head)
    yield _row("--:" if column in table.right else "---" for column in range(len(table.head)))
    yield from (_row(map(_text, row)) for row in table.rows)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

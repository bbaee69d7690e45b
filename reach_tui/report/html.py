"""The report as one HTML file: no script, nothing loaded from anywhere, plots as inline SVG, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from reach_tui.analyze.attribution import CAUSES
from reach_tui.base.page import END, page_head
from reach_tui.report import tables as shared
from reach_tui.report.compare import Comparison
from reach_tui.report.model import OverTimeRows, Report, ToolRow
from reach_tui.report.spans import starts_on

_STYLE = """
body { max-width: 72rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; } .n { text-align: right; font-variant-numeric: tabular-nums; }
td { overflow-wrap: anywhere; } td:first-child { overflow-wrap: break-word; }
td.n { overflow-wrap: normal; white-space: nowrap; }
.warn { color: var(--flagged); font-weight: 600; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
.hidden { fill: var(--hidden); color: var(--hidden); } .flagged { fill: var(--flagged); color: var(--flagged); }
.c0 { fill: #2f6db5; color: #2f6db5; } .c1 { fill: #b36a00; color: #b36a00; }
.c2 { fill: #6b7684; color: #6b7684; } .c3 { fill: #8a4fbf; color: #8a4fbf; }
.whisker { stroke: var(--text); stroke-width: 1.5; } .axis { stroke: var(--line); }
"""
_ROW, _LEFT, _WIDE, _RIGHT = 22, 190, 560, 130
_HIGH = 120
_PLOTTED = 20
_ENOUGH = 50  # calls of a tool that may set the plot's scale
_LONGEST = 26


def render(report: Report, comparison: Comparison | None = None) -> str:
    """The whole report as HTML text."""
    return "\n".join(_lines(report, comparison)) + "\n"


def document(title: str, found: Iterable[shared.Table]) -> str:
    """Tables below a title, as one HTML page."""
    body = [page_head(_text(title), _STYLE), *(line for table in found for line in _table(table)), END]
    return "\n".join(body) + "\n"


def _text(value: object) -> str:
    return escape(shared.cell(value))


def _lines(report: Report, comparison: Comparison | None) -> Iterator[str]:
    yield page_head(_text(shared.headline(report.scope)), _STYLE)
    if comparison is not None:
        yield f"<p>Before: {_text(shared.scope_line(comparison.before))}</p>"
        yield from (f'<p class="warn">Not alike: {_text(one)}</p>' for one in comparison.differences)
        yield from (f"<p>{_text(one)}</p>" for one in comparison.notes)
        for table in shared.comparison_tables(comparison):
            yield from _table(table)
    yield "<h2>Failure rates</h2>"
    names = '<span class="hidden">■</span> hidden failures, <span class="flagged">■</span> flagged ones'
    said = f"Share of the ended calls: {names}; the line is the 95 % interval; › goes on beyond the scale."
    yield f'<p class="quiet">{said}</p>'
    yield from _plot([row for row in report.tools if row.counts.failed][:_PLOTTED])
    yield from _table(_tools(report))
    yield f"<p>Three guards: {' · '.join(map(_text, shared.guards_lines(report)))}</p>"
    yield from _over_time(report.over_time)
    if fixes := shared.fix_lines(report):
        yield f"<h2>Fix first</h2>\n<ul>{''.join(f'<li>{_text(line)}</li>' for line in fixes)}</ul>"
    for table in shared.tables(report):
        yield from _table(table)
    made = f"reach-tui {report.scope.tool_version}, rules {report.scope.rules_version}"
    yield f'<p class="quiet">Made by {_text(made)}.</p>\n{END}'


def _plot(rows: list[ToolRow]) -> Iterator[str]:
    if not rows:
        yield '<p class="quiet">No failed call in scope.</p>'
        return
    height, width = _ROW * len(rows) + 24, _LEFT + _WIDE + _RIGHT
    yield f'<svg role="img" aria-label="Failure rate of each tool" viewBox="0 0 {width} {height}" width="{width}">'
    ends = [(row.counts.interval or (0.0, 1.0))[1] for row in rows if row.counts.ended >= _ENOUGH]
    most = max(ends, default=1.0)  # a tool called twice must not flatten all the others: its bar is cut
    yield f'<line class="axis" x1="{_LEFT}" y1="0" x2="{_LEFT}" y2="{height - 20}"/>'
    yield f'<text x="{_LEFT}" y="{height - 4}">0 %</text>'
    yield f'<text x="{_LEFT + _WIDE}" y="{height - 4}" text-anchor="end">{shared.percent(most, 1)}</text>'
    for place, row in enumerate(rows):
        yield from _bar(row, place * _ROW, _WIDE / most)
    yield "</svg>"


def _over_time(found: OverTimeRows) -> Iterator[str]:
    """A column a span, by whose reach ended, the least avoidable on top; on the scale of the highest rate."""
    rows = found.rows
    most = max((row.share for row in rows if row.share is not None), default=0.0)
    if len(rows) < 2 or not most:
        return
    yield f"<h2>Failures over time, by {found.span}</h2>"
    names = " ".join(f'<span class="c{place}">■</span> {escape(cause)}' for place, cause in enumerate(CAUSES))
    yield f'<p class="quiet">Share of the ended calls, by whose reach ended: {names}. Sessions by their start, UTC.</p>'
    width, high = _LEFT + _WIDE + _RIGHT, _HIGH + 24
    yield f'<svg role="img" aria-label="Failure rate over time" viewBox="0 0 {width} {high}" width="{width}">'
    yield f'<line class="axis" x1="{_LEFT}" y1="{_HIGH}" x2="{_LEFT + _WIDE}" y2="{_HIGH}"/>'
    yield f'<text x="{_LEFT - 8}" y="12" text-anchor="end">{shared.percent(most, 1)}</text>'
    step = _WIDE / len(rows)
    for place, row in enumerate(rows):
        said = f"{starts_on(row.start)}: {row.failed:,} of {row.ended:,} failed, {row.hidden:,} of them hidden"
        yield f"<g><title>{escape(said)}</title>"
        top = float(_HIGH)
        for cause, count in enumerate(row.causes if row.ended else ()):
            tall = _HIGH * count / row.ended / most
            top -= tall
            box = (
                f'x="{_LEFT + place * step:.1f}" y="{top:.1f}" width="{max(0.5, 0.85 * step):.1f}" height="{tall:.1f}"'
            )
            yield f'<rect class="c{cause}" {box}/>' if count else ""
        yield "</g>"
    yield f'<text x="{_LEFT}" y="{high - 6}">{starts_on(rows[0].start)}</text>'
    yield f'<text x="{_LEFT + _WIDE}" y="{high - 6}" text-anchor="end">{starts_on(rows[-1].start)}</text>\n</svg>'


def _bar(row: ToolRow, top: int, scale: float) -> Iterator[str]:
    counts, middle = row.counts, top + _ROW / 2
    interval = counts.interval or (0.0, 0.0)
    hidden, failed = (min(_WIDE, scale * count / counts.ended) for count in (counts.hidden, counts.failed))
    name = shared.tool_name(row.tool)
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    said = f"{name}: {counts.failed:,} of {counts.ended:,} failed, {counts.hidden:,} of them hidden"
    yield f"<g><title>{escape(said)}</title>"
    yield f'<text x="{_LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(short)}</text>'
    box = f'y="{top + 5}" height="{_ROW - 10}"'
    yield f'<rect class="hidden" x="{_LEFT}" {box} width="{hidden:.1f}"/>'
    yield f'<rect class="flagged" x="{_LEFT + hidden:.1f}" {box} width="{failed - hidden:.1f}"/>'
    low, high = (_LEFT + min(_WIDE, scale * end) for end in interval)
    cut = " ›" if interval[1] * scale > _WIDE + 0.5 else ""
    yield f'<line class="whisker" x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}"/>'
    yield f'<text x="{high + 8:.1f}" y="{middle + 4}">{shared.percent(counts.rate_failed)}{cut}</text></g>'


def _tools(report: Report) -> shared.Table:
    stale = {row.tool: row for row in report.stale_by_tool}
    rows = tuple(
        (
            shared.tool_name(row.tool), shared.cell(row.counts.calls),
            shared.cell(row.counts.flagged), shared.percent(row.counts.rate_flagged),
            shared.cell(row.counts.ended), shared.cell(row.counts.failed), shared.percent(row.counts.rate_failed),
            shared.cell(row.counts.hidden), shared.cell(row.counts.soft), shared.cell(row.counts.unknown),
            shared.classes_line(row, stale.get(row.tool)),
        )
        for row in report.tools
    )  # fmt: skip
    head = ("tool", "calls", "by flag", "rate", "ended", "in truth", "rate", "hidden", "soft", "unknown", "classes")
    return shared.Table("Tools", head, rows, frozenset(range(1, 10)), shared.RATES_NOTE)


def _table(table: shared.Table) -> Iterator[str]:
    yield f"<h2>{_text(table.title)}</h2>"
    if table.note:
        yield f'<p class="quiet">{_text(table.note)}</p>'
    yield f'<div class="scroll"><table>\n<tr>{_cells("th", table.head, table.right)}</tr>'
    yield from (f"<tr>{_cells('td', row, table.right)}</tr>" for row in table.rows)
    yield "</table></div>"


def _cells(tag: str, cells: Iterable[str], right: frozenset[int]) -> str:
    return "".join(
        f"<{tag}{' class=n' if column in right else ''}>{escape(text)}</{tag}>" for column, text in enumerate(cells)
    )

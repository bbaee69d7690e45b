"""The four metrics as rows of a list: rates with bars and intervals, weeks, one grouping, the tasks against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reach_tui.analyze.outcomes import Outcomes, Task
from reach_tui.report.metrics import groups_table, interval, over_time
from reach_tui.report.tables import Table
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, wrap
from reach_tui.tui.report_rows import table_rows
from reach_tui.workspace.measuring import Measuring

_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", ".:-=+*#@")
_WIDE = 96
_NAME = 24


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A line; a task against can be opened."""

    line: Line
    task: Task | None = None


def metric_rows(
    found: Measuring, by: str, width: int, glyphs: Glyphs, title_of: Callable[[str], str]
) -> list[MetricRow]:
    """The whole screen, for a width."""
    width = max(width - 1, 30)
    total = found.total
    rows = [MetricRow([(f"{total.tasks:,} tasks with an outcome", "title"), (f"  {total.open:,} still open", "dim")])]
    if not total.tasks:
        rows.append(MetricRow([]))
        said = "no task has an outcome yet: a task is a user's turn in which a tool was called, and that has ended"
        return rows + [MetricRow([(row, "dim")]) for row in wrap(said, width)]
    rows += [MetricRow(line) for line in _metrics(total, width, glyphs)]
    if bars := over_time(found.groups["week"], max(8, min(52, width - _NAME - 22))):
        shown = bars.translate(_ASCII_BLOCKS) if glyphs.rule.isascii() else bars
        rows.append(MetricRow([(f"{'over time':<{_NAME}}", "dim"), (shown, "bar"), ("  end to end", "dim")]))
    table = groups_table(found.groups[by], by)
    rows += [MetricRow(row.line) for row in table_rows(table if width >= _WIDE else _narrow(table), width)]
    return rows + list(_against(found.against, width, title_of))


def _metrics(total: Outcomes, width: int, glyphs: Glyphs) -> Iterator[Line]:
    bar = 20 if width >= _WIDE else 10
    yield _rate("end to end", total.success, total.tasks, bar, glyphs)
    yield _rate(f"{glyphs.child} after a repair", total.repaired, total.tasks, bar, glyphs)
    yield _rate("first pass", total.first_pass, total.tasks, bar, glyphs)
    yield _rate("corrected by the user", total.corrected, total.tasks, bar, glyphs, bad=True)
    yield _rate("failed", total.failed, total.tasks, bar, glyphs, bad=True)
    yield _rate("no capability", total.refused, total.tasks, bar, glyphs)
    if total.routed:
        yield _rate("coverage", total.covered, total.routed, bar, glyphs, bad=total.alarm)
        if total.alarm:
            yield [(" " * _NAME, "text"), (f"{glyphs.flagged} ALARM: below 85 %, a tool is missing", "flagged")]
    else:
        yield [(fit("coverage", _NAME), "dim"), ("no decision was recorded", "dim")]
    causes = sorted(total.causes.items(), key=lambda item: (-item[1], item[0]))
    said = "   ".join(f"{cause} {count:,}" for cause, count in causes) or "no failed task"
    yield [(fit("whose reach ended", _NAME), "dim"), (said, "text")]


def _rate(name: str, count: int, of: int, bar: int, glyphs: Glyphs, *, bad: bool = False) -> Line:
    share = count / of if of else 0.0
    full = round(share * bar)
    style = "dim" if bad and not count else "bad" if bad else "good"
    return [
        (fit(name, _NAME), "dim" if name.startswith(glyphs.child) else "title"),
        (f"{100 * share:5.1f} % ", style),
        (glyphs.bar * full, "bar"),
        (glyphs.bar_empty * (bar - full), "bar-empty"),
        (f"{f'{count:,} of {of:,}':>{max(12, 2 * len(f'{of:,}') + 6)}}", "text"),
        (f"   95 %: {interval(count, of)}", "dim"),
    ]


def _narrow(table: Table) -> Table:
    """Without the open ones and the interval."""
    told = [column for column, name in enumerate(table.head) if name not in ("open", "95 % interval", "corrected")]
    rows = tuple(tuple(row[column] for column in told) for row in table.rows)
    right = frozenset(number for number, column in enumerate(told) if column in table.right)
    return Table(table.title, tuple(table.head[column] for column in told), rows, right, table.note)


def _against(against: Sequence[Task], width: int, title_of: Callable[[str], str]) -> Iterator[MetricRow]:
    yield MetricRow([])
    if not against:
        yield MetricRow([("no task failed or was corrected", "good")])
        return
    yield MetricRow([("Tasks against", "title"), ("  Enter goes to the step that speaks against it", "dim")])
    cells = max(12, min(32, width // 4))
    for task in against:
        step = task.at_step if task.at_step is not None else task.first_step
        style = "hidden" if task.outcome == "failed" else "soft"
        line: Line = [(fit(task.outcome, 10), style), (f"{f'step {step}':<11}", "key")]
        line += [(fit(title_of(task.session_id), cells), "dim"), ("  ", "text")]
        yield MetricRow([*line, (fit(task.why, max(8, width - cells - 23)), "text")], task)

"""The four metrics as tables and as lines over time: what the screen and the exported forms have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reach_tui.analyze.intervals import wilson
from reach_tui.analyze.metric_words import WORDS
from reach_tui.analyze.outcomes import Outcomes, Task
from reach_tui.report.tables import Table, cell, percent, tool_name

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = 200  # rows of a group table
TITLE = "The four metrics"


def metrics_table(total: Outcomes) -> Table:
    """Each metric with its count and 95 % interval."""
    rows = [
        _row("end to end", total.success, total.tasks),
        _row("  of these after a repair", total.repaired, total.success),
        _row("first pass", total.first_pass, total.tasks),
        _row("corrected by the user", total.corrected, total.tasks),
        _row("no capability", total.refused, total.tasks),
        _row("failed", total.failed, total.tasks),
        _row("coverage", total.covered, total.routed),
    ]
    for cause, count in sorted(total.causes.items(), key=lambda item: (-item[1], item[0])):
        rows.append(_row(f"failed by {cause}", count, total.causes.total()))
    note = f"{total.tasks:,} tasks with an outcome, {total.open:,} still open."
    if total.alarm:
        note += " Coverage is below 85 %: a tool is missing."
    elif not total.routed:
        note += " No decision was recorded: coverage is not known."
    return Table(TITLE, ("metric", "rate", "count", "of", "95 % interval"), tuple(rows), frozenset({1, 2, 3}), note)


def _row(name: str, count: int, of: int) -> tuple[str, ...]:
    return (name, percent(count / of if of else None, 1), f"{count:,}", f"{of:,}", interval(count, of))


def interval(count: int, of: int) -> str:
    """`72.6 – 91.5 %`; a dash without any task."""
    found = wilson(count, of)
    return "–" if found is None else f"{100 * found[0]:.1f} – {100 * found[1]:.1f} %"


def groups_table(groups: Mapping[str, Outcomes], by: str) -> Table:
    """One row a group: weeks in order, all else by tasks."""
    chosen = sorted(groups.items(), key=lambda item: (0 if by == "week" else -item[1].tasks, item[0]))
    rows = tuple(
        (
            tool_name(name), f"{one.tasks:,}", f"{one.open:,}", percent(_share(one.success, one.tasks), 1),
            interval(one.success, one.tasks), percent(_share(one.first_pass, one.tasks), 1), f"{one.corrected:,}",
            percent(_share(one.covered, one.routed), 1) + (" !" if one.alarm else ""),
        )
        for name, one in chosen[:_MOST]
    )  # fmt: skip
    head = (by, "tasks", "open", "end to end", "95 % interval", "first pass", "corrected", "coverage")
    note = "A task with several tools counts under each." if by == "tool" else ""
    if len(chosen) > _MOST:
        note = f"{note} The first {_MOST} of {len(chosen):,}.".strip()
    return Table(f"By {by}", head, rows, frozenset({1, 2, 3, 5, 6, 7}), note)


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def against_table(against: Iterable[Task], title_of: Callable[[str], str]) -> Table:
    """The tasks that did not succeed, with the reason."""
    rows = tuple(
        (task.outcome, cell(task.at_step if task.at_step is not None else task.first_step),
         cell(title_of(task.session_id)), cell(task.why))
        for task in against
    )  # fmt: skip
    return Table("Tasks against", ("outcome", "step", "session", "why"), rows, frozenset({1}))


def words_table() -> Table:
    """What each word means."""
    return Table("Words", ("word", "means"), tuple((word, plain(text)) for word, text in WORDS))


def plain(text: str) -> str:
    """A definition without its Markdown marks."""
    return text.replace("`", "")


def over_time(weeks: Mapping[str, Outcomes], most: int) -> str:
    """`2026-W23 ▁▃▇█ 2026-W27`: end to end from 0 to 100 %, the newest weeks; empty with less than two."""
    told = [(name, one) for name, one in sorted(weeks.items()) if one.tasks and name != "unknown"][-most:]
    if len(told) < 2:
        return ""
    bars = "".join(_BLOCKS[min(7, 8 * one.success // one.tasks)] for _, one in told)
    return f"{told[0][0]} {bars} {told[-1][0]}"

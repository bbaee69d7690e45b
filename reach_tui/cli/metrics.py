"""`reach-tui metrics`: end-to-end success, first pass, coverage, attribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import StoreError
from reach_tui.base.text import one_line, shown_name
from reach_tui.cli.output import Column, Record, emit, encode
from reach_tui.cli.sources import Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.analyze.outcomes import Outcomes
    from reach_tui.workspace.measuring import Measured

_GROUPS = ("tool", "model", "project", "week")
_BARS = "▁▂▃▄▅▆▇█"
_MOST = 10


@click.command(short_help="The four metrics over tasks.")
@path_argument
@click.option("--by", type=click.Choice(_GROUPS), default="week", show_default=True, help="Also by this.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="One JSON object.")
@labels_option
def metrics(path: Path, by: str, as_json: bool, labels_file: Path | None) -> int:
    """Say how the tasks in PATH ended: end to end, at first pass, within reach, and whose reach ended.

    docs/metrics.md defines each word. Labels override what the trace seems to say.

    \b
    Example:
      reach-tui metrics shop.db --by tool
    """
    from reach_tui.workspace.measuring import measure, outcomes_record, task_record

    traces = Traces([path], labels_file)
    if not traces.sources:
        return BAD_INPUT
    try:
        found = measure(traces.workspace, traces.sources, by)
    except StoreError as error:
        say(error.line())
        return BAD_INPUT
    if as_json:
        groups: list[Record] = [{by: name, **outcomes_record(one)} for name, one in sorted(found.groups.items())]
        record = outcomes_record(found.total)
        click.echo(encode({**record, "by": by, "groups": [*groups], "against": [*map(task_record, found.against)]}))
    else:
        _show(found, by)
    return traces.exit_code()


def _show(found: Measured, by: str) -> None:
    total = found.total
    click.echo(f"{total.tasks} tasks with an outcome, {total.open} still open")
    click.echo(f"  end to end     {_rate(total.success, total.tasks)}, of these {total.repaired} after a repair")
    click.echo(f"  first pass     {_rate(total.first_pass, total.tasks)}")
    click.echo(f"  corrected      {_rate(total.corrected, total.tasks)}   no capability {total.refused}")
    alarm = "   below 85 %: a tool is missing" if total.alarm else ""
    click.echo(f"  coverage       {_rate(total.covered, total.routed, 'no decision was recorded')}{alarm}")
    causes = ", ".join(f"{cause} {count}" for cause, count in total.causes.most_common()) or "no failed task"
    click.echo(f"  failed by      {causes}")
    if by == "week" and len(found.groups) > 1:
        weeks = [found.groups[name] for name in sorted(found.groups) if found.groups[name].tasks]
        click.echo(f"  by week        {''.join(_bar(one) for one in weeks)}  end to end, 0 to 100 %")
    columns = (
        Column(by, lambda record: shown_name(str(record["name"])), weight=1),
        *(_number_column(title) for title in ("tasks", "end to end", "first pass", "corrected", "coverage")),
    )
    rows: list[Record] = [
        {
            "name": name,
            "tasks": str(one.tasks),
            "end to end": _percent(one.success, one.tasks),
            "first pass": _percent(one.first_pass, one.tasks),
            "corrected": str(one.corrected),
            "coverage": _percent(one.covered, one.routed),
        }
        for name, one in sorted(found.groups.items(), key=lambda item: item[0] if by == "week" else (-item[1].tasks))
    ]
    click.echo("")
    emit(rows, None, columns)
    for task in found.against[:_MOST]:
        click.echo(one_line(f"{task.outcome}: {task.session_id} step {task.at_step}: {task.why}"))


def _number_column(title: str) -> Column:
    return Column(title, lambda record: str(record[title]), width=11, right=True)


def _bar(one: Outcomes) -> str:
    return _BARS[min(7, 8 * one.success // max(1, one.tasks))]


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "-"


def _rate(count: int, of: int, empty: str = "no task has an outcome") -> str:
    from reach_tui.analyze.intervals import wilson

    interval = wilson(count, of)
    if interval is None:
        return empty
    low, high = interval
    return f"{100 * count / of:.1f} %  ({count} of {of}, 95 % {100 * low:.0f} to {100 * high:.0f} %)"

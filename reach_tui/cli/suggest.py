"""`reach-tui suggest`: what to change first, with the evidence. Nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import StoreError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import emit, record_options
from reach_tui.cli.routing_options import router_of, threshold_options, thresholds_of
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.reach.router import Router


@click.command(short_help="What to change first, with evidence.")
@path_argument
@click.option("--registry", type=TracePath(), metavar="DIR", help="Tools, their time limits.")
@click.option("--cases", type=TracePath(), metavar="CASES", help="Regression cases: pairs and thresholds too.")
@threshold_options
@record_options
@labels_option
def suggest(
    path: Path,
    registry: Path | None,
    cases: Path | None,
    t1: float | None,
    gap: float | None,
    floor: float | None,
    form: str | None,
    labels_file: Path | None,
) -> int:
    """Say what the labels and times in PATH, and regression cases, suggest to change; nothing is changed.

    Rules that people contradict, failures that no rule finds, descriptions that are confused, thresholds and time
    limits to move: each with its numbers and examples.

    \b
    Example:
      reach-tui suggest shop.db --registry shop --cases shop
    """
    from reach_tui.workspace.suggesting import of_cases, of_traces, records

    if cases is not None and registry is None:
        raise UsageError("--cases needs --registry", hint="name the folder of tools that the cases are for")
    router: Router | None = None
    if registry is not None:
        router = router_of(registry, thresholds_of(t1, gap, floor))
    limits = {tool.name: tool.timeout_ms for tool in router.registry.tools()} if router is not None else {}
    traces = Traces([path], labels_file)
    if not traces.sources:
        return BAD_INPUT
    try:
        found = of_traces(traces.workspace, traces.sources, limits)
    except StoreError as error:
        say(error.line())
        return BAD_INPUT
    if cases is not None and router is not None:
        from reach_tui.replay.cases import load_cases

        found += of_cases(load_cases(cases), router)
    rows = records(found)
    if form is not None:
        emit(rows, form)
        return traces.exit_code()
    for row in rows:
        click.echo(one_line(str(row["what"])))
        click.echo(f"  {one_line(str(row['why']))}")
        if isinstance(row["examples"], list) and row["examples"]:
            click.echo(f"  for example {one_line(', '.join(map(str, row['examples'])))}")
    if not rows:
        say("nothing to suggest: label some calls, or name --cases and --registry")
    return traces.exit_code()

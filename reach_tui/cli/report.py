"""`reach-tui report`: the analyzer's answer for one or many traces."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reach_tui.base.errors import StoreError
from reach_tui.cli.garbage import importing
from reach_tui.cli.inferring import persons_registry, registry_option
from reach_tui.cli.moment import Moment, in_order
from reach_tui.cli.output import Progress, encode, terminal_width
from reach_tui.cli.sources import TracePath, Traces
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.report.compare import Comparison
    from reach_tui.report.inferred import InferredRows
    from reach_tui.report.model import Report
    from reach_tui.workspace.reporting import Collector, Selection
    from reach_tui.workspace.sources import Source
    from reach_tui.workspace.tool_sets import PersonsRegistry

FORMATS = ("text", "json", "md", "html")


@click.command(short_help="The analyzer: rates, classes, stale edits, guards, causes.")
@click.argument("paths", type=TracePath(), nargs=-1, required=True, metavar="PATH...")
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Count only this tool (may be repeated).")
@click.option("--since", type=Moment(), metavar="TIME", help="Sessions begun at or after TIME (ISO 8601, UTC).")
@click.option("--until", type=Moment(), metavar="TIME", help="Sessions begun before TIME (ISO 8601, UTC).")
@click.option(
    "--scope", type=click.Choice(("roots", "all")), default="roots", show_default=True,
    help="Visible root sessions with their own work, or children and hidden ones as well.",
)  # fmt: skip
@click.option(
    "--compare", "other", type=TracePath(), metavar="OTHER",
    help="What was before: a trace, a folder, or a report saved with --format json.",
)  # fmt: skip
@click.option("--inferred", is_flag=True, help="Also routes, slots, timeouts and chains; reads every step.")
@registry_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form of it.")
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("-o", "--output", type=TracePath(), metavar="FILE", help="Write to FILE instead of stdout.")
def report(
    paths: tuple[Path, ...],
    tools: tuple[str, ...],
    since: int | None,
    until: int | None,
    scope: str,
    other: Path | None,
    inferred: bool,
    registry: Path | None,
    form: str,
    output: Path | None,
) -> int:
    """Say what failed in PATH (databases, transcripts, folders of them), by the store's flag and in truth.

    Per tool: calls, failures by flag and by content, classes, what a better description would avoid. Then stale edits,
    the three guards, causes, tools that return errors as successes, loops, and the health of the data.

    \b
    Examples:
      reach-tui report threads.db
      reach-tui report ~/traces --since 2026-06-01 --format html -o june.html
      reach-tui report after.db --compare before.db
      reach-tui report threads.db --inferred
    """
    in_order(since, until)
    with importing():
        from reach_tui.workspace.reporting import Selection

    selection = Selection(scope, tools, since, until)
    named = persons_registry(registry)  # a wrong folder is said, also where nothing is inferred
    if named is not None and not inferred:
        say("--registry changes nothing without --inferred")
    before, code = (None, 0) if other is None else _before(other, selection)
    if other is not None and before is None:
        return BAD_INPUT
    traces, collector = _collect(paths, selection)
    if not traces.sources:
        return BAD_INPUT
    answer = collector.report()
    if inferred:
        answer = replace(answer, inferred=_inferred(traces, selection, named))
    code = max(code, traces.exit_code())
    if not answer.total.calls and not code:
        say(_nothing(selection))
    comparison = None if before is None else _compared(before, answer)
    text = _render(answer, comparison, form)
    if output is None:
        sys.stdout.write(text)
    else:
        from reach_tui.workspace.session_export import write_export

        write_export(text, output, traces.sources)
        say(f"{output}: written, {len(text.encode('utf-8', 'replace')):,} bytes")
    return code


def _nothing(selection: Selection) -> str:
    """Why there is nothing to count: a misspelt tool looks like one that never fails."""
    asked = [f"of {' or '.join(selection.tools)}"] if selection.tools else []
    if selection.since is not None or selection.until is not None:
        asked.append("in sessions begun in that time")
    return f"no calls {' '.join(asked) or 'in it'}: nothing was counted"


def _collect(paths: tuple[Path, ...], selection: Selection, *, aloud: bool = True) -> tuple[Traces, Collector]:
    from reach_tui.workspace.reporting import Collector

    traces = Traces(paths, aloud=aloud)
    collector = Collector(traces.workspace, selection)

    def counted() -> Iterator[dict[str, Any]]:
        for source, _ in traces.each(collector.tallies):
            yield {"path": source.name}

    for _ in Progress("sessions", apart=True).watch(counted()):
        pass
    return traces, collector


def _inferred(traces: Traces, selection: Selection, registry: PersonsRegistry | None) -> InferredRows:
    from reach_tui.workspace.inferred_report import InferredCollector

    collector = InferredCollector(traces.workspace, selection, registry)

    def told(source: Source) -> Iterator[str]:
        try:
            yield from collector.tallies(source)
        except StoreError:
            if (source.path, source.kind) not in traces.broken:  # else it was said before
                raise

    def counted() -> Iterator[dict[str, Any]]:
        for source, _ in traces.each(told):
            yield {"path": source.name}

    for _ in Progress("sessions inferred", apart=True).watch(counted()):
        pass
    return collector.rows()


def _before(other: Path, selection: Selection) -> tuple[Mapping[str, Any] | None, int]:
    """The report to compare with, saved or made now, and what that did to the exit code; None: nothing opened."""
    from reach_tui.workspace.reporting import comparable
    from reach_tui.workspace.saved_report import no_side, saved_report

    if (saved := saved_report(other)) is not None:
        return saved, 0
    traces, collector = _collect((other,), selection, aloud=False)
    problems = traces.workspace.found.problems
    for problem in problems if traces.sources else [no_side(other, problem) for problem in problems]:
        say(problem.line())
    return (comparable(collector.report()) if traces.sources else None), traces.exit_code()


def _compared(before: Mapping[str, Any], answer: Report) -> Comparison:
    from reach_tui.report.compare import compare
    from reach_tui.workspace.reporting import comparable

    comparison = compare(before, comparable(answer))
    for difference in comparison.differences:
        say(f"not alike: {difference}")
    return comparison


def _render(answer: Report, comparison: Comparison | None, form: str) -> str:
    if form == "json":
        from reach_tui.report.jsonout import record

        return encode(record(answer, comparison)) + "\n"
    if form == "md":
        from reach_tui.report import markdown

        return markdown.render(answer, comparison)
    if form == "html":
        from reach_tui.report import html

        return html.render(answer, comparison)
    from reach_tui.report import text

    return text.render(answer, comparison, terminal_width())

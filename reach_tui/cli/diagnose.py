"""`reach-tui diagnose`: the table of symptoms over a session or over all of them."""

from __future__ import annotations

from pathlib import Path

import click

from reach_tui.base.errors import StoreError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import emit, record_options
from reach_tui.cli.sources import TracePath, Traces, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

_EVIDENCE = 5  # pieces of evidence shown of one symptom


@click.command(short_help="Which of ten known symptoms a trace shows.")
@path_argument
@click.option("--session", "session_id", metavar="ID", help="One session alone.")
@click.option("--registry", type=TracePath(), metavar="DIR", help="Folder of tools: which ones write, and how safely.")
@record_options
def diagnose(path: Path, session_id: str | None, registry: Path | None, form: str | None) -> int:
    """Look for the ten symptoms of docs/symptoms.md in PATH: found or not, with the steps, the cause, what to do.

    \b
    Examples:
      reach-tui diagnose shop.db
      reach-tui diagnose opencode.db --session ses_1 --json
    """
    from reach_tui.workspace.diagnosing import diagnosed, finding_record

    tools = None
    if registry is not None:
        from reach_tui.replay.registry_source import registry_of

        tools = registry_of(registry)
    traces = Traces([path])
    if not traces.sources:
        return BAD_INPUT
    if session_id is not None and all(source.reader.session(session_id) is None for source in traces.sources):
        raise UsageError(f"no session {session_id!r}", path, "`reach-tui sessions PATH` lists them")
    try:
        findings = diagnosed(traces.workspace, traces.sources, session_id, tools)
    except StoreError as error:
        say(error.line())
        return BAD_INPUT
    if form is not None:
        emit(map(finding_record, findings), form)
        return traces.exit_code()
    for finding in (one for one in findings if one.found):
        click.echo(f"{finding.symptom.title}")
        click.echo(f"  why   {finding.symptom.cause}")
        click.echo(f"  do    {finding.symptom.action}")
        for one in finding.evidence[:_EVIDENCE]:
            click.echo("  " + one_line(f"{one.session_id} step {one.step}: {one.words}"))
        if len(finding.evidence) > _EVIDENCE:
            click.echo(f"  … and {len(finding.evidence) - _EVIDENCE} more (--json has them)")
        click.echo("")
    silent = [one.symptom.title for one in findings if not one.found]
    click.echo(f"{len(findings) - len(silent)} of {len(findings)} symptoms found")
    if silent:
        click.echo("not found: " + "; ".join(silent))
    return traces.exit_code()

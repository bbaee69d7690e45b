"""`reach-tui export`: one session as a file to attach to a bug report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reach_tui.base.errors import UsageError
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say
from reach_tui.export.document import LIMIT
from reach_tui.workspace.session_export import FORMATS, render, session_document, write_export


@click.command(short_help="Write one session as Markdown, HTML or JSON.")
@path_argument
@click.option("--session", "session_id", required=True, metavar="ID", help="The session to export.")
@click.option(
    "--format", "form", type=click.Choice(sorted(FORMATS)), default="md", show_default=True, help="Kind of file."
)
@click.option("--redact/--no-redact", default=True, show_default=True, help="Replace keys, tokens and passwords.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=LIMIT,
    show_default=True,
    help="Characters kept of a result; 0: all.",
)
@click.option("-o", "--output", type=TracePath(), metavar="FILE", help="Write to FILE instead of stdout.")
@labels_option
def export(
    path: Path, session_id: str, form: str, redact: bool, limit: int, output: Path | None, labels_file: Path | None
) -> int:
    """Write one session as Markdown, self-contained HTML or JSON, to attach to a bug report.

    Known key shapes, and values in fields named like secrets, are replaced; read it before you send it all the same.
    Results longer than --limit are cut around the evidence, with the size and SHA-256 of the whole.

    \b
    Example:
      reach-tui export opencode.db --session ses_1 --format html -o session.html
    """
    traces = Traces([path], labels_file)
    holder = next((source for source in traces.sources if source.reader.session(session_id) is not None), None)
    if holder is None:
        if not traces.sources:
            return BAD_INPUT
        raise UsageError(f"no session {session_id!r}", path, "`reach-tui sessions PATH` lists them")
    text = render(session_document(traces.workspace, holder, session_id, redact=redact, limit=limit), form)
    if output is None:
        sys.stdout.write(text)
    else:
        write_export(text, output, traces.sources)
        say(f"{output}: written, {len(text.encode('utf-8', 'replace')):,} bytes")
    return 0

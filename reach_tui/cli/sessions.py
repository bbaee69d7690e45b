"""`reach-tui sessions`: one record a session."""

from __future__ import annotations

from pathlib import Path

import click

from reach_tui.cli.output import Column, Progress, Record, emit, record_options
from reach_tui.cli.sources import Traces, labels_option, path_argument
from reach_tui.workspace.records import session_record


def _number(key: str, title: str, width: int) -> Column:
    return Column(title, lambda record: "-" if record[key] is None else f"{record[key]:,}", width=width, right=True)


def _minute(record: Record) -> str:
    return str(record["started_at"] or "-")[:16].replace("T", " ")


COLUMNS = (
    Column("session", lambda record: str(record["session_id"]), weight=3),
    Column("started (UTC)", _minute, width=16),
    _number("turns", "turns", 5),
    _number("calls", "calls", 6),
    _number("hidden", "hidden", 6),
    _number("flagged", "flagged", 7),
    _number("labelled", "labels", 6),
    Column("project", lambda record: str(record["project"] or "-").rsplit("/", 1)[-1], weight=2),
    Column("title", lambda record: str(record["title"] or "-"), weight=4),
)


@click.command(short_help="List the sessions, with their counts.")
@path_argument
@record_options
@labels_option
def sessions(path: Path, form: str | None, labels_file: Path | None) -> int:
    """List the sessions in PATH (a database, or a folder of them), newest first, with their counts.

    hidden: calls that failed although the store does not say so. flagged: the store says failed.

    \b
    Examples:
      reach-tui sessions opencode.db
      reach-tui sessions ~/traces --jsonl | jq 'select(.hidden > 0) | .session_id'
    """
    traces = Traces([path], labels_file)
    records = (session_record(source, judged) for source, judged in traces.each(traces.workspace.judged_sessions))
    return traces.finish(emit(Progress("sessions").watch(records), form, COLUMNS), form, "no sessions in it")

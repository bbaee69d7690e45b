"""`reach-tui stores`: what was found, and what of it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from reach_tui.base.errors import ReachError
from reach_tui.cli.output import Column, Progress, Record, emit, record_options
from reach_tui.cli.sources import TracePath, Traces
from reach_tui.workspace import Source

COLUMNS = (
    Column("path", lambda record: "/".join(Path(str(record["path"])).parts[-2:]), weight=2),
    Column("store", lambda record: str(record["store"] or "-"), width=9),
    Column("version", lambda record: str(record["version"] or "-"), width=16),
    Column("sessions", lambda record: _number(record["sessions"]), width=9, right=True),
    Column("calls", lambda record: _number(record["calls"]), width=10, right=True),
    Column("opened", lambda record: str(record["access"] or "-"), width=12),
    Column("readable", lambda record: "yes" if record["readable"] else f"no: {record['problem']}", weight=2),
)


@click.command(short_help="List the trace stores found, and what of them can be read.")
@click.argument("paths", nargs=-1, type=TracePath(), metavar="[PATH]...")
@record_options
def stores(paths: tuple[Path, ...], form: str | None) -> int:
    """List the trace stores in PATH, or of this user's home: kind, version, sessions, calls, readable or why not.

    Recognised by their schema, not by their name: opencode, Peri, native Reach databases, and what plugins add.

    \b
    Examples:
      reach-tui stores
      reach-tui stores ~/traces --json
    """
    traces = Traces(paths)
    empty = "no trace stores found — name a database or a folder, or try `reach-tui demo`"
    return traces.finish(emit(Progress("stores").watch(_records(traces)), form, COLUMNS), form, empty)


def _records(traces: Traces) -> Iterator[Record]:
    for source in traces.sources:
        yield _record(traces, source)
    for problem in traces.workspace.found.problems:
        yield {
            "path": problem.where,
            "store": None,
            "title": None,
            "version": None,
            "sessions": None,
            "calls": None,
            "access": None,
            "readable": False,
            "problem": ReachError(problem.what, hint=problem.hint).line(),
        }


def _record(traces: Traces, source: Source) -> Record:
    sessions: int | None = None
    calls: int | None = None
    problem: str | None = None
    try:
        sessions = sum(1 for _ in source.reader.sessions())
        calls = sum(1 for _ in source.reader.calls())
    except ReachError as error:
        traces.blame(source, error)
        problem = ReachError(error.what, hint=error.hint).line()
    return {
        "path": str(source.path),
        "store": source.kind,
        "title": source.title,
        "version": source.version,
        "sessions": sessions,
        "calls": calls,
        "access": source.access.value if source.access else None,
        "readable": problem is None,
        "problem": problem,
    }


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"

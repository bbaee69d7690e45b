"""`reach-tui stores`: what was found, and what of it can be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from reach_tui.base.errors import ReachError, UsageError
from reach_tui.cli.output import Column, Progress, Record, emit, record_options
from reach_tui.cli.sources import TracePath, Traces
from reach_tui.workspace import Source

COLUMNS = (
    Column("path", lambda record: "/".join(Path(str(record["path"] or "-")).parts[-2:]), weight=2),
    Column("store", lambda record: str(record["store"] or "-"), width=13),
    Column("version", lambda record: str(record["version"] or "-"), width=16),
    Column("sessions", lambda record: _number(record["sessions"]), width=9, right=True),
    Column("calls", lambda record: _number(record["calls"]), width=10, right=True),
    Column("opened", lambda record: str(record["access"] or "-"), width=12),
    Column("readable", lambda record: _readable(record), weight=2),
)


@click.command(short_help="List the trace stores found, and what of them can be read.")
@click.argument("paths", nargs=-1, type=TracePath(), metavar="[PATH]...")
@click.option("--all", "every", is_flag=True, help="Also the known programs of which nothing was found, and where.")
@click.option("--explain", type=TracePath(), metavar="FILE", help="Show the tables of FILE and propose a mapping.")
@record_options
def stores(paths: tuple[Path, ...], every: bool, explain: Path | None, form: str | None) -> int:
    """List the trace stores in PATH, or of this user's home: kind, version, sessions, calls, readable or why not.

    Recognised by their schema or their lines, not by their name; docs/stores.md lists the kinds. A database of no
    known kind can be read by a mapping file: --explain proposes one, docs/mapping.md says how it is written.

    \b
    Examples:
      reach-tui stores
      reach-tui stores ~/traces --json
      reach-tui stores --explain other.db > other.db.mapping.toml
    """
    if explain is not None:
        return _explain(explain, paths, form)
    traces = Traces(paths)
    absent = _absent() if every and not paths else ()
    empty = "no trace stores found — name a database or a folder, or try `reach-tui demo`"
    return traces.finish(emit(Progress("stores").watch(chain(_records(traces), absent)), form, COLUMNS), form, empty)


def _explain(file: Path, paths: tuple[Path, ...], form: str | None) -> int:
    if paths or form:
        raise UsageError("--explain stands alone with its one FILE", hint="leave out other paths, --json and --jsonl")
    from reach_tui.stores.mapping.propose import explain

    sys.stdout.write(explain(file))
    return 0


def _absent() -> Iterator[Record]:
    """The known kinds of which there is nothing in this home, and why."""
    from reach_tui.stores.locations import places

    for place in places():
        if not place.found:
            yield _nothing(None, place.kind, place.absent)


def _nothing(path: str | None, store: str | None, problem: str) -> Record:
    keys = ("title", "version", "verified", "sessions", "calls", "access")
    return {"path": path, "store": store, **dict.fromkeys(keys), "readable": False, "problem": problem}


def _records(traces: Traces) -> Iterator[Record]:
    for source in traces.sources:
        yield _record(traces, source)
    for one in traces.workspace.found.companions:
        keys = ("version", "sessions", "calls", "access", "problem")
        record: Record = {"path": str(one.path), "store": one.kind, "title": one.title, **dict.fromkeys(keys)}
        record |= {"verified": True, "readable": True, "companion": True}
        yield record
    for problem in traces.workspace.found.problems:
        yield _nothing(problem.where, None, ReachError(problem.what, hint=problem.hint).line())


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
        "verified": source.verified,
        "sessions": sessions,
        "calls": calls,
        "access": source.access.value if source.access else None,
        "readable": problem is None,
        "problem": problem,
    }


def _readable(record: Record) -> str:
    if not record["readable"]:
        return f"no: {record['problem']}"
    if record.get("companion"):
        return "with its transcripts"
    return "yes" if record["verified"] else "yes, unverified"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"

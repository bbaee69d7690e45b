"""`reach-tui calls`: one record a tool call, with the detectors' verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from reach_tui.base.errors import UsageError
from reach_tui.cli.inferring import Inferring, persons_registry, registry_option
from reach_tui.cli.moment import Moment, in_order
from reach_tui.cli.output import Column, Progress, Record, emit, record_options, tool_of
from reach_tui.cli.sources import Traces, labels_option, path_argument
from reach_tui.cli.streams import say
from reach_tui.workspace import JudgedCall, Source
from reach_tui.workspace.records import call_record

_SHOWN = 300  # characters of a result that a table cell can hold at any width


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls are wanted. `failed`, `hidden` and `soft` add to each other; the rest narrows."""

    tools: frozenset[str]
    failed: bool
    hidden: bool
    soft: bool
    since: int | None
    until: int | None

    def wants(self, judged: JudgedCall) -> bool:
        """True for a call that belongs into the list, its time aside."""
        call, verdict = judged.call, judged.verdict
        if self.tools and not self.tools & {call.tool, call.target, call.shown_tool}:
            return False
        if not (self.failed or self.hidden or self.soft):
            return True
        return (
            (self.failed and verdict.failed is True) or (self.hidden and judged.hidden) or (self.soft and verdict.soft)
        )

    def takes(self, judged: JudgedCall) -> bool:
        """True for a call that belongs into the list; one without a time does not where a time was asked for."""
        start = judged.call.started_at
        return self.wants(judged) and (not self.timed or (start is not None and self.within(start)))

    @property
    def timed(self) -> bool:
        """True if a time was asked for."""
        return self.since is not None or self.until is not None

    def within(self, started_at: int) -> bool:
        """True in the half-open span [since, until)."""
        return (self.since is None or started_at >= self.since) and (self.until is None or started_at < self.until)


def verdict_word(record: Record) -> str:
    """Glyph and word of a call record's verdict, as on the screens."""
    if record["failed"]:
        return "◆ hidden" if record["hidden"] else "✗ flagged"
    if record["failed"] is False:
        return "! check" if record["subcategory"] == "check_reported" else "· ok"
    if record["soft"]:
        return "~ soft"
    return "? open" if record["result"] is not None else "? no result"


def _style(record: Record) -> str:
    if record["failed"]:
        return "bold magenta" if record["hidden"] else "bold red"
    return "yellow" if record["soft"] else ""


def _class(record: Record) -> str:
    return "/".join(str(record[key]) for key in ("category", "subcategory") if record[key]) or "-"


def _gist(record: Record) -> str:
    evidence = record["evidence"]
    if record["failed"] is not False and isinstance(evidence, dict):
        return str(evidence["text"])[:_SHOWN]
    return str(record["result"] or "")[:_SHOWN]


COLUMNS = (
    Column("call key", lambda record: str(record["call_key"]), weight=3),
    Column("step", lambda record: str(record["step"]), width=5, right=True),
    Column("tool", tool_of, width=12),
    Column("verdict", verdict_word, width=11, style=_style),
    Column("class", _class, weight=2),
    Column("evidence or result (cut)", _gist, weight=3),
)


@click.command(short_help="List the tool calls, with verdict, rule and evidence.")
@path_argument
@click.option("--session", "session_ids", metavar="ID", multiple=True, help="Only this session (may be repeated).")
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this tool, exact name (may be repeated).")
@click.option("--failed", is_flag=True, help="Only calls that failed, flagged or not.")
@click.option("--hidden", is_flag=True, help="Only failures that the store does not call one.")
@click.option("--soft", is_flag=True, help="Count in suspicion without proof; alone: only that.")
@click.option("--since", type=Moment(), metavar="TIME", help="Started at or after TIME (ISO 8601, UTC).")
@click.option("--until", type=Moment(), metavar="TIME", help="Started before TIME (ISO 8601, UTC).")
@click.option(
    "--infer/--no-infer",
    default=None,
    help="Infer route and slots that were not recorded, in records. Default: for the first 10,000 calls.",
)
@registry_option
@click.option("--follow", is_flag=True, help="Only new and changed calls, while the agent writes; Ctrl-C ends it.")
@record_options
@labels_option
def calls(
    path: Path,
    session_ids: tuple[str, ...],
    tools: tuple[str, ...],
    failed: bool,
    hidden: bool,
    soft: bool,
    since: int | None,
    until: int | None,
    infer: bool | None,
    registry: Path | None,
    follow: bool,
    form: str | None,
    labels_file: Path | None,
) -> int:
    """List the tool calls in PATH (a database, or a folder of them) with verdict, class, rule and evidence.

    Newest session first, in order within each. Results are whole with --json and --jsonl; the table cuts them.
    Records carry route and slots: recorded, else inferred from what came before the call.

    \b
    Examples:
      reach-tui calls opencode.db --hidden
      reach-tui calls ~/traces --tool edit --since 2026-06-01 --until 2026-07-01 --jsonl
      reach-tui calls opencode.db --follow --failed
    """
    in_order(since, until)
    traces = Traces([path], labels_file, aloud=not follow)
    selection = Selection(frozenset(tools), failed, hidden, soft, since, until)
    if follow:
        return _follow(traces, session_ids, selection, form)
    named = persons_registry(registry)  # a wrong folder is said, also where nothing is inferred
    inferring = Inferring(traces.workspace, named, infer) if form is not None and infer is not False else None
    records = _records(traces, session_ids, selection, inferring)
    return traces.finish(emit(Progress("calls").watch(records), form, COLUMNS), form, "no such calls in it")


def _follow(traces: Traces, session_ids: tuple[str, ...], selection: Selection, form: str | None) -> int:
    if form == "json":
        raise UsageError("--follow has no end, and one JSON document has", hint="use --jsonl")
    from reach_tui.cli.following import Following

    following = Following(traces.paths, traces.workspace, session_ids, selection.takes)
    for number, records in enumerate(following.looks()):
        emit(records, form, COLUMNS, headed=number == 0)
        sys.stdout.flush()
    return 0


def _records(
    traces: Traces, session_ids: tuple[str, ...], selection: Selection, inferring: Inferring | None
) -> Iterator[Record]:
    known: set[str] = set()
    timeless = 0

    def read(source: Source) -> Iterable[JudgedCall]:
        if not session_ids:
            return chosen(source, traces.workspace.judged_calls(source))
        here = [
            session_id for session_id in dict.fromkeys(session_ids) if source.reader.session(session_id) is not None
        ]
        known.update(here)
        return chosen(source, traces.workspace.judged_calls(source, here)) if here else ()

    def chosen(source: Source, calls: Iterable[JudgedCall]) -> Iterable[JudgedCall]:
        wanted = filter(wants, calls)
        return inferring.told(source, wanted) if inferring is not None else wanted

    def wants(judged: JudgedCall) -> bool:
        nonlocal timeless
        if not selection.wants(judged) or not selection.timed:
            return selection.wants(judged)
        start = judged.call.started_at
        timeless += start is None
        return start is not None and selection.within(start)

    for source, judged in traces.each(read):
        yield call_record(source, judged)
    if timeless:
        say(f"{timeless} calls without a recorded time left out by --since/--until")
    if inferring is not None and inferring.notice:
        say(inferring.notice)
    missing = [session_id for session_id in session_ids if session_id not in known]
    if missing and traces.sources:
        raise UsageError(f"no session {missing[0]!r}", traces.paths[0], "`reach-tui sessions PATH` lists them")

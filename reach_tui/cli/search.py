"""`reach-tui search`: the calls whose arguments or results hold some words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from reach_tui.cli.calls import verdict_word
from reach_tui.cli.output import Column, Progress, Record, emit, record_options, tool_of
from reach_tui.cli.sources import Traces, path_argument
from reach_tui.cli.streams import say
from reach_tui.workspace.searching import hit_record, search_source

COLUMNS = (
    Column("session", lambda record: str(record["session_id"]), weight=2),
    Column("step", lambda record: str(record["step"]), width=5, right=True),
    Column("tool", tool_of, width=12),
    Column("verdict", lambda record: verdict_word({**record, "result": record["result_bytes"]}), width=11),
    Column("in", lambda record: str(record["where"]), width=9),
    Column("excerpt", lambda record: str(record["excerpt"]), weight=6),
)


@click.command(short_help="Find calls by the words in their arguments and results.")
@path_argument
@click.argument("words", nargs=-1, required=True)
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this tool, exact name (may be repeated).")
@click.option("--failed", is_flag=True, help="Only calls that failed, flagged or not.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Hits to show; 0: all.")
@click.option("--whole", is_flag=True, help="Read long texts whole, of which the index has head and tail.")
@record_options
def search(
    path: Path,
    words: tuple[str, ...],
    tools: tuple[str, ...],
    failed: bool,
    limit: int,
    whole: bool,
    form: str | None,
) -> int:
    """Find the calls in PATH (a database, or a folder of them) whose arguments or results hold all WORDS.

    Case and accents do not matter; a word is found at the beginning of words, in Chinese, Japanese and Korean anywhere.
    Operators and quotes are text; what the shell keeps together is looked for as it stands.

    \b
    Examples:
      reach-tui search opencode.db timeout "port 5432"
      reach-tui search ~/traces 权限不足 --failed --jsonl
    """
    traces = Traces([path])
    records = _hits(traces, words, frozenset(tools), failed, whole)
    some = Progress("hits").watch(islice(records, limit or None))
    count = emit(some, form, COLUMNS)
    if limit and count == limit and next(records, None) is not None:
        say(f"more than {limit} hits: --limit shows more of them")
    return traces.finish(count, form, "no hits in it")


def _hits(traces: Traces, words: tuple[str, ...], tools: frozenset[str], failed: bool, whole: bool) -> Iterator[Record]:
    for source, hit in traces.each(
        lambda source: search_source(source, words, tools=tools, failed=failed, whole=whole)
    ):
        yield hit_record(source, hit)

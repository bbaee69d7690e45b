"""`reach-tui classify`: the detectors alone, records in, verdicts out."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from reach_tui.base.errors import StoreUnreadable
from reach_tui.cli.output import Record, emit, record_options
from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import BAD_INPUT, say


@click.command(short_help="Judge tool calls given as JSON Lines.")
@click.argument("file", type=TracePath(), required=False, metavar="[FILE]")
@record_options
def classify(file: Path | None, form: str | None) -> int:
    """Judge tool calls given as JSON Lines in FILE or on stdin; one verdict a line, in the same order.

    In: {"id", "tool", "arguments", "result_text", "flagged", "metadata"}; other fields are ignored. A line that is
    no such record is named on stderr, the others are answered, and the exit code is 2.

    \b
    Example:
      echo '{"id": "1", "tool": "bash", "result_text": "bash: jq: command not found"}' | reach-tui classify
    """
    bad: list[int] = []
    if file is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # another program may wait for each answer
    emit(_verdicts(_lines(file), bad, file), form or "jsonl")
    return BAD_INPUT if bad else 0


def _lines(file: Path | None) -> Iterator[bytes]:
    if file is None or str(file) == "-":
        yield from sys.stdin.buffer
        return
    try:
        with open(file, "rb") as stream:
            yield from stream
    except OSError as error:
        raise StoreUnreadable(error.strerror or str(error), file, "name a file of JSON Lines, or pipe one in") from None


def _verdicts(lines: Iterator[bytes], bad: list[int], file: Path | None) -> Iterator[Record]:
    from reach_tui.base.errors import ReachError
    from reach_tui.detect.classify import parse_record, verdict_record
    from reach_tui.workspace.rules import detectors

    found = detectors()
    for mistake in found.mistakes:
        say(mistake.line())
    engine = found.engine
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            call = parse_record(line.decode("utf-8-sig", "replace"))
        except (ValueError, ReachError) as error:
            bad.append(number)
            what = error.line() if isinstance(error, ReachError) else str(error)
            say(f"{file or 'stdin'}: line {number}: {what}")
            continue
        yield verdict_record(call.id, engine.judge(call))

"""`reach-tui classify`: the detectors alone, records in, verdicts out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import ReachError, StoreUnreadable
from reach_tui.cli.output import Record, emit, record_options
from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.detect.engine import Engine

Answer = Callable[[str], Record]


@click.command(short_help="Judge tool calls given as JSON Lines.")
@click.argument("file", type=TracePath(), required=False, metavar="[FILE]")
@click.option("--sessions", is_flag=True, help="Whole sessions in; out: who and which step decided that it failed.")
@record_options
def classify(file: Path | None, sessions: bool, form: str | None) -> int:
    """Judge tool calls given as JSON Lines in FILE or on stdin; one verdict a line, in the same order.

    In: {"id", "tool", "arguments", "result_text", "flagged", "metadata"}; other fields are ignored. A line that is
    no such record is named on stderr, the others are answered, and the exit code is 2.

    With --sessions, in: {"id", "steps": [{"i", "who", "kind", "tool", "text"}]}, kind being tool_result for results;
    out: {"id", "step", "agent", "level1", "level2", "why"}, steps counted from 0.

    \b
    Example:
      echo '{"id": "1", "tool": "bash", "result_text": "bash: jq: command not found"}' | reach-tui classify
    """
    bad: list[int] = []
    if file is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # another program may wait for each answer
    emit(_answers(_lines(file), _attributor() if sessions else _verdictor(), bad, file), form or "jsonl")
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


def _engine() -> Engine:
    from reach_tui.workspace.rules import detectors

    found = detectors()
    for mistake in found.mistakes:
        say(mistake.line())
    return found.engine


def _verdictor() -> Answer:
    from reach_tui.detect.classify import parse_record, verdict_record

    engine = _engine()

    def answer(line: str) -> Record:
        call = parse_record(line)
        return verdict_record(call.id, engine.judge(call))

    return answer


def _attributor() -> Answer:
    from reach_tui.analyze.transcripts import blame, blame_record, parse_session

    engine = _engine()
    return lambda line: blame_record(blame(parse_session(line), engine.judge))


def _answers(lines: Iterator[bytes], answer: Answer, bad: list[int], file: Path | None) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = answer(line.decode("utf-8-sig", "replace"))
        except (ValueError, ReachError) as error:
            bad.append(number)
            what = error.line() if isinstance(error, ReachError) else str(error)
            say(f"{file or 'stdin'}: line {number}: {what}")
            continue
        yield record

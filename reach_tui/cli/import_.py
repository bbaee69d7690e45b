"""`reach-tui import`: any store, or call records, into a native Reach database."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.answering import await_answer
from reach_tui.base.errors import StoreError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import Record, encode
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.workspace.importing import Imported, Importer


class _Count:
    """How many sessions are done: on stderr, and only on a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._next = time.monotonic() + 0.5
        self._drawn = False

    def step(self, name: str, done: Imported) -> None:
        """One session more is done."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._drawn = True
            text = f"{name}: {done.sessions + done.unchanged:,} sessions, {done.calls:,} calls"
            sys.stderr.write(f"\r\x1b[K{one_line(text)[:100]}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")


@click.command("import", short_help="Bring any store, or call records, into a native database.")
@path_argument
@click.option("--into", type=TracePath(), required=True, metavar="FILE.db", help="The native database; made if absent.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the counts as JSON.")
@labels_option
def import_(path: Path, into: Path, as_json: bool, labels_file: Path | None) -> int:
    """Bring the sessions in PATH into a native Reach database, labels in force included.

    PATH is a database, a transcript, a folder of them, or JSON Lines as `calls --jsonl` prints them. Each session is
    written whole or not at all; one that is there already and has not changed is left alone, so an import that broke
    off is simply run again. The source is never written.

    \b
    Examples:
      reach-tui import ~/.local/share/opencode/opencode.db --into all.db
      reach-tui calls peri.db --jsonl > calls.jsonl; reach-tui import calls.jsonl --into all.db
    """
    from reach_tui.labels.store import LabelStore
    from reach_tui.native.writer import NativeWriter
    from reach_tui.workspace.call_records import holds_records
    from reach_tui.workspace.importing import Importer

    await_answer(path)
    if _same(path, into):
        raise UsageError("the database is imported into itself", into, "name another file with --into")
    records = holds_records(path)
    traces = None if records else Traces([path], labels_file)
    if traces is not None and not any(not _same(source.path, into) for source in traces.sources):
        return BAD_INPUT
    count = _Count()
    with NativeWriter(into) as writer:
        importer = Importer(writer)
        try:
            code = _records(path, importer, count) if traces is None else _traces(traces, into, importer, count)
        finally:
            count.end()
    if importer.labels:
        with LabelStore.open(into) as labels:
            importer.done.labels = labels.merge(importer.labels)
    _report(importer.done, into, as_json)
    return code


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _traces(traces: Traces, into: Path, importer: Importer, count: _Count) -> int:
    from reach_tui.workspace.importing import stories

    for source in traces.sources:
        if _same(source.path, into):  # the folder that is imported holds the result of the last time
            continue
        try:
            for story in stories(traces.workspace, source):
                importer.add(story, f"{source.kind}:{source.file_of(story.session.id)}")
                count.step(source.name, importer.done)
        except StoreError as error:
            if error.where == os.fspath(into):
                raise
            traces.blame(source, error)
    traces.workspace.close()
    return traces.exit_code()


def _records(path: Path, importer: Importer, count: _Count) -> int:
    from reach_tui.workspace.call_records import RecordFile

    file = RecordFile(path)
    for story in file.stories():
        importer.add(story, f"records:{path.name}")
        count.step(path.name, importer.done)
    for number, what in file.problems:
        say(f"{path}: line {number}: {what}")
    return BAD_INPUT if file.problems else 0


def _report(done: Imported, into: Path, as_json: bool) -> None:
    for old, new in done.renamed:
        say(f"session {old!r} is here from another store: imported as {new!r}")
    for spelling, number in sorted(done.unmapped.items(), key=lambda item: (-item[1], item[0])):
        say(f"error type {spelling!r} fits no member of the enumeration, {number} times: kept as text")
    counts: Record = {
        "into": str(into),
        "sessions": done.sessions,
        "unchanged": done.unchanged,
        "calls": done.calls,
        "labels": done.labels,
        "renamed": len(done.renamed),
        "unmapped": dict(done.unmapped),
    }
    known = f", {done.unchanged} sessions were here already" if done.unchanged else ""
    text = f"{done.sessions} sessions with {done.calls} calls imported into {into}{known}"
    click.echo(encode(counts) if as_json else one_line(text))

"""`reach-tui labels`: labelled data out of and into the label database."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import LabelError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.label_codebook import codebook
from reach_tui.cli.label_figures import agreement, score
from reach_tui.cli.label_imports import import_labels
from reach_tui.cli.label_queues import queue, queues
from reach_tui.cli.output import Column, Record, emit, encode, record_options, tool_of
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument, taxonomy_option
from reach_tui.cli.streams import BAD_INPUT, say
from reach_tui.taxonomy import FAILURE

if TYPE_CHECKING:
    from reach_tui.workspace.label_export import Exporter

_FORMS = ["jsonl", "csv", "parquet", "cases", "dataset", "scout"]
COLUMNS = (
    Column("call key", lambda record: str(record["call_key"] or record["session_id"]), weight=3),
    Column("tool", lambda record: "-" if record["tool"] is None else tool_of(record), width=12),
    Column("class", lambda record: _class_shown(record), weight=2),
    Column("by", lambda record: str(record["by"]), width=12),
    Column("at (UTC)", lambda record: str(record["at"])[:16].replace("T", " "), width=16),
    Column("call now", lambda record: str(record["target"]), width=8),
    Column("note", lambda record: str(record["note"]), weight=3),
)


def _class_shown(record: Record) -> str:
    """The class of today, with what a person has to know about it."""
    state = record["codebook"]
    if record["taxonomy"] != FAILURE:
        return f"{record['current']} ({record['taxonomy']}{'' if state == 'current' else f', {state}'})"
    return f"{record['current']}{'' if state == 'current' else f' ({state})'}"


@click.group(no_args_is_help=False, short_help="List, export, import, write back labels.")
def labels() -> None:
    """List, export, import and write back labels. Your own label database, or the one --labels names.

    \b
    Examples:
      reach-tui labels list opencode.db
      reach-tui labels export opencode.db --format csv > labels.csv
    """


@labels.command("list")
@path_argument
@record_options
@labels_option
@taxonomy_option
def list_(path: Path, form: str | None, labels_file: Path | None, taxonomy: str | None) -> int:
    """List the labels in force for the sessions in PATH, one a call, person and codebook.

    "call now" says whether the call is still what was labelled: same, changed or gone. Classes are shown as they are
    called in the codebook of today; what was split, or is no longer there, says so.

    \b
    Example:
      reach-tui labels list opencode.db --json
    """
    traces = Traces([path], labels_file, taxonomy=taxonomy)
    empty = "no labels yet — `reach-tui label PATH CALL_KEY CATEGORY` gives one"
    return traces.finish(emit(_list_records(traces), form, COLUMNS), form, empty)


def _list_records(traces: Traces) -> Iterator[Record]:
    from reach_tui.workspace.labelling import labelled, list_record

    seen: set[str | None] = set()
    for source, one in traces.each(lambda source: labelled(traces.workspace, source, 0)):
        if one.label.uid not in seen:  # a copied trace has the same labels
            seen.add(one.label.uid)
            yield list_record(source, one, traces.workspace.folding)


@labels.command("export")
@path_argument
@click.option("--format", "form", type=click.Choice(_FORMS), default="jsonl", show_default=True)
@click.option(
    "--context", type=click.IntRange(min=0), default=3, show_default=True, help="Steps before and after a call."
)
@click.option("--redact/--no-redact", default=True, show_default=True, help="Replace secrets and home folders.")
@click.option("-o", "--output", type=TracePath(), metavar="FILE", help="Write there; a folder for dataset.")
@click.option(
    "--test-share", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="dataset, scout: held back."
)
@click.option("--seed", type=int, default=1, show_default=True, help="dataset, scout: which sessions are held back.")
@click.option("--events", is_flag=True, help="The whole log: every label, undo and redo, as JSON Lines.")
@labels_option
@taxonomy_option
def export_labels(
    path: Path,
    form: str,
    context: int,
    redact: bool,
    output: Path | None,
    test_share: float,
    seed: int,
    events: bool,
    labels_file: Path | None,
    taxonomy: str | None,
) -> int:
    """Write the labels in force: JSON Lines with call and context, CSV, Parquet, regression cases, or a dataset.

    `cases` makes regression cases of labelled failures, for `reach-tui regress`, with the raw wording kept. `dataset`
    makes a folder with README, schema, codebook and splits, `scout` the columns id, target and split, one row a call on
    which people agree. Secrets and home folders are replaced; each row says so.

    \b
    Examples:
      reach-tui labels export opencode.db --context 5 > labelled.jsonl
      reach-tui labels export opencode.db --format dataset -o failures/
    """
    from reach_tui.labels.exchange import CALL_COLUMNS, LABEL_FIELDS, Labelled, flat_row, to_csv, to_jsonl
    from reach_tui.workspace.label_export import Exporter
    from reach_tui.workspace.labelling import labelled

    if output is None and form in ("parquet", "dataset"):
        raise UsageError(f"--format {form} needs -o", hint="name the file (or folder) to write")
    traces = Traces([path], labels_file, taxonomy=taxonomy)
    exporter = Exporter(redact)
    if events:
        if form != "jsonl":
            raise UsageError(f"--events is JSON Lines, not {form}", hint="leave out --format")
        return _export_events(traces, exporter, output)
    if form == "cases":
        return _export_cases(traces, exporter, output)
    if form == "scout":
        return _export_targets(traces, output, test_share, seed)
    seen: set[str | None] = set()

    def rows() -> Iterator[Labelled]:
        for _, one in traces.each(lambda source: labelled(traces.workspace, source, context)):
            if one.label.uid not in seen:
                seen.add(one.label.uid)
                yield one

    clean = (exporter.cleaned(one)[0] for one in rows())
    if form == "dataset" and output is not None:
        from reach_tui.workspace.dataset import write_dataset

        made = write_dataset(output, exporter.rows(rows()), traces.workspace.taxonomy, test_share, seed)
        say(f"{output}: {made}")
    elif form == "parquet" and output is not None:
        from reach_tui.labels.parquet import write_rows

        say(f"{output}: {write_rows(map(flat_row, clean), (*LABEL_FIELDS, *CALL_COLUMNS), output)} rows")
    else:
        _write(to_csv(clean) if form == "csv" else to_jsonl(exporter.rows(rows())), output)
    if exporter.words():
        say(exporter.words())
    return traces.exit_code()


def _write(lines: Iterable[str], output: Path | None) -> None:
    if output is None:
        for line in lines:
            sys.stdout.write(line)
        return
    from reach_tui.workspace.session_export import write_export

    write_export("".join(lines), output, ())


def _export_events(traces: Traces, exporter: Exporter, output: Path | None) -> int:
    from reach_tui.workspace.labelling import log_of

    seen: set[str | None] = set()

    def lines() -> Iterator[str]:
        for _, row in traces.each(lambda source: log_of(traces.workspace, source)):
            if row.label.uid not in seen:
                seen.add(row.label.uid)
                yield encode(exporter.event(row)) + "\n"

    _write(lines(), output)
    return _told(traces, exporter)


def _export_targets(traces: Traces, output: Path | None, test_share: float, seed: int) -> int:
    from reach_tui.workspace.dataset import targets

    _write(targets(traces.workspace, traces.sources, test_share, seed), output)
    return traces.exit_code()


def _told(traces: Traces, exporter: Exporter) -> int:
    if exporter.words():
        say(exporter.words())
    return traces.exit_code()


def _export_cases(traces: Traces, exporter: Exporter, output: Path | None) -> int:
    from reach_tui.workspace.case_making import NoCase, cases

    def lines() -> Iterator[str]:
        for _, made in traces.each(lambda source: cases(traces.workspace, source)):
            if isinstance(made, NoCase):
                say(f"{made.call_key}: no case: {made.why}")
            else:
                yield encode(exporter.case(made)) + "\n"

    _write(lines(), output)
    if exporter.words():
        say(exporter.words())
    return traces.exit_code()


@labels.command("write-back")
@path_argument
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the counts as JSON.")
@labels_option
def write_back(path: Path, as_json: bool, labels_file: Path | None) -> int:
    """Copy the labels in force into the trace databases in PATH themselves, as table reach_label.

    The one command that writes to a trace: one short transaction, no other table touched, refused while another
    process uses the file.

    \b
    Example:
      reach-tui labels write-back opencode.db
    """
    from reach_tui.workspace.labelling import write_labels_back

    traces = Traces([path], labels_file)
    refused = 0
    for source in traces.sources:
        try:
            written = write_labels_back(traces.workspace, source)
        except LabelError as error:
            say(error.line())
            refused += 1
            continue
        record: Record = {"path": source.name, "table": "reach_label", "labels": written}
        click.echo(encode(record) if as_json else one_line(f"{source.name}: {written} labels in table reach_label"))
    return BAD_INPUT if refused else traces.exit_code()


labels.add_command(codebook)
labels.add_command(import_labels)
labels.add_command(queue)
labels.add_command(queues)
labels.add_command(agreement)
labels.add_command(score)

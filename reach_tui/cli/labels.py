"""`reach-tui labels`: labelled data out of and into the label database."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import LabelError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.label_figures import agreement, score
from reach_tui.cli.label_queues import queue, queues
from reach_tui.cli.output import Column, Record, emit, encode, record_options
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.workspace.label_export import Exporter

_FORMS = ["jsonl", "csv", "parquet", "cases", "dataset"]
COLUMNS = (
    Column("call key", lambda record: str(record["call_key"] or record["session_id"]), weight=3),
    Column("tool", lambda record: str(record["tool"] or "-"), width=12),
    Column(
        "class",
        lambda record: "/".join(str(record[key]) for key in ("category", "subcategory") if record[key]),
        weight=2,
    ),
    Column("by", lambda record: str(record["by"]), width=12),
    Column("at (UTC)", lambda record: str(record["at"])[:16].replace("T", " "), width=16),
    Column("call now", lambda record: str(record["target"]), width=8),
    Column("note", lambda record: str(record["note"]), weight=3),
)


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
def list_(path: Path, form: str | None, labels_file: Path | None) -> int:
    """List the labels in force for the sessions in PATH, one a call and person.

    "call now" says whether the call is still what was labelled: same, changed or gone.

    \b
    Example:
      reach-tui labels list opencode.db --json
    """
    traces = Traces([path], labels_file)
    empty = "no labels yet — `reach-tui label PATH CALL_KEY CATEGORY` gives one"
    return traces.finish(emit(_list_records(traces), form, COLUMNS), form, empty)


def _list_records(traces: Traces) -> Iterator[Record]:
    from reach_tui.workspace.labelling import labelled, list_record

    seen: set[str | None] = set()
    for source, one in traces.each(lambda source: labelled(traces.workspace, source, 0)):
        if one.label.uid not in seen:  # a copied trace has the same labels
            seen.add(one.label.uid)
            yield list_record(source, one)


@labels.command("export")
@path_argument
@click.option("--format", "form", type=click.Choice(_FORMS), default="jsonl", show_default=True)
@click.option(
    "--context", type=click.IntRange(min=0), default=3, show_default=True, help="Steps before and after a call."
)
@click.option("--redact/--no-redact", default=True, show_default=True, help="Replace secrets and home folders.")
@click.option("-o", "--output", type=TracePath(), metavar="FILE", help="Write there; a folder for dataset.")
@click.option("--test-share", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="dataset: held back.")
@click.option("--seed", type=int, default=1, show_default=True, help="dataset: which sessions are held back.")
@labels_option
def export_labels(
    path: Path,
    form: str,
    context: int,
    redact: bool,
    output: Path | None,
    test_share: float,
    seed: int,
    labels_file: Path | None,
) -> int:
    """Write the labels in force: JSON Lines with call and context, CSV, Parquet, regression cases, or a dataset.

    `cases` makes regression cases of labelled failures, for `reach-tui regress`, with the raw wording kept. `dataset`
    makes a folder with README, schema, codebook and splits. Secrets and home folders are replaced; each row says so.

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
    traces = Traces([path], labels_file)
    exporter = Exporter(redact)
    if form == "cases":
        return _export_cases(traces, exporter, output)
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


@labels.command("import")
@path_argument
@click.argument("file", type=TracePath())
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the counts as JSON.")
@labels_option
def import_labels(path: Path, file: Path, as_json: bool, labels_file: Path | None) -> int:
    """Take the labels in FILE (`labels export`'s JSON Lines, or CSV) that are for sessions in PATH.

    Importing twice changes nothing. A line that is no label is named on stderr, the others are taken, exit code 2.

    \b
    Example:
      reach-tui labels import opencode.db labelled.jsonl --labels team.db
    """
    from reach_tui.labels.exchange import read_file
    from reach_tui.workspace.labelling import take_in

    traces = Traces([path], labels_file)
    if not traces.sources:
        return BAD_INPUT
    found = read_file(file, traces.workspace.taxonomy)
    new, known, elsewhere = take_in(traces.workspace, traces.sources, found.labels)
    traces.workspace.close()
    for problem in found.problems:
        say(f"{file}: line {problem.line}: {problem.what}")
    if elsewhere:
        say(f"{file}: {len(elsewhere)} labels are for sessions that are not in {path}: not taken — name their trace")
    counts: Record = {"imported": new, "known": known, "elsewhere": len(elsewhere), "refused": len(found.problems)}
    click.echo(encode(counts) if as_json else f"{new} labels imported, {known} were here already")
    return BAD_INPUT if found.problems else traces.exit_code()


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


labels.add_command(queue)
labels.add_command(queues)
labels.add_command(agreement)
labels.add_command(score)

"""`reach-tui labels import`: labels out of our own exports, and out of Langfuse's and Label Studio's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import UsageError
from reach_tui.cli.output import Record, encode
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument, taxonomy_option
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.labels.exchange import Imported

_NAMED = 20  # problems of a file that are named one by one


@click.command("import")
@path_argument
@click.argument("file", type=TracePath())
@click.option(
    "--from", "tool", type=click.Choice(["reach-tui", "langfuse", "label-studio"]),
    help="Whose export FILE is; without it that is found out.",
)  # fmt: skip
@click.option(
    "--map", "mapping", type=TracePath(), metavar="FILE", help="What their classes and people are called here."
)
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the counts as JSON.")
@labels_option
@taxonomy_option
def import_labels(
    path: Path,
    file: Path,
    tool: str | None,
    mapping: Path | None,
    as_json: bool,
    labels_file: Path | None,
    taxonomy: str | None,
) -> int:
    """Take the labels in FILE that are for sessions in PATH.

    FILE is an export of ours (JSON Lines, events, CSV, Parquet, a dataset's folder), scores of Langfuse, or annotations
    of Label Studio. Importing twice changes nothing. A line that is no label is named on stderr, the others are taken,
    exit code 2.

    \b
    Examples:
      reach-tui labels import opencode.db labelled.jsonl --labels team.db
      reach-tui labels import opencode.db project-7.json --from label-studio --map classes.toml
    """
    from reach_tui.workspace.labelling import take_in

    traces = Traces([path], labels_file, taxonomy=taxonomy)
    if not traces.sources:
        return BAD_INPUT
    found, left_out = _read(traces, file, tool, mapping)
    taken = take_in(traces.workspace, traces.sources, found.labels, found.events)
    traces.workspace.close()
    for problem in found.problems[:_NAMED]:
        say(f"{file}: line {problem.line}: {problem.what}")
    if len(found.problems) > _NAMED:
        say(f"{file}: and {len(found.problems) - _NAMED} more lines like these")
    for what, count in sorted(found.kept.items()):
        say(f"{file}: {count} labels kept as they are: {what}")
    if left_out:
        say(f"{file}: left out: {left_out}")
    if taken.elsewhere:
        say(f"{file}: {taken.elsewhere} labels are for sessions that are not in {path}: not taken — name their trace")
    counts: Record = {
        "imported": taken.new,
        "known": taken.known,
        "elsewhere": taken.elsewhere,
        "refused": len(found.problems),
        "unknown_class": found.kept.total(),
    }
    click.echo(encode(counts) if as_json else f"{taken.new} labels imported, {taken.known} were here already")
    return BAD_INPUT if found.problems else traces.exit_code()


def _read(traces: Traces, file: Path, tool: str | None, mapping: Path | None) -> tuple[Imported, str]:
    """What a file holds, and in words what of it is no person's answer."""
    from reach_tui.labels.exchange import Codes, read_file
    from reach_tui.labels.foreign import read_foreign, recognise

    tool = tool or recognise(file) or "reach-tui"
    if tool == "reach-tui":
        if mapping is not None:
            raise UsageError("--map is for another tool's export", file, "say whose with --from")
        return read_file(file, Codes(traces.workspace.taxonomy, traces.workspace.folding.codebook)), ""
    from reach_tui.workspace.foreign_labels import as_labels, read_mapping

    words = read_mapping(mapping)
    foreign = read_foreign(file, tool, words.target, words.question)
    found = as_labels(foreign, traces.sources, traces.workspace.taxonomy, words)
    return found, ", ".join(f"{count} {what}" for what, count in sorted(foreign.left_out.items()))

"""`reach-tui label`: one label, from a script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from reach_tui.base.errors import UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import encode
from reach_tui.cli.sources import Traces, labels_option, path_argument, taxonomy_option
from reach_tui.cli.streams import BAD_INPUT
from reach_tui.workspace.records import call_record


@click.command(short_help="Label one call.")
@path_argument
@click.argument("call_key")
@click.argument("category")
@click.option("--note", default="", metavar="TEXT", help="A note kept with the label.")
@click.option("--by", metavar="NAME", help="Who labels; without it the name in your settings, or your login.")
@click.option("--first-cause", is_flag=True, help="This call is where its session began to go wrong.")
@click.option("--adjudicate", is_flag=True, help="Settle a disagreement of others; their labels stay.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the saved label as JSON.")
@labels_option
@taxonomy_option
def label(
    path: Path,
    call_key: str,
    category: str,
    note: str,
    by: str | None,
    first_cause: bool,
    adjudicate: bool,
    as_json: bool,
    labels_file: Path | None,
    taxonomy: str | None,
) -> int:
    """Give the call CALL_KEY in PATH a label: CATEGORY is a level-1 id of the codebook, or level1/level2.

    `reach-tui labels codebook` prints the codebook.

    It is durable when the command ends. A later label of the same person replaces it; the history stays.

    \b
    Example:
      reach-tui label opencode.db ses_1/prt_9 stale_context/stale_edit --note "own edit in step 33"
    """
    from reach_tui.labels.exchange import label_record
    from reach_tui.workspace.labelling import find_call

    traces = Traces([path], labels_file, by, taxonomy=taxonomy)
    level1, level2 = traces.workspace.taxonomy.parse(category)
    for source in traces.sources:
        judged = find_call(traces.workspace, source, call_key)
        if judged is None:
            continue
        made = traces.workspace.make_label(source, judged, level1.id, level2.id if level2 else None, note)
        made = replace(made, first_cause=first_cause, role="adjudicator" if adjudicate else made.role)
        saved = traces.workspace.save_label(source, judged, made)
        traces.workspace.close()
        shown = f"{level1.id}/{level2.id}" if level2 else level1.id
        record = {**label_record(saved), "flagged": judged.call.flagged, "path": call_record(source, judged)["path"]}
        click.echo(encode(record) if as_json else one_line(f"labelled {saved.call_key}: {shown}, by {saved.by}"))
        return 0
    if not traces.sources:
        return BAD_INPUT
    raise UsageError(f"no call {call_key!r}", path, "`reach-tui calls PATH` lists the call keys")

"""`labels queue` and `labels queues`: work lists for labelling, drawn by a recipe that is kept with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from reach_tui.base.errors import UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import Column, Record, emit, encode, record_options
from reach_tui.cli.sources import Traces, labels_option, path_argument, taxonomy_option
from reach_tui.cli.streams import BAD_INPUT

if TYPE_CHECKING:
    from collections.abc import Generator

    from reach_tui.base.jsonio import JsonValue
    from reach_tui.labels.queues import Queue
    from reach_tui.workspace.queueing import Progress

Made = TypeVar("Made")

COLUMNS = (
    Column("id", lambda record: str(record["id"]), width=12),
    Column("name", lambda record: str(record["name"]), weight=2),
    Column("by", lambda record: str(record["by"]), width=10),
    Column("done", lambda record: f"{record['done']}/{record['total']}", width=9, right=True),
    Column("recipe", lambda record: _recipe(record["recipe"]), weight=2),
)


def _recipe(value: object) -> str:
    from reach_tui.workspace.queueing import described

    return described(value) if isinstance(value, dict) else ""


@click.command("queue", short_help="Draw a work list for labelling.")
@path_argument
@click.option("--size", type=click.IntRange(min=1), default=100, show_default=True, help="Calls on the list.")
@click.option(
    "--kind", type=click.Choice(["hidden", "failed", "soft", "flagged", "all"]), default="hidden", show_default=True
)
@click.option(
    "--stratify", type=click.Choice(["tool", "rule", "category", "none"]), default="tool", show_default=True,
    help="What gets its turn before another gets two.",
)  # fmt: skip
@click.option("--order", type=click.Choice(["doubt", "random", "newest"]), default="doubt", show_default=True)
@click.option(
    "--controls", type=click.FloatRange(0, 1), default=0.2, show_default=True,
    help="Share drawn at random from the calls that no rule calls failed.",
)  # fmt: skip
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only calls of this tool; may be repeated.")
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Only what this rule found; may be repeated.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same list.")
@click.option("--fresh", is_flag=True, help="Leave out what you have labelled already.")
@click.option("--disputes", is_flag=True, help="Instead: the calls on which people disagree, to be settled.")
@click.option("--rule-errors", is_flag=True, help="Instead: the labelled calls on which rule and person disagree.")
@click.option("--name", default="", metavar="TEXT", help="What it is called; without it, what it holds.")
@click.option("--by", metavar="NAME", help="Who draws it; without it the name in your settings, or your login.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print the queue with its items as JSON.")
@labels_option
@taxonomy_option
def queue(
    path: Path, by: str | None, as_json: bool, labels_file: Path | None, taxonomy: str | None, **options: object
) -> int:
    """Draw a labelling queue over PATH and keep it with the labels; `L` in the screens goes on with it.

    Suspects nearest to doubt first, every tool in its turn, and random controls among them. Anybody may work on it;
    each person has their own place in it.

    \b
    Example:
      reach-tui labels queue opencode.db --size 50 --rule edit.not_found
    """
    from reach_tui.workspace.queueing import adjudication_queue, rule_error_queue, standing_of

    traces = Traces([path], labels_file, by, taxonomy=taxonomy)
    if not traces.sources:
        return BAD_INPUT
    if options["disputes"] and options["rule_errors"]:
        raise UsageError("--disputes and --rule-errors are two queues", hint="draw them one after the other")
    if options["disputes"]:
        made = adjudication_queue(traces.workspace, traces.sources)
    elif options["rule_errors"]:
        made = rule_error_queue(traces.workspace, traces.sources)
    else:
        made = _drawn(traces, options)
    place = standing_of(traces.workspace, traces.sources, made)
    traces.workspace.close()
    if as_json:
        items: list[JsonValue] = [
            {
                "position": item.position,
                "store": item.store,
                "session_id": item.session_id,
                "call_key": item.call_key,
                "stratum": item.stratum,
                "path": item.source,
            }
            for item in made.items
        ]
        record: Record = {"id": made.id, "name": made.name, "by": made.by, "recipe": dict(made.recipe), "items": items}
        click.echo(encode(record))
    else:
        done = f", {place.done} labelled already" if place.done else ""
        click.echo(one_line(f"queue {made.id}: {len(made.items)} calls, {made.name}{done}"))
    return traces.exit_code()


def _drawn(traces: Traces, options: dict[str, object]) -> Queue:
    from reach_tui.analyze.sampling import Recipe
    from reach_tui.workspace.queueing import make_queue

    names = ("size", "kind", "stratify", "order", "controls", "tools", "rules", "seed")
    recipe = Recipe(**{name: options[name] for name in names})  # type: ignore[arg-type]
    return _to_the_end(
        make_queue(traces.workspace, traces.sources, recipe, str(options["name"]), fresh=bool(options["fresh"]))
    )


def _to_the_end(work: Generator[Progress, None, Made]) -> Made:
    """What the work makes; on a terminal it tells how far it is."""
    aloud = sys.stderr.isatty()
    try:
        while True:
            step = next(work)
            if aloud and (step.done % 50 == 0 or step.done == step.sessions):
                click.echo(f"\r{step.done:,} of {step.sessions:,} sessions", nl=False, err=True)
    except StopIteration as end:
        made: Made = end.value
        return made
    finally:
        if aloud:
            click.echo("\r\x1b[K", nl=False, err=True)


@click.command("queues", short_help="List the labelling queues.")
@path_argument
@record_options
@click.option("--by", metavar="NAME", help="Whose place is shown; without it yours.")
@labels_option
@taxonomy_option
def queues(path: Path, form: str | None, by: str | None, labels_file: Path | None, taxonomy: str | None) -> int:
    """List the labelling queues kept with the labels, newest first: name, who drew it, your place, recipe.

    \b
    Example:
      reach-tui labels queues opencode.db
    """
    from reach_tui.workspace.queueing import queue_records

    traces = Traces([path], labels_file, by, taxonomy=taxonomy)
    if not traces.sources:
        return BAD_INPUT
    found = emit(queue_records(traces.workspace, traces.sources), form, COLUMNS)
    traces.workspace.close()
    return traces.finish(found, form, "no queues yet — `reach-tui labels queue PATH` draws one")

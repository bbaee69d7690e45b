"""`reach-tui labels codebook`: prints a codebook, checks a file of one, lists the labels that want relabelling."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.text import one_line
from reach_tui.cli.output import Record, encode
from reach_tui.cli.sources import TracePath, Traces, labels_option
from reach_tui.cli.streams import BAD_INPUT, say
from reach_tui.workspace.settings import load_settings

if TYPE_CHECKING:
    from reach_tui.taxonomy import Taxonomy

_WIDTH = 110


@click.command("codebook", short_help="Print or check a codebook; list what wants relabelling.")
@click.argument("name", required=False)
@click.argument("path", required=False, type=TracePath())
@click.option("--list", "listed", is_flag=True, help="The codebooks at hand, shipped and your own.")
@click.option("--check", type=TracePath(), metavar="FILE", help="Say what is wrong with a codebook of yours.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="One JSON object.")
@labels_option
def codebook(
    name: str | None,
    path: Path | None,
    listed: bool,
    check: Path | None,
    as_json: bool,
    labels_file: Path | None,
) -> int:
    """Print the codebook NAME (an id or a file): keys, classes, definitions. Without NAME the one in your settings.

    With PATH, also how many labels each class has there, and the labels whose class was split or is no longer there.

    \b
    Examples:
      reach-tui labels codebook mast
      reach-tui labels codebook --check .reach-tui/taxonomies/checkout.yaml
      reach-tui labels codebook checkout opencode.db
    """
    if check is not None:
        return _check(check, as_json)
    if listed:
        return _list(as_json)
    from reach_tui.workspace.codebooks import choose, codebook_record

    taxonomy = choose(load_settings().taxonomy if name is None else name)
    if path is None:
        click.echo(encode(codebook_record(taxonomy)) if as_json else "\n".join(_lines(taxonomy, {})))
        return 0
    return _with_labels(taxonomy, str(name), path, labels_file, as_json)


def _check(file: Path, as_json: bool) -> int:
    from reach_tui.labels.codebook_files import check_file

    checked = check_file(file)
    for mistake in checked.mistakes:
        say(mistake.line())
    taxonomy = checked.taxonomy
    if as_json:
        record: Record = {
            "file": str(file),
            "ok": taxonomy is not None,
            "id": taxonomy.id if taxonomy else None,
            "version": taxonomy.version if taxonomy else None,
            "mistakes": [{"where": one.where, "what": one.what, "hint": one.hint} for one in checked.mistakes],
        }
        click.echo(encode(record))
    elif taxonomy is not None:
        classes = sum(1 for _ in taxonomy.paths())
        click.echo(one_line(f"{file}: {taxonomy.id} {taxonomy.version}, {classes} classes"))
    return 0 if taxonomy else BAD_INPUT


def _list(as_json: bool) -> int:
    from reach_tui.taxonomy import preset, preset_ids
    from reach_tui.workspace.codebooks import codebooks

    books = codebooks()
    rows = [("shipped", found) for one in preset_ids() if (found := preset(one)) is not None]
    rows += [(str(path), one) for path, one in books.own]
    for where, one in rows:
        record: Record = {"id": one.id, "version": one.version, "name": one.name or None, "where": where}
        click.echo(
            encode(record) if as_json else one_line(f"{one.id:<16}{one.version:>4}  {one.name or '-'}  ({where})")
        )
    for mistake in books.mistakes:
        say(mistake.line())
    return BAD_INPUT if books.mistakes else 0


def _with_labels(taxonomy: Taxonomy, name: str, path: Path, labels_file: Path | None, as_json: bool) -> int:
    from reach_tui.workspace.codebooks import codebook_record, open_labels, usage
    from reach_tui.workspace.labelling import labels_in

    traces = Traces([path], labels_file, taxonomy=name)
    if not traces.sources:
        return BAD_INPUT
    labels = {label.uid: label for _, label in traces.each(lambda source: labels_in(traces.workspace, source))}
    counts = usage(labels.values(), traces.workspace.folding)
    wanted = open_labels(labels.values(), traces.workspace.folding)
    if as_json:
        record = codebook_record(taxonomy)
        record["labels"] = dict(sorted(counts.items()))
        record["relabel"] = [
            {"call_key": label.call_key, "session_id": label.session_id, "by": label.by,
             "class": folded.path, "state": folded.state, "into": list(folded.into)}
            for label, folded in wanted
        ]  # fmt: skip
        click.echo(encode(record))
        return traces.exit_code()
    click.echo("\n".join(_lines(taxonomy, counts)))
    if wanted:
        click.echo(f"\n{len(wanted)} labels want a person to label again:")
    for label, folded in wanted:
        into = f": {' or '.join(folded.into)}" if folded.into else ""
        click.echo(
            "  " + one_line(f"{label.call_key or label.session_id}  {folded.path} ({folded.state}{into})  {label.by}")
        )
    others = sum(label.taxonomy != taxonomy.id for label in labels.values())
    if others:
        say(f"{others} labels are of other codebooks: they stay as they are")
    return traces.exit_code()


def _lines(taxonomy: Taxonomy, counts: dict[str, int]) -> list[str]:
    """The codebook for a terminal."""
    lines = [one_line(f"{taxonomy.id} {taxonomy.version}  {taxonomy.name}".rstrip())]
    lines += textwrap.wrap(one_line(taxonomy.about), _WIDTH)
    for category in taxonomy.categories:
        group = f"  [{category.group}]" if category.group else ""
        lines += ["", one_line(f"{category.key} {category.id}  {category.name}{group}{_count(counts, category.id)}")]
        lines += _text(category.definition, category.contrast, "  ")
        for number, entry in enumerate(category.subcategories):
            count = _count(counts, f"{category.id}/{entry.id}")
            keys = f"{category.key}.{(number + 1) % 10}"
            lines.append("  " + one_line(f"{keys} {entry.id}  {entry.name}{count}"))
            lines += _text(entry.definition, entry.contrast, "     ")
    for old, new in taxonomy.renamed:
        lines.append(one_line(f"renamed: {old} -> {new}"))
    for one in taxonomy.retired:
        lines.append(one_line(f"{one.how}: {one.path}{' -> ' if one.into else ''}{', '.join(one.into)}"))
    return lines


def _count(counts: dict[str, int], path: str) -> str:
    return f"  ({counts[path]} labels)" if counts.get(path) else ""


def _text(definition: str, contrast: str, indent: str) -> list[str]:
    text = f"{definition} Not: {contrast}." if contrast else definition
    return [f"{indent}{line}" for line in textwrap.wrap(one_line(text), _WIDTH - len(indent))]

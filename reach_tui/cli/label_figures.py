"""`labels agreement` and `labels score`: what the labels say about people, and about the detectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import StoreError
from reach_tui.base.text import one_line
from reach_tui.cli.output import Column, Record, emit, encode
from reach_tui.cli.sources import Traces, labels_option, path_argument, taxonomy_option
from reach_tui.cli.streams import say

if TYPE_CHECKING:
    from reach_tui.analyze.agreement import Agreement, Figure, PairAgreement
    from reach_tui.analyze.detector_scores import Share
    from reach_tui.base.jsonio import JsonValue
    from reach_tui.workspace.label_figures import Scored

_json = click.option("--json", "--jsonl", "as_json", is_flag=True, help="One JSON object.")


@click.command("agreement")
@path_argument
@click.option("--level", type=click.IntRange(1, 2), default=1, show_default=True, help="Compare classes of this level.")
@_json
@labels_option
@taxonomy_option
def agreement(path: Path, level: int, as_json: bool, labels_file: Path | None, taxonomy: str | None) -> int:
    """Say how far people agree who labelled the same calls in PATH.

    Raw agreement, Cohen's kappa and PABAK for each two of them, Krippendorff's alpha for all, with 95 % intervals over
    the calls; "undefined" where a number is. An adjudicator's labels are not compared: they settle disagreements.

    \b
    Example:
      reach-tui labels agreement opencode.db --labels team.db
    """
    from reach_tui.workspace.label_figures import agreement_of, disputes, opinions
    from reach_tui.workspace.labelling import labels_in

    traces = Traces([path], labels_file, taxonomy=taxonomy)
    labels = {label.uid: label for _, label in traces.each(lambda source: labels_in(traces.workspace, source))}
    found = opinions(labels.values(), traces.workspace.folding)
    result, open_ones = agreement_of(found, level), disputes(found)
    settled = sum(one.adjudicated is not None for one in found.values())
    if as_json:
        disputed: list[Record] = [{"store": kind, "session_id": one, "call_key": key} for kind, one, key in open_ones]
        click.echo(encode({**_agreement_record(result), "adjudicated": settled, "disputed": list(disputed)}))
    elif not found:
        return traces.finish(0, None, "no labels yet — `reach-tui label PATH CALL_KEY CATEGORY` gives one")
    else:
        _show_agreement(result, len(open_ones), settled)
    return traces.exit_code()


def _agreement_record(found: Agreement) -> Record:
    return {
        "items": found.items,
        "single": found.single,
        "raters": list(found.raters),
        "alpha": _figure_record(found.alpha),
        "pairs": [
            {
                "raters": list(pair.raters),
                "items": pair.items,
                "raw": _figure_record(pair.raw),
                "kappa": _figure_record(pair.kappa),
                "pabak": _rounded(pair.pabak),
                "categories": [*_category_records(pair)],
            }
            for pair in found.pairs
        ],
    }


def _figure_record(figure: Figure) -> Record:
    known = figure.low is not None and figure.high is not None
    return {"value": _rounded(figure.value), "interval": _ends((figure.low, figure.high)) if known else None}


def _ends(interval: tuple[float | None, float | None]) -> list[JsonValue]:
    return [_rounded(end) for end in interval]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _show_agreement(found: Agreement, disputed: int, settled: int) -> None:
    click.echo(f"{found.items} calls labelled by two or more of {len(found.raters)}, {found.single} by one alone")
    if found.items:
        click.echo(f"Krippendorff's alpha  {_shown(found.alpha)}")
    for pair in found.pairs:
        _show_pair(pair)
    click.echo(f"\n{disputed} disagreements to settle, {settled} settled")
    if found.items and found.few:
        say(f"only {found.items} calls were labelled twice: rely on the intervals, not on the numbers")


def _show_pair(pair: PairAgreement) -> None:
    click.echo("\n" + one_line(f"{pair.raters[0]} and {pair.raters[1]}: {pair.items} calls"))
    click.echo(f"  raw agreement       {_shown(pair.raw)}")
    click.echo(f"  Cohen's kappa       {_shown(pair.kappa)}")
    click.echo(f"  PABAK               {_number(pair.pabak)}")
    columns = (
        Column("class", lambda record: str(record["category"]), weight=2),
        *(_count_column(title, name) for title, name in (("first", "first"), ("second", "second"), ("both", "both"))),
        *(_number_column(name) for name in ("kappa", "pabak", "positive", "negative")),
    )
    emit(_category_records(pair), None, columns)


def _category_records(pair: PairAgreement) -> list[Record]:
    return [
        {
            "category": one.category,
            "first": one.first,
            "second": one.second,
            "both": one.both,
            "kappa": _rounded(one.kappa),
            "pabak": _rounded(one.pabak),
            "positive": _rounded(one.positive),
            "negative": _rounded(one.negative),
        }
        for one in pair.categories
    ]


def _count_column(title: str, name: str) -> Column:
    return Column(title, lambda record: str(record[name]), width=7, right=True)


def _number_column(name: str) -> Column:
    def cell(record: Record) -> str:
        value = record[name]
        return _number(value if isinstance(value, float) else None)

    return Column(name, cell, width=10, right=True)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _shown(figure: Figure) -> str:
    if figure.value is None:
        return "undefined"
    interval = "no interval" if figure.low is None else f"95 % {figure.low:.3f} to {figure.high:.3f}"
    return f"{figure.value:.3f}  ({interval})"


@click.command("score")
@path_argument
@_json
@labels_option
@taxonomy_option
def score(path: Path, as_json: bool, labels_file: Path | None, taxonomy: str | None) -> int:
    """Hold the detectors, with the rules in force, against the labels of the calls in PATH.

    Precision, recall and confusion, and precision by rule, with 95 % intervals. Calls that nobody labelled count for
    nothing, calls that people disagree about are left out until somebody settles them. Where people label with another
    codebook than the detectors', classes are compared where they correspond, else only failed or not.

    \b
    Example:
      reach-tui labels score opencode.db --json | jq .precision
    """
    from reach_tui.workspace.label_figures import score_labels

    traces = Traces([path], labels_file, taxonomy=taxonomy)
    try:
        found = score_labels(traces.workspace, traces.sources)
    except StoreError as error:
        say(error.line())
        return 2
    if as_json:
        click.echo(encode(_score_record(found)))
    elif not found.scores.labelled:
        return traces.finish(0, None, "no labels yet — `reach-tui label PATH CALL_KEY CATEGORY` gives one")
    else:
        _show_scores(found)
    return traces.exit_code()


def _share_record(share: Share) -> Record:
    interval = share.interval
    return {
        "value": _rounded(share.value),
        "count": share.count,
        "of": share.of,
        "interval": None if interval is None else _ends(interval),
    }


def _score_record(found: Scored) -> Record:
    result = found.scores
    return {
        "labelled": result.labelled,
        "undecided": result.undecided,
        "disputed": found.disputed,
        "gone": found.gone,
        "precision": _share_record(result.precision),
        "recall": _share_record(result.recall),
        "same_class": _share_record(result.same_class),
        "rules": [
            {
                "rule": one.rule,
                "precision": _share_record(one.precision),
                "same_class": _share_record(one.same_class),
                "soft": _share_record(one.soft),
                "cleared": _share_record(one.cleared),
            }
            for one in result.rules
        ],
        "confusion": [{"verdict": said, "label": label, "count": count} for said, label, count in result.confusion],
        "disagreements": [
            {"call_key": one.key, "rule": one.rule, "verdict": one.category if one.failed else None, "label": one.label}
            for one in result.disagreements
        ],
    }


def _show_scores(found: Scored) -> None:
    result = found.scores
    click.echo(f"{result.labelled} labelled calls, {result.undecided} without a verdict")
    for title, share in (
        ("precision", result.precision),
        ("recall", result.recall),
        ("same class", result.same_class),
    ):
        click.echo(f"  {title:<12}{_share(share)}")
    click.echo("")
    record = _score_record(found)
    rules = [one for one in record["rules"] if isinstance(one, dict)] if isinstance(record["rules"], list) else []
    emit(rules, None, (Column("rule", lambda one: str(one["rule"]), weight=1), *map(_share_column, _RULE_COLUMNS)))
    click.echo("\nverdict, label: how often (- fine, ? undecided)")
    for said, label, count in result.confusion:
        click.echo("  " + one_line(f"{said:<22}{label:<22}{count:>6}"))
    if found.disputed:
        say(
            f"{found.disputed} calls are left out: people disagree about them (`reach-tui labels agreement` lists them)"
        )
    if found.gone:
        say(f"{found.gone} labelled calls are no longer in the traces")


_RULE_COLUMNS = (("right", "precision"), ("same class", "same_class"), ("soft: failed", "soft"), ("cleared", "cleared"))


def _share_column(title_and_name: tuple[str, str]) -> Column:
    title, name = title_and_name

    def cell(record: Record) -> str:
        share = record[name]
        return f"{share['count']} of {share['of']}" if isinstance(share, dict) and share["of"] else "-"

    return Column(title, cell, width=13, right=True)


def _share(share: Share) -> str:
    interval = share.interval
    if share.value is None or interval is None:
        return "undefined (no such call was labelled)"
    return f"{share.value:.3f}  {share.count} of {share.of}  (95 % {interval[0]:.3f} to {interval[1]:.3f})"

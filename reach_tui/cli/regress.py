"""`reach-tui regress`: the regression set against a registry, and against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import ConfigError
from reach_tui.base.text import one_line
from reach_tui.cli.output import Column, Record, emit, encode, record_options
from reach_tui.cli.routing_options import router_of, threshold_options, thresholds_of
from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reach_tui.reach.router import Router
    from reach_tui.replay.cases import Case
    from reach_tui.replay.regress import Result

_CHECK_FAILED = 1
_MOST = 12  # lines of a list on the terminal


@click.command(short_help="Route a set of cases; fail on a regression.")
@click.argument("cases", type=TracePath())
@click.option("--registry", required=True, type=TracePath(), metavar="DIR", help="Folder of tools, or a bundled name.")
@click.option("--baseline", type=TracePath(), metavar="FILE", help="Compare with this run.")
@click.option("--write-baseline", type=TracePath(), metavar="FILE", help="Keep this run as a baseline.")
@click.option(
    "--tolerance", type=click.FloatRange(0, 100), default=0.0, show_default=True, help="Points a tool may lose."
)
@click.option("--min-accuracy", type=click.FloatRange(0, 1), help="Exit 1 below this top-1 accuracy.")
@click.option("--junit", type=TracePath(), metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", type=TracePath(), metavar="FILE", help="Write Markdown.")
@click.option("--k", type=click.IntRange(min=1), help="Candidates that recall hands on.  [default: 5]")
@click.option("--degraded", is_flag=True, help="Keywords alone, as with the fallback switch.")
@click.option("--k-sweep", is_flag=True, help="Compare k = 3, 5, 8 and all tools instead.")
@threshold_options
@record_options
def regress(
    cases: Path,
    registry: Path,
    baseline: Path | None,
    write_baseline: Path | None,
    tolerance: float,
    min_accuracy: float | None,
    junit: Path | None,
    markdown: Path | None,
    k: int | None,
    degraded: bool,
    k_sweep: bool,
    t1: float | None,
    gap: float | None,
    floor: float | None,
    form: str | None,
) -> int:
    """Run the routing stage over CASES (YAML, JSON Lines, a folder, or the bundled set `shop`). Nothing is called.

    Exit code 1 if, against the baseline, more cases were lost than won, or a tool lost more than --tolerance points.

    \b
    Examples:
      reach-tui regress shop --registry shop --write-baseline base.json
      reach-tui regress cases.yaml --registry ./tools --baseline base.json --junit routing.xml
    """
    from reach_tui.replay import output
    from reach_tui.replay.cases import load_cases
    from reach_tui.replay.regress import baseline_of, run

    known = load_cases(cases)
    router = router_of(registry, thresholds_of(t1, gap, floor), k, degraded)
    if k_sweep:
        return _sweep_k(known, router, form)
    result = run(known, router, _read_baseline(baseline) if baseline else None)
    for path, text in (
        (junit, output.junit(result) if junit else ""),
        (markdown, output.markdown(result, tolerance) if markdown else ""),
        (write_baseline, encode(baseline_of(result, router)) + "\n" if write_baseline else ""),
    ):
        if path is not None:
            _write(path, text)
    if form == "jsonl":
        emit((output.outcome_record(one) for one in result.outcomes), form)
    elif form == "json":
        click.echo(encode(output.record(result, tolerance)))
    else:
        _show(result, tolerance)
    failed = bool(result.compared) and result.regressed(tolerance)
    if min_accuracy is not None and result.accuracy < min_accuracy:
        say(f"top-1 accuracy {result.accuracy:.3f} is below {min_accuracy:g}")
        failed = True
    if baseline is not None and not result.compared:
        say(
            f"{baseline}: none of its cases is in {cases}, nothing was compared — write a new one with --write-baseline"
        )
        failed = True
    return _CHECK_FAILED if failed else 0


def _read_baseline(path: Path) -> Mapping[str, object]:
    from reach_tui.base.jsonio import BadJson, loads

    try:
        value = loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path, "write one with --write-baseline") from None
    except BadJson as error:
        raise ConfigError(f"not a baseline: {error}", path, "write a new one with --write-baseline") from None
    if not isinstance(value, dict):
        raise ConfigError("not a baseline", path, "write a new one with --write-baseline")
    return value


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", path, "name another file") from None


def _show(result: Result, tolerance: float) -> None:
    count = len(result.outcomes)
    decisions = {
        one: sum(out.decision == one for out in result.outcomes) for one in ("execute", "clarify", "no_capability")
    }
    click.echo(f"top-1 accuracy  {100 * result.accuracy:.1f} %  ({result.right} of {count} cases)")
    click.echo("decisions       " + ", ".join(f"{name} {number}" for name, number in decisions.items()))
    click.echo(f"executed wrong  {sum(one.executed_wrongly for one in result.outcomes)}")
    columns = (
        Column("tool", lambda record: str(record["tool"]), weight=1),
        Column("right", lambda record: str(record["right"]), width=9, right=True),
        Column("damage", lambda record: str(record["damage"]), width=8, right=True),
        Column("taken by", lambda record: str(record["taken_by"]), weight=2),
    )
    rows: list[Record] = [
        {
            "tool": one.tool,
            "right": f"{one.right} of {one.cases}",
            "damage": f"{one.damage:+.1f}" if one.compared and one.damage else "",
            "taken_by": ", ".join(f"{name} ({number})" for name, number in result.neighbours(one.tool)),
        }
        for one in result.tools[:_MOST]
    ]
    click.echo("")
    emit(rows, None, columns)
    if len(result.tools) > _MOST:
        click.echo(f"… and {len(result.tools) - _MOST} more tools (--json has all)")
    if result.confused:
        click.echo("\nrewrite these two descriptions first (expected, came first: cases)")
        for expected, chosen, number in result.confused[:5]:
            click.echo("  " + one_line(f"{expected}, {chosen}: {number}"))
    _show_changes(result, tolerance)


def _show_changes(result: Result, tolerance: float) -> None:
    if not result.compared:
        return
    click.echo(f"\nagainst the baseline: {len(result.lost)} lost, {len(result.won)} won of {result.compared}")
    for one in result.lost[:_MOST]:
        words = f"lost {one.case.id}: {one.case.utterance!r} expected {one.expected}, {one.chosen} came first"
        click.echo("  " + one_line(words))
    if result.fresh:
        click.echo(f"{result.fresh} cases are new or were changed: not compared")
    click.echo("regression" if result.regressed(tolerance) else "no regression")


def _sweep_k(cases: Sequence[Case], router: Router, form: str | None) -> int:
    from reach_tui.replay.trials import widths

    every = len(router.registry.tools())
    rows: list[Record] = [
        {
            "k": one.k,
            "top1": round(one.top1, 4),
            "recall": round(one.recall, 4),
            "candidate_tokens": round(one.tokens),
            "ms": round(one.milliseconds, 3),
        }
        for one in widths(cases, router, sorted({min(k, every) for k in (3, 5, 8, every)}))
    ]
    columns = (
        Column("k", lambda record: str(record["k"]), width=5, right=True),
        Column("top-1", lambda record: f"{100 * float(str(record['top1'])):.1f} %", width=9, right=True),
        Column("among the k", lambda record: f"{100 * float(str(record['recall'])):.1f} %", width=12, right=True),
        Column("candidate tokens", lambda record: str(record["candidate_tokens"]), width=17, right=True),
        Column("ms", lambda record: str(record["ms"]), width=8, right=True),
    )
    emit(rows, form, columns)
    return 0

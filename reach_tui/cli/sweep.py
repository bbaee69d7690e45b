"""`reach-tui sweep`: which thresholds cost least."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import ConfigError
from reach_tui.cli.output import Record, encode
from reach_tui.cli.routing_options import router_of, threshold_options, thresholds_of
from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import say

if TYPE_CHECKING:
    from reach_tui.model import Thresholds
    from reach_tui.replay.sweep import Range, Sweep

_BARS = " ▁▂▃▄▅▆▇█"


@click.command(short_help="Expected loss for every threshold.")
@click.argument("cases", type=TracePath())
@click.option("--registry", required=True, type=TracePath(), metavar="DIR", help="Folder of tools, or a bundled name.")
@click.option(
    "--wrong", type=click.FloatRange(min=0), default=5.0, show_default=True, help="Cost of a wrong execution."
)
@click.option("--ask", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Cost of asking back.")
@click.option("--curve", type=TracePath(), metavar="FILE", help="Write the curve as CSV.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="One JSON object, the curve in it.")
@threshold_options
def sweep(
    cases: Path,
    registry: Path,
    wrong: float,
    ask: float,
    curve: Path | None,
    as_json: bool,
    t1: float | None,
    gap: float | None,
    floor: float | None,
) -> int:
    """Compute the expected loss over CASES for every t1 and gap, with the floor as it is. Nothing is called.

    Scores that a case recorded count before the router's. The best thresholds come with a 95 % interval, and it is said
    where the cases cannot carry a choice. --t1 and --gap are the thresholds in use, which the best is held against.

    \b
    Example:
      reach-tui sweep shop --registry shop --wrong 8 --curve loss.csv
    """
    from reach_tui.replay.cases import load_cases
    from reach_tui.replay.sweep import sweep as run
    from reach_tui.replay.trials import trials

    used = thresholds_of(t1, gap, floor)
    found = run(trials(load_cases(cases), router_of(registry, used), wrong, ask), used)
    if curve is not None:
        rows = [f"{point.t1:g},{point.loss:.6f},{point.loss_at_gap:.6f}" for point in found.curve]
        try:
            curve.write_text("\n".join(["t1,loss_best_gap,loss_gap_in_use", *rows]) + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", curve, "name another file") from None
    if as_json:
        click.echo(encode(_record(found, used, wrong, ask)))
    else:
        _show(found, used)
    return 0


def _record(found: Sweep, used: Thresholds, wrong: float, ask: float) -> Record:
    return {
        "cases": found.cases,
        "deciding": found.deciding,
        "costs": {"wrong": wrong, "ask": ask},
        "in_use": {"t1": used.t1, "gap": used.gap, "floor": used.floor, "loss": round(found.now, 6)},
        "best": {"t1": _range(found.t1), "gap": _range(found.gap), "loss": round(found.loss, 6)},
        "gain": [round(end, 6) for end in found.gain],
        "supported": found.supported,
        "doubts": list(found.doubts),
        "curve": [
            {"t1": point.t1, "loss": round(point.loss, 6), "loss_gap_in_use": round(point.loss_at_gap, 6)}
            for point in found.curve
        ],
    }


def _range(found: Range) -> Record:
    return {"value": found.best, "interval": [found.low, found.high]}


def _show(found: Sweep, used: Thresholds) -> None:
    click.echo(f"{found.cases} cases, {found.deciding} above the floor of {used.floor:g}")
    losses = [point.loss for point in found.curve]
    low, spread = min(losses), max(losses) - min(losses) or 1.0
    bars = "".join(_BARS[1 + round(7 * (loss - low) / spread)] for loss in losses)
    click.echo(f"\nexpected loss a case, t1 from {found.curve[0].t1:g} to 1 ({low:.3f} to {max(losses):.3f})")
    click.echo(f"  {bars}")
    best = min(range(len(losses)), key=lambda index: abs(found.curve[index].t1 - found.t1.best))
    click.echo(f"  {' ' * best}^ {found.t1.best:.2f}")
    click.echo("")
    click.echo(
        f"t1      best {found.t1.best:.2f}  (95 % {found.t1.low:.2f} to {found.t1.high:.2f})  in use {used.t1:g}"
    )
    click.echo(
        f"gap     best {found.gap.best:.2f}  (95 % {found.gap.low:.2f} to {found.gap.high:.2f})  in use {used.gap:g}"
    )
    gain = f"gain 95 % {found.gain[0]:.3f} to {found.gain[1]:.3f}"
    click.echo(f"loss    best {found.loss:.3f}  in use {found.now:.3f}  ({gain})")
    for doubt in found.doubts:
        say(doubt)

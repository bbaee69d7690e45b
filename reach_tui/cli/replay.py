"""`reach-tui replay`: what would have been decided, stopped or killed under other settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.errors import StoreError, UsageError
from reach_tui.base.text import one_line
from reach_tui.cli.output import Progress, Record, encode
from reach_tui.cli.routing_options import threshold_options
from reach_tui.cli.sources import TracePath, Traces, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reach_tui.replay.whatif import Replayed
    from reach_tui.workspace import Source
    from reach_tui.workspace.replaying import ReplaySettings

_MOST = 20


def _timeouts(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for one in given:
        tool, mark, limit = one.rpartition("=")
        if one == "p99":
            continue
        if not mark or not tool or not limit.isdecimal():
            raise click.BadParameter("TOOL=MILLISECONDS, or p99 for what the trace itself advises")
        found[tool] = int(limit)
    return found | ({"p99": 0} if "p99" in given else {})


@click.command(short_help="Decisions, guards and limits under other settings.")
@path_argument
@click.option("--session", "session_id", metavar="ID", help="One session alone.")
@threshold_options
@click.option("--registry", type=TracePath(), metavar="DIR", help="Route anew over these tools.")
@click.option("--k", type=click.IntRange(min=1), help="Candidates that recall hands on.")
@click.option("--degraded", is_flag=True, help="The fallback switch: route by keywords.")
@click.option("--guard-after", type=click.IntRange(min=1), default=5, show_default=True, help="Failures in a row.")
@click.option("--guard-rule", type=click.Choice(["same_error", "any_error"]), default="same_error", show_default=True)
@click.option(
    "--timeout", multiple=True, callback=_timeouts, metavar="TOOL=MS", help="A tool's limit (* for all), or p99."
)
@click.option("--breaker", is_flag=True, help="Open a breaker for each tool as the layer does.")
@click.option("--budget", type=click.IntRange(min=1), metavar="MS", help="Time that the calls after one request share.")
@click.option("--recorded-only", is_flag=True, help="Infer no routes for calls that recorded none.")
@click.option("--json", "--jsonl", "as_json", is_flag=True, help="One JSON object.")
def replay(
    path: Path,
    session_id: str | None,
    t1: float | None,
    gap: float | None,
    floor: float | None,
    registry: Path | None,
    k: int | None,
    degraded: bool,
    guard_after: int,
    guard_rule: str,
    timeout: dict[str, int],
    breaker: bool,
    budget: int | None,
    recorded_only: bool,
    as_json: bool,
) -> int:
    """Replay the sessions in PATH under other settings; nothing is called. Says which decisions change, and why.

    Recorded decisions stand with the thresholds they were made with; without any option nothing changes. Calls that
    recorded no route get an inferred one.

    \b
    Examples:
      reach-tui replay shop.db --t1 0.7
      reach-tui replay opencode.db --session ses_1 --registry ./tools --guard-after 3 --timeout 'bash=60000'
    """
    from reach_tui.workspace.replaying import ReplaySettings

    advised = timeout.pop("p99", None) is not None
    settings = ReplaySettings(
        t1, gap, floor, k, registry, degraded, guard_after, guard_rule, timeout, advised, breaker, not recorded_only
    )
    settings = replace(settings, budget_ms=budget)
    traces = Traces([path])
    if not traces.sources:
        return BAD_INPUT
    if session_id is not None and all(source.reader.session(session_id) is None for source in traces.sources):
        raise UsageError(f"no session {session_id!r}", path, "`reach-tui sessions PATH` lists them")
    result = _run(traces, settings, session_id)
    if as_json:
        click.echo(encode(_record(result, settings)))
    else:
        _show(result, settings)
    return traces.exit_code()


def _run(traces: Traces, settings: ReplaySettings, session_id: str | None) -> Replayed:
    from reach_tui.replay.whatif import merged
    from reach_tui.workspace.replaying import Replay

    progress = Progress("sessions replayed", apart=True)
    parts: list[Replayed] = []

    def of(source: Source) -> Iterator[Record]:
        replayer = Replay(traces.workspace, source, settings)
        for problem in replayer.problems:
            say(problem)
        for session in replayer.sessions(session_id):
            parts.append(replayer.run(replayer.read(session)))
            yield {}

    for source in traces.sources:
        try:
            for _ in progress.watch(of(source)):
                pass
        except StoreError as error:
            traces.blame(source, error)
    return merged(parts)


def _record(result: Replayed, settings: ReplaySettings) -> Record:
    by_flag, by_truth = result.guard()
    killed = [one for one in result.moments if one.timed_out is not None]
    return {
        "settings": {
            "t1": settings.t1,
            "gap": settings.gap,
            "floor": settings.floor,
            "k": settings.k,
            "registry": None if settings.registry is None else str(settings.registry),
            "degraded": settings.degraded,
        },
        "decisions": result.decisions,
        "recorded": sum(one.before is not None and one.before.basis == "recorded" for one in result.moments),
        "unexplained": result.unexplained,
        "flips": [
            {
                "call_key": one.call_key,
                "session_id": one.session_id,
                "step": one.step,
                "from": one.before,
                "to": one.after,
                "why": one.why,
            }
            for one in result.flips
        ],
        "guard": {
            "after": settings.guard_after,
            "rule": settings.guard_rule,
            "by_flag": by_flag,
            "by_truth": by_truth,
            "where": [one.call_key for one in result.moments if one.guard is not None and one.guard.speaks_by_truth],
        },
        "timeouts": {
            "killed_good": sum(one.timed_out == "good" for one in killed),
            "killed_bad": sum(one.timed_out == "bad" for one in killed),
            "where": [one.call_key for one in killed if one.timed_out == "good"],
        },
        "breaker": {
            "blocked": sum(one.blocked for one in result.moments),
            "where": [one.call_key for one in result.moments if one.blocked],
        },
        "budget": {
            "killed_good": sum(one.over_budget == "good" for one in result.moments),
            "killed_bad": sum(one.over_budget == "bad" for one in result.moments),
            "where": [one.call_key for one in result.moments if one.over_budget == "good"],
        },
        "retried": [one.call_key for one in result.moments if one.retried],
    }


def _show(result: Replayed, settings: ReplaySettings) -> None:
    from reach_tui.replay.whatif import confusions

    recorded = sum(one.before is not None and one.before.basis == "recorded" for one in result.moments)
    inferred = result.decisions - recorded
    click.echo(f"{result.decisions} decisions, {recorded} recorded, {inferred} inferred: {len(result.flips)} change")
    for before, after, count in confusions(result.flips)[:_MOST]:
        click.echo("  " + one_line(f"{count:>5}  {before} -> {after}"))
    if result.flips:
        click.echo("")
    for one in result.flips[:_MOST]:
        click.echo(one_line(f"step {one.step} of {one.session_id}: {one.before} -> {one.after} ({one.why})"))
    if len(result.flips) > _MOST:
        click.echo(f"… and {len(result.flips) - _MOST} more (--json has them)")
    if result.unexplained:
        say(f"{result.unexplained} recorded decisions do not follow from their scores: they stand as they are")
    by_flag, by_truth = result.guard()
    rule = settings.guard_rule.replace("_", " ")
    click.echo(
        f"\nguard after {settings.guard_after} ({rule}): speaks {by_flag} times by the flag, {by_truth} by the truth"
    )
    if settings.timeouts or settings.advised_timeouts:
        good = sum(one.timed_out == "good" for one in result.moments)
        bad = sum(one.timed_out == "bad" for one in result.moments)
        click.echo(f"timeouts: {good} good calls would have been killed, {bad} bad ones")
    if settings.breaker:
        click.echo(f"breaker: {sum(one.blocked for one in result.moments)} calls would not have been made")
    if settings.budget_ms is not None:
        good = sum(one.over_budget == "good" for one in result.moments)
        bad = sum(one.over_budget == "bad" for one in result.moments)
        click.echo(f"budget: {good} good calls would have been cut off, {bad} bad ones")
    if settings.registry is not None:
        click.echo(f"retries: {sum(one.retried for one in result.moments)} failed calls would have been sent again")

"""Options that the commands over a registry share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from reach_tui.model import Thresholds
    from reach_tui.reach.router import Router

Command = TypeVar("Command", bound=Callable[..., Any])
_SHARE = click.FloatRange(0, 1)


def threshold_options(command: Command) -> Command:
    """`--t1`, `--gap`, `--floor`: the double threshold."""
    command = click.option("--floor", type=_SHARE, help="Below this score there is no capability.  [default: 0.5]")(
        command
    )
    command = click.option("--gap", type=_SHARE, help="Distance to the second that execution needs.  [default: 0.15]")(
        command
    )
    return click.option("--t1", type=_SHARE, help="Score that execution needs.  [default: 0.75]")(command)


def thresholds_of(t1: float | None, gap: float | None, floor: float | None) -> Thresholds:
    """The thresholds given, the seed's where none is."""
    from reach_tui.model import Thresholds

    usual = Thresholds()
    return Thresholds(
        usual.t1 if t1 is None else t1, usual.gap if gap is None else gap, usual.floor if floor is None else floor
    )


def router_of(registry: Path, thresholds: Thresholds, k: int | None = None, degraded: bool = False) -> Router:
    """A router over a folder of tools, or a bundled registry of that name. Raises `ConfigError`."""
    from reach_tui.reach.router import K, Router
    from reach_tui.replay.registry_source import registry_of

    return Router(registry_of(registry), thresholds=thresholds, k=K if k is None else k, degraded=degraded)

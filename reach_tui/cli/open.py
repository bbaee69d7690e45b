"""`reach-tui [PATH]...` and `reach-tui demo`: the screens."""

from __future__ import annotations

from pathlib import Path

import click

from reach_tui.cli.launch import open_samples, open_screens
from reach_tui.cli.sources import TracePath, labels_option, taxonomy_option


@click.command("open", hidden=True)
@click.argument("paths", nargs=-1, type=TracePath(), metavar="[PATH]...")
@labels_option
@taxonomy_option
def open_(paths: tuple[Path, ...], labels_file: Path | None, taxonomy: str | None) -> int:
    """Open the screens on databases or folders; `reach-tui PATH` is the same.

    \b
    Example:
      reach-tui ~/.local/share/opencode/opencode.db
    """
    return open_screens(paths, labels_file, taxonomy)


@click.command(short_help="Open the screens on the sample traces.")
@click.option("--headless", is_flag=True, help="Start without a terminal, fill the list of sessions, and leave.")
@labels_option
@taxonomy_option
def demo(headless: bool, labels_file: Path | None, taxonomy: str | None) -> int:
    """Open the screens on a private copy of the sample traces; nothing you do there lasts.

    \b
    Example:
      reach-tui demo
    """
    return open_samples(labels_file, taxonomy, headless=headless)

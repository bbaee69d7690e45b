"""`reach-tui completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from reach_tui.base.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> int:
    """Print the completion script for a shell (without a name: the one in $SHELL).

    \b
    Example:
      eval "$(reach-tui completion bash)"
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    script = get_completion_class(name) if name in SHELLS else None
    if script is None:
        raise UsageError(f"no completion for the shell {name!r}", hint=f"name one of {', '.join(SHELLS)}")
    click.echo(script(ctx.find_root().command, {}, "reach-tui", "_REACH_TUI_COMPLETE").source())
    return 0

"""The `reach-tui` command: loads the one command that is called, turns every fault into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from reach_tui import __version__
from reach_tui.cli.faults import INTERRUPTED, exit_code_of
from reach_tui.cli.garbage import importing
from reach_tui.cli.names import COMMANDS, COMPLETE, DEFAULT
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_OWN_OPTIONS = frozenset({"--help", "-h", "--version"})


class LazyGroup(click.Group):
    """A group whose commands are imported on use. What is no command is a path for the default command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command but the default one, which is the group itself to people."""
        return [name for name in COMMANDS if name != DEFAULT]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        with importing():
            command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`reach-tui PATH` and `reach-tui --labels FILE` mean the default command."""
        if ctx.resilient_parsing:  # a shell asks what could stand here
            return super().parse_args(ctx, args)
        if not args or (args[0] not in COMMANDS and args[0] not in _OWN_OPTIONS):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and options, and where none begins so, files."""
        from click.shell_completion import CompletionItem

        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Both forms in the usage line."""
        return ["[PATH]... | COMMAND [ARGS]..."]


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 a check did not hold, 2 bad usage or unreadable input.",
)
@click.version_option(__version__, prog_name="reach-tui", message="%(prog)s %(version)s")
def cli() -> None:
    """The debugger for agent sessions: finds the tool calls that failed although the store says they succeeded.

    With paths (databases, or folders of them) or without any command, opens the screens. Without a path: the known
    agents' databases in your home, and where there are none, the sample traces.

    \b
    Examples:
      reach-tui demo
      reach-tui ~/.local/share/opencode/opencode.db
      reach-tui calls opencode.db --hidden --jsonl | jq .rule
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Every fault a person can cause is one line on stderr."""
    return exit_code_of(lambda: _answer(list(sys.argv[1:] if arguments is None else arguments)))


def _answer(arguments: list[str]) -> object:
    try:
        return _invoke(arguments)
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        say(_usage_line(error))
        return BAD_INPUT


def _invoke(arguments: list[str]) -> object:
    if COMPLETE in os.environ:  # a shell asks what could come next
        return cli.main(arguments, prog_name="reach-tui", complete_var=COMPLETE)
    # not click's own main(): it answers Ctrl-C and a closed pipe in its own words
    with cli.make_context("reach-tui", arguments) as ctx:
        return cli.invoke(ctx)


def _usage_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is None:
        return text
    command = "reach-tui" if ctx.info_name in (DEFAULT, None) else ctx.command_path
    return f"{text} — see `{command} --help`"

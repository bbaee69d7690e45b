"""The `reach-tui` command: loads the one command that is called, turns every fault into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from reach_tui import __version__
from reach_tui.base.errors import ReachError
from reach_tui.cli.output import BAD_INPUT, close_quietly, drop_what_cannot_be_written, prepare_streams, say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
COMPLETE = "_REACH_TUI_COMPLETE"
DEFAULT = "open"
COMMANDS = {
    DEFAULT: "reach_tui.cli.open:open_",
    "demo": "reach_tui.cli.open:demo",
    "stores": "reach_tui.cli.stores:stores",
    "sessions": "reach_tui.cli.sessions:sessions",
    "calls": "reach_tui.cli.calls:calls",
    "classify": "reach_tui.cli.classify:classify",
    "label": "reach_tui.cli.label:label",
    "labels": "reach_tui.cli.labels:labels",
    "export": "reach_tui.cli.export:export",
    "completion": "reach_tui.cli.completion:completion",
}
"""Command -> `module:attribute`, imported when it is called."""
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
    prepare_streams()
    try:
        answer = _invoke(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        close_quietly()
        return 0
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        say(_usage_line(error))
        return BAD_INPUT
    except ReachError as error:
        say(error.line())
        return BAD_INPUT
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"{where}{error.strerror or error}")
        drop_what_cannot_be_written()
        return BAD_INPUT
    except Exception as error:  # the last line of defence; whole with REACH_TUI_DEBUG
        if os.environ.get("REACH_TUI_DEBUG"):
            raise
        what = f"a fault of reach-tui itself, {type(error).__name__}: {error}"
        say(f"{what} — set REACH_TUI_DEBUG=1 and report what it prints then")
        return BAD_INPUT
    return answer if isinstance(answer, int) else 0


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


def main() -> None:
    """Entry point of the `reach-tui` script."""
    sys.exit(run())

"""The `reach-tui` script. `reach-tui [PATH]...`, the way to the screens, does without the command-line library."""

from __future__ import annotations

import gc
import os
import sys

from reach_tui.cli.names import COMMANDS, COMPLETE

TYPE_CHECKING = False  # typing's own costs its import
if TYPE_CHECKING:
    from collections.abc import Sequence


def _only_paths(arguments: Sequence[str]) -> bool:
    """True if the arguments are paths and nothing else."""
    plain = all(one and not one.startswith("-") for one in arguments)
    return plain and COMPLETE not in os.environ and not (arguments and arguments[0] in COMMANDS)


def main() -> None:
    """Entry point of the `reach-tui` script."""
    arguments = sys.argv[1:]
    if not _only_paths(arguments):
        from reach_tui.cli import garbage

        garbage.begin()
        from reach_tui.cli.main import run

        sys.exit(run(arguments))
    from reach_tui.workspace.badges import begin

    badges = begin(arguments)  # before anything is imported that takes time
    gc.disable()  # until the first frame: it looks through what is imported again and again, and finds nothing
    try:
        from reach_tui.cli.faults import exit_code_of

        def screens() -> int:
            from pathlib import Path

            from reach_tui.cli.launch import open_screens

            return open_screens([Path(one) for one in arguments], badges=badges)

        sys.exit(exit_code_of(screens))
    finally:
        gc.enable()
        if badges is not None:
            badges.cancel()

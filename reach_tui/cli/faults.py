"""Every fault becomes one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from reach_tui.base.errors import ReachError
from reach_tui.cli.streams import BAD_INPUT, close_quietly, drop_what_cannot_be_written, prepare_streams, say

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def exit_code_of(work: Callable[[], object]) -> int:
    """Do the work; its exit code. A fault that a person can cause is one line on stderr and exit code 2."""
    prepare_streams()
    try:
        answer = work()
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        close_quietly()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
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

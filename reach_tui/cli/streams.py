"""stdout and stderr: UTF-8 whatever the locale, one line a fault, quiet when the reader has gone."""

from __future__ import annotations

import contextlib
import io
import os
import sys

from reach_tui.base.text import one_line

BAD_INPUT = 2


def prepare_streams() -> None:
    """stdout and stderr speak UTF-8 whatever the locale, and never fail on a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def close_quietly() -> None:
    """The reader of our stdout has gone: let the interpreter's last flush go nowhere."""
    with contextlib.suppress(OSError, ValueError):  # no real file behind stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def drop_what_cannot_be_written() -> None:
    """After a failed write (a full disk): what stdout still holds would fail again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        close_quietly()


def say(line: str) -> None:
    """One line on stderr, cleaned of whatever a path or a trace put into it."""
    with contextlib.suppress(OSError):
        print(f"reach-tui: {one_line(line)}", file=sys.stderr)

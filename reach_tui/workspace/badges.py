"""The counts of the sessions one sees first, judged by a process that starts before the screens are imported.

`python -m reach_tui.workspace.badges PATH MOST` prints one JSON array for each of the newest sessions, as the scan
does. The whole scan starts when all sessions are listed; until then these are what the first screen shows. Started
before anything else is imported: what the parent needs of this module costs next to nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

TYPE_CHECKING = False  # typing's own costs its import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reach_tui.analyze.counts import SessionCounts

MOST = 64
"""Sessions judged where nobody says how many one sees."""


class Badges:
    """A running count of the newest sessions of one store. Iterate for the sums; `cancel` ends it."""

    def __init__(self, path: os.PathLike[str] | str, most: int = MOST) -> None:
        import subprocess  # the process itself does without

        self._process = subprocess.Popen(
            [sys.executable, "-m", "reach_tui.workspace.badges", os.fspath(path), str(most)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what cannot be read is told by the list itself
        )

    def __iter__(self) -> Iterator[SessionCounts]:
        from reach_tui.workspace.scan import decode

        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if (sums := decode(line)) is not None:
                    yield sums
        self._process.wait()

    def cancel(self) -> None:
        """End it, and leave nothing behind."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()


def begin(paths: Sequence[os.PathLike[str] | str]) -> Badges | None:
    """The count of what a person sees first of one file, begun; None where it is no file, or nobody sees it."""
    if len(paths) != 1 or not has_terminal() or not os.path.isfile(paths[0]):
        return None
    try:
        lines = os.get_terminal_size(sys.__stdout__.fileno()).lines if sys.__stdout__ else MOST
    except (OSError, ValueError):  # the screens may be on stderr
        lines = MOST
    return Badges(paths[0], lines)


def has_terminal() -> bool:
    """True if there is a terminal to show screens on."""
    return sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def main(arguments: list[str]) -> int:
    """Print the sums of the newest sessions, each as soon as it is judged."""
    gc.disable()  # it would look through what is imported, a tenth of the time, and find nothing
    from itertools import islice
    from pathlib import Path

    from reach_tui.base.errors import ReachError
    from reach_tui.index.digest import counts_of, judged
    from reach_tui.workspace.rules import detectors
    from reach_tui.workspace.scan import encode
    from reach_tui.workspace.sources import open_source

    gc.freeze()
    gc.enable()
    out = sys.stdout.buffer
    try:
        reader = open_source(Path(arguments[0])).reader
        engine = detectors().engine
        newest = list(islice(reader.sessions(), int(arguments[1])))
        for one in judged(reader, engine, newest):
            out.write(encode(counts_of(one)).encode() + b"\n")
            out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ReachError:
        return 2
    return 0


if __name__ == "__main__":
    _code = main(sys.argv[1:])
    atexit._run_exitfuncs()  # private copies of what was read
    os._exit(_code)  # all is flushed; taking down what was imported would keep the badges back

"""Counting every session of a store in a process of its own, so that no key waits for it.

`python -m reach_tui.workspace.scan PATH [KIND]` prints one JSON array a session: id, the sums of `Counts`, tools,
first pass. KIND says which of the transcripts in a folder. What was judged before comes from the index at once; a
session that changed meanwhile comes twice. With `--words` before PATH nothing is printed: the index learns what search
needs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.errors import ReachError, StoreError
from reach_tui.base.jsonio import BadJson, as_int, as_object, dumps, loads
from reach_tui.model import Counts
from reach_tui.workspace.sources import Source, open_source

_FIELDS = ("turns", "calls", "flagged", "failed", "hidden", "soft", "unfinished", "unreadable")


def scan_source(source: Source) -> Iterator[SessionCounts]:
    """The sums of every session: what the index knows at once, then what is judged anew, newest first."""
    from reach_tui.index.scanner import scan
    from reach_tui.index.workers import Workers
    from reach_tui.workspace.rules import detectors

    with Workers() as digester:
        yield from scan(source.reader, detectors().engine, digester)


def index_source(source: Source) -> None:
    """Put the words of what was judged into the index, for search."""
    from reach_tui.index.words import index_words
    from reach_tui.workspace.rules import detectors

    for _ in index_words(source.reader, detectors().engine):
        pass


def encode(sums: SessionCounts) -> str:
    """One line of the scan's output."""
    counts = [getattr(sums.counts, name) for name in _FIELDS]
    return dumps([sums.session_id, counts, {name: list(pair) for name, pair in sums.tools.items()}, sums.first_pass])


def decode(line: bytes) -> SessionCounts | None:
    """The sums in one line of output; None if it is no such line."""
    try:
        value = loads(line)
    except BadJson:
        return None
    match value:
        case [str(session_id), list(counts), dict(tools), first_pass] if len(counts) == len(_FIELDS):
            sums = Counts(*(as_int(one) or 0 for one in counts))
            pairs = {
                name: _pair(as_int(pair[0]) or 0, as_int(pair[1]) or 0)
                for name, pair in as_object(tools).items()
                if isinstance(pair, list) and len(pair) == 2
            }
            return SessionCounts(session_id, sums, pairs, first_pass if isinstance(first_pass, bool) else None)
    return None


@lru_cache(maxsize=4096)
def _pair(calls: int, hidden: int) -> tuple[int, int]:
    """The same object for the same numbers: ten thousands of sessions hold a few of them over and over."""
    return calls, hidden


class ScanProcess:
    """A running scan of one store. Iterate for the sums (none with `words`); `cancel` ends it at once."""

    def __init__(self, path: Path, kind: str | None = None, *, words: bool = False) -> None:
        import subprocess  # the process itself does without

        named = [os.fspath(path), *([kind] if kind else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reach_tui.workspace.scan", *(["--words"] if words else []), *named],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.error: str | None = None

    def __iter__(self) -> Iterator[SessionCounts]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if (sums := decode(line)) is not None:
                yield sums
        _, err = self._process.communicate()
        if self._process.returncode not in (0, -9, -15):
            lines = err.decode("utf-8", "replace").strip().splitlines()
            self.error = lines[-1] if lines else f"the scan ended with exit code {self._process.returncode}"

    def wait(self) -> None:
        """Until the scan has ended; what it still says is left out."""
        for _ in self:
            pass

    def cancel(self) -> None:
        """End the scan; what was counted so far stands."""
        with contextlib.suppress(OSError):
            self._process.kill()


def main(arguments: list[str]) -> int:
    """Print the sums of the store named; exit 2 with one line where it cannot be read."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    out = sys.stdout.buffer
    words = arguments[0] == "--words"
    named = arguments[1:] if words else arguments
    try:
        source = open_source(Path(named[0]), *named[1:2])
        if words:
            index_source(source)
            return 0
        for sums in scan_source(source):
            out.write(encode(sums).encode() + b"\n")
            out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (StoreError, ReachError) as error:
        print(error.line(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

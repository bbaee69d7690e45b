"""Guards of speed: each measures processor time as a ratio in one run, best of three, and fails past its limit.

    python benchmarks/guards.py [NAME ...]        all of them without a name; exit 1 when one is broken

The limits are the goals of docs/performance.md with a margin of 1.5, since other machines and busy ones differ. The
store is made on the spot. A guard is a function of a `Bench` that returns the figure; `GUARDS` names it and its limit.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from guards_keys import paging, step
from make_store import make_store

MARGIN = 1.5


@dataclass
class Bench:
    """Where guards measure: a folder for what they need, and a store of 400 sessions, 20,000 calls (100 MB)."""

    folder: Path

    @cached_property
    def store(self) -> Path:
        """The store, made on first use."""
        path = self.folder / "opencode.db"
        make_store(path, sessions=400, calls=20_000)
        return path

    def raw(self) -> float:
        """Processor seconds of `SELECT data FROM part` on the store: the unit of the ratios."""
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as connection:
            begun = time.process_time()
            for _ in connection.execute("SELECT data FROM part"):
                pass
            return time.process_time() - begun


@dataclass(frozen=True)
class Guard:
    """A measure that must stay below `goal` times the margin."""

    measure: Callable[[Bench], float]
    goal: float
    what: str

    @property
    def limit(self) -> float:
        """The figure past which it is broken."""
        return self.goal * MARGIN


def best(measure: Callable[[], float], rounds: int = 3) -> float:
    """The least of some rounds: what else the machine does only adds."""
    return min(measure() for _ in range(rounds))


def verdicts(bench: Bench) -> float:
    """G8: processor time of reading and judging every call, as a multiple of `raw` taken beside it."""
    from reach_tui.detect import default_engine
    from reach_tui.index.digest import judged
    from reach_tui.stores.catalog import open_store

    reader, engine = open_store(bench.store).reader, default_engine()

    def ratio() -> float:
        raw = best(bench.raw)
        begun = time.process_time()
        assert sum(len(one.pairs) for one in judged(reader, engine, list(reader.sessions()))) == 20_000
        return (time.process_time() - begun) / raw

    return best(ratio)


def report(bench: Bench) -> float:
    """The whole report without an index: read, judge, analyse, keep, add up; rules warm, as in `verdicts`."""
    from reach_tui.workspace import Workspace
    from reach_tui.workspace.reporting import Collector

    workspace = Workspace([bench.store])
    (source,) = workspace.found.sources
    workspace.warm_up()

    def ratio() -> float:
        raw = best(bench.raw)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["REACH_TUI_CACHE"] = cache
            begun = time.process_time()
            collector = Collector(workspace)
            judged = sum(1 for _ in collector.tallies(source))
            assert collector.report().scope.sessions == judged == 400
            return (time.process_time() - begun) / raw

    return best(ratio)


def replay(bench: Bench) -> float:
    """Replaying under another threshold, as a share of reading the sessions and inferring their routes; 1,500 calls."""
    from itertools import islice

    from reach_tui.replay.differences import Course
    from reach_tui.workspace import Workspace
    from reach_tui.workspace.replaying import Replay, ReplaySettings

    workspace = Workspace([bench.store])
    workspace.warm_up()
    replayer = Replay(workspace, workspace.found.sources[0], ReplaySettings())
    next(replayer.sessions())
    begun = time.process_time()
    recordings = [replayer.read(session) for session in islice(replayer.sessions(), 30)]
    reading = time.process_time() - begun
    replayer.use(ReplaySettings(t1=0.6))

    def again() -> float:
        begun = time.process_time()
        for recording in recordings:
            assert Course(replayer.run(recording)).replayed.decisions > 0
        return time.process_time() - begun

    return best(again, 7) / reading


GUARDS: dict[str, Guard] = {
    "verdicts": Guard(verdicts, 7.0, "all verdicts, times the bare reading of the rows"),
    "report": Guard(report, 10.0, "the whole report without an index, times the bare reading of the rows"),
    "step": Guard(step, 4.0, "a step with the inspector, times a key on a one-widget program"),
    "replay": Guard(replay, 0.03, "a replay under another threshold, as a share of reading the sessions for it"),
    "paging": Guard(paging, 2.5, "a page in the list of all calls, times a key on a one-widget program"),
}
"""By name. The figures on a quiet machine are in docs/performance.md."""


def main(arguments: Sequence[str]) -> int:
    """Measure; 1 if a guard is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(GUARDS))
    chosen = parser.parse_args(arguments).names or list(GUARDS)
    if unknown := [name for name in chosen if name not in GUARDS]:
        parser.error(f"no guard {unknown[0]!r}; there are {', '.join(GUARDS)}")
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for name in chosen:
            guard = GUARDS[name]
            figure = guard.measure(bench)
            fails = figure > guard.limit
            broken += fails
            word = "BROKEN" if fails else "holds"
            print(f"{name}: {figure:.2f}, limit {guard.limit:.2f}: {word} ({guard.what})", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

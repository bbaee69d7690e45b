"""Kills the scan at random moments; it must resume, and the figures must equal those of an undisturbed run.

    python benchmarks/scan_kill.py STORE [--kills 50] [--seed 0]

The cache folder is one of its own. Every scan is a process (`python -m reach_tui.workspace.scan`) that is killed with
SIGKILL at a random moment of its first two thirds; every fourth kill hits the indexing of words instead.
When a scan gets to its end before it is killed, a tenth of the index's sessions are made stale or the index is deleted,
so that the next one has work. Printed: sessions judged and indexed at each kill, and whether figures, calls and words
are the same at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from reach_tui.index.store import Index
from reach_tui.index.words import candidates
from reach_tui.workspace.rules import detectors
from reach_tui.workspace.sources import open_source


def command(store: Path, words: bool = False) -> list[str]:
    """The scan of a store, or the indexing of its words."""
    return [sys.executable, "-m", "reach_tui.workspace.scan", *(["--words"] if words else []), str(store)]


def figures(store: Path) -> list[bytes]:
    """What a scan prints at its end, sorted; a session that came twice counts as it came last."""
    lines = subprocess.run(command(store), stdout=subprocess.PIPE, check=True).stdout.splitlines()
    return sorted({line.split(b",", 1)[0]: line for line in lines}.values())


def index_of(cache: Path) -> Path:
    """The one index in a cache folder."""
    (path,) = (cache / "index").glob("*.db")
    return path


def state(cache: Path) -> tuple[int, int]:
    """Sessions judged, and sessions whose words are indexed."""
    with closing(sqlite3.connect(index_of(cache))) as connection:
        row = connection.execute(
            "SELECT count(*) FILTER (WHERE fresh_as_of >= stale_since), (SELECT count(*) FROM worded) FROM session"
        ).fetchone()
    return int(row[0]), int(row[1])


def digest(store: Path, cache: Path) -> tuple[str, int, int, str]:
    """A hash of all calls and figures, the number of calls, of those with a common word, and SQLite's own check."""
    with Index.opened(open_source(store).reader, detectors().engine.version) as index:
        rows = sorted((row.session_id, row.key, repr(row.kind)) for row in index.calls())
        hits = len({(name, key) for found, *_ in candidates(index, ["error"]) for name in found for key in found[name]})
    with closing(sqlite3.connect(index_of(cache))) as connection:
        figures = connection.execute("SELECT id, mark FROM session ORDER BY id").fetchall()
        check = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return hashlib.sha256(repr((rows, figures)).encode()).hexdigest()[:16], len(rows), hits, check


def spoil(cache: Path, chance: random.Random) -> None:
    """Make a tenth of the sessions stale, as if the store had changed, or delete everything."""
    if chance.random() < 0.5:
        shutil.rmtree(cache / "index")
        return
    with closing(sqlite3.connect(index_of(cache), timeout=20)) as connection, connection:
        numbers = [row[0] for row in connection.execute("SELECT no FROM session")]
        some = [(number,) for number in chance.sample(numbers, max(1, len(numbers) // 10))]
        connection.executemany("UPDATE session SET fresh_as_of = -1 WHERE no = ?", some)
        connection.execute("DELETE FROM meta WHERE key IN ('complete', 'checked')")


def whole(store: Path) -> tuple[list[bytes], tuple[str, int, int, str], float]:
    """An undisturbed run in a cache of its own: figures, digest, seconds of the scan."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REACH_TUI_CACHE"] = folder
        begun = time.monotonic()
        lines = figures(store)
        seconds = time.monotonic() - begun
        subprocess.run(command(store, words=True), check=True)
        return lines, digest(store, Path(folder)), seconds


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    expected, expected_rows, seconds = whole(chosen.store)
    print(f"undisturbed: {len(expected)} sessions, {expected_rows[1]} calls, {seconds:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REACH_TUI_CACHE"] = folder
        cache = Path(folder)
        ended = 0
        for number in range(chosen.kills):
            process = subprocess.Popen(command(chosen.store, words=number % 4 == 3), stdout=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.1, 0.7 * seconds))
            ended += process.poll() is not None
            process.kill()
            process.wait()
            if (cache / "index").is_dir() and list((cache / "index").glob("*.db")):
                print(*state(cache), end="  ", flush=True)
                if process.returncode == 0 and number % 4 != 3:
                    spoil(cache, chance)
        print()
        same = figures(chosen.store) == expected
        subprocess.run(command(chosen.store, words=True), check=True)
        found = digest(chosen.store, cache)
    print(f"{chosen.kills} kills ({ended} came after the end): figures {'equal' if same else 'DIFFER'},", end=" ")
    print(f"calls {'equal' if found == expected_rows else f'DIFFER {found} {expected_rows}'}, {found[3]}")
    return 0 if same and found == expected_rows else 1


if __name__ == "__main__":
    sys.exit(main())

"""A writer that writes as fast as it goes, alone and beside a first scan: busy errors, and how large its `-wal` grows.

    python benchmarks/live_writer.py STORE [--parts 8000] [--bytes 25000] [--rounds 3]

STORE (opencode's layout) is copied, in WAL mode, next to itself: as much room must be free. The writer is a process
that commits every part alone, with SQLite's own checkpoints; the scan is `python -m reach_tui.workspace.scan` with a
cache of its own, killed when the writer is done. Printed: errors of the writer and its largest `-wal`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

_ROW = "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)"


def write(store: Path, parts: int, size: int, tag: str) -> None:
    """Commit the parts one by one; print the number of busy errors and the largest `-wal` in bytes."""
    errors = largest = 0
    text = '{"type":"text","text":"' + "x" * size + '"}'
    wal = Path(f"{store}-wal")
    with closing(sqlite3.connect(store, timeout=0, isolation_level=None)) as connection:
        session, message = connection.execute(
            "SELECT session_id, id FROM message ORDER BY rowid DESC LIMIT 1"
        ).fetchone()
        for number in range(parts):
            now = int(time.time() * 1000)
            try:
                connection.execute(_ROW, (f"prt_{tag}{number:08}", message, session, now, now, text))
            except sqlite3.OperationalError:
                errors += 1
            largest = max(largest, wal.stat().st_size)
    print(errors, largest)


def written(store: Path, parts: int, size: int, tag: str) -> tuple[int, int, float]:
    """Busy errors, largest `-wal`, seconds of a writer that runs beside whatever runs."""
    begun = time.monotonic()
    command = [sys.executable, __file__, str(store), "--write", tag, "--parts", str(parts), "--bytes", str(size)]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    return int(out[0]), int(out[1]), time.monotonic() - begun


def beside(store: Path, parts: int, size: int, tag: str) -> tuple[int, int, float, int]:
    """The same beside a scan from nothing, and how many sessions that got to."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as told:
        scan = subprocess.Popen(
            [sys.executable, "-m", "reach_tui.workspace.scan", str(store)],
            stdout=told,
            env={**os.environ, "REACH_TUI_CACHE": cache},
        )
        time.sleep(1.5)  # until it reads
        try:
            errors, largest, seconds = written(store, parts, size, tag)
            assert not scan.poll(), "the scan failed"
        finally:
            scan.kill()
            scan.wait()
        told.seek(0)
        return errors, largest, seconds, sum(1 for _ in told)


def main() -> None:
    """Measure, and print a line a round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--parts", type=int, default=8000)
    parser.add_argument("--bytes", type=int, default=25_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.store, options.parts, options.bytes, options.write)
        return
    with tempfile.TemporaryDirectory(dir=options.store.parent) as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(options.store, copy)
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        errors, largest, seconds = written(copy, options.parts, options.bytes, "alone")
        print(f"alone   {errors} errors, -wal {largest / 1e6:.1f} MB, {seconds:.1f} s")
        for number in range(options.rounds):
            errors, largest, seconds, sessions = beside(copy, options.parts, options.bytes, f"r{number}_")
            print(f"beside  {errors} errors, -wal {largest / 1e6:.1f} MB, {seconds:.1f} s, {sessions} sessions counted")


if __name__ == "__main__":
    main()

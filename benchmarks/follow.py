"""`calls --follow` beside a live writer: how late a call appears, and what it costs.

    python benchmarks/follow.py [--rows 50] [--seconds 60] [--before 2000]

A process of its own writes an opencode database in WAL mode, so many parts a second into one session; a third of them
start as running and are completed 0.3 s later. The text of each row is the time it was written. Printed: rows written
and seen, lag p50 and p95 in milliseconds, and the follower's share of a processor core.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import quantiles
from typing import IO

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
  data TEXT);
CREATE INDEX part_session ON part (session_id);
CREATE INDEX part_message ON part (message_id, id);
"""
PADDING = "x" * 1500


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def body(number: int, status: str) -> str:
    """A tool part whose output begins with the time it was written."""
    state = {"status": status, "input": {"filePath": f"f{number}.py"}}
    if status == "completed":
        state["output"] = f"{now_ms()} {PADDING}"
    return json.dumps({"type": "tool", "callID": f"call_{number}", "tool": "read", "state": state})


def write(path: Path, rows: int, seconds: float, before: int) -> None:
    """The writer process: `before` rows at once, then, after a line on stdin, `rows` a second."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(SCHEMA)
    start = now_ms()
    connection.execute("INSERT INTO session VALUES ('ses_live', NULL, 'live', ?, ?)", (start, start))
    connection.execute(
        "INSERT INTO message VALUES ('msg_1', 'ses_live', ?, ?, '{\"role\":\"assistant\"}')", (start, start)
    )

    def insert(number: int, status: str) -> None:
        at = now_ms()
        values = (f"prt_{number:08}", "msg_1", "ses_live", at, at, body(number, status))
        connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)

    connection.execute("BEGIN")
    for number in range(before):
        insert(number, "completed")
    connection.execute("COMMIT")
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    running: list[tuple[float, int]] = []
    for number in range(before, before + int(rows * seconds)):
        late = number % 3 == 0
        insert(number, "running" if late else "completed")
        if late:
            running.append((time.monotonic() + 0.3, number))
        while running and running[0][0] <= time.monotonic():
            _, done = running.pop(0)
            connection.execute(
                "UPDATE part SET data = ?, time_updated = ? WHERE id = ?",
                (body(done, "completed"), now_ms(), f"prt_{done:08}"),
            )
        time.sleep(max(0.0, begun + (number - before + 1) / rows - time.monotonic()))
    for _, done in running:
        values = (body(done, "completed"), now_ms(), f"prt_{done:08}")
        connection.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = ?", values)
    print("done", flush=True)
    sys.stdin.readline()


def lags(out: IO[str], found: dict[str, int]) -> None:
    """Note for each completed call how many milliseconds after it was written it came."""
    for line in out:
        record = json.loads(line)
        if record["result"]:
            found.setdefault(record["call_id"], now_ms() - int(record["result"].split(" ", 1)[0]))


def processor_seconds(process: int) -> float:
    """User and system time of a process (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run writer and follower, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50, help="rows a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--before", type=int, default=2_000, help="rows that are in the session at the start")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        write(chosen.write, chosen.rows, chosen.seconds, chosen.before)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        own = [sys.executable, __file__, "--write", str(path)]
        sizes = ["--rows", str(chosen.rows), "--seconds", str(chosen.seconds), "--before", str(chosen.before)]
        writer = subprocess.Popen([*own, *sizes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdout.readline()
        command = [sys.executable, "-m", "reach_tui", "calls", str(path), "--follow", "--jsonl"]
        follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert follower.stdout is not None
        found: dict[str, int] = {}
        reader = threading.Thread(target=lags, args=(follower.stdout, found), daemon=True)
        reader.start()
        time.sleep(3)  # start-up and the look at what was there are no part of following
        used, begun = processor_seconds(follower.pid), time.monotonic()
        writer.stdin.write("\n")
        writer.stdin.flush()
        writer.stdout.readline()
        used, spent = processor_seconds(follower.pid) - used, time.monotonic() - begun
        time.sleep(3)
        follower.send_signal(signal.SIGINT)
        follower.wait(10)
        reader.join(10)
        writer.communicate("\n", timeout=10)
    points = quantiles(sorted(found.values()), n=100)
    written = int(chosen.rows * chosen.seconds)
    print(f"written {written}, seen {len(found)}; lag p50 {points[49]:.0f} ms, p95 {points[94]:.0f} ms, "
          f"worst {max(found.values())} ms; {used / spent:.1%} of a core")  # fmt: skip
    sys.exit(0 if len(found) == written and points[94] < 2000 and used / spent < 0.3 else 1)


if __name__ == "__main__":
    main()

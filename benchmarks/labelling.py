"""Labelling through a terminal: one key to the next call painted, and a queue that opens beside ten thousand labels.

    python benchmarks/labelling.py STORE TITLE [--count 100] [--labels 10000]

TITLE is the title of a session that is visible in the list. Labels and index go to a folder of their own, which is
deleted. Prints one JSON object: milliseconds to the first and to the last byte after a label key, pressed at a person's
rate; rows on disk after; then the queue opened by a program that finds `--labels` further labels of the person.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from terminal import Terminal


def start(store: str, title: str) -> Terminal:
    """The program with its list filled and nothing left to count."""
    program = Terminal([sys.executable, "-m", "reach_tui", store])
    program.until(title)
    time.sleep(4.0)  # every session is listed, every rule compiled
    program.press("p", quiet=0.5)  # nothing is counted or indexed from here on
    return program


def opened(program: Terminal) -> dict[str, float]:
    """Milliseconds until the queue's first call is painted, and processor time of that."""
    begun, before = time.perf_counter(), program.cpu_ms()
    os.write(program._fd, b"L")
    seen = b""
    while b"item " not in seen:
        if time.perf_counter() - begun > 60:
            raise TimeoutError("no queue in a minute")
        seen += program._read(0.01)
    return {"ms": round((time.perf_counter() - begun) * 1e3), "cpu_ms": round(program.cpu_ms() - before)}


def labelled(program: Terminal, count: int) -> dict[str, float]:
    """Label so many calls, a key every quarter to half second."""
    before = program.cpu_ms()
    first, done = [], []
    for number in range(count):
        if answer := program.press(str(number % 10), quiet=0.05):
            first.append(answer.first_ms)
            done.append(answer.done_ms)
        time.sleep(random.uniform(0.15, 0.3))
    return {
        "answered": len(first),
        "first_byte_p50_ms": round(statistics.median(first), 1),
        "first_byte_p95_ms": round(sorted(first)[int(len(first) * 0.95)], 1),
        "with_saved_p50_ms": round(statistics.median(done), 1),
        "cpu_ms_a_label": round((program.cpu_ms() - before) / count, 1),
    }


def fill(data: Path, store: str, count: int) -> None:
    """Labels of the person on calls of the store, as the program writes them."""
    from reach_tui.labels.store import LabelStore
    from reach_tui.workspace import Workspace, load_settings

    workspace = Workspace([Path(store)], load_settings())
    source = workspace.found.sources[0]
    with LabelStore.open(data / "labels.db") as log:
        labels = []
        queued = {str(row[0]) for row in log.rows("SELECT call_key FROM queue_item", ())}
        for judged in (one for one in workspace.judged_calls(source) if one.call.key not in queued):
            shown = json.dumps({"blind": True, "queue": "0" * 12, "position": len(labels), "spent_ms": 4000})
            labels.append(replace(workspace.make_label(source, judged, "context_gap"), shown=shown))
            if len(labels) == count:
                break
        log.save_many(labels)


def main() -> None:
    """A queue drawn and worked through, and opened again among many labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("title")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--labels", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REACH_TUI_DATA"] = folder
        os.environ.setdefault("REACH_TUI_CACHE", f"{folder}/cache")
        begun = time.perf_counter()
        draw = [sys.executable, "-m", "reach_tui", "labels", "queue", args.store, "--size", str(args.count + 20)]
        subprocess.run(draw, check=True)
        result: dict[str, object] = {"drawn_ms": round((time.perf_counter() - begun) * 1e3)}
        program = start(args.store, args.title)
        result["opened"] = opened(program)
        program.settle(0.5)
        result["labels"] = labelled(program, args.count)
        program.settle(0.5)
        program.close()
        with sqlite3.connect(f"{folder}/labels.db") as connection:
            result["rows"] = connection.execute("SELECT count(*), count(DISTINCT call_key) FROM label").fetchone()
        fill(Path(folder), args.store, args.labels)
        program = start(args.store, args.title)
        result["opened_beside_many_labels"] = opened(program)
        program.close()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""Labels acknowledged one by one, the process killed at random moments: is every acknowledged label on disk?

    python benchmarks/label_kill.py [--kills 20] [--labels 1000] [--seed 7]

Prints one JSON object: labels acknowledged, lost, doubled, written without acknowledgement, integrity, and the time a
label took beside what the disk needs for an append with fsync. Exit 1 if one is lost or doubled.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reach_tui.base.sqlite import reading
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label

CHILD = """
import sys, time
from pathlib import Path
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label

store = LabelStore.open(Path(sys.argv[1]))
number = 0
while True:
    label = Label("peri", f"s{number % 40}", f"{sys.argv[2]}-{number}", "sha256:0", "timeout_or_limit", None,
                  "note " * 10, "dev", time.time_ns() // 1_000_000, "reach-failure", 1, True, "rule", "0.1.0")
    print(store.save(label).uid, flush=True)
    number += 1
"""


def killed_run(path: Path, number: int, labels: int, moment: float) -> list[str]:
    """The uids a process acknowledged before it was killed: after `labels` of them and `moment` seconds more."""
    command = [sys.executable, "-c", CHILD, str(path), str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(labels)]
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.readlines()
    return [line.strip() for line in acknowledged if line.endswith("\n")]


def milliseconds(times: list[float], share: float) -> float:
    """A quantile of durations in seconds, as milliseconds."""
    return round(sorted(times)[int(share * (len(times) - 1))] * 1000, 3)


def speed(folder: Path) -> dict[str, float]:
    """Median and 95th percentile of 500 labels, and of 500 appends of 200 bytes with fsync, in ms."""
    label = Label("peri", "s", "c", "h", "timeout_or_limit", None, "", "dev", 1, "reach-failure", 1, True, "r", "0.1.0")
    saves, appends = [], []
    with LabelStore.open(folder / "speed.db") as store:
        store.prepare()
        for _ in range(500):
            begin = time.perf_counter()
            store.save(label)
            saves.append(time.perf_counter() - begin)
    with open(folder / "append", "ab", buffering=0) as file:
        for _ in range(500):
            begin = time.perf_counter()
            file.write(b"x" * 200)
            os.fsync(file.fileno())
            appends.append(time.perf_counter() - begin)
    return {
        "save_p50_ms": milliseconds(saves, 0.5),
        "save_p95_ms": milliseconds(saves, 0.95),
        "append_fsync_p50_ms": milliseconds(appends, 0.5),
        "append_fsync_p95_ms": milliseconds(appends, 0.95),
    }


def main() -> int:
    """Run the kills, then count what is on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--labels", type=int, default=1000, help="acknowledged labels at least, over all kills")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.db"
        acknowledged: list[str] = []
        for number in range(options.kills):
            at_least = max(1, options.labels // options.kills)
            acknowledged += killed_run(path, number, at_least, chance.uniform(0, 0.05))
        with reading(path) as connection:
            stored = [str(row[0]) for row in connection.execute("SELECT uid FROM label")]
            integrity = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
        with LabelStore.open(path) as store:
            in_force = len(store.all_in_force())
        figures = {
            "kills": options.kills,
            "acknowledged": len(acknowledged),
            "lost": len(set(acknowledged) - set(stored)),
            "doubled": len(stored) - len(set(stored)),
            "written_without_acknowledgement": len(set(stored) - set(acknowledged)),
            "in_force": in_force,
            "integrity_check": integrity,
            **speed(Path(folder)),
        }
    print(json.dumps(figures, indent=2))
    return 1 if figures["lost"] or figures["doubled"] or integrity != "ok" else 0


if __name__ == "__main__":
    sys.exit(main())

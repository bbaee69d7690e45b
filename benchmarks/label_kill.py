"""Labels acknowledged one by one, the process killed at random moments: is every acknowledged label on disk?

    python benchmarks/label_kill.py [--kills 20] [--labels 1000] [--seed 7] [--two]

`--two`: two people label the same calls (`--labels` of them) in two processes, in runs of four kills of one; the
killed one starts again where the file says it was.

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
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

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


WORKER = """
import sys, time
from pathlib import Path
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label

path, by, category, calls = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
store = LabelStore.open(path)
done = {key for _, _, key in store.targets(by)}
for number in range(calls):
    if f"c{number}" not in done:
        label = Label("peri", f"s{number % 40}", f"c{number}", "sha256:0", category, None, "note", by,
                      time.time_ns() // 1_000_000, "reach-failure", 1, True, "rule", "0.1.0")
        print(f"c{number} {store.save(label).uid}", flush=True)
"""


@dataclass(slots=True)
class TwoPeople:
    """What two processes on one file left behind."""

    acknowledged: int = 0
    kills: int = 0
    lost: int = 0
    """Acknowledged and not on disk."""
    doubled: int = 0
    """Calls that one person has more than one row for."""
    unacknowledged: int = 0
    """On disk and not acknowledged: the label that was being given when the process was killed."""
    integrity: str = ""


def two_people(path: Path, calls: int, kills: int, chance: random.Random) -> TwoPeople:
    """Ann and Bo label the same calls at once; Bo's process is killed at random and goes on where the file says."""
    found = TwoPeople()
    uids: list[str] = []
    with open(path.with_suffix(".ann"), "w+", encoding="utf-8") as written:  # no pipe: nobody reads it until the end
        ann = _worker(path, "ann", "timeout_or_limit", calls, written)
        try:
            while found.kills < kills:
                with _worker(path, "bo", "context_gap", calls, subprocess.PIPE) as bo:
                    uids += _until_killed(bo, chance)
                    found.kills += 1
            with _worker(path, "bo", "context_gap", calls, subprocess.PIPE) as bo:
                uids += [line.split()[1] for line in bo.communicate(timeout=120)[0].splitlines()]
        finally:
            ann.wait(timeout=120)
        written.seek(0)
        uids += [line.split()[1] for line in written]
    with reading(path) as connection:
        rows = [tuple(map(str, row)) for row in connection.execute('SELECT uid, "by", call_key FROM label')]
        found.integrity = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    stored = {row[0] for row in rows}
    found.acknowledged = len(uids)
    found.lost = len(set(uids) - stored)
    found.unacknowledged = len(stored - set(uids))
    found.doubled = len(rows) - len({row[1:] for row in rows})
    return found


def _worker(path: Path, by: str, category: str, calls: int, out: IO[str] | int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-c", WORKER, str(path), by, category, str(calls)]
    return subprocess.Popen(command, stdout=out, text=True, env=environment)


def _until_killed(process: subprocess.Popen[str], chance: random.Random) -> list[str]:
    """The uids acknowledged until the process is killed, some labels after its first."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(chance.randint(1, 60))]
    time.sleep(chance.uniform(0, 0.02))
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    return [line.split()[1] for line in lines if line.endswith("\n")]


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


def _two_people_runs(runs: int, calls: int, chance: random.Random) -> int:
    """That many runs of four kills; the sums as JSON."""
    sums: Counter[str] = Counter()
    begin = time.perf_counter()
    for number in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            one = two_people(Path(folder) / "labels.db", calls, 4, chance)
        sums += Counter(asdict(one) | {"integrity": int(one.integrity != "ok")})
        print(f"run {number + 1}: {one}", file=sys.stderr)
    names = ("acknowledged", "kills", "lost", "doubled", "unacknowledged")
    seconds = round(time.perf_counter() - begin, 1)
    print(
        json.dumps({"runs": runs, **{name: sums[name] for name in names}, "damaged": sums["integrity"], "s": seconds})
    )
    return 1 if sums["lost"] or sums["doubled"] or sums["integrity"] else 0


def main() -> int:
    """Run the kills, then count what is on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--labels", type=int, default=1000, help="acknowledged labels at least, over all kills")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--two", action="store_true", help="two people on one file instead")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    if options.two:
        return _two_people_runs(options.kills, options.labels, chance)
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

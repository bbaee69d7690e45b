"""One key in the session list and in a session: time to paint, processor time, bytes, memory (goals G4, G5, G6, G11).

    python benchmarks/keys.py STORE TITLE [--count 60]

Prints one JSON object. `done - first` close to nothing means one frame a key.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time

from terminal import KEYS, Answer, Terminal


def summary(answers: list[Answer], cpu_ms: float) -> dict[str, float]:
    """Time until all is painted (median, 95th percentile), from first to last byte, and the cost of one key."""
    done = sorted(one.done_ms for one in answers)
    return {
        "answered": len(answers),
        "done_p50_ms": round(statistics.median(done), 1),
        "done_p95_ms": round(done[int(len(done) * 0.95)], 1),
        "first_to_done_p50_ms": round(statistics.median(one.done_ms - one.first_ms for one in answers), 1),
        "cpu_ms": round(cpu_ms / len(answers), 1),
        "bytes": round(statistics.median(one.size for one in answers)),
    }


def press_often(program: Terminal, keys: tuple[str, ...], count: int) -> dict[str, float]:
    """Press keys in turn, with a person's irregularity; pairs such as end and home always change the screen."""
    before = program.cpu_ms()
    answers = []
    for number in range(count):
        if answer := program.press(keys[number % len(keys)], seconds=0.3):
            answers.append(answer)
        time.sleep(random.uniform(0.01, 0.05))
    return summary(answers, program.cpu_ms() - before) if answers else {"answered": 0}


def burst(program: Terminal, key: str, count: int) -> dict[str, float]:
    """So many keys at once: time until the screen is quiet."""
    program.settle(0.1)
    begun = time.perf_counter()
    os.write(program._fd, KEYS.get(key, key.encode()) * count)
    last = begun
    while program._read(0.15):
        last = time.perf_counter()
    return {"keys": count, "settled_ms": round((last - begun) * 1e3)}


def main() -> None:
    """The list, then the first session."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("title")
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    program = Terminal([sys.executable, "-m", "reach_tui", args.store])
    program.until(args.title)
    moves = {"down": ("down",), "pagedown, pageup": ("pagedown", "pageup"), "end, home": ("end", "home")}
    result: dict[str, object] = {"list while scanning": press_often(program, ("down",), 20)}
    program.settle(2)
    program.press("home")
    result["list"] = {name: press_often(program, keys, args.count) for name, keys in moves.items()}
    program.press("home")
    result["list burst"] = burst(program, "down", 200)
    program.press("home")
    program.press("enter", quiet=1.0)
    result["session"] = {name: press_often(program, keys, args.count) for name, keys in moves.items()}
    program.press("home")
    result["session burst"] = burst(program, "down", 200)
    result["memory_MB"] = program.memory_mb()
    program.close()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

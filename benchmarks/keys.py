"""One key in the session list, in a session and in the list of all calls: time to paint, processor time, bytes, memory.

    python benchmarks/keys.py STORE TITLE [--count 60] [--counted CALLS]

TITLE is the title of a session that is visible in the list. Prints one JSON object (goals G3 to G6, G11, G13).
`first_to_done` close to nothing means one frame a key. With `--counted` (the number of calls as the head shows it,
`1,000,000`) the list of all calls is measured too, once everything has been counted.
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
    while program._read(0.15 if last > begun else 1.0):
        last = time.perf_counter()
    return {"keys": count, "settled_ms": round((last - begun) * 1e3)}


MOVES = {"down": ("down",), "pagedown, pageup": ("pagedown", "pageup"), "end, home": ("end", "home")}


def each_move(program: Terminal, count: int) -> dict[str, object]:
    """Every kind of move, and a burst."""
    program.press("home")
    result: dict[str, object] = {name: press_often(program, keys, count) for name, keys in MOVES.items()}
    program.press("home")
    return {**result, "burst": burst(program, "down", 200)}


def all_calls(program: Terminal, count: int) -> dict[str, object]:
    """The list of all calls: milliseconds until its first row is painted, then its keys."""
    program.settle(0.3)
    begun = time.perf_counter()
    os.write(program._fd, b"c")
    seen = b""
    while time.perf_counter() - begun < 5 and not seen.count("\N{BLACK DIAMOND}".encode()) + seen.count(b" bash ") > 1:
        seen += program._read(0.01)
    painted = round((time.perf_counter() - begun) * 1e3)
    program.settle(0.3)
    return {"painted_ms": painted, **each_move(program, count)}


def main() -> None:
    """The list while it is counted and after, the first session, all calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("title")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--counted", metavar="CALLS")
    args = parser.parse_args()
    program = Terminal([sys.executable, "-m", "reach_tui", args.store])
    program.until(args.title)
    time.sleep(1.5)  # every session is listed, and counting has begun
    result: dict[str, object] = {"list while counting": press_often(program, ("down",), args.count)}
    if args.counted:
        program.until(f"{args.counted} calls ", seconds=1200, before=True)
        result["all calls"] = all_calls(program, args.count)
        program.press("q", quiet=0.5)
    program.press("p", quiet=0.5)  # nothing is counted or indexed from here on
    result["list"] = each_move(program, args.count)
    result["sort"] = press_often(program, ("s",), 8)
    program.press("home")
    program.press("enter", quiet=1.0)
    result["session"] = each_move(program, args.count)
    result["memory_MB"] = program.memory_mb()
    program.close()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

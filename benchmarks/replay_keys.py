"""The replay: a setting turned with the keyboard, time until the flips of a long session are painted. Linux.

    python benchmarks/replay_keys.py [--calls 1450] [--count 40]

Makes a store with one session (1,450 calls are some 2,000 steps), opens its replay in a pseudo terminal and turns t1 up
and down. Prints one JSON object: milliseconds from the key to the last byte (everything painted), and processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keys import press_often
from terminal import Terminal


def burst(program: Terminal, keys: bytes) -> int:
    """Milliseconds until everything is painted after many keys at once."""
    program.settle(0.2)
    begun = last = time.perf_counter()
    os.write(program._fd, keys)
    while program._read(0.25 if last > begun else 2.0):
        last = time.perf_counter()
    return round((last - begun) * 1e3)


def main() -> None:
    """Open, turn, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1450)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as home:
        store, here = Path(home) / "long.db", Path(__file__).parent
        made = [sys.executable, str(here / "make_store.py"), "--sessions", "1", "--calls", str(args.calls), str(store)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        os.environ |= {"REACH_TUI_DATA": f"{home}/data", "REACH_TUI_CACHE": f"{home}/cache"}
        program = Terminal([sys.executable, "-m", "reach_tui", str(store)])
        program.until("hide errors")
        time.sleep(2)  # counting and indexing are over
        program.settle(0.5)
        os.write(program._fd, b"P")
        program.until("decisions flip")
        program.settle(0.5)
        result: dict[str, object] = {}
        for name, keys in (("t1", ("-", "-", "+", "+")), ("step on and back", ("down", "up"))):
            result[name] = press_often(program, keys, args.count)
        program.settle(0.2)
        os.write(program._fd, b"\t\t\t")
        program.settle(0.3)
        result["guard after"] = press_often(program, ("+", "-"), args.count)
        result["forty keys at once, settled_ms"] = burst(program, b"+-" * 20)
        program.close()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

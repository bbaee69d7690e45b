"""Process start to painted session list, beside the floor: a one-widget Textual program (goal G1: at most 1.8 times).

    python benchmarks/first_frame.py STORE TITLE [--starts 7]

TITLE is the title of a session that is visible in the list. Prints one JSON object, milliseconds; on a busy machine
compare processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from terminal import Terminal

FLOOR = """
from textual.app import App
from textual.widgets import Static
class Floor(App):
    ENABLE_COMMAND_PALETTE = False
    def compose(self):
        yield Static("floor ready")
Floor().run()
"""


def measure(command: Sequence[str], words: str, starts: int) -> dict[str, float]:
    """Wall and processor time until the words are painted: median and minimum."""
    wall, cpu = [], []
    for _ in range(starts):
        program = Terminal(command)
        wall.append(program.until(words))
        cpu.append(program.cpu_ms())
        program.close()
    return {
        "wall_median": round(statistics.median(wall)),
        "wall_min": round(min(wall)),
        "cpu_median": round(statistics.median(cpu)),
        "cpu_min": round(min(cpu)),
    }


def main() -> None:
    """Measure both, alternating would only blur the caches: floor first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("title")
    parser.add_argument("--starts", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "floor.py"
        path.write_text(FLOOR, encoding="utf-8")
        floor = measure([sys.executable, str(path)], "floor ready", args.starts)
    command = [sys.executable, "-m", "reach_tui", args.store]
    measure(command, args.title, 1)  # compiles the modules, where nobody has
    ours = measure(command, args.title, args.starts)
    ratios = {name: round(ours[name] / floor[name], 2) for name in floor}
    print(json.dumps({"floor": floor, "reach_tui": ours, "times_floor": ratios}, indent=1))


if __name__ == "__main__":
    main()

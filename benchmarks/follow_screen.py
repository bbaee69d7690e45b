"""The screens following beside a live writer: how late the number of calls moves, and what it costs.

    python benchmarks/follow_screen.py [--rows 50] [--seconds 30] [--before 500]

The writer is that of `follow.py`. The session is opened and followed (F); its title line says how many calls are shown,
and the difference to what has been written by then is the lag. Printed: the worst and the last lag in rows and seconds,
where the cursor was before and after, and the program's share of a processor core.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from terminal import Terminal

_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_]|\][^\x07]*\x07)")


def main() -> None:
    """Run writer and screens, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--before", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        script = Path(__file__).with_name("follow.py")
        sizes = ["--rows", str(args.rows), "--seconds", str(args.seconds), "--before", str(args.before)]
        writer = subprocess.Popen(
            [sys.executable, str(script), "--write", str(path), *sizes],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdout.readline()
        program = Terminal([sys.executable, "-m", "reach_tui", str(path)], 120, 40)
        program.until("live")
        program.settle(1.5)
        for key in ("enter", "F"):
            program.press(key, 0.5)
        program.settle(1.0)
        cpu, begun = program.cpu_ms(), time.monotonic()
        writer.stdin.write("\n")
        writer.stdin.flush()
        worst, shown = 0.0, args.before
        while time.monotonic() - begun < args.seconds:
            text = _CONTROL.sub(b"", program._read(0.1))
            for match in re.finditer(rb"of ([\d,]+) calls", text):
                shown = int(match[1].replace(b",", b""))
            written = args.before + (time.monotonic() - begun) * args.rows
            worst = max(worst, (written - shown) / args.rows)
        share = (program.cpu_ms() - cpu) / 1e3 / (time.monotonic() - begun)
        program.settle(2.5)
        program.close()
        writer.kill()
    print(f"worst lag {worst:.1f} s, {shown} of {args.before + int(args.rows * args.seconds)} shown at the end; "
          f"{share:.1%} of a core")  # fmt: skip
    sys.exit(0 if worst < 2.0 and share < 0.3 else 1)


if __name__ == "__main__":
    main()

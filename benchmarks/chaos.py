"""10,000 calls through the Agent-Reach layer, 50 at once, against upstreams on the loopback that do everything wrong.

    python benchmarks/chaos.py [--calls 10000] [--concurrency 50] [--seed 7]

Exit 1 where anything was not as it must be: a hang, a leak, a call without events, a wrong error type, a write twice.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reach.chaos_run import chaos


def main() -> int:
    """Run it and print what was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=10_000)
    options.add_argument("--concurrency", type=int, default=50)
    options.add_argument("--seed", type=int, default=7)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(chaos(Path(folder) / "chaos.db", chosen.calls, chosen.concurrency, chosen.seed))
    per_call = report.cpu_seconds / report.calls * 1000
    print(f"{report.calls} calls in {report.seconds:.1f} s, {per_call:.2f} ms of processor time each, server included")
    print(f"{report.requests} requests, {report.events} events, {report.cancelled} cancelled")
    print(f"{report.refused_by_breaker} refused by an open breaker")
    for error_type, count in report.outcomes.most_common():
        print(f"  {error_type:14} {count}")
    for line in report.wrong[:20]:
        print(f"wrong: {line}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

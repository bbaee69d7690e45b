"""What the router costs: a route over 100 tools without network, its parts, the index, and a look at the folder.

    python benchmarks/router.py [--tools 100] [--rounds 20]

The tools are copies of the shop's under other names; the utterances are those of `tests/reach/test_lexical.py`. Times
are the thread's processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reach_tui.reach.filters import RouteContext, sift
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.registry import FolderRegistry, ToolList
from reach_tui.reach.router import Router
from tests.reach.test_lexical import ASKED
from tests.reach.tools import SHOP, shop


def spent_us(work: Callable[[], object]) -> float:
    """Microseconds of processor time of one call."""
    began = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - began) / 1000


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    copies = range(options.tools // len(shop()) + 1)
    tools = [tool.model_copy(update={"name": f"{tool.name}_{copy}"}) for copy in copies for tool in shop()]
    tools = tools[: options.tools]
    router, index = Router(ToolList(tools)), LexicalIndex(tools)
    context = RouteContext(user_token=True)
    asked = [line.split("|")[1] for line in ASKED] * options.rounds
    for name, work in (
        ("route", lambda text: router.route(text, context)),
        ("  hard filters", lambda _: sift(tools, context)),
        ("  keyword scores", lambda text: index.candidates(text, 5)),
    ):
        spent = [spent_us(lambda work=work, text=text: work(text)) for text in asked]
        print(
            f"{name:18} median {median(spent):7.0f} us   p95 {quantiles(spent, n=20)[-1]:7.0f} us   {len(spent)} times"
        )
    registry = FolderRegistry(SHOP)
    for name, once, times in (
        ("build the index", lambda: LexicalIndex(tools), 10),
        ("read 26 files", lambda: FolderRegistry(SHOP), 10),
        ("look, no change", registry.refresh, 50),
    ):
        print(f"{name:18} median {median(spent_us(once) for _ in range(times)):7.0f} us   {times} times")


if __name__ == "__main__":
    main()

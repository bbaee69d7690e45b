"""How well inferred slots foresee failures: failure rate per confidence band and AUC of (1 - confidence), per store.

    python benchmarks/inference.py PATH [PATH ...] [--routes] [--json] [--worst N] [--speed STEPS]

PATHs are databases, transcripts, or folders with one folder a store. Failures are the detectors' verdicts of the
classes invalid_parameter, context_gap and stale_context; confidence never looks at the call's own result.
With `--routes`: how often the tool that was called is the inferred route's first, or among its first five, per store.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reach_tui.analyze.confidence import Confidence, is_parameter_failure
from reach_tui.analyze.routes import Agreement, of_calls
from reach_tui.infer.slots import SlotIndex
from reach_tui.model import Step, Verdict
from reach_tui.workspace.inferring import Inference
from reach_tui.workspace.slots import schemas_of, with_slots
from reach_tui.workspace.sources import Source, open_paths
from reach_tui.workspace.workspace import Workspace


def sources_in(paths: list[Path]) -> Iterator[Source]:
    """Every source in the paths; a folder of folders is one store a folder."""
    for path in paths:
        folders = sorted(one for one in path.iterdir() if one.is_dir()) if path.is_dir() else []
        for each in folders or [path]:
            yield from open_paths([each]).sources


def measure(workspace: Workspace, source: Source, worst: int) -> tuple[Confidence, float, list[str]]:
    """Sums of one source, processor seconds, and the failures that were not foreseen."""
    sums, begun, missed = Confidence(), time.process_time(), []
    for judged, insight in with_slots(workspace, source):
        slots = insight.call.slots or ()
        sums.add(judged.call.shown_tool, slots, insight.confidence, judged.verdict)
        if worst and is_parameter_failure(judged.verdict) and (insight.confidence is None or insight.confidence >= 0.5):
            shown = ", ".join(f"{slot.name}={str(slot.value)[:40]!r} {slot.source} {slot.confidence}" for slot in slots)
            missed.append(f"{judged.call.shown_tool} {judged.verdict.subcategory}: {shown}"[:300])
    return sums, time.process_time() - begun, missed[:worst]


def line(name: str, sums: Confidence, seconds: float) -> str:
    """One store as a row."""
    bands = "  ".join(f"{one.failed:>4}/{one.calls:<5}" for one in sums.bands())
    area, filled = sums.auc(), sums.auc(filled_only=True)
    shown = "  ".join("  –  " if one is None else f"{one:5.3f}" for one in (area, filled))
    return f"{name:<34} {sums.calls:>6}  {bands}  {shown}  {seconds:6.2f}"


def routes(workspace: Workspace, source: Source) -> tuple[Agreement, float]:
    """How the inferred routes of one source agree with what was called, and processor seconds for them alone."""
    inference, sums, spent = Inference(workspace, source), Agreement(), 0.0
    for session in source.reader.sessions():
        steps = list(workspace.judged_steps(source, session.id))
        begun = time.process_time()
        told, found = inference.routes(session.id), []
        for one in steps:
            if one.judged is not None:
                found.append((one.judged.call, one.judged.verdict, told.route(one.judged.call)))
            told.add(one)
        spent += time.process_time() - begun
        sums += of_calls(found, len(told.tools))
    return sums, spent


def print_routes(sources: Iterator[Source]) -> None:
    """One row a source, and all of them."""
    print(f"{'store':<34} {'calls':>6} {'no word':>8} {'top 1':>7} {'top 5':>7} {'chance':>7} {'ms/call':>8}")
    total, seconds, workspace = Agreement(), 0.0, Workspace()
    for source in sources:
        sums, spent = routes(workspace, source)
        total, seconds = total + sums, seconds + spent
        print(route_line(f"{source.kind} {source.name}", sums, spent))
    print(route_line("all", total, seconds))


def route_line(name: str, sums: Agreement, seconds: float) -> str:
    """One store as a row."""
    shares = " ".join(f"{'–' if one is None else f'{one:.3f}':>7}" for one in (sums.top1, sums.top5, sums.chance))
    return f"{name[:34]:<34} {sums.calls:>6} {sums.silent:>8} {shares} {1000 * seconds / max(1, sums.calls):>8.3f}"


def speed(source: Source, most: int) -> int:
    """Processor time for the slots of one session: the first steps of a source, put one after the other."""
    engine = Workspace().engine
    steps: list[tuple[Step, Verdict | None]] = []
    for session in source.reader.sessions():
        for step in source.reader.steps(session.id):
            number = len(steps) + 1
            call = replace(step.call, step=number) if step.call is not None else None
            steps.append((replace(step, number=number, call=call), engine.judge(call) if call else None))
            if len(steps) == most:
                break
        if len(steps) == most:
            break
    index, begun, worst = SlotIndex("/home/dev/project", schemas_of(source, "")), time.process_time(), 0.0
    for step, verdict in steps:
        if step.call is not None:
            index.slots(step.call)
        index.add(step, verdict)
    whole = time.process_time() - begun
    for step, _ in steps[-200:]:
        if step.call is not None:
            begun = time.process_time()
            index.slots(step.call)
            index.belief(step.call)
            worst = max(worst, time.process_time() - begun)
    calls = sum(step.call is not None for step, _ in steps)
    print(f"{len(steps)} steps, {calls} calls: {whole:.2f} s for all slots")
    print(f"one step of the last 200, once the others are known: {1000 * worst:.1f} ms at most")
    return 0


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worst", type=int, default=0, help="show so many failures a store that were not foreseen")
    parser.add_argument("--speed", type=int, metavar="STEPS", help="slots of one session made of so many steps")
    parser.add_argument("--routes", action="store_true", help="routes instead of slots")
    options = parser.parse_args()
    if options.speed:
        return speed(next(sources_in(options.paths)), options.speed)
    if options.routes:
        print_routes(sources_in(options.paths))
        return 0
    workspace, total, spent = Workspace(), Confidence(), 0.0
    if not options.json:
        print("parameter failures / calls by confidence; AUC over all calls, and over those with a filled slot")
        heads = ("< 0.25", "< 0.5", "< 0.75", ">= 0.75", "nothing")
        columns = "  ".join(f"{one:<10}" for one in heads)
        print(f"{'store':<34} {'calls':>6}  {columns}  {'AUC':>5}  {'fill':>5}  {'cpu s':>6}")
    for source in sources_in(options.paths):
        sums, seconds, missed = measure(workspace, source, options.worst)
        total += sums
        spent += seconds
        if options.json:
            bands = [
                {"from": one.low, "to": one.high, "calls": one.calls, "failed": one.failed} for one in sums.bands()
            ]
            record = {"store": source.kind, "path": source.name, "calls": sums.calls, "auc": sums.auc(), "bands": bands}
            print(json.dumps(record))
            continue
        print(line(f"{source.kind} {source.name}"[:34], sums, seconds))
        for one in missed:
            print("      not foreseen:", one)
    if not options.json:
        print(line("all", total, spent))
        for word, counts in (("gaps", total.gaps), ("stale", total.stale), ("invented", total.invented)):
            print(f"{word}: " + ", ".join(f"{tool}.{slot} {n}" for (tool, slot), n in counts.most_common(8)))
        print("slots by source: " + ", ".join(f"{source} {n}" for (_, source), n in total.sources.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

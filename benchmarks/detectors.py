"""How the detectors do on labelled tool results, and how they would do on a source that nobody had looked at.

    python benchmarks/detectors.py --bench FILE [--cases tests/detect/cases] [--traces FOLDER] [--missed]

The file holds one JSON object a line: `source`, `tool`, `arguments`, `result_text`, `flagged`, `failed`, `category`
(`reported_failures`: a check that ran, left out). `--cases` adds the invented results by family, `--traces` the
recorded stores with truth files; each rule's precision is counted for the three apart. Leave one source out: every
pattern is taken apart into its alternatives; those that hit something in this source and nothing in any other are
taken out, and the source is judged without them. What is no pattern (wrappers, JSON envelopes, exit status, what a
command is for) stays.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import mean

from reach_tui.base.errors import ConfigError
from reach_tui.detect import Engine, RuleSet, default_engine
from reach_tui.detect.case import Case
from reach_tui.detect.classify import parse_record
from reach_tui.detect.matcher import window
from reach_tui.detect.rules import Rule
from reach_tui.detect.wrappers import unwrap
from reach_tui.model import ToolCall

MOST = 96  # alternatives of one rule
_SYNTAX = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)  # escapes and classes as wholes


@dataclass(frozen=True, slots=True)
class Record:
    """A labelled call."""

    source: str
    call: ToolCall
    failed: bool


@dataclass(slots=True)
class Score:
    """Right and wrong answers."""

    hits: int = 0
    false_alarms: int = 0
    missed: int = 0

    def add(self, failed: bool, said: bool) -> None:
        """One more answer."""
        self.hits += failed and said
        self.false_alarms += said and not failed
        self.missed += failed and not said

    @property
    def precision(self) -> float:
        """Share of the alarms that are right; 1 without any."""
        return self.hits / (self.hits + self.false_alarms) if self.hits + self.false_alarms else 1.0

    @property
    def recall(self) -> float:
        """Share of the failures that are found; 1 without any."""
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else 1.0

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return 2 * self.precision * self.recall / (self.precision + self.recall) if self.hits else 0.0


def read(path: Path) -> list[Record]:
    """The records of a benchmark file, checks that reported left out."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    values = [(json.loads(line), line) for line in lines]
    return [
        Record(str(value["source"]), parse_record(line), bool(value["failed"]))
        for value, line in values
        if value.get("category") != "reported_failures"
    ]


# -- patterns taken apart


def alternatives(pattern: str) -> list[str]:
    """The pattern as its alternatives, inner groups taken apart too, as long as there are not too many."""
    parts = split(pattern)
    index = 0
    while index < len(parts) < MOST:
        part = parts[index]
        start, end, inside = next(groups(part), (0, 0, ""))
        options = split(inside)
        if not end or len(parts) + len(options) > MOST:
            index += 1
        else:
            parts[index : index + 1] = [f"{part[:start]}{option}{part[end:]}" for option in options]
    return list(dict.fromkeys(parts))


def split(pattern: str) -> list[str]:
    """A pattern at its outermost bars."""
    parts, depth, start = [], 0, 0
    for at, letter in syntax(pattern):
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            parts.append(pattern[start:at])
            start = at + 1
    return [*parts, pattern[start:]]


def groups(pattern: str) -> Iterator[tuple[int, int, str]]:
    """Groups without a name and without repetition that hold a choice: start, end, what is inside."""
    opened: list[int] = []
    for at, letter in syntax(pattern):
        if letter == "(":
            opened.append(at)
        elif letter == ")" and opened:
            start = opened.pop()
            inside = pattern[start + 3 : at]
            repeated = pattern[at + 1 : at + 2] in ("?", "*", "+", "{")
            if pattern.startswith("(?:", start) and not repeated and len(split(inside)) > 1:
                yield start, at + 1, inside


def syntax(pattern: str) -> Iterator[tuple[int, str]]:
    """The characters of a pattern that mean something: no escapes, nothing inside a class."""
    for found in _SYNTAX.finditer(pattern):
        if len(found[0]) == 1:
            yield found.start(), found[0]


def taken_apart(rules: RuleSet) -> RuleSet:
    """The same rules, one for each alternative, named `id#number`."""

    def parts(rule: Rule) -> list[Rule]:
        if rule.where == "arguments":
            return [rule]
        return [replace(rule, id=f"{rule.id}#{n}", match=text) for n, text in enumerate(alternatives(rule.match))]

    families = tuple(
        replace(family, rules=tuple(part for rule in family.rules for part in parts(rule))) for family in rules.families
    )
    return replace(rules, families=families)


def without(rules: RuleSet, ids: set[str]) -> RuleSet:
    """The rules but those."""
    families = tuple(
        replace(family, rules=tuple(rule for rule in family.rules if rule.id not in ids)) for family in rules.families
    )
    return replace(rules, families=families)


# -- figures


def hits_of(engine: Engine, call: ToolCall) -> set[str]:
    """The rules that match the call and whose conditions hold, whichever of them decides."""
    desk = engine.desks.of(call.tool, call.arguments)
    text = call.result.text if call.result else ""
    body = unwrap(text, desk.nature == "log")
    view = window(text, body.start, body.end, desk.nature)
    case = Case(call, text, body, view, desk.matcher, desk.nature)
    found = {rule.id for rule in desk.argument_rules if case.holds(rule.when)}
    return found | {rule.id for rule in desk.matcher.hits(view) if case.holds(rule.when)}


def score(engine: Engine, records: Sequence[Record]) -> Score:
    """The engine's verdicts against the labels."""
    total = Score()
    for record in records:
        total.add(record.failed, engine.judge(record.call).failed is True)
    return total


@dataclass(frozen=True, slots=True)
class Fold:
    """One source, with all rules and without what only this source supports."""

    source: str
    records: list[Record]
    own: set[str]
    """Alternatives that hit something here and nothing elsewhere."""
    whole: set[str]
    """Rules of which nothing else hits anything."""
    reduced: Engine


def folds(records: Sequence[Record], rules: RuleSet) -> Iterator[Fold]:
    """The sources in turn."""
    parts = taken_apart(rules)
    engine = Engine(parts)
    support: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for rule in hits_of(engine, record.call):
            support[rule].add(record.source)
    for source in sorted({record.source for record in records}):
        own = {rule for rule, sources in support.items() if sources == {source}}
        others = {rule.split("#")[0] for rule in support.keys() - own}
        whole = {rule.split("#")[0] for rule in own} - others
        mine = [record for record in records if record.source == source]
        yield Fold(source, mine, own, whole, Engine(without(parts, own)))


@dataclass(slots=True)
class Support:
    """The alarms of one rule: how many on the benchmark, recorded stores and invented cases, and how many are right."""

    said: dict[str, list[bool]]
    sources: set[str]

    def counted(self, *origins: str) -> tuple[int, int]:
        """Alarms and right ones from those origins."""
        all_of_them = [right for origin in origins for right in self.said.get(origin, ())]
        return sum(all_of_them), len(all_of_them)


def supports(
    records: Sequence[Record], traces: Sequence[tuple[str, str, bool]], cases: Sequence[Record]
) -> dict[str, Support]:
    """For each rule that calls something failed: its alarms, by where they come from."""
    engine = default_engine()
    found: dict[str, Support] = defaultdict(lambda: Support(defaultdict(list), set()))
    for origin, group in (("bench", records), ("cases", cases)):
        for record in group:
            verdict = engine.judge(record.call)
            if verdict.failed is True:
                found[str(verdict.rule)].said[origin].append(record.failed)
                found[str(verdict.rule)].sources.add(record.source)
    for source, rule, right in traces:
        found[rule].said["traces"].append(right)
        found[rule].sources.add(source)
    return found


def interval(right: int, said: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if not said:
        return 0.0, 1.0
    z, share = 1.96, right / said
    middle = share + z * z / (2 * said)
    half = z * sqrt(share * (1 - share) / said + z * z / (4 * said * said))
    return max(0.0, (middle - half) / (1 + z * z / said)), min(1.0, (middle + half) / (1 + z * z / said))


def read_cases(folder: Path) -> list[Record]:
    """The invented results, by family."""
    records = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            case = json.loads(line)
            call = parse_record(json.dumps({**case, "id": f"{path.stem}-{number}"}))
            records.append(Record(path.stem, call, case["want"] == "failed"))
    return records


def read_traces(folder: Path) -> list[tuple[str, str, bool]]:
    """What `calls` says failed in recorded stores: store, rule, and whether the truth file says so too."""
    alarms = []
    for path in sorted(folder.rglob("*.truth.json")):
        stem = path.name.removesuffix(".truth.json")
        options = (path.parent / name for name in (f"{stem}.db", stem, f"{stem}.sqlite"))
        store = next((option for option in options if option.exists()), path.parent)
        command = [sys.executable, "-m", "reach_tui", "calls", str(store), "--jsonl"]
        lines = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.splitlines()
        truth = defaultdict(list)
        for call in json.loads(path.read_text(encoding="utf-8"))["calls"]:
            truth[str(call["session_id"]), str(call["call_id"]), call["tool"]].append(call)
        for said in map(json.loads, lines):
            same = truth.get((str(said["session_id"]), str(said["call_id"]), said["tool"]))
            if not same:
                continue
            wanted = same.pop(0)
            if said["failed"] and not _left_out(wanted):
                alarms.append((path.parent.name, str(said["rule"]), bool(wanted["failed"])))
    return alarms


def _left_out(call: dict[str, object]) -> bool:
    return bool(
        call["failed"] is None
        or call.get("debatable")
        or call.get("reports_findings")
        or call.get("category") == "check_reported"
        or call.get("certainty") in ("debatable", "unclear")
    )


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bench", type=Path, required=True, metavar="FILE")
    parser.add_argument("--cases", type=Path, metavar="FOLDER", help="invented results, one file a family")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="recorded stores beside their truth files")
    parser.add_argument("--missed", action="store_true", help="show what is missed without a source's own patterns")
    options = parser.parse_args()
    try:
        records = read(options.bench)
    except (OSError, ValueError, KeyError, ConfigError) as error:
        print(f"{options.bench}: {error}", file=sys.stderr)
        return 2
    if options.missed:
        show_missed(records)
        return 0
    print("| source | failed / fine | as it is: P / R / F1 | left out: P / R / F1 | alternatives, rules taken out |")
    print("|---|---|---|---|---|")
    before, after = [], []
    for fold in folds(records, default_engine().rules):
        before.append(score(default_engine(), fold.records))
        after.append(score(fold.reduced, fold.records))
        failed = sum(record.failed for record in fold.records)
        counts = f"{failed} / {len(fold.records) - failed}"
        taken = f"{len(fold.own)}, {len(fold.whole)}"
        print(f"| {fold.source} | {counts} | {_three(before[-1])} | {_three(after[-1])} | {taken} |")
    print(f"| all | | {_three(total(before))} | {_three(total(after))} | |")
    print(f"| mean F1 | | {mean(100 * one.f1 for one in before):.1f} | {mean(100 * one.f1 for one in after):.1f} | |\n")
    cases = read_cases(options.cases) if options.cases else []
    if cases:
        show_cases(cases)
    show_rules(supports(records, read_traces(options.traces) if options.traces else [], cases))
    return 0


def show_cases(cases: Sequence[Record]) -> None:
    """Precision and recall by family."""
    print("| family | failed / fine | P / R / F1 |\n|---|---|---|")
    parts = {source: [case for case in cases if case.source == source] for source in sorted({c.source for c in cases})}
    for source, part in [*parts.items(), ("all", list(cases))]:
        failed = sum(case.failed for case in part)
        print(f"| {source} | {failed} / {len(part) - failed} | {_three(score(default_engine(), part))} |")
    print()


def show_rules(found: dict[str, Support]) -> None:
    """The rules' own precision, the best supported first; those with fewer than three alarms are summed up."""
    print(
        "| rule | benchmark | recordings | invented | precision, 95 % interval | sources |\n|---|---|---|---|---|---|"
    )
    origins = ("bench", "traces", "cases")
    rest: list[Support] = []
    for rule, support in sorted(found.items(), key=lambda item: (-item[1].counted(*origins)[1], item[0])):
        right, said = support.counted(*origins)
        if said < 3:
            rest.append(support)
            continue
        parts = " | ".join("/".join(map(str, support.counted(origin))) for origin in origins)
        low, high = interval(right, said)
        share = f"{100 * right / said:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
        print(f"| `{rule}` | {parts} | {share} | {len(support.sources)} |")
    right, said = (
        (sum(numbers) for numbers in zip(*(one.counted(*origins) for one in rest), strict=True)) if rest else (0, 0)
    )
    print(f"\n{len(rest)} more rules with one or two alarms: {right} of {said} right.")


def _three(score: Score) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in (score.precision, score.recall, score.f1))


def total(scores: Sequence[Score]) -> Score:
    """The answers of all together."""
    return Score(*(sum(getattr(one, name) for one in scores) for name in ("hits", "false_alarms", "missed")))


def show_missed(records: Sequence[Record]) -> None:
    """What is judged wrongly without a source's own patterns, each with what would have known it."""
    for fold in folds(records, default_engine().rules):
        for record in fold.records:
            if record.failed is not (fold.reduced.judge(record.call).failed is True):
                rule = default_engine().judge(record.call).rule
                text = record.call.result.text if record.call.result else ""
                print(f"{fold.source}\t{record.call.tool}\tfailed={record.failed}\t{rule}\t{text[:200]!r}")


if __name__ == "__main__":
    sys.exit(main())

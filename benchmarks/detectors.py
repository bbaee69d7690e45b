"""How the detectors do on labelled tool results, and how they would do on a source that nobody had looked at.

    python benchmarks/detectors.py --bench hidden_errors.dev.jsonl.gz [--markdown]

The file holds one JSON object a line: `source`, `tool`, `arguments`, `result_text`, `flagged`, `failed`, and `category`
(`reported_failures`: a check that ran, left out). Leave one source out: every pattern is taken apart into its
alternatives; those that hit something in this source and nothing in any other are taken out, and the source is judged
without them. What is no pattern (wrappers, JSON envelopes, exit status, what a command is for) stays.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    done = False
    while not done and len(parts) < MOST:
        done = True
        for index, part in enumerate(parts):
            if inner := next(groups(part), None):
                start, end, inside = inner
                options = split(inside)
                if len(parts) + len(options) > MOST:
                    continue
                parts[index : index + 1] = [f"{part[:start]}{option}{part[end:]}" for option in options]
                done = False
                break
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
    desk = engine._desk(call.tool, call.arguments)
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


def rule_table(records: Sequence[Record]) -> list[tuple[str, int, int, int]]:
    """For each rule that calls something failed: verdicts, right ones, sources it is supported by."""
    engine = default_engine()
    right: dict[str, list[bool]] = defaultdict(list)
    sources: dict[str, set[str]] = defaultdict(set)
    for record in records:
        verdict = engine.judge(record.call)
        if verdict.failed is True:
            right[str(verdict.rule)].append(record.failed)
            sources[str(verdict.rule)].add(record.source)
    return sorted(
        ((rule, len(said), sum(said), len(sources[rule])) for rule, said in right.items()),
        key=lambda row: (-row[3], -row[1], row[0]),
    )


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bench", type=Path, required=True, metavar="FILE")
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
    print("| rule | calls it decides | of them failed | sources |\n|---|---|---|---|")
    for rule, said, good, sources in rule_table(records):
        print(f"| `{rule}` | {said} | {good} | {sources} |")
    return 0


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

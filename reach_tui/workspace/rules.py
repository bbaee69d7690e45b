"""A person's own rules: where they are looked for, the detectors with them, and what a file would change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui.workspace.own_files import Stamped, own_folders, stamped
from reach_tui.workspace.records import Record, label_field, verdict_fields

if TYPE_CHECKING:
    from reach_tui.base.errors import ConfigError
    from reach_tui.detect.engine import Engine
    from reach_tui.detect.rules import Rule
    from reach_tui.model import Label, ToolCall, Verdict
    from reach_tui.workspace.sources import Source
    from reach_tui.workspace.workspace import Workspace

FOLDER = "rules"


@dataclass(frozen=True, slots=True)
class Detectors:
    """The engine with the rules in force, the person's files among them, and what was wrong with others."""

    engine: Engine
    own: tuple[Path, ...] = ()
    mistakes: tuple[ConfigError, ...] = ()

    def ids_of(self, path: Path) -> list[str]:
        """The ids of the rules in a person's file."""
        return [rule.id for rule in rules_in_force(self.engine) if rule.source == str(path)]


def own_rule_files(start: Path | None = None) -> list[Path]:
    """The person's rule files, then the project's: the nearest `.reach-tui/rules` from `start` (or here) upwards."""
    return [path for folder in own_folders(FOLDER, start) for path in sorted(folder.glob("*.toml"))]


def detectors(start: Path | None = None) -> Detectors:
    """The detectors with the shipped rules and a person's own in a folder (default: the current one)."""
    files = own_rule_files(start)
    if not files:
        from reach_tui.detect.engine import default_engine

        return Detectors(default_engine())
    return _with_own(stamped(files))


def engine_with(files: Sequence[Path]) -> Detectors:
    """The detectors with these files of a person, and none else."""
    from reach_tui.detect.engine import RULES, Engine
    from reach_tui.detect.files import know
    from reach_tui.detect.rule_files import load_with_own

    loaded = load_with_own(RULES, files)
    if files:
        know(loaded.rules.families)
    return Detectors(Engine(loaded.rules), tuple(file.path for file in loaded.own), loaded.mistakes)


@lru_cache(maxsize=2)
def _with_own(files: Stamped) -> Detectors:
    return engine_with([path for path, _, _ in files])


# -- listing and checking


@dataclass(frozen=True, slots=True)
class Checked:
    """A rule file after checking."""

    path: Path
    family: str | None
    rules: int
    mistakes: tuple[ConfigError, ...]


def check_files(files: Sequence[Path]) -> Iterator[Checked]:
    """Each file as it would be taken in together with the shipped rules and the files before it."""
    from reach_tui.detect.engine import RULES
    from reach_tui.detect.rule_files import load_with_own

    loaded = load_with_own(RULES, files)
    for path in files:
        file = next((one for one in loaded.own if one.path == path), None)
        wrong = tuple(error for error in loaded.mistakes if error.where == str(path))
        yield Checked(path, file.family if file else None, len(file.rules) if file else 0, wrong)


def rules_in_force(engine: Engine) -> list[Rule]:
    """Every rule once, a person's own first, then by family or pack, in the order they are asked."""
    pools = [*(family.rules for family in engine.rules.families), engine.rules.classes]
    rules = list({rule.id: rule for pool in pools for rule in pool}.values())
    return sorted(rules, key=lambda rule: (not Path(rule.source).is_absolute(), rule.source))


# -- what a file would change


@dataclass(frozen=True, slots=True)
class Change:
    """A call that another verdict or class is given."""

    call: ToolCall
    before: Verdict
    after: Verdict
    label: Label | None

    @property
    def flips(self) -> bool:
        """The verdict itself changes, not only its class, rule or evidence."""
        return (self.before.failed, self.before.soft) != (self.after.failed, self.after.soft)


@dataclass(slots=True)
class Trial:
    """What a rule file does to a person's history, counted while the changes are streamed."""

    ids: frozenset[str]
    """The rules on trial."""
    calls: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    """Calls that a rule on trial decided, by rule."""
    labelled: int = 0
    """Those of them that a person has labelled."""
    right: int = 0
    """Those of them where the rule says what the label says."""
    flips: Counter[str] = field(default_factory=Counter)
    """Flipped verdicts by tool."""
    reclassified: int = 0

    @property
    def precision(self) -> float | None:
        """Share of the labelled calls decided by the rules where they agree with the label; None without any."""
        return self.right / self.labelled if self.labelled else None

    def run(self, calls: Iterable[tuple[ToolCall, Label | None]], before: Engine, after: Engine) -> Iterator[Change]:
        """The calls that change."""
        for call, label in calls:
            self.calls += 1
            new = after.judge(call)
            if new.rule in self.ids:
                self._count(new, label)
            old = before.judge(call)
            change = Change(call, old, new, label)
            if change.flips:
                self.flips[call.shown_tool] += 1
                yield change
            elif (old.category, old.subcategory) != (new.category, new.subcategory):
                self.reclassified += 1
                yield change

    def _count(self, verdict: Verdict, label: Label | None) -> None:
        self.decided[str(verdict.rule)] += 1
        if label is not None and verdict.failed is not None:
            self.labelled += 1
            self.right += verdict.failed is (label.category != "not_a_failure")


def changes(trial: Trial, workspace: Workspace, source: Source, before: Engine, after: Engine) -> Iterator[Change]:
    """What of a trace's calls changes, each with this person's label if it has one. Raises `StoreError`."""

    def labelled() -> Iterator[tuple[ToolCall, Label | None]]:
        labels: dict[str | None, Label] = {}
        current: str | None = None
        for call in source.reader.calls():
            if call.copy_of is not None:
                continue  # counted with its original
            if call.session_id != current:
                current = call.session_id
                labels = workspace.labels_of(source, current)
            yield call, labels.get(call.key)

    return trial.run(labelled(), before, after)


def change_record(source: Source, change: Change) -> Record:
    """A changed call, before and after."""
    call = change.call
    return {
        "store": source.kind,
        "path": source.file_of(call.session_id),
        "session_id": call.session_id,
        "call_key": call.key,
        "tool": call.shown_tool,
        "flagged": call.flagged,
        "flips": change.flips,
        "before": verdict_fields(change.before),
        "after": verdict_fields(change.after),
        "label": label_field(change.label) if change.label else None,
    }

"""A person's own rules: where they are looked for, the detectors with them, and what is wrong with a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui.workspace.own_files import Stamped, own_folders, stamped

if TYPE_CHECKING:
    from reach_tui.base.errors import ConfigError
    from reach_tui.detect.engine import Engine
    from reach_tui.detect.rules import Rule

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

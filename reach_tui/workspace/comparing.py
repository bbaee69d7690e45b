"""Two sides to compare: what was before and what came after, from open sources, a file, or two spans of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ReachError, UsageError
from reach_tui.report.compare import Comparison, compare
from reach_tui.report.model import Report
from reach_tui.workspace.reading import read_all
from reach_tui.workspace.reporting import Collector, Selection, comparable
from reach_tui.workspace.saved_report import no_side, saved_report
from reach_tui.workspace.sources import Source, open_paths
from reach_tui.workspace.workspace import Workspace

Watch = Callable[[], None]
"""Called for every session that is read; what it raises ends the work."""


@dataclass(frozen=True, slots=True)
class Side:
    """The sources of one side, and what of them counts."""

    sources: tuple[Source, ...]
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class Sides:
    """Before and after; before may also be a path: a trace, a folder, or a saved report."""

    before: Side | Path
    after: Side


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison, with the report on what came after, and what could not be read."""

    comparison: Comparison
    after: Report
    problems: tuple[ReachError, ...]


def at_time(side: Side, moment: int) -> Sides:
    """A side split at a moment (ms): sessions that began before it, and the others."""
    earlier, later = replace(side.selection, until=moment), replace(side.selection, since=moment)
    return Sides(replace(side, selection=earlier), replace(side, selection=later))


def compared(workspace: Workspace, sides: Sides, watch: Watch) -> Compared:
    """Both sides counted and held side by side.

    Raises `UsageError` where they cannot be compared, or where a path holds nothing that can be read.
    """
    problems: list[ReachError] = []
    before = _before(workspace, sides, watch, problems)
    after = _report(workspace, sides.after, watch, problems)
    return Compared(compare(before, comparable(after)), after, tuple(problems))


def _before(workspace: Workspace, sides: Sides, watch: Watch, problems: list[ReachError]) -> Mapping[str, Any]:
    before = sides.before
    if isinstance(before, Path):
        if (saved := saved_report(before)) is not None:
            return saved
        found = open_paths([before])
        problems += found.problems
        if not found.sources:
            raise no_side(before, found.problems[0]) if found.problems else UsageError("nothing to read in it", before)
        before = Side(found.sources, sides.after.selection)
    return comparable(_report(workspace, before, watch, problems))


def _report(workspace: Workspace, side: Side, watch: Watch, problems: list[ReachError]) -> Report:
    collector = Collector(workspace, side.selection)
    problems += read_all(side.sources, collector.tallies, watch)
    return collector.report()

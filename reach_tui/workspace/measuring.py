"""The four metrics of a trace: tasks of all sessions added up, whole and by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reach_tui.analyze.intervals import wilson
from reach_tui.analyze.outcomes import GROUPS, Outcomes, Task, groups_of, tasks
from reach_tui.analyze.story import Story
from reach_tui.base.jsonio import JsonValue
from reach_tui.workspace.diagnosing import stories
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

_EXAMPLES = 20


@dataclass(slots=True)
class Measured:
    """All tasks, and those of each group by its name."""

    total: Outcomes = field(default_factory=Outcomes)
    groups: dict[str, Outcomes] = field(default_factory=lambda: defaultdict(Outcomes))
    against: list[Task] = field(default_factory=list)
    """The first tasks that did not succeed, with the reason."""


class Measuring:
    """The metrics over several sources, in every grouping at once, session by session, to be watched and stopped."""

    def __init__(self, workspace: Workspace, most: int = _EXAMPLES) -> None:
        self._workspace = workspace
        self._most = most
        self.total = Outcomes()
        self.groups: dict[str, dict[str, Outcomes]] = {by: defaultdict(Outcomes) for by in GROUPS}
        """By grouping, then by the group's name."""
        self.against: list[Task] = []
        """The first tasks that did not succeed, with the reason."""
        self.homes: dict[str, Source] = {}
        """The source of each session that has a task against, by its id."""

    def take(self, source: Source) -> Iterator[str]:
        """Add up a source's own sessions; gives the id of each that was read. Raises `StoreError`."""
        for story in stories(self._workspace, source):
            if story.session.own_work:
                for task in tasks(story, self._workspace.labels_of(source, story.session.id)):
                    self._count(source, story, task)
            yield story.session.id

    def _count(self, source: Source, story: Story, task: Task) -> None:
        self.total.count(task)
        for by, groups in self.groups.items():
            for name in groups_of(task, story, by):
                groups[name].count(task)
        if task.outcome in ("failed", "corrected") and len(self.against) < self._most:
            self.against.append(task)
            self.homes.setdefault(task.session_id, source)

    def measured(self, by: str) -> Measured:
        """What was added up, in one grouping: tool, model, project or week."""
        return Measured(self.total, self.groups[by], self.against)


def measure(workspace: Workspace, sources: Iterable[Source], by: str) -> Measured:
    """Add up every task of these sources' own sessions. `by`: tool, model, project or week. Raises `StoreError`."""
    found = Measuring(workspace)
    for source in sources:
        for _ in found.take(source):
            pass
    return found.measured(by)


def outcomes_record(found: Outcomes) -> Record:
    """The metrics as JSON: each with `count`, `of`, `rate` and a 95 % interval; rates 0..1, null without tasks."""
    return {
        "tasks": found.tasks,
        "open": found.open,
        "end_to_end": _share(found.success, found.tasks),
        "after_repair": found.repaired,
        "first_pass": _share(found.first_pass, found.tasks),
        "corrected": found.corrected,
        "failed": found.failed,
        "no_capability": found.refused,
        "coverage": {**_share(found.covered, found.routed), "alarm": found.alarm},
        "attribution": [
            {"cause": cause, "count": count, "share": round(count / found.causes.total(), 6)}
            for cause, count in sorted(found.causes.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def _share(count: int, of: int) -> dict[str, JsonValue]:
    interval = wilson(count, of)
    return {
        "count": count,
        "of": of,
        "rate": round(count / of, 6) if of else None,
        "interval": None if interval is None else [round(end, 6) for end in interval],
    }


def task_record(task: Task) -> Record:
    """A task that did not succeed."""
    return {
        "session_id": task.session_id,
        "turn": task.turn,
        "step": task.at_step,
        "outcome": task.outcome,
        "why": task.why,
        "cause": task.cause,
    }

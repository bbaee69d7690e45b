"""The four metrics over tasks (seed B, 5.1; spec B14), by tool, model, project and week.

**Task.** What one request asks for: a session, where the store recorded how it ended in the words `success`,
`corrected`, `failed` or `no_capability`; else one of a session's user turns in which a tool was called. Copies and
inherited steps are left out. **End to end.** The task reached its end, and nothing speaks against it: the recorded
outcome is `success`; else no failure was left unrecovered, the agent had the last word, and the user's next message
does not reject it. A label of the session, or of the failure in question, overrides that. **After repair** are
successes with a failure, a question or a repeated call on the way: counted apart, never as first-pass. **First
pass.** Success without any of these. **Coverage.** Of the tasks with a recorded decision, those where at least one
candidate reached `t1`. **Attribution.** Whose reach ended in tasks that failed, by the class of the failure that was
not recovered from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reach_tui.analyze.corrections import correction
from reach_tui.analyze.story import Story, Told, spoken
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.base.jsonio import dumps
from reach_tui.model import Label, Route, StepKind, ToolCall, Verdict
from reach_tui.taxonomy import Taxonomy, default

ALARM = 0.85
"""Coverage below this says that a tool is missing (seed B, 5.1)."""
RECORDED = frozenset(["success", "corrected", "failed", "no_capability"])
SUCCESS, CORRECTED, FAILED, REFUSED, OPEN = "success", "corrected", "failed", "no_capability", "open"
"""`open`: it has not ended, or ended without a word; not counted."""
FINE = "not_a_failure"


@dataclass(frozen=True, slots=True)
class Task:
    """One task and what became of it."""

    session_id: str
    turn: int
    """The user turn it began with."""
    first_step: int
    outcome: str
    """success, corrected, failed, no_capability or open."""
    why: str
    """What the outcome rests on, in words."""
    at_step: int | None = None
    """The step that speaks against success, or the correction."""
    repairs: int = 0
    """Failures that were recovered from, questions, fallbacks, repeated calls."""
    covered: bool | None = None
    """A candidate reached the threshold; None where no decision was recorded."""
    cause: str | None = None
    """tool, context, execution or model; for failed tasks."""
    tools: frozenset[str] = frozenset()
    at: int | None = None

    @property
    def counted(self) -> bool:
        """True if it has an outcome."""
        return self.outcome != OPEN

    @property
    def first_pass(self) -> bool:
        """Success without any repair."""
        return self.outcome == SUCCESS and not self.repairs


@dataclass(slots=True)
class Outcomes(Sum):
    """Tasks added up."""

    tasks: int = 0
    """With an outcome; the open ones are counted in `open` alone."""
    success: int = 0
    repaired: int = 0
    """Of the successes, those after a repair."""
    corrected: int = 0
    failed: int = 0
    refused: int = 0
    """An honest "I cannot"."""
    open: int = 0
    routed: int = 0
    covered: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    @property
    def first_pass(self) -> int:
        """Successes without any repair."""
        return self.success - self.repaired

    @property
    def alarm(self) -> bool:
        """Coverage is below 85 %."""
        return bool(self.routed) and self.covered < ALARM * self.routed

    def include(self, other: Outcomes) -> None:
        """Add another one to this."""
        for name in ("tasks", "success", "repaired", "corrected", "failed", "refused", "open", "routed", "covered"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        add_up(self.causes, other.causes)

    def count(self, task: Task) -> None:
        """Add one task."""
        if task.covered is not None:
            self.routed += 1
            self.covered += task.covered
        if not task.counted:
            self.open += 1
            return
        self.tasks += 1
        self.success += task.outcome == SUCCESS
        self.repaired += task.outcome == SUCCESS and task.repairs > 0
        self.corrected += task.outcome == CORRECTED
        self.failed += task.outcome == FAILED
        self.refused += task.outcome == REFUSED
        if task.cause is not None:
            self.causes[task.cause] += 1


def tasks(story: Story, labels: Mapping[str | None, Label] | None = None) -> Iterator[Task]:
    """The tasks of one session in order. `labels` are those in force by call key; key None is the session's own."""
    known = labels or {}
    if story.session.outcome in RECORDED:
        yield _recorded(story, known)
        return
    turns = list(_turns(story.told))
    for place, (turn, told) in enumerate(turns):
        work = list(Story(story.session, told).calls())
        if work:
            after = turns[place + 1][1][0] if place + 1 < len(turns) else None
            yield _judged(story, turn, told, work, after, known)


def _turns(told: Sequence[Told]) -> Iterator[tuple[int, list[Told]]]:
    group: list[Told] = []
    for one in told:
        if group and one.step.turn != group[0].step.turn:
            yield group[0].step.turn, group
            group = []
        group.append(one)
    if group:
        yield group[0].step.turn, group


def _recorded(story: Story, labels: Mapping[str | None, Label]) -> Task:
    work = list(story.calls())
    outcome = str(story.session.outcome)
    why = f"recorded: {outcome}"
    if (label := labels.get(None)) is not None and label.category is not None:
        outcome, why = (SUCCESS if label.category == FINE else FAILED), f"labelled {label.category} by {label.by}"
    broken = _unrecovered(work, labels)
    cause = _cause(broken[1].category if broken else None) if outcome == FAILED else None
    first = story.told[0].step if story.told else None
    return Task(
        story.session.id,
        first.turn if first else 0,
        first.number if first else 0,
        outcome,
        why,
        broken[0].step if broken and outcome == FAILED else None,
        _repairs(story.told, work, labels),
        _covered(route for _, route in story.routes()),
        cause,
        frozenset(call.tool for call, _ in work),
        story.session.started_at,
    )


def _judged(
    story: Story,
    turn: int,
    told: Sequence[Told],
    work: Sequence[tuple[ToolCall, Verdict]],
    after: Told | None,
    labels: Mapping[str | None, Label],
) -> Task:
    broken = _unrecovered(work, labels)
    outcome, why, at_step = SUCCESS, "nothing speaks against it", None
    last = next((one for one in reversed(told) if one.step.call is not None or spoken(one.step)), None)
    rejected = _rejected(after, labels)
    if rejected is not None:
        outcome, why, at_step = CORRECTED, rejected, after.step.number if after else None
    elif broken is not None:
        call, verdict = broken
        outcome, at_step = FAILED, call.step
        why = f"{call.tool} failed ({verdict.category or verdict.rule or 'no class'}) and was not recovered from"
    elif last is None or last.step.call is not None:
        outcome, why = OPEN, "it ended with a call, without a word"
    cause = _cause(broken[1].category) if broken is not None and outcome == FAILED else None
    routes = Story(story.session, told).routes()
    return Task(
        story.session.id,
        turn,
        told[0].step.number,
        outcome,
        why,
        at_step,
        _repairs(told, work, labels),
        _covered(route for _, route in routes),
        cause,
        frozenset(call.tool for call, _ in work),
        next((one.step.at for one in told if one.step.at is not None), work[0][0].started_at),
    )


def _rejected(after: Told | None, labels: Mapping[str | None, Label]) -> str | None:
    """Why the next message rejects the task, None where it does not; a label of the session settles it."""
    label = labels.get(None)
    if after is None or after.step.kind is not StepKind.USER or (label is not None and label.category == FINE):
        return None
    span = correction(after.step.text)
    return None if span is None else f"the user's next words reject it: “{after.step.text[span[0] : span[1]].strip()}”"


def _failed(call: ToolCall, verdict: Verdict, labels: Mapping[str | None, Label]) -> bool:
    """By a person's label where there is one, else by the verdict."""
    label = labels.get(call.key)
    if label is not None and label.category is not None:
        return label.category != FINE
    return verdict.failed is True


def _unrecovered(
    work: Sequence[tuple[ToolCall, Verdict]], labels: Mapping[str | None, Label]
) -> tuple[ToolCall, Verdict] | None:
    """The last failure after which the same tool did not succeed again."""
    succeeded: set[str] = set()
    for call, verdict in reversed(work):
        if _failed(call, verdict, labels):
            if call.tool not in succeeded:
                return call, verdict
        elif verdict.failed is False:
            succeeded.add(call.tool)
    return None


def _repairs(told: Sequence[Told], work: Sequence[tuple[ToolCall, Verdict]], labels: Mapping[str | None, Label]) -> int:
    """Failures, questions, and calls sent again with the same arguments after they had not succeeded."""
    failures = sum(_failed(call, verdict, labels) for call, verdict in work)
    questions = sum(
        route.decision == "clarify"
        for one in told
        if (route := one.step.call.route if one.step.call else one.step.route) is not None
        and route.basis == "recorded"
        and not one.step.inherited
    )
    again = Counter((call.tool, dumps(call.arguments)) for call, verdict in work if verdict.failed is not False)
    unanswered = sum(count - 1 for count in again.values() if count > 1)
    return failures + questions + unanswered


def _covered(routes: Iterable[Route]) -> bool | None:
    found = [any(one.score >= route.thresholds.t1 for one in route.candidates) for route in routes]
    return any(found) if found else None


def _cause(category: str | None, taxonomy: Taxonomy | None = None) -> str:
    found = (taxonomy or default()).find(category or "")
    return found.reach if found is not None and found.reach != "none" else "model"


def week_of(at: int | None) -> str:
    """ISO week of a time in milliseconds, `2026-W23`; `unknown` without one."""
    if at is None:
        return "unknown"
    year, week, _ = datetime.fromtimestamp(at / 1000, UTC).isocalendar()
    return f"{year}-W{week:02d}"


GROUPS = ("tool", "model", "project", "week")


def groups_of(task: Task, story: Story, by: str) -> Iterable[str]:
    """What a task counts under; a task with several tools counts under each."""
    if by == "tool":
        return task.tools
    if by == "week":
        return (week_of(task.at),)
    return (((story.session.model if by == "model" else story.session.project) or "unknown"),)

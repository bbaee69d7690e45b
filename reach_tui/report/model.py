"""What a report says: plain frozen values, ready to be written in any format. Shares and rates are 0..1, times ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reach_tui.analyze.classes import Avoidable
from reach_tui.analyze.labelled import LabelCounts
from reach_tui.analyze.rates import ToolCounts

if TYPE_CHECKING:
    from reach_tui.report.inferred import InferredRows

ROOTS, ALL = "roots", "all"


@dataclass(frozen=True, slots=True)
class StoreScope:
    """One trace and how much of it the report counts."""

    store: str
    path: str
    sessions: int
    calls: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What was counted, and with what: two reports can be compared where these agree."""

    stores: tuple[StoreScope, ...]
    scope: str
    """`roots`: visible root sessions with their own work; `all`: child and hidden sessions as well."""
    tools: tuple[str, ...]
    since: int | None
    until: int | None
    """Half-open span of the sessions' start."""
    sessions: int
    calls: int
    first: int | None
    last: int | None
    """Start of the first and of the last session."""
    rules_version: str
    taxonomy: str
    tool_version: str


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One failure class of a tool; `share` of the tool's failures."""

    category: str | None
    subcategory: str | None
    rule: str | None
    count: int
    hidden: int
    share: float | None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool: counts, and its failure classes, the most frequent first."""

    tool: str
    counts: ToolCounts
    classes: tuple[ClassRow, ...]
    avoidable: Avoidable
    avoidable_seed: Avoidable | None


@dataclass(frozen=True, slots=True)
class StaleRow:
    """Not-found edits of a tool, or of all tools together."""

    tool: str | None
    not_found: int
    stale: int
    re_read: int
    written_only: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Views:
    """The same count by the store's flag and by content."""

    by_flag: int
    by_truth: int


@dataclass(frozen=True, slots=True)
class ConsecutiveRow:
    """How often a guard against consecutive failures spoke."""

    rule: str
    after: int
    views: Views
    where: tuple[str, ...]
    """Keys of the first calls at which it would have spoken by the truth."""


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause and its share; `category` is None in sums over a reach."""

    cause: str
    category: str | None
    count: int
    share: float | None


@dataclass(frozen=True, slots=True)
class SuccessRow:
    """A tool that returns errors through the success path, with one to look at."""

    tool: str
    hidden: int
    recorded_success: int
    example_call_key: str
    rule: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A kind of loop."""

    what: str
    count: int
    calls: int
    sessions: int
    example_call_key: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do first: failures of a tool and class that one change would avoid."""

    tool: str
    what: str
    count: int
    of: int
    avoidable_by: str
    category: str
    subcategory: str
    stale: bool = False
    """Of the class, the stale edits alone."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One of the seed's four metrics; `note` says why where there is no figure."""

    metric: str
    count: int | None
    of: int | None
    share: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SpanRow:
    """Failures of the sessions begun in one span of time, by whose reach ended."""

    start: int
    """Of the span, UTC, ms."""
    ended: int
    failed: int
    hidden: int
    share: float | None
    causes: tuple[int, ...]
    """Failed calls by reach, in the order of `CAUSES`."""


@dataclass(frozen=True, slots=True)
class OverTimeRows:
    """Spans without a gap from the first session to the last; empty where no session has a time."""

    span: str
    """day, week (from Monday) or month."""
    rows: tuple[SpanRow, ...]


@dataclass(frozen=True, slots=True)
class HealthRow:
    """Something about the data that a reader of the figures should know."""

    what: str
    count: int


@dataclass(frozen=True, slots=True)
class ConventionRow:
    """A kind of error that was flagged at one time and not at another."""

    tool: str
    rule: str
    flagged: int
    unflagged: int
    change: str


@dataclass(frozen=True, slots=True)
class Report:
    """The analyzer's whole answer."""

    scope: Scope
    tools: tuple[ToolRow, ...]
    total: ToolCounts
    stale: StaleRow
    stale_by_tool: tuple[StaleRow, ...]
    metric: Views
    consecutive: tuple[ConsecutiveRow, ...]
    analyzer: Views
    causes: tuple[CauseRow, ...]
    """Failures by reach."""
    cause_classes: tuple[CauseRow, ...]
    """Failures by reach and level-1 class."""
    over_time: OverTimeRows
    session_causes: tuple[CauseRow, ...]
    """Sessions with an unrecovered failure, by the cause of the decisive one."""
    recovered_sessions: int
    success_path: tuple[SuccessRow, ...]
    loops: tuple[LoopRow, ...]
    fixes: tuple[Fix, ...]
    labels: LabelCounts
    metrics: tuple[MetricRow, ...]
    conventions: tuple[ConventionRow, ...]
    health: tuple[HealthRow, ...]
    inferred: InferredRows | None = None
    """Routes, slots, timeouts and chains: only where asked for, since every step has to be read."""

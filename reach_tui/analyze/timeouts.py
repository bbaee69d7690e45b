"""Timeout advice (spec B19, seed 4.3): P99 of the recorded durations and a margin of 30 %, against today's limit."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reach_tui.analyze.pairs import Wanted, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.base.jsonio import as_object
from reach_tui.model import ToolCall, Verdict

MARGIN = 1.3
"""Of the P99 (seed 4.3)."""
FEWEST = 30
"""Successful calls below which nothing is advised."""
FIRM = 100
"""Successful calls from which on the P99 is not simply the slowest call."""
_GENEROUS = 2.0  # times the advice: from here on a limit hides slowness
_LONGEST = 0x7FFF_FFFF
_LIMITS = {"timeout_ms": 1, "timeoutMs": 1, "timeout_secs": 1000, "timeout_seconds": 1000, "timeout": 0}
_MILLISECONDS = 1000  # a plain `timeout` of at least so much cannot be seconds


@dataclass(slots=True)
class Durations(Sum):
    """How long calls took, by tool, in milliseconds."""

    good: dict[str, array[int]] = field(default_factory=dict)
    """Calls that did what they were asked, with a recorded duration."""
    killed: dict[str, Counter[int]] = field(default_factory=dict)
    """Calls that a time limit ended, by the limit that they asked for; 0: by none."""
    limits: dict[str, Counter[int]] = field(default_factory=dict)
    """Limits that calls asked for in their arguments; 0: none."""

    def include(self, other: Durations) -> None:
        """Add another one to this."""
        for tool, durations in other.good.items():
            self.good.setdefault(tool, array("l")).extend(durations)
        for mine, theirs in ((self.killed, other.killed), (self.limits, other.limits)):
            for tool, limits in theirs.items():
                add_up(mine.setdefault(tool, Counter()), limits)


@dataclass(frozen=True, slots=True)
class Advice:
    """The timeout that a tool should have. Times are milliseconds."""

    tool: str
    calls: int
    """Successful calls with a duration."""
    killed: int
    """Calls that a time limit ended."""
    killed_early: int
    """Of these, calls whose limit is known and shorter than advised."""
    p50: int | None
    p99: int | None
    advised: int | None
    """P99 × 1.3; None below `FEWEST` calls."""
    today: int | None
    """The limit in force: what most calls asked for; where most asked for none the registry's; None: not known."""
    firm: bool
    """False below `FIRM` calls: the P99 is then the slowest call."""
    finding: str
    """`hides_slowness`, `kills_good_calls`, `fits`, or `` where there is too little to say."""


def of_session(pairs: Iterable[tuple[ToolCall, Verdict]], wanted: Wanted = originals) -> Durations:
    """The durations of one session's calls."""
    found = Durations()
    for one, verdict in pairs:
        if not wanted(one):
            continue
        call = one.whole()
        limit = asked_limit(call) or 0
        found.limits.setdefault(call.tool, Counter())[limit] += 1
        if verdict.subcategory == "timeout" or call.metadata.get("timed_out") is True:
            found.killed.setdefault(call.tool, Counter())[limit] += 1
        elif call.duration_ms is not None and call.duration_ms >= 0 and verdict.failed is False:
            found.good.setdefault(call.tool, array("l")).append(min(call.duration_ms, _LONGEST))
    return found


def asked_limit(call: ToolCall) -> int | None:
    """The time limit that a call's arguments ask for, in milliseconds; None where they ask for none."""
    arguments = as_object(call.arguments)
    for name, factor in _LIMITS.items():
        value = arguments.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LONGEST / 1000:
            continue
        return int(value * (factor or (1 if value >= _MILLISECONDS else 1000)))
    return None


def advice(durations: Durations, registry: Mapping[str, int]) -> list[Advice]:
    """The advice for every tool with durations or killed calls, most calls first; `registry`: limits by tool, in ms."""
    tools = {*durations.good, *durations.killed}
    found = [_advise(tool, durations, registry.get(tool)) for tool in tools]
    return sorted(found, key=lambda one: (-one.calls, one.tool))


def _advise(tool: str, durations: Durations, declared: int | None) -> Advice:
    times = sorted(durations.good.get(tool, ()))
    killed = durations.killed.get(tool, Counter())
    asked = durations.limits.get(tool, Counter())
    today = min((-count, limit) for limit, count in asked.items())[1] if asked else 0
    p99 = percentile(times, 0.99)
    advised = None if p99 is None or len(times) < FEWEST else max(1, round(p99 * MARGIN))
    early = sum(count for limit, count in killed.items() if advised and 0 < (limit or declared or 0) < advised)
    in_force = today or declared
    return Advice(
        tool, len(times), killed.total(), early, percentile(times, 0.5), p99, advised, in_force, len(times) >= FIRM,
        _finding(times, early, advised, in_force),
    )  # fmt: skip


def _finding(times: list[int], early: int, advised: int | None, today: int | None) -> str:
    if advised is None:
        return ""
    if early or (today is not None and today < advised and times[-1] >= today):
        return "kills_good_calls"
    return "" if today is None else "hides_slowness" if today > _GENEROUS * advised else "fits"


def percentile(ordered: list[int], share: float) -> int | None:
    """The nearest-rank percentile of ordered values: the smallest that at least `share` of them do not exceed."""
    if not ordered:
        return None
    return ordered[max(0, -(-int(share * 10_000) * len(ordered) // 10_000) - 1)]

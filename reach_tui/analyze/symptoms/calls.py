"""Symptoms of calls: what fails again and again, where, when, and for whom."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby

from reach_tui.analyze.intervals import fisher_midp
from reach_tui.analyze.story import Story, spoken
from reach_tui.analyze.symptoms.model import Shown, at_call, share_of, strongest
from reach_tui.base.clock import to_iso
from reach_tui.base.jsonio import dumps
from reach_tui.base.text import one_line
from reach_tui.model import ToolCall, Verdict

AGAIN = 3
SURE = 0.01
"""p-value of Fisher's exact test (mid-p) below which a difference is not put down to chance."""
MALFORMED_SHARE = 0.1
LONG = 30
LONGER, PEAK = 1.5, 2.0
WINDOW_MS = 5 * 60 * 1000
BUSY_CALLS = 40
"""Calls that the busy windows need, and the others too, before they are compared."""
GROUP_SHARE, ELSEWHERE = 0.5, 0.05
_EXECUTION = frozenset(["timeout_or_limit", "upstream_error"])
_STOPPED = frozenset(["cancelled", "user_rejected"])  # a person's decision, not an error to act on
_FORM = frozenset(["wrong_type_or_format", "value_out_of_range", "malformed_call", "unknown_parameter"])
_NEXT_STEP = re.compile(
    r"(?i)\b(?:use|try|please|must|should|expected?|instead|provide|specify|did you mean|valid (?:values|options)"
    r"|one of|available|allowed|required|retry|install|at least|at most)\b"
    r"|请|应为|应该|期望|建议|改用|可用|必须|先|重试|检查"
)
_SHOWN = 80  # characters of an error


def _short(text: str) -> str:
    shown = one_line(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


class UndecidableError:
    """The same error of the same tool, with nothing in it to act on."""

    def __init__(self) -> None:
        self._found: list[Shown] = []

    def add(self, story: Story) -> None:
        """Look for runs of one tool's failures."""
        runs: dict[str, list[ToolCall]] = {}
        for call, verdict in story.calls():
            run = runs.setdefault(call.tool, [])
            failed = verdict.failed is True and verdict.subcategory not in _STOPPED
            if failed and (not run or run[-1].text == call.text):
                run.append(call)
                continue
            self._close(run)
            runs[call.tool] = [call] if failed else []
        for run in runs.values():
            self._close(run)

    def _close(self, run: list[ToolCall]) -> None:
        text = run[0].text or "" if run else ""
        if len(run) >= AGAIN and not _NEXT_STEP.search(text[:4000]):
            said = f"“{_short(text)}”: it names no next step" if text.strip() else "no text at all"
            words = f"{run[0].tool} failed {len(run)} times in a row with {said}"
            self._found.append(at_call(run[0], words, len(run)))

    def shown(self) -> tuple[Shown, ...]:
        """The longest runs."""
        return strongest(self._found)


class StopsHalfway:
    """The last thing that happened is a call, and it did not come back as a failure."""

    def __init__(self) -> None:
        self._found: list[Shown] = []

    def add(self, story: Story) -> None:
        """Look at the end of a session."""
        last = next((told for told in reversed(story.told) if told.step.call or spoken(told.step)), None)
        if last is None or last.step.call is None or last.verdict is None:
            return
        call, verdict = last.step.call, last.verdict
        if call.copy_of is not None or call.flagged is True:
            return
        if call.result is None and verdict.failed is None:
            words = f"the session ends with {call.tool}, which never came back"
            self._found.append(at_call(call, words))
        elif verdict.failed is True and verdict.category == "timeout_or_limit":
            took = f" after {call.duration_ms / 1000:.0f} s" if call.duration_ms else ""
            words = f"the session ends with {call.tool} out of time{took}, and the store calls that a success"
            self._found.append(at_call(call, words, 2))

    def shown(self) -> tuple[Shown, ...]:
        """Unsignalled timeouts first."""
        return strongest(self._found)


class MalformedParameters:
    """A tool whose parameters are refused for their form."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._refused: dict[str, list[tuple[ToolCall, Verdict]]] = defaultdict(list)

    def add(self, story: Story) -> None:
        """Count refusals."""
        for call, verdict in story.calls():
            self._calls[call.tool] += 1
            if verdict.failed is True and verdict.category == "invalid_parameter" and verdict.subcategory in _FORM:
                self._refused[call.tool].append((call, verdict))

    def shown(self) -> tuple[Shown, ...]:
        """One piece of evidence a tool."""
        found = []
        for tool, refused in self._refused.items():
            if len(refused) >= AGAIN and len(refused) >= MALFORMED_SHARE * self._calls[tool]:
                kinds = Counter(verdict.subcategory for _, verdict in refused)
                kind, _ = kinds.most_common(1)[0]
                words = f"{tool}: {len(refused)} of {self._calls[tool]} calls refused, mostly {kind}"
                found.append(at_call(refused[0][0], words, len(refused)))
        return strongest(found)


@dataclass(frozen=True, slots=True)
class _Timed:
    at: int
    failed: bool
    where: tuple[str, int, str]


class PeakFailures:
    """Failures of execution where most calls are made."""

    def __init__(self) -> None:
        self._timed: list[_Timed] = []

    def add(self, story: Story) -> None:
        """Keep when each call began and whether execution failed it."""
        for call, verdict in story.calls():
            if call.started_at is not None and verdict.failed is not None:
                failed = verdict.failed and verdict.category in _EXECUTION
                self._timed.append(_Timed(call.started_at, failed, (call.session_id, call.step, call.key)))

    def shown(self) -> tuple[Shown, ...]:
        """The worst of the busy windows."""
        windows = [
            list(group)
            for _, group in groupby(sorted(self._timed, key=lambda one: one.at), key=lambda one: one.at // WINDOW_MS)
        ]
        windows.sort(key=len, reverse=True)
        busy: list[list[_Timed]] = []
        while windows and sum(map(len, busy)) < max(BUSY_CALLS, len(self._timed) / 4):
            busy.append(windows.pop(0))
        quiet = windows
        if len(busy[-1] if busy else ()) < 2 * max((len(one) for one in quiet), default=0) or not quiet:
            return ()  # there is no peak: the busy windows are hardly busier than the others
        peak, rest = _share(busy), _share(quiet)
        if rest[1] < BUSY_CALLS or not _clearly_worse(peak, rest, PEAK):
            return ()
        share = f"{peak[0]} of {peak[1]} calls failed in execution at peak, {rest[0]} of {rest[1]} otherwise"
        found = []
        for window in busy:
            if first := next((one for one in window if one.failed), None):
                session, step, key = first.where
                words = f"{share}; {len(window)} calls in the five minutes from {to_iso(window[0].at)}"
                found.append(Shown(session, step, key, words, sum(one.failed for one in window)))
        return strongest(found)


def _share(windows: list[list[_Timed]]) -> tuple[int, int]:
    return sum(one.failed for window in windows for one in window), sum(map(len, windows))


def _clearly_worse(worse: tuple[int, int], better: tuple[int, int], times: float) -> bool:
    if not worse[1] or not better[1] or worse[0] * better[1] < times * better[0] * worse[1]:
        return False
    chance = fisher_midp(better, worse)
    return chance is not None and chance < SURE


class LongerIsWorse:
    """The end of long sessions against their beginning."""

    def __init__(self) -> None:
        self._first: Counter[bool] = Counter()
        self._last: Counter[bool] = Counter()
        self._worst: list[tuple[int, ToolCall]] = []

    def add(self, story: Story) -> None:
        """Count failures in the first and the last third of a long session."""
        own = [(call, verdict.failed) for call, verdict in story.calls() if verdict.failed is not None]
        if len(own) < LONG:
            return
        third = len(own) // 3
        first, last = own[:third], own[-third:]
        self._first.update(failed for _, failed in first if failed is not None)
        self._last.update(failed for _, failed in last if failed is not None)
        late = [call for call, failed in last if failed]
        if late:
            self._worst.append((len(late), late[0]))
            self._worst = sorted(self._worst, key=lambda one: -one[0])[:5]

    def shown(self) -> tuple[Shown, ...]:
        """The sessions with the most failures at their end."""
        early, late = share_of(self._first), share_of(self._last)
        if not _clearly_worse(late, early, LONGER):
            return ()
        share = f"last third of long sessions: {late[0]} of {late[1]} calls fail, first: {early[0]} of {early[1]}"
        return strongest([at_call(call, f"{share}; {count} of them here", count) for count, call in self._worst])


class WriteRepeated:
    """The same write, sent again."""

    def __init__(self) -> None:
        self._found: list[Shown] = []

    def add(self, story: Story) -> None:
        """Look for a second identical write in a turn."""
        done: dict[tuple[int, str, str], tuple[ToolCall, Verdict]] = {}
        for call, verdict in story.calls():
            if call.tool not in story.unsafe:
                continue
            place = call.turn, call.tool, dumps(call.arguments)
            before = done.get(place)
            if before is not None:
                outcome = "succeeded" if before[1].failed is False else "had an unknown outcome"
                words = (
                    f"{call.tool} was sent again with the same arguments; the first, step {before[0].step}, {outcome}"
                )
                self._found.append(at_call(call, words, 2 if before[1].failed is False else 1))
            timed_out = verdict.category == "timeout_or_limit" and verdict.subcategory == "timeout"
            if verdict.failed is not True or timed_out:
                done[place] = call, verdict

    def shown(self) -> tuple[Shown, ...]:
        """Those after a success first."""
        return strongest(self._found)


class OneKindOfUser:
    """Permission failures that one group alone has."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
        self._example: dict[tuple[str, str], ToolCall] = {}

    def add(self, story: Story) -> None:
        """Count a group's denials by tool."""
        for call, verdict in story.calls():
            denied = verdict.failed is True and verdict.category == "permission_denied"
            group = str(call.metadata.get("user") or story.group)
            self._calls[call.tool][group][denied] += 1
            if denied:
                self._example.setdefault((call.tool, group), call)

    def shown(self) -> tuple[Shown, ...]:
        """The groups that are shut out."""
        found = []
        for tool, groups in self._calls.items():
            for group, counts in groups.items():
                denied, calls = share_of(counts)
                if denied < AGAIN or denied < GROUP_SHARE * calls or not group:
                    continue
                others = [share_of(other) for name, other in groups.items() if name != group]
                denied_elsewhere, elsewhere = sum(one for one, _ in others), sum(of for _, of in others)
                chance = fisher_midp((denied_elsewhere, elsewhere), (denied, calls))
                if denied_elsewhere <= ELSEWHERE * elsewhere and chance is not None and chance < SURE:
                    words = (
                        f"{tool} was denied in {denied} of {calls} calls for {_short(group)}, "
                        f"in {denied_elsewhere} of {elsewhere} for all others"
                    )
                    found.append(at_call(self._example[tool, group], words, denied))
        return strongest(found)

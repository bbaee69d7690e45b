"""Loops: the same call again and again, the same error again and again, two calls in turn (taxonomy class 8).

A loop is a run of at least three (taxonomy, section 2, step 8), a ping-pong A-B-A-B one of at least four (Peri's
analyzer). Copies of calls are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from reach_tui.analyze.pairs import Pair, Pairs, Wanted, error_text, originals

SAME_CALL, SAME_ERROR, PING_PONG = "same_call_repeated", "same_error_repeated", "tool_ping_pong"
_RUN, _TURNS = 3, 4


@dataclass(frozen=True, slots=True)
class Loop:
    """A run of calls that got nowhere."""

    what: str
    """Level-2 id of the taxonomy."""
    tool: str
    first_key: str
    first_step: int
    last_step: int
    length: int


@dataclass(slots=True)
class Loops:
    """Loops by kind: how many, the calls in them, and in how many sessions."""

    count: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    example: dict[str, str] = field(default_factory=dict)
    """The call key where the first one begins."""

    def __add__(self, other: Loops) -> Loops:
        return Loops(
            self.count + other.count,
            self.calls + other.calls,
            self.sessions + other.sessions,
            other.example | self.example,
        )


def find(pairs: Pairs) -> list[Loop]:
    """Every loop of one session, in order of where it begins."""
    own = [pair for pair in pairs if pair[0].copy_of is None]
    loops = [*_same_calls(own), *_same_errors(own), *_ping_pongs(own)]
    return sorted(loops, key=lambda loop: (loop.first_step, loop.what))


def of_session(pairs: Pairs, wanted: Wanted = originals) -> Loops:
    """The loops of one session that begin with a wanted call."""
    keys = {call.key for call, _ in pairs if wanted(call)}
    found = Loops()
    for loop in find(pairs):
        if loop.first_key in keys:
            found.count[loop.what] += 1
            found.calls[loop.what] += loop.length
            found.sessions[loop.what] = 1
            found.example.setdefault(loop.what, loop.first_key)
    return found


def _same(one: Pair, other: Pair) -> bool:
    return one[0].tool == other[0].tool and one[0].arguments == other[0].arguments


def _loop(what: str, run: Pairs) -> Loop:
    first, last = run[0][0], run[-1][0]
    return Loop(what, first.tool, first.key, first.step, last.step, len(run))


def _same_calls(own: Pairs) -> Iterator[Loop]:
    start = 0
    for place in range(1, len(own) + 1):
        if place == len(own) or not _same(own[place], own[start]):
            if place - start >= _RUN:
                yield _loop(SAME_CALL, own[start:place])
            start = place


def _same_errors(own: Pairs) -> Iterator[Loop]:
    """Runs of failures of one tool with one text; what other tools do between does not end them."""
    runs: dict[str, list[Pair]] = {}
    for pair in own:
        call, verdict = pair
        run = runs.setdefault(call.tool, [])
        if verdict.failed is True and (not run or error_text(run[0][0]) == error_text(call)):
            run.append(pair)
            continue
        if verdict.failed is None and call.result is None:
            continue
        if len(run) >= _RUN:
            yield _loop(SAME_ERROR, run)
        runs[call.tool] = [pair] if verdict.failed is True else []
    for run in runs.values():
        if len(run) >= _RUN:
            yield _loop(SAME_ERROR, run)


def _ping_pongs(own: Pairs) -> Iterator[Loop]:
    start = 0
    while start + _TURNS <= len(own):
        end = start + 2
        if not _same(own[start], own[start + 1]):
            while end < len(own) and _same(own[end], own[end - 2]):
                end += 1
        if end - start >= _TURNS:
            yield _loop(PING_PONG, own[start:end])
            start = end - 1
        else:
            start += 1

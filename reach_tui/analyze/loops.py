"""Loops: the same call again and again, the same error again and again, two calls in turn (taxonomy class 8).

A loop is a run of at least three (taxonomy, section 2, step 8), a ping-pong A-B-A-B one of at least four (Peri's
analyzer). Copies of calls are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reach_tui.analyze.pairs import Pair, Pairs, Wanted, error_text, has_result, originals
from reach_tui.analyze.sums import Sum, add_up

SAME_CALL, SAME_ERROR, PING_PONG = "same_call_repeated", "same_error_repeated", "tool_ping_pong"
_RUN, _TURNS = 3, 4


@dataclass(frozen=True, slots=True)
class Loop:
    """A run of calls that got nowhere."""

    what: str
    """Level-2 id of the taxonomy."""
    tool: str
    first_key: str
    places: Sequence[int]
    """Of its calls among those that are no copies, in order, from 0."""

    @property
    def first(self) -> int:
        """Place of the first call."""
        return self.places[0]

    @property
    def last(self) -> int:
        """Place of the last call."""
        return self.places[-1]

    @property
    def length(self) -> int:
        """How many calls it has."""
        return len(self.places)


@dataclass(slots=True)
class Loops(Sum):
    """Loops by kind: how many, the calls in them, and in how many sessions."""

    count: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    example: dict[str, str] = field(default_factory=dict)
    """The call key where the first one begins."""

    def include(self, other: Loops) -> None:
        """Add another one to this."""
        add_up(self.count, other.count)
        add_up(self.calls, other.calls)
        add_up(self.sessions, other.sessions)
        for what, key in other.example.items():
            self.example.setdefault(what, key)


def find(pairs: Pairs) -> list[Loop]:
    """Every loop of one session, in order of where it begins."""
    own = uncopied(pairs)
    tools = [call.tool for call, _ in own]
    loops = [*_same_calls(own, tools), *_ping_pongs(own, tools)]
    if sum(verdict.failed is True for _, verdict in own) >= _RUN:
        loops += _same_errors(own)
    return sorted(loops, key=lambda loop: (loop.first, loop.what)) if len(loops) > 1 else loops


def uncopied(pairs: Pairs) -> Pairs:
    """The calls that are no stored copies of others."""
    return [pair for pair in pairs if pair[0].copy_of is None]


def of_session(pairs: Pairs, wanted: Wanted = originals, runs: Sequence[Loop] | None = None) -> Loops:
    """The loops of one session that begin with a wanted call; `runs` are all of them, where they are known."""
    found = Loops()
    kept = begun(pairs, wanted, runs)
    for what in dict.fromkeys(loop.what for loop in kept):
        same = [loop for loop in kept if loop.what == what]
        found.count[what] = len(same)
        found.calls[what] = len(places_in(same))
        found.sessions[what] = 1
        found.example[what] = same[0].first_key
    return found


def begun(pairs: Pairs, wanted: Wanted = originals, runs: Sequence[Loop] | None = None) -> list[Loop]:
    """The loops of one session that begin with a wanted call, in order."""
    loops = find(pairs) if runs is None else runs
    keys = {call.key for call, _ in pairs if wanted(call)} if loops else ()
    return [loop for loop in loops if loop.first_key in keys]


def places_in(loops: Iterable[Loop]) -> list[int]:
    """The places of the calls in these loops, each once: two in turn may end where two others begin."""
    return sorted({place for loop in loops for place in loop.places})


def _same(one: Pair, other: Pair) -> bool:
    return one[0].tool == other[0].tool and one[0].arguments == other[0].arguments


def _loop(what: str, own: Pairs, places: Sequence[int]) -> Loop:
    first = own[places[0]][0]
    return Loop(what, first.tool, first.key, places)


def _same_calls(own: Pairs, tools: Sequence[str]) -> Iterator[Loop]:
    start = 0
    for place in range(1, len(own) + 1):
        if place < len(own) and tools[place] == tools[start] and _same(own[place], own[start]):
            continue
        if place - start >= _RUN:
            yield _loop(SAME_CALL, own, range(start, place))
        start = place


def _same_errors(own: Pairs) -> Iterator[Loop]:
    """Runs of failures of one tool with one text; what other tools do between does not end them."""
    runs: dict[str, list[int]] = {}
    for place, (call, verdict) in enumerate(own):
        failed = verdict.failed is True
        run = runs.get(call.tool)
        if not run:
            if failed:
                runs[call.tool] = [place]
            continue
        if failed and error_text(own[run[0]][0]) == error_text(call):
            run.append(place)
            continue
        if verdict.failed is None and not has_result(call):
            continue
        if len(run) >= _RUN:
            yield _loop(SAME_ERROR, own, run)
        runs[call.tool] = [place] if failed else []
    for run in runs.values():
        if len(run) >= _RUN:
            yield _loop(SAME_ERROR, own, run)


def _ping_pongs(own: Pairs, tools: Sequence[str]) -> Iterator[Loop]:
    start = 0
    while start + _TURNS <= len(own):
        end = start + 2
        # the tools alone rule out most beginnings
        if tools[start] == tools[end] and tools[start + 1] == tools[end + 1] and not _same(own[start], own[start + 1]):
            while end < len(own) and _same(own[end], own[end - 2]):
                end += 1
        if end - start >= _TURNS:
            yield _loop(PING_PONG, own, range(start, end))
            start = end - 1
        else:
            start += 1

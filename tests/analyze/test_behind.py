"""Which calls a number counts: as many as the number says, whatever the session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze import loops
from reach_tui.analyze.behind import (
    CALLS,
    LOOPS,
    NOT_FOUND,
    RE_READ,
    SESSIONS,
    STALE,
    WRITTEN_ONLY,
    Course,
    Decisive,
    Ended,
    Fired,
    Looped,
    Missed,
    Number,
    OddCalls,
    OddSteps,
    Routed,
)
from reach_tui.analyze.guards import AFTER, ANALYZER, ANY, FLAG, METRIC, SAME, TRUTH, Firing
from reach_tui.analyze.health import COPIES, OF_CALLS, UNREADABLE
from reach_tui.analyze.pairs import Pair, originals
from reach_tui.analyze.tally import Tally, of_session
from reach_tui.model import Candidate, Glance, Route, Session, Step, StepKind, Verdict
from tests.analyze.kit import bad, call, ok

_TOOLS = ("Edit", "Read", "Write", "Bash")
_ROUTE = Route("recorded", "x", (Candidate("Edit", 0.9),), "execute")
_tools = st.sampled_from(_TOOLS)
_files = st.sampled_from([{"file_path": "a"}, {"file_path": "b"}, {"command": "ls"}])


@st.composite
def _pairs(draw: st.DrawFn) -> list[Pair]:
    pairs: list[Pair] = []
    for number in range(draw(st.integers(0, 14))):
        tool = draw(_tools)
        more = {
            "arguments": draw(_files),
            "flagged": draw(st.sampled_from([True, False, None])),
            "copy_of": draw(st.sampled_from([None, None, None, "other/1"])),
            "problem": draw(st.sampled_from([None, None, "cut off"])),
            "route": draw(st.sampled_from([None, _ROUTE])),
        }
        made = draw(st.sampled_from(["ok", "bad", "missed", "none"]))
        if made == "ok":
            pairs.append(ok(tool, number, **more))
        elif made == "none":
            pairs.append((call(tool, number, None, **more), Verdict(None)))
        else:
            own = {"category": "stale_context", "subcategory": "stale_edit"} if made == "missed" else {}
            pairs.append(bad(tool, number, draw(st.sampled_from(["Error: a", "Error: b"])), **own, **more))
    return pairs


_STEPS = [
    Step(90, 1, StepKind.RAW, "{"),
    Step(91, 1, StepKind.NOTE, "orphan result: x"),
    Step(92, 1, StepKind.DECISION, route=_ROUTE),
    Step(93, 1, StepKind.USER, "thanks"),
]


def numbers(tally: Tally) -> list[Number]:
    """Every number there is of such a session."""
    guards = [
        *(Firing(rule, after, view) for rule in (SAME, ANY) for after in AFTER for view in (FLAG, TRUTH)),
        *(Firing(rule, 1, view) for rule in (METRIC, ANALYZER) for view in (FLAG, TRUTH)),
    ]
    return [
        *map(Fired, guards),
        *(Missed(tool, kind) for tool in _TOOLS for kind in (NOT_FOUND, STALE, RE_READ, WRITTEN_ONLY)),
        *map(Decisive, tally.attribution.sessions),
        *(
            Looped(what, measure)
            for what in (loops.SAME_CALL, loops.SAME_ERROR, loops.PING_PONG)
            for measure in (CALLS, LOOPS, SESSIONS)
        ),
        *map(OddCalls, OF_CALLS),
        *map(OddSteps, (UNREADABLE, "orphan results", "malformed calls")),
        *map(Routed, (True, False)),
        *map(Ended, (None, *_TOOLS)),
    ]


@given(_pairs(), st.booleans())
def test_a_number_is_the_length_of_what_it_finds(pairs: list[Pair], one_tool: bool) -> None:
    def wanted(call: Glance) -> bool:
        return originals(call) and (not one_tool or call.tool == "Edit")

    session = Session("peri", "s", project="/w")
    course = Course(session, pairs, _STEPS, wanted)
    tally = of_session(session, pairs, _STEPS, wanted)
    for number in numbers(tally):
        found = list(number.find(course))
        assert len(found) == number.count(tally), number
        assert len({id(one) for one in found}) == len(found), number


def test_two_in_turn_that_end_where_two_others_begin_share_a_call() -> None:
    turns = [ok(tool, place) for place, tool in enumerate(("Read", "Bash", "Read", "Bash", "Edit", "Bash", "Edit"))]
    kept = loops.begun(turns)
    assert [one.length for one in kept] == [4, 4]
    assert loops.of_session(turns).calls[loops.PING_PONG] == 7
    course = Course(Session("peri", "s"), turns)
    assert list(Looped(loops.PING_PONG).find(course)) == [call for call, _ in turns]
    assert list(Looped(loops.PING_PONG, LOOPS).find(course)) == [turns[0][0], turns[3][0]]


def test_copies_are_found_where_they_are_counted() -> None:
    copy = ok("Edit", 1, copy_of="other/1")
    assert list(OddCalls(COPIES).find(Course(Session("peri", "s"), [copy, ok("Edit", 2)]))) == [copy[0]]

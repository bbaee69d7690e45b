"""Routes and slots of an open session: lazily, in any order, anew where the session changed, until nobody asks."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.model import Result, Session
from reach_tui.workspace import JudgedStep
from reach_tui.workspace.insights import SessionInsights
from reach_tui.workspace.slots import Insight, with_slots
from reach_tui.workspace.sources import Source, open_source
from reach_tui.workspace.workspace import Workspace

PERI = Path(__file__).resolve().parents[1] / "data" / "peri" / "schema_3.db"


@pytest.fixture(scope="module")
def opened() -> tuple[Workspace, Source, Session, list[JudgedStep]]:
    """The session of the database with the most steps."""
    workspace, source = Workspace(), open_source(PERI)
    sessions = {session.id: list(workspace.judged_steps(source, session.id)) for session in source.reader.sessions()}
    longest = max(sessions, key=lambda one: len(sessions[one]))
    session = source.reader.session(longest)
    assert session is not None
    return workspace, source, session, sessions[longest]


def calls(steps: list[JudgedStep]) -> list[int]:
    return [place for place, one in enumerate(steps) if one.judged is not None]


def test_any_order_tells_the_same(opened: tuple[Workspace, Source, Session, list[JudgedStep]]) -> None:
    workspace, source, session, steps = opened
    forwards, backwards = (SessionInsights(workspace.inference(source), session) for _ in range(2))
    places = calls(steps)
    assert len(places) > 30
    told = {place: forwards.of(steps, place) for place in places}
    again = {place: backwards.of(steps, place) for place in reversed(places)}
    assert told == again
    streamed = {judged.call.key: insight for judged, insight in with_slots(workspace, source, [session.id])}
    for place, insight in told.items():
        judged = steps[place].judged
        assert insight is not None
        assert judged is not None
        assert insight.call.slots == streamed[judged.call.key].call.slots
        assert insight.confidence == streamed[judged.call.key].confidence
        assert insight.call.route is not None
        assert replace(insight.call, slots=None, route=None) == judged.call
    assert any(insight and insight.belief for insight in told.values())


def test_what_is_taken_in_ahead_tells_the_same(opened: tuple[Workspace, Source, Session, list[JudgedStep]]) -> None:
    workspace, source, session, steps = opened
    lazily, ahead = (SessionInsights(workspace.inference(source), session) for _ in range(2))
    places = calls(steps)
    ahead.ahead(steps, lambda: False)
    assert ahead._taken == [], "nobody has asked yet"
    first = ahead.of(steps, places[0])
    asked = iter([False, True])
    ahead.ahead(steps, lambda: next(asked))
    assert places[0] < len(ahead._taken) < len(steps)
    ahead.ahead(steps, lambda: False)
    assert ahead._taken == steps
    assert first == lazily.of(steps, places[0])
    assert [ahead.of(steps, place) for place in places] == [lazily.of(steps, place) for place in places]
    judged = steps[places[1]].judged
    assert judged is not None
    other = replace(judged.call, result=Result("another", 7))
    changed = [
        *steps[: places[1]],
        replace(steps[places[1]], judged=replace(judged, call=other)),
        *steps[places[1] + 1 :],
    ]
    fresh = SessionInsights(workspace.inference(source), session)
    assert ahead.of(changed, places[-1]) == fresh.of(changed, places[-1])


def test_messages_and_places_beyond_the_end_have_none(
    opened: tuple[Workspace, Source, Session, list[JudgedStep]],
) -> None:
    workspace, source, session, steps = opened
    insights = SessionInsights(workspace.inference(source), session)
    message = next(place for place, one in enumerate(steps) if one.judged is None)
    assert insights.of(steps, message) is None
    assert insights.of(steps, len(steps) + 5) is None
    assert insights.of([], 0) is None


def test_a_session_that_changed_is_read_anew(opened: tuple[Workspace, Source, Session, list[JudgedStep]]) -> None:
    workspace, source, session, steps = opened
    insights = SessionInsights(workspace.inference(source), session)
    last = calls(steps)[-1]
    before = insights.of(steps, last)
    first = calls(steps)[0]
    judged = steps[first].judged
    assert judged is not None
    path = "/nowhere/told_only_here.py"
    call = replace(judged.call, result=Result(path, len(path)))
    changed = [*steps]
    changed[first] = replace(
        steps[first], step=replace(steps[first].step, call=call), judged=replace(judged, call=call)
    )
    asked = changed[last].judged
    assert asked is not None
    wanted = replace(asked.call, tool="Read", arguments={"file_path": path}, slots=None)
    changed[last] = replace(
        changed[last], step=replace(changed[last].step, call=wanted), judged=replace(asked, call=wanted)
    )
    after = insights.of(changed, last)
    assert after is not None
    assert after.call.slots is not None
    assert (after.call.slots[0].source, after.call.slots[0].origin_step) == ("result", steps[first].step.number)
    assert insights.of(steps, last) == before


def test_nobody_wants_it_any_more(opened: tuple[Workspace, Source, Session, list[JudgedStep]]) -> None:
    workspace, source, session, steps = opened
    insights = SessionInsights(workspace.inference(source), session)
    last = calls(steps)[-1]
    assert insights.of(steps, last, lambda: True) is None
    assert insights.of(steps, last) is not None


def test_threads_wait_for_each_other(opened: tuple[Workspace, Source, Session, list[JudgedStep]]) -> None:
    workspace, source, session, steps = opened
    shared, alone = (SessionInsights(workspace.inference(source), session) for _ in range(2))
    found: dict[int, Insight | None] = {}

    def ask(place: int) -> None:
        found[place] = shared.of(steps, place)

    places = calls(steps)[::5]
    threads = [threading.Thread(target=ask, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {place: alone.of(steps, place) for place in places}

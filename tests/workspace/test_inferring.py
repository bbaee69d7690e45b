"""Inferred routes through the workspace: which tools there were, recorded routes first, any order, any thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reach_tui.infer.candidates import RECORDED, REGISTRY, SEEN
from reach_tui.model import Candidate, Result, Route, Session, Step, StepKind, ToolCall
from reach_tui.stores.offered import OfferedTool
from reach_tui.workspace.inferring import Inference
from reach_tui.workspace.judged import JudgedStep
from reach_tui.workspace.sources import Source
from reach_tui.workspace.tool_sets import KEPT, PersonsRegistry, ToolSets
from reach_tui.workspace.workspace import Workspace

DATA = Path(__file__).parents[1] / "data"
OWN = Route("recorded", "mine", (Candidate("edit", 1.0),), "execute")


def called(number: int, tool: str, **more: Any) -> Step:
    one = ToolCall(f"s/{number}", str(number), "s", tool, step=number, turn=1, flagged=False, **more)
    return Step(number, 1, StepKind.CALL, call=one)


STORY = [
    Step(1, 1, StepKind.USER, "Show the file and fix the typo in it"),
    called(2, "read", arguments={"filePath": "a.py"}, result=Result("text", 4)),
    Step(3, 1, StepKind.ASSISTANT, "Now I replace the word."),
    called(4, "edit", route=OWN, result=Result("done", 4)),
    called(5, "bash", result=Result("done", 4)),
    called(6, "invented", result=Result("Model tried to call unavailable tool 'invented'. Available tools: read", 71)),
    called(7, "desk_find", result=Result("{}", 2)),
]


@dataclass
class Kept:
    """A reader of one session that is there already."""

    kind = "opencode"
    title = "kept"
    flag_meaning = ""
    path = Path("kept.db")
    story: list[Step]

    def sessions(self) -> Iterator[Session]:
        yield Session(self.kind, "s")

    def session(self, session_id: str) -> Session | None:
        return Session(self.kind, "s") if session_id == "s" else None

    def steps(self, session_id: str) -> Iterator[Step]:
        return iter(self.story)

    def calls(self, session_ids: Any = None) -> Iterator[ToolCall]:
        return (step.call for step in self.story if step.call is not None)

    def troubles(self, session_id: str) -> list[Any]:
        return []

    def data_version(self) -> object:
        return 0


class Offering(Kept):
    """A reader that knows what was offered."""

    offers: dict[str, list[OfferedTool]]

    def offered_tools(self, session_id: str) -> list[OfferedTool]:
        return self.offers.get(session_id, [])


def source(reader: Kept) -> Source:
    return Source(reader.path, reader.kind, reader.title, "", None, reader)


@pytest.fixture
def workspace() -> Workspace:
    return Workspace()


def routes(workspace: Workspace, story: list[Step]) -> dict[int, Route]:
    kept = source(Kept(story))
    told = Inference(workspace, kept).told("s", workspace.judged_steps(kept, "s"))
    return {one.step.number: one.judged.call.route for one in told if one.judged and one.judged.call.route}


def test_a_recorded_route_stays_and_the_others_are_inferred(workspace: Workspace) -> None:
    found = routes(workspace, STORY)
    assert found[4] is OWN
    assert {found[number].basis for number in (2, 5, 6, 7)} == {"inferred"}
    assert found[2].candidates_from == SEEN
    assert found[2].intent == "Show the file and fix the typo in it"
    assert found[5].intent.endswith("⇒ Now I replace the word.")


def test_tools_are_those_seen_and_no_made_up_names(workspace: Workspace) -> None:
    tools = ToolSets(source(Kept(STORY)), workspace.engine).of("s")
    assert [tool.name for tool in tools.tools] == ["bash", "desk_find", "edit", "read"]
    assert tools.tools[3].sample_calls
    assert not tools.tools[1].sample_calls
    assert routes(workspace, STORY)[6].chosen is None


def test_what_came_back_changes_nothing(workspace: Workspace) -> None:
    swapped = [
        replace(step, call=replace(step.call, result=Result("read edit grep", 14), flagged=True))
        if step.call is not None and step.number in (2, 5)
        else step
        for step in STORY
    ]
    assert routes(workspace, swapped) == routes(workspace, STORY)
    cut = routes(workspace, STORY[:3] + STORY[4:5])
    assert cut[2].intent == routes(workspace, STORY)[2].intent


def test_offered_tools_come_first_and_a_persons_registry_second(workspace: Workspace) -> None:
    reader = Offering(STORY)
    reader.offers = {"s": [OfferedTool("look", "Shows a file.", {"type": "object"}), OfferedTool("")]}
    registry = PersonsRegistry(Path("claude_code"))
    sets = ToolSets(source(reader), workspace.engine, registry)
    assert (sets.of("s").origin, [tool.name for tool in sets.of("s").tools]) == (RECORDED, ["look"])
    assert sets.of("s") is sets.of("s")
    assert sets.of("other").origin == REGISTRY
    assert ToolSets(source(reader), workspace.engine, registry, person_first=True).of("s").origin == REGISTRY


def test_tools_that_change_with_each_session_are_not_all_kept(workspace: Workspace) -> None:
    reader = Offering(STORY)
    reader.offers = {str(number): [OfferedTool("look", f"Today is day {number}.")] for number in range(3 * KEPT)}
    inference = Inference(workspace, source(reader))
    for number in range(3 * KEPT):
        assert inference.routes(str(number)).tools.tools[0].description == f"Today is day {number}."
    assert len(inference._routes) <= KEPT


def test_calls_may_be_asked_in_any_order_and_thread(workspace: Workspace) -> None:
    kept = source(Kept(STORY))
    steps = list(workspace.judged_steps(kept, "s"))
    told = Inference(workspace, kept).routes("s")

    def ask(place: int) -> Route:
        told.read(steps, place)
        judged = steps[place].judged
        assert judged is not None
        return told.route(judged.call)

    places = [place for place, one in enumerate(steps) if one.judged] * 20
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(places, pool.map(ask, places), strict=True))
    assert {steps[place].step.number: route for place, route in found.items()} == routes(workspace, STORY)


def test_calls_of_several_sessions_keep_their_order(workspace: Workspace) -> None:
    (one,) = Workspace([DATA / "llm" / "llm-0.36.db"]).found.sources
    calls = list(workspace.judged_calls(one))
    told = list(Inference(workspace, one).calls(calls))
    assert [judged.call.key for judged in told] == [judged.call.key for judged in calls]
    assert [replace(judged.call, route=None, slots=None) for judged in told] == [judged.call for judged in calls]
    assert {judged.call.route.candidates_from for judged in told if judged.call.route} == {RECORDED}
    assert list(Inference(workspace, one).calls(told)) == told


def test_a_step_that_is_no_call_passes(workspace: Workspace) -> None:
    kept = source(Kept(STORY))
    first = next(iter(Inference(workspace, kept).told("s", [JudgedStep(STORY[0])])))
    assert first == JudgedStep(STORY[0])

"""What differs in a replayed session, and what is known at each of its steps."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.analyze.story import Told
from reach_tui.model import Candidate, Result, Route, Session, Step, StepKind, Thresholds, ToolCall, Verdict
from reach_tui.native.writer import NativeWriter
from reach_tui.reach.breaker import BreakerSettings, BreakerState
from reach_tui.replay.differences import Course, Kind
from reach_tui.replay.whatif import Changes, replay
from reach_tui.workspace import Workspace
from reach_tui.workspace.held_files import HeldFiles
from reach_tui.workspace.importing import Importer, stories
from reach_tui.workspace.replaying import Replay, ReplaySettings

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "sample_traces/reach/shop.db"
ROUTE = Route("recorded", "ask", (Candidate("a", 0.8), Candidate("b", 0.6)), "execute", Thresholds())


def told(number: int, tool: str = "a", *, failed: bool | None = False, ms: int = 100, turn: int = 1) -> Told:
    """A call and what became of it, one a second."""
    text = "boom" if failed else "fine"
    call = ToolCall(
        f"k{number}", f"k{number}", "s", tool, {}, False, Result(text, len(text)), step=number, turn=turn,
        started_at=1_700_000_000_000 + 1000 * number, duration_ms=ms, route=ROUTE,
    )  # fmt: skip
    verdict = Verdict(failed, 0.9, "upstream_error" if failed else None, "http_5xx" if failed else None)
    return Told(Step(number, turn, StepKind.CALL, call=call), verdict)


def course(steps: list[Told], changes: Changes) -> Course:
    """A session replayed."""
    return Course(replay("s", steps, changes))


def test_flips_come_first_and_every_kind_is_told() -> None:
    steps = [told(n, failed=n in (2, 3)) for n in range(1, 5)]
    found = course(steps, Changes(t1=0.9, guard_after=2, timeouts={"*": 50}))
    assert [one.kind for one in found.differences][:4] == [Kind.FLIP] * 4
    assert found.counts == {Kind.FLIP: 4, Kind.GUARD: 1, Kind.KILLED_GOOD: 2, Kind.KILLED: 2}
    assert found.steps == [1, 2, 3, 4]
    assert [one.kind for one in found.at[3]] == [Kind.FLIP, Kind.GUARD, Kind.KILLED]
    assert "execute a → clarify (a 0.80 < 0.9)" in found.at[1][0].words
    assert "in truth; by flag it stays silent: 2 failures of a" in found.at[3][1].words


def test_the_guard_at_the_cursor_and_the_next_time_it_speaks() -> None:
    found = course([told(n, failed=n != 4) for n in range(1, 9)], Changes(guard_after=3))
    assert found.guard(0) is None
    state = found.guard(2)
    assert state is not None
    assert state.guard is not None
    assert (state.guard.by_flag, state.guard.by_truth) == (0, 2)
    assert [found.next_guard(step) for step in (1, 3, 7, 8)] == [3, 7, 8, None]
    assert found.guard(100) is found.guard(8)


def test_breakers_by_tool_up_to_the_cursor() -> None:
    steps = [told(n, failed=True) for n in range(1, 5)] + [told(5, "b"), told(6)]
    found = course(steps, Changes(breaker=BreakerSettings(in_a_row=3)))
    assert found.breakers(3) == {"a": BreakerState.CLOSED}
    assert found.breakers(4) == {"a": BreakerState.OPEN}
    assert found.breakers(6) == {"a": BreakerState.OPEN, "b": BreakerState.CLOSED}
    assert [one.step for one in found.differences if one.kind is Kind.BLOCKED] == [4, 6]


def test_a_budget_is_shared_by_the_calls_after_one_request_and_whole_again_after_the_next() -> None:
    steps = [told(1, ms=500), told(2, ms=500), told(3, ms=500, failed=True), told(4, ms=100, turn=2)]
    found = replay("s", steps, Changes(budget_ms=1000))
    # four fifths are the steps' (seed 4.3); a second after the request the whole of it is over
    assert [one.budget_left for one in found.moments] == [800, 0, 0, 800]
    assert [one.over_budget for one in found.moments] == [None, "good", "bad", None]
    assert all(one.budget_left is None for one in replay("s", steps, Changes()).moments)


def test_without_changes_nothing_differs_in_any_native_database(tmp_path: Path) -> None:
    imported = tmp_path / "imported.db"
    other = Workspace([ROOT / "tests/data/opencode/opencode-1.2.20.db"])
    with NativeWriter(imported) as writer:
        importer = Importer(writer)
        for story in stories(other, other.found.sources[0]):
            importer.add(story, "other")
    for path in (Path(shutil.copy(SHOP, tmp_path)), imported):
        workspace = Workspace([path])
        replayer = Replay(workspace, workspace.found.sources[0], ReplaySettings())
        for session in replayer.sessions():
            found = Course(replayer.run(replayer.read(session)))
            assert found.counts[Kind.FLIP] == 0
            assert found.replayed.unexplained == 0
            assert {one.kind for one in found.differences} <= {Kind.GUARD}


@pytest.mark.parametrize("again", [False, True])
def test_other_settings_on_the_same_recording_equal_a_replay_made_for_them(again: bool) -> None:
    workspace = Workspace([SHOP])
    source = workspace.found.sources[0]
    wanted = ReplaySettings(t1=0.6, k=2, guard_after=2, registry=Path("shop") if again else None, retries=True)
    used = Replay(workspace, source, ReplaySettings())
    for session in list(used.sessions())[:4]:
        recording = used.read(session)
        for settings in (replace(wanted, k=None), ReplaySettings(degraded=True), wanted, wanted):
            used.use(settings)
            found = used.run(recording)
        made = Replay(workspace, source, wanted)
        assert found == made.run(made.read(session))


def test_the_file_an_edit_believed_in() -> None:
    def step(number: int, tool: str, arguments: dict[str, str], text: str, *, failed: bool = False) -> Told:
        call = ToolCall(f"k{number}", "c", "s", tool, dict(arguments), False, Result(text, len(text)), step=number)
        return Told(Step(number, 1, StepKind.CALL, call=call), Verdict(failed, 0.9))

    path = "/w/a.py"
    steps = [
        step(1, "read", {"file_path": path}, "one\ntwo\n"),
        step(2, "edit", {"file_path": path, "old_string": "one", "new_string": "uno"}, "ok"),
        step(3, "edit", {"file_path": path, "old_string": "one", "new_string": "1"}, "not found", failed=True),
        step(4, "read", {"file_path": "/w/b.py"}, "b"),
    ]
    held = HeldFiles(Session("x", "s", project="/w"), steps)
    calls = [one.step.call for one in steps]
    assert calls[0] is not None
    assert calls[1] is not None
    assert calls[2] is not None
    assert calls[3] is not None
    [first], [edit], [stale], [other] = (held.at(call) for call in calls if call is not None)
    assert (first.versions, first.held) == (0, None)
    assert (edit.versions, edit.held, edit.how, edit.read, edit.stale) == (1, 1, "read", 1, False)
    assert (stale.versions, stale.held, stale.how, stale.read, stale.stale) == (2, 2, "edit", 1, True)
    assert stale.belief is not None
    assert stale.belief.standing.replaced_by == 2
    assert other.versions == 0

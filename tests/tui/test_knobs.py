"""The settings of a replay: turned, typed, put back, shown; and how a replay's rows look."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.model import Candidate, Result, Route, StepKind, Thresholds, ToolCall, Verdict
from reach_tui.model import Step as ModelStep
from reach_tui.reach.breaker import BreakerState
from reach_tui.replay.differences import Course
from reach_tui.replay.whatif import Changes, replay
from reach_tui.tui.glyphs import ASCII, UNICODE
from reach_tui.tui.knobs import BY_ID, KNOBS, UNCHANGED, knob_lines, milliseconds
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.replay_rows import Scene, arithmetic, dots, head_line, marked_step_line, numbers, scene_lines
from reach_tui.workspace import JudgedCall, JudgedStep

USUAL = Thresholds()


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.id)
def test_every_knob_turns_changes_shows_and_goes_back(knob: object) -> None:
    one = BY_ID[knob.id]  # type: ignore[attr-defined]
    seen = {one.shown(UNCHANGED, USUAL)}
    settings = UNCHANGED
    for _ in range(30):
        settings = one.turned(settings, USUAL, 1)
        seen.add(one.shown(settings, USUAL))
    assert len(seen) > 1
    for _ in range(60):
        settings = one.turned(settings, USUAL, -1)
    turned = one.turned(UNCHANGED, USUAL, 1)
    assert one.changed(turned)
    assert one.reset(turned) == UNCHANGED
    others = [other for other in KNOBS if other.id != one.id]
    assert not any(other.changed(turned) for other in others)


@given(st.text(max_size=40))
def test_whatever_is_typed_is_taken_or_refused_with_what_could_be_written(text: str) -> None:
    for knob in KNOBS:
        try:
            settings = knob.typed(UNCHANGED, text)
        except ValueError:
            continue
        assert knob.shown(settings, USUAL)
        lines, hint = knob_lines(settings, USUAL, 0, 80, UNICODE)
        assert all(width_of(line) <= 80 for line in lines)
        assert hint


@pytest.mark.parametrize(
    ("text", "expected"), [("60 s", 60_000), ("1500", 1500), ("800ms", 800), ("2 min", 120_000), ("1.5s", 1500)]
)
def test_times_as_people_write_them(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "-5 s", "0", "nan", "inf s", "1e99", "5 h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="a time"):
        milliseconds(text)


def test_typed_limits_by_tool_and_a_registry_of_any_name() -> None:
    found = BY_ID["timeout"].typed(UNCHANGED, "p99, bash=5 s, 60 s")
    assert (found.advised_timeouts, dict(found.timeouts)) == (True, {"bash": 5000, "*": 60_000})
    assert BY_ID["timeout"].shown(found, USUAL) == "p99, bash 5 s, 60 s"
    assert BY_ID["registry"].typed(UNCHANGED, "./工具").registry == Path("工具")
    assert BY_ID["registry"].typed(found, "off").registry is None
    assert BY_ID["breaker"].typed(UNCHANGED, "7").breaker_after == 7
    assert BY_ID["rule"].typed(UNCHANGED, "any error").guard_rule == "any_error"


def scene(width: int, *, ascii_only: bool = False) -> str:
    """A step with everything on it."""
    route = Route("recorded", "退款到哪了", (Candidate("查退款" * 9, 0.8, "says it"), Candidate("b", 0.7)), "clarify")
    call = ToolCall("k", "c", "s", "查退款" * 9, {"path": "/w/a"}, False, Result("boom", 4), step=3, duration_ms=90_000,
                    started_at=1_700_000_000_000, route=route)  # fmt: skip
    verdict = Verdict(True, 0.9, "upstream_error", "http_5xx")
    from reach_tui.analyze.story import Told
    from reach_tui.workspace.replaying import ReplaySettings

    step = ModelStep(3, 1, StepKind.CALL, call=call)
    changes = Changes(t1=0.75, gap=0.05, guard_after=1, timeouts={"*": 1000}, budget_ms=1000)
    course = Course(replay("s", [Told(step, verdict)], changes))
    settings = ReplaySettings(gap=0.05, guard_after=1, timeouts={"*": 1000}, budget_ms=1000, breaker=True)
    states = {"查退款": BreakerState.OPEN}
    one = Scene(3, call, course.moments[3], course.guard(3), None, states, course.at[3], settings)
    glyphs = ASCII if ascii_only else UNICODE
    lines = scene_lines(one, width, glyphs)
    judged = JudgedStep(step, JudgedCall(call, verdict))
    lines.append(marked_step_line(judged, course.at[3], width, glyphs, cursor=True, digits=2))
    lines.append(head_line(course.counts, 1, "", width, glyphs))
    lines += numbers(course.differences[0], width, glyphs)
    assert all(width_of(line) <= width for line in lines[:-8])
    return plain(lines)


@pytest.mark.parametrize("width", [40, 60, 90, 160])
def test_everything_at_the_cursor_fits(width: int) -> None:
    text = scene(width)
    for words in ("recorded", "now", "in truth", "0 ms left of 1 s" if width > 40 else "left", "open", "≠"):
        assert words in text, words
    assert "gap: 0.8000 - 0.7000 = 0.1000 ≥ 0.05" in text


def test_ascii_has_no_other_glyphs() -> None:
    assert not set("≠■†⊘⟲●○█░│─┊▌") & set(scene(90, ascii_only=True))


def test_counters_and_arithmetic_in_words() -> None:
    assert plain([dots(2, 5, UNICODE)]) == "●●○○○"
    assert plain([dots(9, 5, UNICODE)]) == "●●●●●"
    assert dots(3, 40, UNICODE) == []
    assert list(arithmetic(Route("inferred", "", (), "no_capability"))) == ["no candidate: no capability"]
    only = list(arithmetic(Route("inferred", "", (Candidate("a", 0.4),), "no_capability")))
    assert only == ["score: 0.4000 < t1 0.75", "gap: 0.4000 - 0.0000 = 0.4000 ≥ 0.15", "floor: 0.4000 < 0.5"]

"""The route panel: bars and thresholds on one scale, the tool that was called, where candidates come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.model import Candidate, Route, Thresholds
from reach_tui.tui.glyphs import ASCII, UNICODE
from reach_tui.tui.lines import Line, width_of
from reach_tui.tui.route_panel import route_brief, route_lines

READ, EDIT, BASH = (
    Candidate("read", 0.82, "words: show"),
    Candidate("edit", 0.41, "words: file"),
    Candidate("bash", 0.1),
)


def route(**more: object) -> Route:
    fields: dict[str, object] = {"candidates_from": "seen", "chosen": READ, "rank": 1, **more}
    return Route("inferred", "show me the file", (READ, EDIT), "execute", **fields)  # type: ignore[arg-type]


def shown(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def test_it_says_inferred_and_what_was_chosen() -> None:
    rows = shown(route_lines(route(), 60, UNICODE))
    assert "route · inferred" in rows[0]
    assert rows[1].startswith("read ")
    assert rows[1].endswith("0.82 chose")
    assert rows[2].rstrip().endswith("0.41")
    assert rows[3].startswith("gap 0.41 ≥ 0.15 → execute")
    assert rows[4] == "place 1, among the tools seen in this trace"


def test_thresholds_stand_at_the_same_place_in_every_row() -> None:
    lines = route_lines(route(), 60, UNICODE)[1:3]
    places = [[at for at, (cell, _) in enumerate(line) if cell == UNICODE.threshold] for line in lines]
    assert places[0] == places[1]
    bar = [cell for cell, style in lines[0] if style in ("bar", "bar-empty", "threshold")]
    assert [at / len(bar) for at, cell in enumerate(bar) if cell == UNICODE.threshold] == pytest.approx(
        [0.5, 0.75], abs=0.02
    )


def test_a_tool_outside_the_candidates_has_a_row_of_its_own() -> None:
    rows = shown(route_lines(route(chosen=BASH, rank=7), 60, UNICODE))
    assert rows[3].startswith("bash ")
    assert rows[3].endswith("0.10 chose")
    assert "place 7" in rows[5]


def test_one_line_says_the_same_in_short() -> None:
    assert shown([route_brief(route(), 80)])[0].rstrip() == "route  read 0.82  edit 0.41  → execute  inferred"
    assert shown([route_brief(route(chosen=BASH, rank=7), 80)])[0].rstrip().endswith("inferred  chose bash 0.10")


def test_reasons_and_tools_that_left_are_in_the_full_view_only() -> None:
    one = route(dropped=(Candidate("write", 0.0, "the session is read-only"),))
    assert not any("words:" in row or "left" in row for row in shown(route_lines(one, 80, UNICODE)))
    rows = shown(route_lines(one, 80, UNICODE, full=True))
    assert "intent: show me the file" in rows
    assert "  words: show" in rows
    assert "write left: the session is read-only" in rows


def test_a_made_up_tool_and_no_candidate_are_said() -> None:
    empty = Route("inferred", "", (), "no_capability", candidates_from="registry")
    rows = shown(route_lines(empty, 90, UNICODE))
    assert "no candidate: no tool has a word of it" in rows
    assert rows[-1] == "among the tools of your registry; the tool called is none of them"
    assert "not recorded" in shown([route_brief(None, 60)])[0]


def test_a_recorded_route_looks_as_before() -> None:
    rows = shown(route_lines(Route("recorded", "x", (READ, EDIT), "clarify", Thresholds(0.9)), 60, UNICODE))
    assert "recorded" in rows[0]
    assert len(rows) == 4
    assert not any("chose" in row or "among" in row for row in rows)


NAMES = st.text(max_size=40)
CANDIDATES = st.builds(Candidate, NAMES, st.floats(0, 1), st.text(max_size=60))


@given(
    st.lists(CANDIDATES, max_size=7), st.none() | CANDIDATES, st.text(max_size=300), st.integers(40, 120),
    st.booleans(), st.sampled_from([ASCII, UNICODE]),
)  # fmt: skip
def test_no_line_is_wider_than_the_panel(
    candidates: list[Candidate], chosen: Candidate | None, intent: str, width: int, full: bool, glyphs: object
) -> None:
    one = Route("inferred", intent, tuple(candidates), "clarify", candidates_from="seen", chosen=chosen, rank=3,
                dropped=tuple(candidates))  # fmt: skip
    for line in route_lines(one, width, glyphs, full=full):  # type: ignore[arg-type]
        assert width_of(line) <= width
        assert not any(char in text for text, _ in line for char in "\x00\x1b\n")


def test_what_decided_is_what_is_told() -> None:
    low = Route("inferred", "x", (Candidate("a", 0.44), Candidate("b", 0.2)), "no_capability")
    assert any("best 0.44 < 0.50 → no_capability" in row for row in shown(route_lines(low, 60, UNICODE)))
    high = Route("inferred", "x", (Candidate("a", 0.8), Candidate("b", 0.78)), "clarify")
    assert any("gap 0.02 < 0.15 → clarify" in row for row in shown(route_lines(high, 60, UNICODE)))

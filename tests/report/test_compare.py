"""Before and after: changes, chance, and what must not be compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.errors import UsageError
from reach_tui.report import text
from reach_tui.report.compare import Change, Comparison, compare
from reach_tui.report.jsonout import record
from tests.analyze.kit import bad, ok
from tests.report.test_forms import made


def report(failed: int, of: int, tool: str = "Agent", *, flagged: bool = False, **more: Any) -> dict[str, Any]:
    """A report on a tool with so many failures."""
    pairs = [bad(tool, n, text=f"Error: {n}", flagged=flagged) if n < failed else ok(tool, n) for n in range(of)]
    return record(made(*pairs, **more))


def rows(found: Comparison) -> dict[tuple[str, str], Change]:
    return {(one.tool, one.measure): one for one in found.tools}


def test_the_fix_of_the_seed_is_more_than_chance() -> None:
    found = compare(report(45, 1344), report(4, 1300, flagged=True))
    failed = rows(found)["Agent", "failed"]
    assert (failed.before, failed.after) == ((45, 1344), (4, 1300))
    assert failed.change == pytest.approx(4 / 1300 - 45 / 1344)
    assert failed.interval is not None
    assert failed.change is not None
    assert failed.interval[0] < failed.change < failed.interval[1] < 0
    assert failed.beyond_chance is True
    assert rows(found)["Agent", "hidden"].after == (0, 1300)
    assert found.notes == (
        "Agent: hidden were 45 of 45 failures before, 0 of 4 after: compare it by failed, not by flagged",
    )


def test_small_counts_are_not_more_than_chance() -> None:
    assert rows(compare(report(1, 20), report(3, 20)))["Agent", "failed"].beyond_chance is False


def test_a_missing_tool_stays_null() -> None:
    found = rows(compare(report(1, 20), report(1, 20, "Edit")))
    assert found["Edit", "failed"].before == (0, 0)
    for key in (("Edit", "failed"), ("Agent", "failed")):
        one = found[key]
        assert (one.change, one.interval, one.p, one.p_adjusted, one.beyond_chance) == (None,) * 5
    answer = record(made(), compare(report(1, 20), report(1, 20, "Edit")))["compare"]
    assert {row["change"] for row in answer["tools"]} == {None}
    assert [row["measure"] for row in answer["tools"][:3]] == ["flagged", "hidden", "failed"]
    assert answer["tools"][2]["before"] == {"count": 1, "of": 20, "rate": 0.05}
    assert answer["tools"][2]["after"] == {"count": 0, "of": 0, "rate": None}


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 30), st.integers(0, 30))
def test_turning_the_sides_turns_the_sign(failed: int, other: int, more: int, more_other: int) -> None:
    one, two = report(failed, failed + more), report(other, other + more_other)
    there, back = rows(compare(one, two)), rows(compare(two, one))
    assert there.keys() == back.keys()
    for key, change in there.items():
        turned = back[key]
        assert (change.before, change.after) == (turned.after, turned.before)
        assert change.p == pytest.approx(turned.p) if change.p is not None else turned.p is None
        if change.change is None:
            assert turned.change is None
        else:
            assert change.change == pytest.approx(-(turned.change or 0))


def test_classes_are_shares_of_the_tools_calls() -> None:
    found = compare(report(2, 20), report(0, 30))
    (one,) = found.classes
    assert (one.failure_class, one.before, one.after) == ("upstream_error/any.error", (2, 20), (0, 30))


@pytest.mark.parametrize("key", ["rules_version", "taxonomy"])
def test_other_rules_are_refused(key: str) -> None:
    other = report(1, 2)
    other["scope"][key] = "other"
    with pytest.raises(UsageError, match="not comparable"):
        compare(report(1, 2), other)


@pytest.mark.parametrize("broken", [{}, {"scope": {}}, {"scope": {}, "tools": {}}, {"scope": [], "tools": []}])
def test_what_is_no_report_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no report"):
        compare(broken, report(1, 2))


def test_a_hand_edited_report_cannot_break_it() -> None:
    broken = report(1, 2)
    broken["tools"] += [3, {"tool": None}, {"tool": "X", "failed": 9, "of_failed": 2, "classes": [1, {"count": "x"}]}]
    found = rows(compare(broken, report(1, 2)))
    assert found["X", "failed"].before == (2, 2)


def test_what_is_not_alike_is_said() -> None:
    found = compare(report(1, 2, scope="all"), report(1, 2, tools=("Agent",)))
    assert found.differences == ("scope: all before, roots after", "tools: all before, Agent after")
    assert "! not alike: scope: all before, roots after" in text.render(made(), found)

"""Failures over time: spans, what they add up to, the line of blocks, and labels beside verdicts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze.attribution import CAUSES
from reach_tui.analyze.over_time import DAY, OverTime
from reach_tui.analyze.tally import Tally, of_session
from reach_tui.model import Session
from reach_tui.report import html, markdown, text
from reach_tui.report.spans import folded, over_time, spark, starts_on
from reach_tui.workspace import Workspace
from tests.analyze.kit import bad, ok
from tests.index.test_index import write
from tests.report.conftest import as_json, collect
from tests.report.test_forms import made


def on(day: int, failed: int, ended: int = 10) -> OverTime:
    """One session's counts, on a day from 1970."""
    found = OverTime()
    found.ended[day] = ended
    found.hidden[day] = failed
    found.causes[day, "tool"] = failed
    return found


def first_day(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp() * 1000) // DAY  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("last", "span", "starts"),
    [
        ((2026, 6, 3), "day", ["2026-05-31", "2026-06-01", "2026-06-02", "2026-06-03"]),
        ((2026, 7, 20), "week", ["2026-05-25", "2026-06-01"]),
        ((2029, 1, 1), "month", ["2026-05-01", "2026-06-01"]),
    ],
)
def test_spans_fit_the_time_between(last: tuple[int, ...], span: str, starts: list[str]) -> None:
    found = over_time(on(first_day(2026, 5, 31), 1) + on(first_day(*last), 3))
    assert found.span == span
    assert [starts_on(row.start) for row in found.rows][: len(starts)] == starts
    assert (found.rows[0].failed, found.rows[-1].failed) == (1, 3)
    assert all(row.share is None for row in found.rows[1:-1])


@given(st.lists(st.tuples(st.integers(-900_000, 3_000_000), st.integers(0, 10)), max_size=8))
def test_spans_hold_every_count_once(sessions: list[tuple[int, int]]) -> None:
    found = over_time(sum((on(day, failed) for day, failed in sessions), OverTime()))
    told = [one for one in sessions if 1 <= one[0] + 719_163 <= 3_652_028]
    assert sum(row.ended for row in found.rows) == 10 * len(told)
    assert sum(row.failed for row in found.rows) == sum(failed for _, failed in told)
    assert len(found.rows) <= 600
    assert [row.start for row in found.rows] == sorted({row.start for row in found.rows})


def test_sessions_are_counted_on_the_day_they_began() -> None:
    total = Tally()
    for day, failures in ((20_000, 1), (20_000, 0), (20_002, 2)):
        pairs = [bad("Bash", n) for n in range(failures)] + [ok("Read", 9)]
        total += of_session(Session("peri", f"s{day}", started_at=day * DAY + 5), pairs)
    total += of_session(Session("peri", "timeless"), [bad("Bash")])
    rows = over_time(total.over_time).rows
    assert [(row.ended, row.failed, sum(row.causes)) for row in rows] == [(3, 1, 1), (0, 0, 0), (3, 2, 2)]
    assert over_time(OverTime()).rows == ()


def test_a_line_of_blocks() -> None:
    assert spark([0.0, None, 0.5, 1.0], 10) == "▁ ▅█"
    assert spark([0.0, 0.0], 10) == "▁▁"
    assert spark([], 10) == ""
    assert len(spark([0.5] * 1000, 60)) <= 60


def test_every_form_says_it() -> None:
    days = [on(20_000 + day, day) for day in range(5)]
    report = replace(made(bad("Bash"), ok("Read", 2)), over_time=over_time(sum(days, OverTime())))
    assert "over time     ▁▃▅▆█  by day from 2024-10-04, highest 40.00 %" in text.render(report)
    page = html.render(report)
    assert "Failures over time, by day" in page
    assert page.count('<rect class="c0"') == 4
    rows = as_json(report)["over_time"]["rows"]
    assert rows[4] == {
        "start": "2024-10-08", "ended": 10, "failed": 4, "hidden": 4, "rate_failed": 0.4,
        **dict.fromkeys(CAUSES, 0), "tool": 4,
    }  # fmt: skip
    assert "over time" not in text.render(made(bad("Bash"), ok("Read", 2)))


def test_spans_without_a_call_are_one_line() -> None:
    days = (20_000, 20_001, 20_003, 20_020)  # one empty day, then sixteen
    report = replace(made(bad("Bash")), over_time=over_time(sum((on(day, 1) for day in days), OverTime())))
    assert [len(line) for line in folded(report.over_time.rows)] == [1, 1, 1, 1, 16, 1]
    lines = text.render(report).splitlines()
    table = lines[lines.index("Attribution over time") + 3 :][:6]
    assert [line.split()[:2] for line in table] == [
        ["2024-10-04", "10"], ["2024-10-05", "10"], ["2024-10-06", "0"], ["2024-10-07", "10"], ["…", "16"],
        ["2024-10-24", "10"],
    ]  # fmt: skip
    assert table[4].split() == ["…", "16", "days", "0", "–"]
    assert "| … 16 days | 0 |  | – |  |  |  |  |  |" in markdown.render(report)
    assert "<td>… 16 days</td><td class=n>0</td>" in html.render(report)
    assert len(as_json(report)["over_time"]["rows"]) == 21


def test_labels_are_held_against_todays_verdicts(tmp_path: Path) -> None:
    path = write(tmp_path / "reach.db", 4, 6)  # calls 0 and 3 of each session failed
    workspace = Workspace([path], by="me")
    (source,) = workspace.found.sources
    by_key = {one.call.key: one for one in workspace.judged_calls(source)}
    for key, category in (("s1/0", "stale_context"), ("s1/1", "stale_context"), ("s2/3", "not_a_failure")):
        workspace.save_label(source, by_key[key], workspace.make_label(source, by_key[key], category))
    workspace.save_label(
        source, by_key["s3/0"], replace(workspace.make_label(source, by_key["s3/0"], "not_a_failure"), call_key=None)
    )
    workspace.close()
    for _ in range(2):
        answer = as_json(collect(path))
        assert answer["labels"] == {"calls": 3, "disagree": 2, "open": 0, "sessions": 1}
        success = answer["metrics"][0]
        assert (success["metric"], success["count"], success["of"]) == ("end_to_end_success", 1, 1)
    assert as_json(collect(path, until=1_780_000_000_002))["labels"]["calls"] == 2
    assert as_json(collect(path, tools=("none",)))["labels"]["calls"] == 0
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE tool_call SET result = 'fine' WHERE session_id = 's1'")
    assert as_json(collect(path))["labels"]["disagree"] == 3
    assert "People's labels of calls in scope" in text.render(collect(path))

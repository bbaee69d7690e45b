"""Failures over time in spans that fit on a page: days, weeks or months, by how long the sessions go back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from itertools import groupby

from reach_tui.analyze.attribution import CAUSES
from reach_tui.analyze.intervals import share
from reach_tui.analyze.over_time import OverTime
from reach_tui.report.model import OverTimeRows, SpanRow

DAYS, WEEKS = 35, 120
"""Spans up to which days and weeks are told; months beyond."""
_MOST = 600  # spans told; a session dated centuries off must not make a million empty rows
_EPOCH = date(1970, 1, 1).toordinal()
_BLOCKS = "▁▂▃▄▅▆▇█"

Start = Callable[[int], int]
"""From a day's number to the number of its span's first day."""


def over_time(found: OverTime) -> OverTimeRows:
    """The counts by span, empty spans between the first and the last included."""
    days = sorted(day for day in found.ended if date.min.toordinal() <= day + _EPOCH <= date.max.toordinal() - 31)
    if not days:
        return OverTimeRows("day", ())
    length = days[-1] - days[0] + 1
    name, start, following = (
        ("day", _same, _next_day)
        if length <= DAYS
        else ("week", _monday, _next_week)
        if length <= 7 * WEEKS
        else ("month", _first_of_month, _next_month)
    )
    ended, hidden, causes = Counter[int](), Counter[int](), Counter[tuple[int, str]]()
    for day in days:
        ended[start(day)] += found.ended[day]
        hidden[start(day)] += found.hidden.get(day, 0)
        for reach in CAUSES:
            causes[start(day), reach] += found.causes.get((day, reach), 0)
    starts = [start(days[0])]
    while starts[-1] < start(days[-1]) and len(starts) < _MOST:
        starts.append(following(starts[-1]))
    if starts[-1] < start(days[-1]):  # too many: those with sessions in them alone
        starts = sorted(ended)
    return OverTimeRows(name, tuple(_row(one, ended[one], hidden[one], causes) for one in starts))


def _row(first: int, ended: int, hidden: int, causes: Counter[tuple[int, str]]) -> SpanRow:
    by_reach = tuple(causes[first, reach] for reach in CAUSES)
    failed = sum(by_reach)
    return SpanRow(first * 86_400_000, ended, failed, hidden, share(failed, ended), by_reach)


def _same(day: int) -> int:
    return day


def _next_day(day: int) -> int:
    return day + 1


def _monday(day: int) -> int:
    return day - (day + 3) % 7  # day 0 was a Thursday


def _next_week(day: int) -> int:
    return day + 7


def _first_of_month(day: int) -> int:
    return date.fromordinal(day + _EPOCH).replace(day=1).toordinal() - _EPOCH


def _next_month(day: int) -> int:
    return _first_of_month(day + 31)


def starts_on(ms: int) -> str:
    """`2026-06-01`: a span's first day."""
    return (datetime.fromtimestamp(0, UTC).date().fromordinal(ms // 86_400_000 + _EPOCH)).isoformat()


def folded(rows: Sequence[SpanRow]) -> list[tuple[SpanRow, ...]]:
    """The spans in order, each by itself; those without a call in a row together."""
    lines: list[tuple[SpanRow, ...]] = []
    for ended, run in groupby(rows, key=lambda row: row.ended > 0):
        spans = tuple(run)
        lines += [(row,) for row in spans] if ended else [spans]
    return lines


def spark(shares: Sequence[float | None], width: int) -> str:
    """Shares as a line of blocks, the highest the tallest, a blank where there is none; neighbours share a cell."""
    if not shares:
        return ""
    per_cell = -(-len(shares) // max(1, width))
    cells = [[one for one in shares[at : at + per_cell] if one is not None] for at in range(0, len(shares), per_cell)]
    means = [sum(cell) / len(cell) if cell else None for cell in cells]
    most = max((one for one in means if one is not None), default=0.0)
    return "".join(
        " " if one is None else _BLOCKS[0] if not most else _BLOCKS[min(7, round(7 * one / most))] for one in means
    )

"""A list of a million calls without holding them: where each stands, by the counts of the sessions."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from reach_tui.model import Counts
from reach_tui.tui.call_lines import CallLine
from reach_tui.tui.session_tree import Entry
from reach_tui.workspace import JudgedCall

_KEPT_LINES = 6_000


class View(Enum):
    """Which calls are listed."""

    ALL = "all calls"
    FAILED = "failed calls"
    HIDDEN = "hidden failures"

    def count(self, counts: Counts) -> int:
        """How many of a session's calls."""
        return {View.ALL: counts.calls, View.FAILED: counts.failed, View.HIDDEN: counts.hidden}[self]

    def takes(self, judged: JudgedCall) -> bool:
        """True for a call that is listed."""
        if self is View.HIDDEN:
            return judged.hidden
        return self is View.ALL or judged.verdict.failed is True


@dataclass(frozen=True, slots=True)
class Place:
    """A row: the session it is of, and which of its calls."""

    entry: Entry
    offset: int


class CallPages:
    """The rows of all calls, newest session first; the calls of a session are read when one of them is seen."""

    def __init__(self, entries: Iterable[Entry], view: View) -> None:
        self.view = view
        counted = [one for one in entries if one.judged.counts is not None]
        counted.sort(key=lambda one: one.judged.session.started_at or 0, reverse=True)
        sizes = [view.count(one.judged.counts.counts) if one.judged.counts else 0 for one in counted]
        self._entries = [one for one, size in zip(counted, sizes, strict=True) if size]
        self._starts = [0, *accumulate(size for size in sizes if size)]
        self._lines: OrderedDict[int, list[CallLine]] = OrderedDict()
        self._held = 0

    @property
    def count(self) -> int:
        """How many calls there are."""
        return self._starts[-1]

    def number(self, index: int) -> int:
        """Which session a row is of."""
        return bisect_right(self._starts, index) - 1

    def entry(self, number: int) -> Entry:
        """A session by its number."""
        return self._entries[number]

    def place(self, index: int) -> Place:
        """The session and call of a row, which are the same after more has been counted."""
        number = self.number(index)
        return Place(self._entries[number], index - self._starts[number])

    def row(self, place: Place) -> int | None:
        """The row of a place; None if its session is not listed."""
        for number, entry in enumerate(self._entries):
            if entry.key == place.entry.key:
                return min(self._starts[number] + place.offset, self._starts[number + 1] - 1)
        return None

    def line(self, index: int) -> CallLine | None:
        """A row; None while its session has not been read, or where it has fewer calls by now."""
        number = self.number(index)
        lines = self._lines.get(number)
        if lines is None:
            return None
        self._lines.move_to_end(number)
        offset = index - self._starts[number]
        return lines[offset] if offset < len(lines) else None

    def is_read(self, number: int) -> bool:
        """True while a session's calls are at hand."""
        return number in self._lines

    def rows_of(self, number: int) -> range:
        """The rows of a session."""
        return range(self._starts[number], self._starts[number + 1])

    def wanted(self, rows: range) -> list[int]:
        """The sessions behind some rows that must be read, and the one after, in order."""
        if not rows or not self.count:
            return []
        last = min(self.number(min(rows[-1], self.count - 1)) + 1, len(self._entries) - 1)
        return [number for number in range(self.number(rows[0]), last + 1) if number not in self._lines]

    def put(self, number: int, lines: list[CallLine]) -> None:
        """A session's calls; those not seen for long are forgotten."""
        self._lines[number] = lines
        self._held += len(lines)
        while self._held > _KEPT_LINES and len(self._lines) > 1:
            _, gone = self._lines.popitem(last=False)
            self._held -= len(gone)

"""Lines of long texts: the text is kept once, with where its rows begin; a row is made when it is drawn.

A list of lines takes about 130 bytes a row beside the row itself: five times a result of many short lines.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import overload

from reach_tui.tui.lines import Line, row_spans


class _Lines(Sequence[Line]):
    """What both sequences have in common: negative places, and slices as lists."""

    def line(self, index: int) -> Line:
        """The line at a place from 0 to the last."""
        raise NotImplementedError  # the sequences do

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self.line(one) for one in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self.line(place)


class TextLines(_Lines):
    """A cleaned text cut at exactly `width` cells, as `hard_wrap` does, in one style."""

    def __init__(self, text: str, width: int, style: str = "text") -> None:
        self._text = text.expandtabs(4)
        self._style = style
        self._starts = array("Q", (start for start, _ in row_spans(self._text, max(width, 1))))

    def __len__(self) -> int:
        return len(self._starts)

    def line(self, index: int) -> Line:
        start, end = self._starts[index], len(self._text)
        if index + 1 < len(self._starts):
            end = self._starts[index + 1]
            end -= self._text[end - 1] == "\n"
        return [(self._text[start:end], self._style)]


class Joined(_Lines):
    """Sequences of lines one after the other."""

    def __init__(self, *parts: Sequence[Line]) -> None:
        self._parts = [part for part in parts if len(part)]
        self._ends = list(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def line(self, index: int) -> Line:
        number = bisect_right(self._ends, index)
        return self._parts[number][index - (self._ends[number - 1] if number else 0)]

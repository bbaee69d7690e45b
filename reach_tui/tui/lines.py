"""A line of a screen as plain data: pieces of cleaned text with names of styles. Widgets turn it into strips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len, set_cell_size

from reach_tui.base.text import inline, one_line

if TYPE_CHECKING:
    from reach_tui.tui.glyphs import Glyphs

Piece: TypeAlias = tuple[str, str]
"""Text without control characters, and a style's name (`styles.NAMES`)."""
Line: TypeAlias = list[Piece]

ELLIPSIS = "…"


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` on one line in exactly `width` cells: cut with an ellipsis, or padded on the right (left if `right`)."""
    if width <= 0:
        return ""
    if len(text) > width * 4:
        text = text[: width * 4]
    text = one_line(text)
    size = cell_len(text)
    if size > width:
        text = set_cell_size(text, width - 1) + ELLIPSIS if width > 1 else ELLIPSIS
        size = cell_len(text)
    pad = " " * (width - size)
    return pad + text if right else text + pad


def cut(text: str, width: int) -> str:
    """Like `fit`, but blanks at the beginning stay: for code."""
    text = inline(text[: width * 4].expandtabs(4))
    size = cell_len(text)
    if size > width:
        text = set_cell_size(text, width - 1) + ELLIPSIS if width > 1 else ELLIPSIS
        size = cell_len(text)
    return text + " " * (width - size)


def width_of(line: Line) -> int:
    """Cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def padded(line: Line, width: int, style: str = "text") -> Line:
    """`line` in exactly `width` cells: the last pieces are cut, or blanks are added.

    Every line passes here on its way to the screen: what is no printable text is cleaned, wherever it came from.
    """
    result: Line = []
    left = width
    for raw, name in line:
        text = inline(raw)
        size = cell_len(text)
        if size > left:
            if left > 0:
                result.append((set_cell_size(text, left - 1) + ELLIPSIS, name))
            return result
        result.append((text, name))
        left -= size
    if left:
        result.append((" " * left, style))
    return result


def spread(left: Line, right: Line, width: int) -> Line:
    """`left` at the left edge and `right` at the right one; the left gives way."""
    room = width - width_of(right)
    if room < 4:
        return padded(left, width)
    return [*padded(left, room - 1), (" ", "text"), *right]


def wrap(text: str, width: int) -> list[str]:
    """Cleaned `text` as rows of at most `width` cells: broken at newlines, at blanks where one is near, else hard."""
    width = max(width, 1)
    rows: list[str] = []
    for row in text.expandtabs(4).split("\n"):
        rows.extend(_wrap_row(row, width))
    return rows


def _wrap_row(row: str, width: int) -> Iterator[str]:
    if row.isascii():
        start, size = 0, len(row)
        while size - start > width:
            cut = row.rfind(" ", start + width // 2, start + width + 1)
            end = cut if cut > start else start + width
            yield row[start:end]
            start = end + 1 if cut > start else end
        yield row[start:]
        return
    if cell_len(row) <= width:
        yield row
        return
    yield from _broken_at_blanks(row, width)


def _broken_at_blanks(row: str, width: int) -> Iterator[str]:
    """Rows of text that is not ASCII: broken at a blank in the second half of a row, else where the row is full."""
    kept = ""
    for piece in _cut_cells(row, width):
        kept += piece
        while cell_len(kept) > width:
            kept_row = next(_cut_cells(kept, width))
            blank = kept_row.rfind(" ", len(kept_row) // 2)
            if kept[len(kept_row) : len(kept_row) + 1] == " ":
                blank = len(kept_row)
            end = blank if blank > 0 else len(kept_row)
            yield kept[:end]
            kept = kept[end + 1 if blank > 0 else end :]
    yield kept


def _graphemes(row: str) -> Iterator[str]:
    from rich.cells import split_graphemes

    for piece in (row[index : index + 2048] for index in range(0, len(row), 2048)):
        spans, _ = split_graphemes(piece)
        for start, end, _width in spans:
            yield piece[start:end]


def hard_wrap(text: str, width: int) -> list[str]:
    """Like `wrap`, but rows are cut at exactly `width` cells: for tool output, where blanks carry meaning."""
    text = text.expandtabs(4)
    return [text[start:end] for start, end in row_spans(text, max(width, 1))]


def row_spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the rows of a text without tabs begin and end, each at most `width` cells (at least 1) wide."""
    ascii_only, start = text.isascii(), 0
    while True:
        newline = text.find("\n", start)
        end = newline if newline >= 0 else len(text)
        if start == end:
            yield start, end
        elif ascii_only or text[start:end].isascii():
            for left in range(start, end, width):
                yield left, min(left + width, end)
        else:
            left = start
            for piece in _cut_cells(text[start:end], width):
                yield left, left + len(piece)
                left += len(piece)
        if newline < 0:
            return
        start = newline + 1


def _cut_cells(row: str, width: int) -> Iterator[str]:
    current: list[str] = []
    used = 0
    for piece in _graphemes(row):
        size = cell_len(piece)
        if used + size > width and current:
            yield "".join(current)
            current, used = [], 0
        current.append(piece)
        used += size
    yield "".join(current)


def plain(lines: Iterable[Sequence[Piece]]) -> str:
    """The text of lines without styles, for tests and copies."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def heading(text: str, width: int, glyphs: Glyphs) -> Line:
    """`─ text ─────`."""
    text = one_line(text)
    shown = fit(text, min(cell_len(text), width - 4))
    line: Line = [(f"{glyphs.rule} ", "rule"), (shown, "dim"), (" ", "rule")]
    return [*line, (glyphs.rule * (width - width_of(line)), "rule")]

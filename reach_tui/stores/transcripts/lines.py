"""JSON Lines as other programs write them: append-only, perhaps torn at the end, perhaps with anything in them.

Lines end at a line feed byte and nowhere else: JSON text may hold U+2028 and its kin unescaped. The whole file is never
in memory, and no line longer than `LONGEST`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from reach_tui.base.errors import StoreError
from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads
from reach_tui.base.sqlite_access import check_kind, os_error

LONGEST = 64 << 20
"""Bytes of a line that are decoded; of a longer one the beginning is shown, and that it was cut."""
_SHOWN = 4_000
_CHUNK = 1 << 20
_FIRST_READ, _HEAD = 16 << 10, 2 << 20
_TAILS = (16 << 10, 256 << 10, 4 << 20)
_WHOLE = 32 << 10
"""Files up to this size are summarised from all their lines."""

JsonObject = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a JSON object, or what is wrong with it and its text."""

    number: int
    """From 1."""
    value: JsonObject
    fault: str | None = None
    text: str = ""
    """The line as it stands (its beginning, if it is long), where there is a fault."""


def read_lines(path: Path, *, longest: int = LONGEST) -> Iterator[Line]:
    """Every line that is not blank, in order. A last line without a line feed that is no JSON is `torn`.

    Raises `StoreError` for a file that cannot be read.
    """
    check_kind(path)
    try:
        with open(path, "rb") as file:
            yield from _document(file.read(longest)) if is_document(path) else _decoded(file, longest)
    except OSError as error:
        raise os_error(error, path) from None


def _decoded(file: BinaryIO, longest: int) -> Iterator[Line]:
    number = 0
    while raw := file.readline(longest):
        number += 1
        complete = raw.endswith(b"\n")
        if not complete and len(raw) == longest:
            rest = _skip_line(file)
            if rest:
                size = len(raw) + rest
                fault = f"a line of {size / 1e6:.0f} MB"
                yield Line(number, {}, fault, raw[:_SHOWN].decode("utf-8", "replace") + " … [cut]")
                continue
        if (line := decode(raw, number, complete=complete)) is not None:
            yield line


def is_document(path: Path) -> bool:
    """True for a file that is one JSON object with a list of messages, as early versions wrote it."""
    return path.suffix.lower() == ".json"


def _document(raw: bytes) -> Iterator[Line]:
    """The object without its messages, then each message, as if they were lines."""
    line = decode(raw, 1, complete=False)
    if line is None or line.fault is not None:
        if line is not None:
            yield line
        return
    messages = line.value.get("messages")
    yield Line(1, {name: value for name, value in line.value.items() if name != "messages"})
    for number, message in enumerate(messages if isinstance(messages, list) else [], 2):
        if isinstance(message, dict):
            yield Line(number, message)
        else:
            yield Line(number, {}, "not a JSON object", _shown(dumps(message).encode()))


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while piece := file.readline(_CHUNK):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def decode(raw: bytes, number: int, *, complete: bool = True) -> Line | None:
    """The line in some bytes; None for a blank one."""
    stripped = raw.strip(b" \t\r\n\x00\xef\xbb\xbf" if number == 1 else b" \t\r\n\x00")
    if not stripped:
        return None
    try:
        value = loads(stripped)
    except BadJson:
        return Line(number, {}, "not JSON" if complete else "torn", _shown(stripped))
    if not isinstance(value, dict):
        return Line(number, {}, "not a JSON object", _shown(stripped))
    return Line(number, value)


def _shown(raw: bytes) -> str:
    text = raw[:_SHOWN].decode("utf-8", "replace")
    return text if len(raw) <= _SHOWN else f"{text} … [{len(raw)} bytes]"


def last_line_where(path: Path, mark: bytes, holds: Callable[[JsonObject], bool]) -> int:
    """Number of the last line for which `holds`, looked for only in lines with the bytes `mark`; 0 if there is none.

    Raises `StoreError`.
    """
    check_kind(path)
    last = 0
    try:
        with open(path, "rb") as file:
            number = 0
            while raw := file.readline(LONGEST):
                number += 1
                if mark in raw and (line := decode(raw, number)) is not None and holds(line.value):
                    last = number
                if len(raw) == LONGEST and not raw.endswith(b"\n"):
                    _skip_line(file)
    except OSError as error:
        raise os_error(error, path) from None
    return last


class Excerpt:
    """The beginning and the end of a file, read and decoded only as far as somebody asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = check_kind(path)
        self._head: bytes | None = None
        self._end: tuple[int, bytes] = (self._size, b"")
        self._document = list(read_lines(path)) if is_document(path) and self.starts_like_json() else None

    @property
    def size(self) -> int:
        """Bytes when it was looked at."""
        return self._size

    @property
    def whole(self) -> bool:
        """True for a file so small that `head` gives every line."""
        return self._size <= _WHOLE or self._document is not None

    def head(self) -> Iterator[JsonObject]:
        """The objects of the first lines; broken lines are passed over."""
        return (line.value for line in self.first_lines() if line.fault is None)

    def first_lines(self) -> Iterator[Line]:
        """The first lines, at most two megabytes of them."""
        if self._document is not None:
            yield from self._document
            return
        start, number, size = 0, 0, _WHOLE if self.whole else _FIRST_READ
        block = self._read(0, size)
        while True:
            end = block.find(b"\n", start)
            if end < 0:
                if size < _HEAD and size < self._size:
                    block, size = self._read(0, size * 4), size * 4
                    continue
                if size < self._size:
                    return
                end = len(block)
            number += 1
            line = decode(block[start:end], number)
            if line is not None:
                yield line
            start = end + 1
            if start > len(block):
                return

    def tail(self) -> Iterator[JsonObject]:
        """The objects of the last lines, last first; of a large file at most those of its last four megabytes."""
        if self._document is not None:
            yield from (line.value for line in reversed(self._document) if line.fault is None)
            return
        given = 0
        for size in _TAILS:
            offset = 0 if self.whole else max(0, self._size - size)
            pieces = self._read(offset, self._size - offset).split(b"\n")
            complete = pieces if offset == 0 else pieces[1:]
            for piece in reversed(complete[: len(complete) - given]):
                line = decode(piece, 2)
                if line is not None and line.fault is None:
                    yield line.value
            given = len(complete)
            if offset == 0:
                return

    def starts_like_json(self) -> bool:
        """True if the first character is the one that an object begins with; a document must look like a session."""
        head = self._read(0, _FIRST_READ)
        if is_document(self.path) and (b'"sessionId"' not in head or b'"messages"' not in head):
            return False
        return head.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"{"

    def _read(self, offset: int, size: int) -> bytes:
        if offset == 0 and self._head is not None and (len(self._head) >= size or len(self._head) >= self._size):
            return self._head
        if offset > 0 and offset == self._end[0]:
            return self._end[1]
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(offset)
                block = file.read(size)
        except OSError as error:
            raise os_error(error, self.path) from None
        if offset == 0:
            self._head = block
        else:
            self._end = offset, block
        return block


def stamp_of(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    """Inode, size and modification time; -1 each for a file that is gone."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return -1, -1, -1
    return info.st_ino, info.st_size, info.st_mtime_ns


def first_objects(path: Path, count: int = 4) -> Sequence[JsonObject]:
    """The first objects of a file for recognising it; none where it is no file of JSON objects at all."""
    try:
        excerpt = Excerpt(path)
        if not excerpt.starts_like_json():
            return []
        lines = list(islice(excerpt.first_lines(), count))
        return [line.value for line in lines if line.fault is None]
    except StoreError:
        return []

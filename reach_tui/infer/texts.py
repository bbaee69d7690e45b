"""Texts as they are compared: escapes undone, line-number gutters and trailing blanks taken off, tokens, lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reach_tui.base.jsonio import BadJson, JsonValue, loads
from reach_tui.base.text import scrub_surrogates

MOST = 262_144
"""Characters of one text that are compared: three quarters from its head, one from its tail. Bounds huge results."""
_MOST_JSON = 1 << 20  # characters that are parsed to find texts inside

_GUTTER = re.compile(r"[ \t]*(\d{1,7})(→|\t|\||:|  )")
_MAYBE_GUTTER = re.compile(r"(?m)^[ \t]*\d{1,7}(?:→|\t|\||:|  )")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf\"\\/]))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_TRAILING = re.compile(r"(?<![ \t\r])[ \t\r]++(?=\n|\Z)")  # begins only where a run begins: linear
_TOKEN = re.compile(r"[a-z0-9_]+|[^\W\x00-\x7f]+")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def bounded(text: str) -> str:
    """The part of a text that is compared."""
    if len(text) <= MOST:
        return text
    return f"{text[: MOST - MOST // 4]}\n{text[-MOST // 4 :]}"


def without_escapes(text: str) -> str:
    """JSON escapes undone where they stand in a text that is not JSON as a whole."""
    return scrub_surrogates(_ESCAPE.sub(_unescaped, text)) if "\\" in text else text


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED[found[2]]


def without_gutter(text: str) -> str:
    """Line numbers before lines (`  12→`, `00012| `, `    12<tab>`, `12: `) taken off, where they count up.

    One numbered line alone is a gutter only if it is line 1 or follows another; a list of times or totals is none.
    """
    if _MAYBE_GUTTER.search(text) is None:
        return text
    lines = text.split("\n")
    found = [_GUTTER.match(line) for line in lines]
    numbers = [int(one[1]) if one else -1 for one in found]
    ends: dict[int, int] = {}
    bare: set[str] = set()
    for place, one in enumerate(found):
        if one is None:
            continue
        before = numbers[place - 1] if place else -1
        after = numbers[place + 1] if place + 1 < len(lines) else -1
        here, mark = numbers[place], one[2]
        if before == here - 1 >= 1 or after == here + 1 or (here == 1 and mark in "→\t|"):
            ends[place] = one.end()
            if lines[place][one.end() : one.end() + 1] not in ("", " "):
                bare.add(mark)
    for place, end in ends.items():
        mark = lines[place][end - 1]
        if mark == ":" and ":" in bare:
            continue  # times of day, or places in a file
        spaced = mark in "|:" and mark not in bare
        lines[place] = lines[place][end:].removeprefix(" ") if spaced else lines[place][end:]
    return "\n".join(lines)


def without_trailing_blanks(text: str) -> str:
    """Blanks and carriage returns at the ends of lines taken off."""
    if " \n" not in text and "\t\n" not in text and "\r" not in text and text[-1:] not in " \t":
        return text
    return _TRAILING.sub("", text)


def comparable(text: str) -> tuple[str, ...]:
    """The forms in which a text of a trace is searched: as it is read, and with its escapes undone."""
    text = bounded(text)
    plain = without_trailing_blanks(without_gutter(text))
    inner = inner_text(text)
    if inner is None and "\\" in text:
        inner = without_escapes(text)
    if inner is None:
        return (plain,)
    inner = without_trailing_blanks(without_gutter(inner))
    return (plain,) if inner == plain else (plain, inner)


def inner_text(text: str) -> str | None:
    """The texts inside a text that is JSON, one after the other; None where it is no JSON."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "[") or stripped[-1:] not in ("}", "]") or len(stripped) > _MOST_JSON:
        return None
    try:
        value = loads(stripped)
    except BadJson:
        return None
    return "\n".join(texts_in(value))


def texts_in(value: JsonValue, levels: int = 32) -> Iterator[str]:
    """The scalar values of a JSON value as texts, keys left out; what is nested deeper than `levels` is left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield number_text(value)
    elif levels:
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one, levels - 1)


def number_text(value: float) -> str:
    """A number as people write it: no exponent for whole ones, no `.0`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # more digits than the interpreter writes
        return ""


def tokens(text: str) -> set[str]:
    """The words of a text in lower case; runs of CJK and the like as pairs of characters."""
    found = set(_TOKEN.findall(text.lower()))
    if text.isascii():
        return found
    wide = [one for one in found if not one.isascii()]
    for run in wide:
        found.discard(run)
        found.update(_pairs(run))
    return found


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for place in range(len(run) - 1):
        yield run[place : place + 2]


def find(text: str, value: str, start: int = 0) -> int:
    """Where the value stands on its own in a text (not as a part of a longer word); -1 if nowhere."""
    at = text.find(value, start)
    if at < 0 or not value:
        return -1
    head, tail, size, last = value[0] in _WORD, value[-1] in _WORD, len(value), len(text)
    while at >= 0:
        end = at + size
        if not (head and at > 0 and text[at - 1] in _WORD) and not (tail and end < last and text[end] in _WORD):
            return at
        at = text.find(value, at + 1)
    return -1


def squeezed(text: str) -> str:
    """Runs of blanks and breaks as one blank: what is left when only indentation and wrapping differ."""
    return " ".join(text.split())


def lines_of(text: str) -> list[str]:
    """The lines that say something, without indentation."""
    return [line for line in map(str.strip, text.split("\n")) if len(line) > 2]

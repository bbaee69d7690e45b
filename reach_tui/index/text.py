"""What of a call is searched, and how words are found in it: in the full text index, and in the text itself.

A word is found where it stands as it was typed, whatever its case and accents, at the beginning of a word; in Chinese,
Japanese and Korean anywhere. The index (unicode61, a blank around each such character, each word a phrase) finds what
may hold it; the text decides. Measured choices: performance notes, section 7.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from zlib import crc32

from reach_tui.base.jsonio import JsonValue, shallow
from reach_tui.base.text import clean, inline
from reach_tui.model import Glance

CLIP = 2048
"""Characters of the head and of the tail of arguments and result that the index holds."""
_EDGE = 512  # characters of both ends of a long text that tell it from another of the same length
_PHRASES = 24  # words given to the full text index: its expressions may not be nested deeper than 256
_LONGEST = 200  # characters of a word given to it
_CJK = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])")
_ACCENTS = re.compile("[\u0300-\u036f]")
_BEFORE, _AFTER = 24, 136  # characters of an excerpt around the word


def arguments_text(arguments: JsonValue) -> str:
    """Arguments as plain text: `name: value` a line, without the quotes and escapes of JSON."""
    return "\n".join(_lines(shallow(arguments, 50))) if isinstance(arguments, dict | list) else _scalar(arguments)


def _lines(value: JsonValue, name: str = "") -> Iterable[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _lines(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _lines(one, name)
    else:
        yield f"{name}: {_scalar(value)}" if name else _scalar(value)


def _scalar(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def text_mark(call: Glance) -> int:
    """A checksum of what is searched of a call: another number means another text.

    Arguments stand still once there is a result, so they count only before.
    """
    if call.result is None:
        return crc32(repr(call.arguments).encode("utf-8", "replace"))
    text = call.result.text
    return crc32((text if len(text) <= CLIP else text[:_EDGE] + text[-_EDGE:]).encode("utf-8", "replace"), len(text))


def indexed_text(call: Glance) -> str:
    """What the full text index gets of a call."""
    return spaced("\n".join(_clipped(text) for text in texts_of(call).values()))


def texts_of(call: Glance) -> dict[str, str]:
    """What is searched of a call by its place, without escape sequences: they would stick to the words."""
    result = call.result.text if call.result else ""
    return {"result": _visible(result), "arguments": _visible(arguments_text(call.arguments))}


def _visible(text: str) -> str:
    """`clean` text; plain ASCII without escape sequences as it is, which most is (half the time of a search)."""
    return text if text.isascii() and "\x1b" not in text else clean(text)


def _clipped(text: str) -> str:
    return text if len(text) <= 2 * CLIP else f"{text[:CLIP]}\n{text[-CLIP:]}"


def spaced(text: str) -> str:
    """The text with a blank around each CJK character, so that each is a word."""
    return text if text.isascii() else _CJK.sub(r" \1 ", text)


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    return _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))


def full_text_query(words: Sequence[str], *, to_the_end: bool = False) -> str | None:
    """An FTS5 query that matches at least all that hold these words; None if they give it nothing to look for.

    `to_the_end`: only where no word goes on after what was typed.
    """
    phrases = []
    told = sorted((word for word in words if any(map(str.isalnum, word))), key=len, reverse=True)
    for word in told[:_PHRASES]:
        cut = word[:_LONGEST].replace("\0", " ")
        quoted = spaced(cut).replace('"', '""')
        goes_on = not to_the_end and cut[-1].isalnum() and not _CJK.match(cut[-1])
        phrases.append(f'"{quoted}"*' if goes_on else f'"{quoted}"')
    return " AND ".join(phrases) or None


class Words:
    """The words somebody looks for; all of them must be there."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(word for word in (folded(one).strip() for one in words) if word)

    def place(self, call: Glance) -> tuple[str, str] | None:
        """Where the first word stands (`result` or `arguments`) and an excerpt; None if a word is missing."""
        texts = texts_of(call)
        plain = {where: folded(text) for where, text in texts.items()}
        found: tuple[str, str] | None = None
        for word in self.words:
            for where, text in plain.items():
                if (at := position(word, text)) is not None:
                    found = found or (where, excerpt(texts[where], text, at, len(word)))
                    break
            else:
                return None
        return found


def position(word: str, text: str) -> int | None:
    """Where a folded word begins in a folded text, at the beginning of a word."""
    at = text.find(word)
    while at > 0 and word[0].isalnum() and not _CJK.match(word[0]) and _joined(text[at - 1]):
        at = text.find(word, at + 1)
    return None if at < 0 else at


def _joined(character: str) -> bool:
    return character.isalnum() and not _CJK.match(character)


def excerpt(text: str, plain: str, at: int, length: int) -> str:
    """One line around a place of the folded text."""
    if len(plain) != len(text):  # folding changed its length: near enough
        at = min(len(text), at * len(text) // max(1, len(plain)))
    start = max(0, at - _BEFORE)
    end = min(len(text), at + length + _AFTER)
    line = inline(text[start:end]).strip()
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"

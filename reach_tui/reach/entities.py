"""Entities in texts: order ids, paths, addresses, numbers, dates. Slots are filled from these, not from paragraphs.

Seed 3.3: a paragraph holds three order ids and says nothing about which; a record "who named which id when" does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

MOST_TEXT = 262_144
"""Characters of one text that are looked at: the rest of a huge result names nothing that a person could mean."""
_LONGEST = 256  # characters of a token that a pattern is tried on


class Shape(StrEnum):
    """What an entity looks like."""

    URL = "url"
    EMAIL = "e-mail"
    UUID = "uuid"
    DATE = "date"
    PATH = "path"
    ORDER_ID = "order id"
    NUMBER = "number"
    QUOTED = "quoted text"


# ASCII boundaries: CJK text stands right beside an id without a blank. Possessive quantifiers keep it linear.
_EDGE, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_PATTERNS: dict[Shape, str] = {
    Shape.URL: r"[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>`)\]}，。、；]{1,2000}+",
    Shape.EMAIL: r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
    Shape.UUID: rf"{_EDGE}[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}{_END}",
    Shape.DATE: (
        r"(?<![0-9A-Za-z_.-])(?:\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?"
        r"|\d{4}年\d{1,2}月\d{1,2}日)(?![0-9])"
    ),
    Shape.PATH: (
        r"(?<![A-Za-z0-9_/.~-])(?:(?:~|\.{1,2}|[A-Za-z]:)?[/\\]|[\w.@+-]{1,128}/)[\w.@+~/\\-]{1,1024}+"
        r"|(?<![A-Za-z0-9_/.~-])[\w-]{1,128}\.[A-Za-z][A-Za-z0-9]{0,7}(?![A-Za-z0-9_(])"
    ),
    Shape.ORDER_ID: rf"{_EDGE}(?:[A-Z]{{1,8}}[-_#]?\d{{3,20}}(?:-\d{{1,12}}){{0,4}}|\d{{8,24}}){_END}",
    Shape.NUMBER: rf"{_EDGE}-?\d{{1,18}}(?:\.\d{{1,12}})?{_END}",
    Shape.QUOTED: r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|「([^」\n]{1,200})」|'([^'\n]{2,200})'|`([^`\n]{1,200})`",
}  # fmt: skip
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:+/#-]*")
_TRAILING = ".,;:!?"
_ORDER = tuple(shape for shape in Shape if shape is not Shape.QUOTED)


@dataclass(frozen=True, slots=True)
class Entity:
    """One value in a text; `start` and `end` count characters."""

    shape: str
    """A `Shape`, or the pattern that it matches."""
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention:
    """Who named which entity when."""

    entity: Entity
    by: str
    """user, assistant, result, profile …"""
    origin: str
    """Where it stands, for people."""
    at: int | None = None
    """Milliseconds since 1970 UTC, where known."""
    step: int | None = None


@lru_cache(maxsize=16)
def _compiled(shape: Shape) -> re.Pattern[str]:
    return re.compile(_PATTERNS[shape])


def of_shape(text: str, shape: Shape) -> Iterator[Entity]:
    """The entities of one shape in a text, in order."""
    for found in _compiled(shape).finditer(text[:MOST_TEXT]):
        if shape is Shape.QUOTED:
            number = found.lastindex or 0
            yield Entity(shape, found[number], found.start(number), found.end(number))
            continue
        value = found[0].rstrip(_TRAILING)
        if value:
            yield Entity(shape, value, found.start(), found.start() + len(value))


def entities(text: str) -> list[Entity]:
    """Every entity, each span once under its most telling shape; quoted texts may hold others. In order of place."""
    taken = bytearray(min(len(text), MOST_TEXT) + 1)
    found: list[Entity] = []
    for shape in _ORDER:
        for one in of_shape(text, shape):
            if not any(taken[one.start : one.end]):
                taken[one.start : one.end] = b"\x01" * (one.end - one.start)
                found.append(one)
    found += of_shape(text, Shape.QUOTED)
    return sorted(found, key=lambda one: (one.start, -one.end))


@lru_cache(maxsize=4096)
def shape_of(value: str) -> Shape | None:
    """The shape that the whole value has; None for plain words."""
    value = value.strip()
    if not value or len(value) > 2048 or "\n" in value:
        return None
    for shape in _ORDER:
        found = _compiled(shape).match(value)
        if found is not None and found.end() == len(value):
            return shape
    return None


def matching(text: str, pattern: str) -> Iterator[Entity]:
    """The tokens of a text that a schema's `pattern` accepts; nothing for a pattern that RE2 cannot take."""
    accepts = _accepts(pattern)
    if accepts is None:
        return
    for value, start in tokens(text):
        if accepts(value):
            yield Entity(pattern, value, start, start + len(value))


def tokens(text: str) -> Iterator[tuple[str, int]]:
    """What stands between blanks and other scripts, without punctuation at its end, and where it begins."""
    for found in _TOKEN.finditer(text[:MOST_TEXT]):
        value = found[0].rstrip("./:#-@+")
        if len(value) <= _LONGEST:
            yield value, found.start()


@lru_cache(maxsize=1024)
def _accepts(pattern: str) -> _Accepts | None:
    import re2  # linear time whatever the pattern says

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return None
    return _Accepts(compiled)


class _Accepts:
    def __init__(self, compiled: re.Pattern[str]) -> None:
        self._search = compiled.search

    def __call__(self, value: str) -> bool:
        try:
            return self._search(value) is not None
        except UnicodeError:
            return False


def accepts(pattern: str, value: str) -> bool | None:
    """Whether a schema's `pattern` is found in the value; None for a pattern that RE2 cannot take."""
    known = _accepts(pattern)
    return None if known is None else known(value)


@dataclass(slots=True)
class EntityLog:
    """Entity records of a conversation, oldest first. Texts are kept, and searched per shape when that is asked for."""

    _texts: list[tuple[str, str, str, int | None, int | None]] = field(default_factory=list)
    _known: dict[str, tuple[list[Mention], int]] = field(default_factory=dict)

    def add(self, text: str, by: str, origin: str = "", at: int | None = None, step: int | None = None) -> None:
        """A text that the conversation has seen."""
        self._texts.append((text, by, origin or by, at, step))

    def mentions(self, shape: Shape | None = None, pattern: str | None = None) -> list[Mention]:
        """The records of a shape, or of what a schema's pattern accepts, newest first."""
        name = pattern if pattern is not None else str(shape)
        mentions, upto = self._known.get(name, ([], 0))
        for text, by, origin, at, step in self._texts[upto:]:
            if pattern is not None:
                found: Iterator[Entity] = matching(text, pattern)
            elif shape is not None:
                found = of_shape(text, shape)
            else:
                found = iter(entities(text))
            mentions.extend(Mention(one, by, origin, at, step) for one in found)
        self._known[name] = (mentions, len(self._texts))
        return mentions[::-1]

    @property
    def texts(self) -> list[str]:
        """The texts, oldest first."""
        return [text for text, *_ in self._texts]

"""Secrets out of text before it leaves the machine: known key shapes, and values that stand where a secret stands.

A value found in such a place (an environment or JSON field, a header, a flag, a URL) is then replaced wherever else it
occurs in the same document. Mail addresses and names stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from reach_tui.base.jsonio import JsonValue
from reach_tui.export.secret_shapes import FIELD, FIELD_HINTS, FLAG, SHAPES, is_secret_name, is_secret_value

Record = dict[str, JsonValue]
_HOME = re.compile(r"(?i)(?:/home/|/Users/|[A-Z]:\\{1,2}Users\\{1,2})(?P<name>[^/\\\s\"'`:;,|<>()\[\]{}*?]+)")
_SHORT = 4_096  # characters of a text whose secrets are remembered
_LEARNED_LENGTH = 8  # shorter values are too likely to be ordinary words elsewhere


@dataclass(frozen=True, slots=True)
class Span:
    """A secret in a text: characters [start, end)."""

    start: int
    end: int
    kind: str

    @property
    def mark(self) -> str:
        """What stands there instead."""
        return f"[redacted: {self.kind}]"


@dataclass(slots=True)
class Redactor:
    """Replaces secrets in texts and values. `counts`: how many of each kind were replaced."""

    counts: Counter[str] = field(default_factory=Counter)
    personal: bool = False
    """Also the names of people's home folders in paths, for data that leaves the team."""
    _known: dict[str, str] = field(default_factory=dict)
    _known_pattern: re.Pattern[str] | None = None

    def learn(self, document: JsonValue) -> None:
        """Remember the values that stand where secrets stand anywhere in a document."""
        for text, named in _strings(document):
            if named:
                self._remember(text, "secret")
            for span, place in _found(text):
                if place:
                    self._remember(text[span.start : span.end], span.kind)
        longest_first = sorted(self._known, key=len, reverse=True)
        self._known_pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _remember(self, value: str, kind: str) -> None:
        plain_word = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 12
        if _LEARNED_LENGTH <= len(value) <= 2000 and not plain_word and not value.isspace():
            self._known.setdefault(value, kind)

    def spans(self, text: str) -> list[Span]:
        """The secrets in a text, in order, overlapping ones joined."""
        found = [span for span, _ in _found(text)]
        if self._known_pattern is not None:
            found += [Span(hit.start(), hit.end(), self._known[hit[0]]) for hit in self._known_pattern.finditer(text)]
        if self.personal:
            found += [Span(*hit.span("name"), "home folder") for hit in _HOME.finditer(text)]
        joined: list[Span] = []
        for span in sorted(found, key=lambda one: (one.start, -one.end)):
            if joined and span.start < joined[-1].end:
                last = joined[-1]
                joined[-1] = Span(last.start, max(last.end, span.end), last.kind)
            else:
                joined.append(span)
        return joined

    def text(self, text: str) -> str:
        """The text with every secret replaced by `[redacted: kind]`."""
        return self._replace(text, self.spans(text))

    def _replace(self, text: str, spans: list[Span]) -> str:
        if not spans:
            return text
        parts, at = [], 0
        for span in spans:
            self.counts[span.kind] += 1
            parts += [text[at : span.start], span.mark]
            at = span.end
        return "".join([*parts, text[at:]])

    def text_with_range(self, text: str, start: int, end: int) -> tuple[str, int, int]:
        """The redacted text, and where [start, end) of the original is in it now, widened over a mark it touches."""
        spans = self.spans(text)
        shift = 0
        new_start, new_end = start, end
        for span in spans:
            grown = len(span.mark) - (span.end - span.start)
            if span.end <= start:
                new_start, new_end = new_start + grown, new_end + grown
            elif span.start < end:
                new_start = min(new_start, span.start + shift)
                new_end = max(new_end, span.end + shift) + grown
            shift += grown
        return self._replace(text, spans), new_start, new_end

    def value(self, value: JsonValue, *, named: bool = False) -> JsonValue:
        """A JSON value with secrets replaced in every text, in keys, and whole where a key names a secret (`named`)."""
        if isinstance(value, str):
            if named and value.strip():
                self.counts["secret"] += 1
                return "[redacted: secret]"
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item, named=named) for item in value]
        if isinstance(value, dict):
            return self._object(value, named)
        if named and isinstance(value, int | float) and not isinstance(value, bool):
            self.counts["secret"] += 1
            return "[redacted: secret]"
        return value

    def _object(self, record: Record, named: bool) -> Record:
        clean: Record = {}
        for key, item in record.items():
            shown = name = self.text(key)
            number = 2
            while shown in clean:  # two secret keys that now look alike are both kept
                shown, number = f"{name} #{number}", number + 1
            clean[shown] = self.value(item, named=named or _names_secret(record, key))
        return clean

    def call(self, record: Record) -> Record:
        """A call record redacted, its evidence still pointing at the same place of the result."""
        result, evidence = record.get("result"), record.get("evidence")
        rest = {key: item for key, item in record.items() if key not in ("result", "evidence")}
        clean = self._object(rest, named=False)
        if not (isinstance(result, str) and isinstance(evidence, dict) and evidence.get("where", "result") == "result"):
            return {key: clean[key] if key in clean else self.value(record[key]) for key in record}
        start, end = evidence.get("start"), evidence.get("end")
        assert isinstance(start, int)
        assert isinstance(end, int)
        text, start, end = self.text_with_range(result, start, end)
        moved: Record = {**evidence, "text": text[start:end], "start": start, "end": end}
        return {key: text if key == "result" else moved if key == "evidence" else clean[key] for key in record}


def _names_secret(record: Record, key: str) -> bool:
    """True for `password: ...`, and for the value of `{name: password, value: ...}`."""
    if key == "value":
        name = record.get("name", record.get("key"))
        return isinstance(name, str) and is_secret_name(name)
    return is_secret_name(key)


def _strings(value: JsonValue, named: bool = False) -> Iterator[tuple[str, bool]]:
    stack: list[tuple[JsonValue, bool]] = [(value, named)]
    while stack:
        item, secret = stack.pop()
        if isinstance(item, str):
            yield item, secret
        elif isinstance(item, list):
            stack.extend((one, secret) for one in item)
        elif isinstance(item, dict):
            stack.extend((one, secret or _names_secret(item, key)) for key, one in item.items())


def _found(text: str) -> Iterable[tuple[Span, bool]]:
    """Secrets in a text; True for those known by their place only, which may stand elsewhere without it."""
    return _remembered(text) if len(text) <= _SHORT else _search(text)


@lru_cache(maxsize=2048)
def _remembered(text: str) -> tuple[tuple[Span, bool], ...]:
    """The same step is in the surroundings of several labels, and in what is learnt before it is replaced."""
    return tuple(_search(text))


def _search(text: str) -> Iterator[tuple[Span, bool]]:
    lower = text.lower()
    for shape in SHAPES:
        if any(hint in lower for hint in shape.hints):
            by_place = "secret" in shape.pattern.groupindex
            for hit in shape.pattern.finditer(text):
                start, end = hit.span("secret" if by_place else 0)
                yield Span(start, end, shape.kind), by_place
    if any(hint in lower for hint in FIELD_HINTS):
        for shape in (FIELD, FLAG):
            for hit in shape.pattern.finditer(text):
                if is_secret_value(hit):
                    yield Span(*hit.span("quoted" if hit["quoted"] is not None else "plain"), shape.kind), True

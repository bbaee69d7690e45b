"""Matches all text rules of a family at once: one RE2 set over a window of the text, spans only for what hit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from reach_tui.base.errors import ConfigError
from reach_tui.detect.rules import Rule

WINDOWS = {"content": (700, 0), "edit": (2000, 600), "answer": (2000, 1000), "log": (3000, 5000)}
"""Characters at the head and at the tail that are looked at, by nature: content is judged by how it begins alone."""
_GAP = "\n\0\n"  # between head and tail, so that nothing matches across
_HITS = 40
_BUDGETS = (64 << 20, 256 << 20)
"""Bytes for a compiled set and its cached states, the first that holds the set: a bound, of which the shell's rules use
a quarter. Where it is too small, states are made anew all the time, which takes ten times as long (32 MB, 89 rules)."""
_NEEDLES = 4
"""Words that are looked for one by one, where case counts; more take as long as the set."""
_TOKEN = re.compile(r"\\.|[^\\]", re.DOTALL)
_CLASSES = frozenset("bBsSdDwWzAnrtfv")  # after a backslash
_EVIDENCE = 300
_AT_START = ("start", "whole")
_UNCUT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+),(\d+)\}", re.DOTALL)
"""What a pattern may not be cut in: an escape, a class (a `]` at its beginning is a letter), limits of repetition."""
_FEW = 9
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(slots=True)
class Window:
    """A part of a text: its head and its tail, joined."""

    text: str
    head: int
    """Length of the head; positions below it are the text's own from `start`."""
    start: int
    tail_start: int

    def original(self, position: int) -> int:
        """Position in the whole text of a position in the window."""
        if position <= self.head:
            return self.start + position
        return self.tail_start + max(0, position - self.head - len(_GAP))


def window(text: str, start: int, end: int, nature: str) -> Window:
    """The part of `text[start:end]` that rules of that nature look at, safe to encode."""
    head, tail = WINDOWS[nature]
    if end - start <= head + tail or not tail:
        stop = min(end, start + head + tail)
        return Window(text[start:stop], stop - start, start, stop)
    return Window(text[start : start + head] + _GAP + text[end - tail : end], head, start, end - tail)


def windowed(text: str, end: int, nature: str) -> str:
    """The text of `window` over `text[:end]`."""
    head, tail = WINDOWS[nature]
    if end <= head + tail:
        return text[:end]
    return f"{text[:head]}{_GAP}{text[end - tail : end]}" if tail else text[:head]


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched, with its span in the whole text."""

    rule: Rule
    start: int
    end: int
    fields: dict[str, str]
    """Named groups of the pattern."""

    @property
    def explanation(self) -> str:
        """The rule's sentence with the named groups filled in."""
        return fill(self.rule.explain, self.fields)


def fill(sentence: str, fields: dict[str, str]) -> str:
    """`{name}` in a rule's sentence replaced by what the group of that name matched."""
    if "{" not in sentence:
        return sentence
    return _FIELD.sub(lambda found: fields.get(found[1], "of that name"), sentence)


def _fields(groups: dict[str, str | bytes | None]) -> dict[str, str]:
    """Named groups on one line. RE2 wants every name once, so alternatives number theirs: argument, argument2 …"""
    named = ((name.rstrip("0123456789"), value) for name, value in groups.items() if value)
    texts = ((name, value.decode() if isinstance(value, bytes) else value) for name, value in named)
    return {name: " ".join(text.split())[:80] for name, text in texts}


def loosened(pattern: str) -> str:
    """A pattern that matches at least all that `pattern` does, without upper limits of repetition beyond a few.

    `[^\\n]{0,60}` needs a state for each of its sixty places, times those of every other rule; `[^\\n]*` needs one.
    """
    return _UNCUT.sub(_without_limit, pattern)


def _without_limit(token: re.Match[str]) -> str:
    least, most = token[1], token[2]
    if most is None or int(most) <= _FEW:
        return token[0]
    return {"0": "*", "1": "+"}.get(least, f"{{{least},}}")


def needle(pattern: str) -> str:
    """Letters in a row that are in all that `pattern` matches with `case`; empty where that is not plain to see."""
    runs, run = [], ""
    for token in _TOKEN.findall(pattern):
        letter = token[-1]
        escaped = len(token) > 1
        if (not escaped and letter in "|([{") or (escaped and letter.isalnum() and letter not in _CLASSES):
            return ""
        if letter not in ".^$+?*" if not escaped else not letter.isalnum():
            run += letter
            continue
        runs.append(run[:-1] if token in ("?", "*") else run)
        run = ""
    return max((*runs, run), key=len)


class _Part(NamedTuple):
    """Rules compiled together."""

    match: Callable[[bytes], list[int] | None]
    numbers: list[int]
    needles: tuple[str, ...]
    """One of these stands in every text that one of the rules matches; none: nobody knows."""


class Matcher:
    """The text rules of one family, compiled on first use. Not `exact`: `hits` may give rules that have no `spans`."""

    def __init__(self, rules: tuple[Rule, ...], *, exact: bool = False) -> None:
        self._exact = exact
        self.rules = tuple(rule for rule in rules if rule.where != "arguments")
        self.asks_json = any(rule.in_json for rule in self.rules)
        self._sets: list[_Part] | None = None
        self._last: tuple[str, list[int]] = ("", [])
        """What was found last, and where: the whole judgement asks again."""
        self._single: dict[str, Any] = {}
        self._by_rule: dict[str, Any] = {}

    def hits(self, view: Window) -> Iterator[Rule]:
        """The rules whose pattern occurs (or may) in the window, in order; conditions are not looked at."""
        found = self.matches(view.text)
        return (self.rules[index] for index in sorted(found)) if found else iter(())

    def matches(self, text: str) -> list[int]:
        """The numbers of the rules whose pattern occurs (or may occur) in the text of a window, in no order."""
        if (last := self._last)[0] == text and text:
            return last[1]
        if (parts := self._sets) is None:
            parts = self._sets = [self._compile(numbers) for numbers in self._parts()]
        try:
            subject = text.encode()
        except UnicodeEncodeError:
            subject = text.encode("utf-8", "replace")
        found: list[int] = []
        for match, numbers, needles in parts:
            if needles:
                for word in needles:
                    if word in text:
                        break
                else:
                    continue
            if hits := match(subject):
                found += [numbers[hit] for hit in hits]
        if found:
            self._last = (text, found)
        return found

    def _parts(self) -> list[list[int]]:
        """The numbers of the rules compiled together: the beginning needs no states for the rest of the text."""
        ahead = [number for number, rule in enumerate(self.rules) if rule.where in _AT_START]
        return [part for part in (ahead, sorted(set(range(len(self.rules))) - set(ahead))) if part]

    def _needles(self, numbers: list[int]) -> tuple[str, ...]:
        if len(numbers) > _NEEDLES or not all(self.rules[number].case for number in numbers):
            return ()
        needles = [needle(self.rules[number].match) for number in numbers]
        return tuple(needles) if all(len(one) > 3 for one in needles) else ()

    def _compile(self, numbers: list[int]) -> _Part:
        import re2

        anchored = all(self.rules[number].where in _AT_START for number in numbers)
        for budget in _BUDGETS:
            options = re2.Options()
            options.max_mem = budget
            options.log_errors = False
            patterns = re2.Set.MatchSet(options) if anchored else re2.Set.SearchSet(options)
            for number in numbers:
                pattern = self.rules[number].pattern
                patterns.Add(pattern if self._exact else loosened(pattern))
            try:
                patterns.Compile()
            except re2.error:
                continue
            return _Part(patterns.Match, numbers, self._needles(numbers))
        raise ConfigError("too many or too large patterns for one family", hint="split it, or simplify its patterns")

    def spans(self, rule: Rule, view: Window) -> Iterator[tuple[int, int, dict[str, str]]]:
        """Where in the window the rule matches (first 40), without lines that its `unless` excuses."""
        text = view.text if view.text.isascii() else view.text.encode("utf-8", "replace").decode("utf-8")
        # positions in bytes are positions in characters where all is ASCII: they need not be counted
        subject = text.encode() if text.isascii() else text
        grouped = "(?P<" in rule.match
        if (pattern := self._by_rule.get(rule.id)) is None:
            pattern = self._by_rule[rule.id] = self._pattern(rule.pattern)
        for count, match in enumerate(pattern.finditer(subject)):
            if count >= _HITS:
                return
            start, end = match.span()
            found = text[start:end]
            line_start = text.rfind("\n", 0, start + len(found) - len(found.lstrip())) + 1
            line_end = text.find("\n", end)
            line = text[line_start : len(text) if line_end < 0 else line_end]
            if rule.unless and self._pattern(f"(?i){rule.unless}").search(line):
                continue
            yield start, end, _fields(match.groupdict()) if grouped else {}

    def _pattern(self, pattern: str) -> Any:
        if pattern not in self._single:
            import re2

            self._single[pattern] = re2.compile(pattern)
        return self._single[pattern]

    def contains(self, pattern: str, text: str) -> bool:
        """True if a condition's pattern occurs in the text, case ignored."""
        safe = text.encode("utf-8", "replace").decode("utf-8")
        return self._pattern(f"(?i){pattern}").search(safe) is not None

    def parses(self, pattern: str) -> bool:
        """True if the text is a regular expression (RE2, whose syntax ripgrep shares)."""
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(pattern.encode("utf-8", "replace"), options)
        except re2.error:
            return False
        return True


def evidence_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The hit widened to the end of its line, without blanks around it, at most 300 characters."""
    while start < end and text[start].isspace():
        start += 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    stop = min(max(stop, end), start + _EVIDENCE, len(text))
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop

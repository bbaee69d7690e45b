"""The business dictionary: what "last week" and "上周" mean, given a clock and a declared rule (seed 1.1 and 3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text

CALENDAR, ROLLING = "calendar", "rolling"
_BEYOND = (OverflowError, ValueError)
"""Of days before year 1 and after 9999: such a term names none, the others still do."""
_UNITS = ("day", "week", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Term:
    """Phrases for a span of time, `offset` units from the current one."""

    phrases: tuple[str, ...]
    unit: str
    """day, week, month, quarter or year."""
    offset: int = 0
    rule: str | None = None
    """`calendar` (Monday to Sunday, first to last) or `rolling` (whole days before today); None: the dictionary's."""


@dataclass(frozen=True, slots=True)
class DateRange:
    """What a phrase means: both days belong to it."""

    phrase: str
    first: date
    last: date
    rule: str
    start: int = 0
    """Where the phrase stands in its text, in characters."""

    @property
    def words(self) -> str:
        """`2026-06-01…2026-06-07`."""
        return f"{self.first}…{self.last}" if self.first != self.last else str(self.first)


TERMS: tuple[Term, ...] = (
    Term(("today", "今天", "今日"), "day"),
    Term(("yesterday", "昨天", "昨日"), "day", -1),
    Term(("the day before yesterday", "前天"), "day", -2),
    Term(("tomorrow", "明天"), "day", 1),
    Term(("this week", "本周", "这周", "这个星期"), "week", 0, CALENDAR),
    Term(("last week", "the past week", "上周", "上星期", "上个星期", "上礼拜"), "week", -1),
    Term(("next week", "下周", "下星期"), "week", 1, CALENDAR),
    Term(("this month", "本月", "这个月"), "month", 0, CALENDAR),
    Term(("last month", "上个月", "上月"), "month", -1, CALENDAR),
    Term(("next month", "下个月", "下月"), "month", 1, CALENDAR),
    Term(("this quarter", "本季度", "这个季度"), "quarter", 0, CALENDAR),
    Term(("last quarter", "上季度", "上个季度"), "quarter", -1, CALENDAR),
    Term(("this year", "今年"), "year", 0, CALENDAR),
    Term(("last year", "去年"), "year", -1, CALENDAR),
)
"""Weeks follow the dictionary's rule: in the seed, last week means the last seven whole days, not Monday to Sunday."""

_QUARTER = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<y>\d{4})[ -]?)?Q(?P<q>[1-4])(?:[ -]?(?P<y2>\d{4}))?(?![A-Za-z0-9])", re.IGNORECASE
)
_QUARTER_CN = re.compile(r"(?:(?P<y>\d{4})年?)?第?(?P<q>[一二三四1-4])季度")
_PAST = re.compile(
    r"(?:\b(?:last|past) (?P<n>\d{1,3}) (?P<unit>day|week|month)s?\b"
    r"|(?:最近|过去|近)(?P<n2>\d{1,3})个?(?P<unit2>天|日|周|星期|月))",
    re.IGNORECASE,
)
_NUMBERS = {"一": "1", "二": "2", "三": "3", "四": "4"}
_DAYS = {"day": 1, "week": 7, "month": 30, "天": 1, "日": 1, "周": 7, "星期": 7, "月": 30}


@dataclass(frozen=True)
class BusinessDictionary:
    """Terms, named values, and the rule for weeks. Pure: the clock is an argument."""

    terms: Sequence[Term] = TERMS
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """Other words of the business: phrase -> the value that it stands for."""
    weeks: str = ROLLING
    zone: tzinfo = UTC

    @classmethod
    def of(cls, data: Mapping[str, JsonValue], zone: tzinfo = UTC) -> BusinessDictionary:
        """From data: `{"weeks": …, "terms": [{"phrases": [...], "unit": "week", "offset": -1}], "values": {…}}`.

        Its terms stand before the built-in ones. Raises `ValueError` naming what is wrong.
        """
        terms: list[Term] = []
        listed = data.get("terms") or []
        for number, one in enumerate(listed if isinstance(listed, list) else []):
            given = as_object(one)
            phrases, unit = given.get("phrases"), as_text(given.get("unit"))
            if not isinstance(phrases, list) or not all(isinstance(each, str) and each for each in phrases):
                raise ValueError(f"terms[{number}].phrases: expected a list of texts")
            if unit not in _UNITS:
                raise ValueError(f"terms[{number}].unit: expected one of {', '.join(_UNITS)}, got {unit!r}")
            rule = as_text(given.get("rule"))
            if rule not in (None, CALENDAR, ROLLING):
                raise ValueError(f"terms[{number}].rule: expected calendar or rolling, got {rule!r}")
            terms.append(Term(tuple(map(str, phrases)), unit, as_int(given.get("offset")) or 0, rule))
        weeks = as_text(data.get("weeks")) or ROLLING
        if weeks not in (CALENDAR, ROLLING):
            raise ValueError(f"weeks: expected calendar or rolling, got {weeks!r}")
        return cls((*terms, *TERMS), as_object(data.get("values")), weeks, zone)

    def ranges(self, text: str, now: int, rule: str | None = None) -> list[DateRange]:
        """The spans of time that a text names, in order. `now` in ms since 1970; `rule` overrides that for weeks."""
        try:
            today = datetime.fromtimestamp(now / 1000, self.zone).date()
        except (OverflowError, OSError, ValueError):
            return []
        return _longest_first([*self._named(text, today, rule), *_quarters(text, today), *_past(text, today)])

    def lookup(self, text: str) -> Iterator[tuple[str, JsonValue]]:
        """The named values whose phrase stands in the text."""
        folded = text.casefold()
        for phrase, value in self.values.items():
            if _find(folded, phrase.casefold()) >= 0:
                yield phrase, value

    def _named(self, text: str, today: date, rule: str | None) -> Iterator[DateRange]:
        folded = text.casefold()
        for term in self.terms:
            for phrase in term.phrases:
                if (at := _find(folded, phrase.casefold())) >= 0:
                    chosen = term.rule or rule or (self.weeks if term.unit == "week" else CALENDAR)
                    with suppress(*_BEYOND):
                        yield DateRange(phrase, *span(today, term.unit, term.offset, chosen), chosen, at)


def span(today: date, unit: str, offset: int, rule: str = CALENDAR) -> tuple[date, date]:
    """First and last day of a unit, `offset` units from the current one. Raises `OverflowError` outside 1..9999."""
    if unit == "day":
        day = today + timedelta(days=offset)
        return day, day
    if rule == ROLLING:
        days = {"week": 7, "month": 30, "quarter": 91, "year": 365}[unit]
        return today + timedelta(days=offset * days), today + timedelta(days=(offset + 1) * days - 1)
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
        return monday, monday + timedelta(days=6)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    index = today.year * 12 + today.month - 1
    start = (index // months + offset) * months
    return _month(start), _month(start + months) - timedelta(days=1)


def _month(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)


def _find(folded: str, phrase: str) -> int:
    """Where the phrase stands as words of its own; CJK phrases need no edges. -1 if nowhere."""
    at = folded.find(phrase)
    while at >= 0 and phrase.isascii():
        before, after = folded[at - 1 : at], folded[at + len(phrase) : at + len(phrase) + 1]
        if not (before.isascii() and before.isalnum()) and not (after.isascii() and after.isalnum()):
            break
        at = folded.find(phrase, at + 1)
    return at


def _quarters(text: str, today: date) -> Iterator[DateRange]:
    for pattern in (_QUARTER, _QUARTER_CN):
        for found in pattern.finditer(text):
            groups = found.groupdict()
            year = int(groups.get("y") or groups.get("y2") or today.year)
            number = int(_NUMBERS.get(found["q"], found["q"]))
            month = year * 12 + (number - 1) * 3
            with suppress(*_BEYOND):
                first, last = _month(month), _month(month + 3) - timedelta(days=1)
                yield DateRange(found[0].strip(), first, last, CALENDAR, found.start())


def _past(text: str, today: date) -> Iterator[DateRange]:
    for found in _PAST.finditer(text):
        with suppress(*_BEYOND):
            days = int(found["n"] or found["n2"]) * _DAYS[(found["unit"] or found["unit2"]).lower()]
            first, last = today - timedelta(days=days), today - timedelta(days=1)
            if first <= last:
                yield DateRange(found[0], first, last, ROLLING, found.start())


def _longest_first(found: list[DateRange]) -> list[DateRange]:
    """Without phrases that stand inside a longer one ("yesterday" in "the day before yesterday"); in order of place."""
    kept: list[DateRange] = []
    for one in sorted(found, key=lambda each: -len(each.phrase)):
        if not any(k.start <= one.start and one.start + len(one.phrase) <= k.start + len(k.phrase) for k in kept):
            kept.append(one)
    return sorted(kept, key=lambda each: each.start)

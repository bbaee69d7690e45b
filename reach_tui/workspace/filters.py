"""The session filter: words, and `key:value`, `key>n`, `key<n`, `key=n`. What is not understood counts as a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from reach_tui.model import Counts, Session
from reach_tui.workspace.judged import JudgedSession

_TERM = re.compile(r"^(?P<key>[a-z]+)(?P<operator>[:<>=])(?P<value>.+)$", re.IGNORECASE)
_NUMBERS = ("hidden", "flagged", "failed", "soft", "unfinished", "calls", "labelled")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Test = Callable[[JudgedSession, str], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter. `understood` says in words what it will do."""

    tests: tuple[Test, ...]
    understood: str
    words: tuple[str, ...] = ()
    """Words that must be in the `haystack`, case folded."""

    def holds(self, judged: JudgedSession, searched: str, store: str) -> bool:
        """True if every term holds. `searched` is the session's `haystack`, `store` the store's kind and file name."""
        for word in self.words:  # plain loops: this is asked of every session at every key
            if word not in searched:
                return False
        for test in self.tests:  # noqa: SIM110 - see above
            if not test(judged, store):
                return False
        return True


def haystack(session: Session, store: str) -> str:
    """What the words of a filter are looked for in, case folded; a word of theirs holds no line break."""
    fields = (session.title, session.project, session.model, session.id, store)
    return "\n".join(field for field in fields if field).casefold()


def parse_filter(text: str, today: date | None = None) -> Filter:
    """The filter a person typed. Never fails: unknown terms are searched as words."""
    tests: list[Test] = []
    words: list[str] = []
    said: list[str] = []
    for term in text.split():
        match = _TERM.match(term)
        made = _term(match["key"].lower(), match["operator"], match["value"], today or date.today()) if match else None  # noqa: DTZ011 - the person's own day
        if made is None:
            words.append(term.casefold())
            said.append(f"“{term}”")
        else:
            tests.append(made[0])
            said.append(made[1])
    return Filter(tuple(tests), " and ".join(said), tuple(words))


def _term(key: str, operator: str, value: str, today: date) -> tuple[Test, str] | None:
    if key in _NUMBERS and value.isdecimal():
        return _number(key, ">=" if operator == ":" else operator, int(value))
    if operator != ":":
        return None
    needle = value.casefold()
    if key == "tool":
        return (lambda judged, store: _has_tool(judged, needle)), f"uses {value}"
    if key in ("title", "project", "model"):
        return (lambda judged, store: needle in (getattr(judged.session, key) or "").casefold()), f"{key} has {value}"
    if key == "store":
        return (lambda judged, store: needle in store.casefold()), f"store {value}"
    if key == "is":
        return _state(needle)
    if key in ("since", "until") and (moment := _moment(needle, today)) is not None:
        ms = int(moment.timestamp() * 1000)
        if key == "since":
            return (lambda judged, store: (judged.session.started_at or 0) >= ms), f"since {moment:%d %b %Y}"
        return (lambda judged, store: 0 < (judged.session.started_at or 0) < ms), f"before {moment:%d %b %Y}"
    return None


def _has_tool(judged: JudgedSession, needle: str) -> bool:
    return judged.counts is not None and any(needle in tool.casefold() for tool in judged.counts.tools)


def _number(key: str, operator: str, value: int) -> tuple[Test, str]:
    compare: dict[str, Callable[[int], bool]] = {
        ">": lambda n: n > value,
        "<": lambda n: n < value,
        "=": lambda n: n == value,
        ">=": lambda n: n >= value,
    }

    def test(judged: JudgedSession, store: str) -> bool:
        if key == "labelled":
            return compare[operator](judged.labelled)
        counts = judged.counts.counts if judged.counts else None
        return counts is not None and compare[operator](getattr(counts, key))

    return test, f"{key} {operator} {value}"


def _state(name: str) -> tuple[Test, str] | None:
    states: dict[str, tuple[Callable[[JudgedSession, Counts], bool], str]] = {
        "hidden": (lambda judged, counts: counts.hidden > 0, "hides errors"),
        "failed": (lambda judged, counts: counts.failed > 0, "has failures"),
        "unfinished": (lambda judged, counts: counts.unfinished > 0, "has calls that have not ended"),
        "labelled": (lambda judged, counts: judged.labelled > 0, "is labelled"),
        "child": (lambda judged, counts: judged.session.parent_id is not None, "is a sub-agent"),
    }
    if name not in states:
        return None
    holds, words = states[name]

    def test(judged: JudgedSession, store: str) -> bool:
        return holds(judged, judged.counts.counts if judged.counts else Counts())

    return test, words


def _moment(text: str, today: date) -> datetime | None:
    """Start of a day in the person's own zone: today, yesterday, a weekday's name, 7d, or 2026-06-01."""
    if text == "today":
        day = today
    elif text == "yesterday":
        day = today - timedelta(days=1)
    elif text[:3] in _WEEKDAYS:
        day = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(text[:3])) % 7)
    elif re.fullmatch(r"\d{1,4}d", text):
        day = today - timedelta(days=int(text[:-1]))
    else:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return None
    return datetime(day.year, day.month, day.day).astimezone()

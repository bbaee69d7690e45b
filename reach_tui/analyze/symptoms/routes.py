"""Symptoms of the router, from recorded decisions alone: an inferred route is our opinion, not what happened."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from reach_tui.analyze.story import Story
from reach_tui.analyze.symptoms.model import MOST, Shown, strongest
from reach_tui.base.text import one_line
from reach_tui.model import Route, Step

CLOSE = 0.15
"""The seed's gap."""
OFTEN = 5
DECISIONS = 12
CLARIFIED = 0.25
_NOISE = re.compile(r"[\W_]+")
_SHOWN = 60  # characters of a request


@dataclass(frozen=True, slots=True)
class _Decided:
    session_id: str
    step: int
    call_key: str | None
    first: str
    decision: str
    gap: float


def _decided(story: Story, step: Step, route: Route) -> _Decided:
    first = route.candidates[0].name if route.candidates else "no tool"
    key = step.call.key if step.call else None
    gap = route.gap if route.gap is not None else 1.0
    return _Decided(story.session.id, step.number, key, first, route.decision, gap)


def _request(intent: str) -> str:
    """What makes two requests the same sentence."""
    return _NOISE.sub(" ", intent.casefold()).strip()


class UnstableRoute:
    """One request, two answers, and a gap that explains it."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[tuple[str, str], _Decided]] = defaultdict(dict)
        self._words: dict[str, str] = {}

    def add(self, story: Story) -> None:
        """Keep the first decision of each kind for each request."""
        for step, route in story.routes():
            request = _request(route.intent)
            if request:
                one = _decided(story, step, route)
                known = self._seen[request].setdefault((one.first, one.decision), one)
                if one.gap < known.gap:
                    self._seen[request][one.first, one.decision] = one
                self._words.setdefault(request, one_line(route.intent)[:_SHOWN])

    def shown(self) -> tuple[Shown, ...]:
        """Requests with two answers."""
        found = []
        for request, answers in self._seen.items():
            closest = min(answers.values(), key=lambda one: one.gap)
            if len(answers) > 1 and closest.gap < CLOSE:
                said = " and ".join(sorted(f"{decision} {first}" for first, decision in answers))
                words = f"“{self._words[request]}” led to {said}; the gap was {closest.gap:.2f}, under {CLOSE:g}"
                found.append(Shown(closest.session_id, closest.step, closest.call_key, words, len(answers)))
        return strongest(found)


class NeverChosen:
    """Always a candidate, never the one."""

    def __init__(self) -> None:
        self._candidate: Counter[str] = Counter()
        self._first: set[str] = set()
        self._called: set[str] = set()
        self._example: dict[str, tuple[Story, Step]] = {}
        self._before: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, story: Story) -> None:
        """Count candidates, and what stood before them."""
        for step, route in story.routes():
            for place, candidate in enumerate(route.candidates):
                if place == 0:
                    self._first.add(candidate.name)
                else:
                    self._candidate[candidate.name] += 1
                    self._before[candidate.name][route.candidates[0].name] += 1
                    self._example.setdefault(candidate.name, (story, step))
        self._called.update(call.tool for call, _ in story.calls())

    def shown(self) -> tuple[Shown, ...]:
        """The tools, with the one that stands in their way."""
        found = []
        for tool, count in self._candidate.items():
            if count >= OFTEN and tool not in self._first and tool not in self._called:
                story, step = self._example[tool]
                rival, times = self._before[tool].most_common(1)[0]
                words = f"{tool} was a candidate {count} times and never first; {rival} came before it {times} times"
                key = step.call.key if step.call else None
                found.append(Shown(story.session.id, step.number, key, words, count))
        return strongest(found)


class ManyClarifications:
    """The router asks too often."""

    def __init__(self) -> None:
        self._decisions = 0
        self._asked: list[_Decided] = []
        self._clarified = 0

    def add(self, story: Story) -> None:
        """Count decisions."""
        for step, route in story.routes():
            self._decisions += 1
            if route.decision == "clarify":
                self._clarified += 1
                if len(self._asked) < MOST:
                    self._asked.append(_decided(story, step, route))

    def shown(self) -> tuple[Shown, ...]:
        """The first clarifications, if there are too many of them."""
        if self._decisions < DECISIONS or self._clarified <= CLARIFIED * self._decisions:
            return ()
        share = f"{self._clarified} of {self._decisions} decisions asked back"
        return tuple(
            Shown(one.session_id, one.step, one.call_key, f"{share}; here {one.first}, gap {one.gap:.2f}")
            for one in self._asked
        )

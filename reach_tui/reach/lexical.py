"""Keyword scores over a registry: BM25 with fields, mapped to 0..1; deterministic, without a model, without a network.

**The score.** Each term of the question has a weight, its rarity in the registry (BM25's idf). Each tool has for each
term a presence between 0 and 1 (BM25F's saturated frequency over name, samples, description and parameters). The sum of
weight times presence, divided by the sum of weights, is the *coverage*: BM25 as a share of the most that any tool could
reach for this question. The score is the geometric mean of the coverage and of the tool's standing (its coverage divided
by the best tool's). So for the best tool the score is the root of its coverage:

- 0.75 means that it accounts for 56 % of what was asked, by weight;
- 0.5 means 25 %: three quarters of what was asked are nobody's business here, "no such capability";
- a gap of 0.15 at 0.75 means that the runner-up covers at most 80 % of what the best one covers.

Nothing is trained; the constants below say how much a field counts, and a registry's own words do the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log, sqrt

from reach_tui.model import Candidate
from reach_tui.reach.description import sentences
from reach_tui.reach.spec import ToolSpec
from reach_tui.reach.text import spelled_terms, terms

NAME, SAMPLE, PURPOSE, INPUT, PARAMETER, LIMIT = 2.0, 1.5, 1.0, 0.5, 0.4, 0.15
"""How much one mention counts in a tool's name, sample, description (what it does; its input), parameters, limits."""
ELSEWHERE = 0.0
"""A sentence that sends one to another tool speaks of that tool."""
LENT = 0.5
"""A counter-example of another tool that names this one as the right one."""
SATURATION, LENGTH = 0.6, 0.15
"""BM25's k1 and b."""
UNKNOWN = 0.25
"""Weight of a word that no tool uses, as a share of the rarest word's: chatter must not hide what was asked."""
SINGLE = 0.4
"""Weight of one Chinese character as a share of a pair's: alone it says little, but people leave words out."""
COUNTER = 0.5
"""How much of its coverage a tool loses where the question is its own counter-example word for word; it falls with the
third power of their likeness, so that a shared word alone costs little."""
_REASONS = 5


@dataclass(frozen=True, slots=True)
class _Question:
    weights: dict[str, float]
    spelled: dict[str, str]
    total: float


class LexicalIndex:
    """An inverted index over tools. Built once per version of a registry; a question looks at its own terms only."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.names = [tool.name for tool in tools]
        bags = _bags(tools)
        count = len(bags)
        in_tools = Counter(term for bag in bags for term in bag)
        self._rarity = {term: _rarity(term, df, count) for term, df in in_tools.items()}
        self._count = count
        lengths = [sum(bag.values()) for bag in bags]
        mean = sum(lengths) / count if count else 1.0
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for index, bag in enumerate(bags):
            damping = SATURATION * (1 - LENGTH + LENGTH * lengths[index] / (mean or 1.0))
            for term in sorted(bag):
                presence = bag[term] / (bag[term] + damping)
                self._postings.setdefault(term, []).append((index, presence * self._rarity[term]))
        self._counters = [
            [
                _weighted(set(terms(sample.utterance)), self._rarity)
                for sample in tool.sample_calls
                if sample.counter_example
            ]
            for tool in tools
        ]

    def scores(self, text: str) -> list[float]:
        """The score of each tool, in the tools' order, 0..1."""
        return self._scores(self._question(text))

    def candidates(self, text: str, k: int, among: Collection[str] | None = None) -> list[Candidate]:
        """The best `k` tools with a score above 0, by falling score, then by name; `among`: only these."""
        question = self._question(text)
        scores = self._scores(question, among)
        order = sorted((-score, self.names[index], index) for index, score in enumerate(scores) if score > 0)[:k]
        return [Candidate(name, -score, self._reason(question, index)) for score, name, index in order]

    def words(self, index: int) -> dict[str, float]:
        """The terms of one tool with their weight in it, for comparing tools."""
        return {term: weight for term, postings in self._postings.items() for at, weight in postings if at == index}

    def _question(self, text: str) -> _Question:
        spelled: dict[str, str] = {}
        for term, letters in spelled_terms(text):
            spelled.setdefault(term, letters)
        weights = {term: self._rarity.get(term) or UNKNOWN * _rarity(term, 0, self._count) for term in spelled}
        return _Question(weights, spelled, sum(weights.values()))

    def _scores(self, question: _Question, among: Collection[str] | None = None) -> list[float]:
        covered = [0.0] * len(self.names)
        for term in question.weights:
            for index, weight in self._postings.get(term, ()):
                covered[index] += weight
        if question.total <= 0:
            return covered
        found = [
            index for index, amount in enumerate(covered) if amount and (among is None or self.names[index] in among)
        ]
        for index in found:
            if self._counters[index]:
                covered[index] *= 1 - COUNTER * self._likeness(question, index) ** 3
        best = max((covered[index] for index in found), default=0.0)
        scores = [0.0] * len(covered)
        for index in found:
            scores[index] = round(min(1.0, covered[index] / sqrt(best * question.total)), 6)
        return scores

    def _likeness(self, question: _Question, index: int) -> float:
        """How far the question is one of the tool's counter-examples: weighted cosine, the highest."""
        highest = 0.0
        for counter in self._counters[index]:
            shared = sum(weight * weight for term, weight in question.weights.items() if term in counter)
            if shared:
                size = sum(w * w for w in question.weights.values()) * sum(w * w for w in counter.values())
                highest = max(highest, shared / sqrt(size))
        return highest

    def _reason(self, question: _Question, index: int) -> str:
        found = [
            (-weight, term) for term in question.weights for at, weight in self._postings.get(term, ()) if at == index
        ]
        return "words: " + ", ".join(question.spelled[term] for _, term in sorted(found)[:_REASONS])


def _rarity(term: str, in_tools: int, tools: int) -> float:
    """BM25's idf, a single character's cut."""
    rarity = log(1 + (tools - in_tools + 0.5) / (in_tools + 0.5))
    return rarity * SINGLE if len(term) == 1 else rarity


def _weighted(found: set[str], rarity: dict[str, float]) -> dict[str, float]:
    return {term: rarity[term] for term in sorted(found) if term in rarity}


def _bags(tools: Sequence[ToolSpec]) -> list[dict[str, float]]:
    """For each tool its terms with their weighted frequency."""
    names = {tool.name for tool in tools}
    bags: dict[str, dict[str, float]] = {tool.name: {} for tool in tools}
    for tool in tools:
        bag = bags[tool.name]
        _add(bag, tool.name, NAME)
        for sentence in sentences(tool.description, tool.name, names):
            weight = (
                ELSEWHERE if sentence.elsewhere else LIMIT if sentence.limit else INPUT if sentence.input else PURPOSE
            )
            _add(bag, sentence.text, weight)
        for name, schema in tool.properties.items():
            _add(bag, name, PARAMETER)
            _add(bag, str(schema.get("description", "")), PARAMETER)
        for sample in tool.sample_calls:
            if not sample.counter_example:
                _add(bag, sample.utterance, SAMPLE)
            elif sample.use_instead in bags:
                _add(bags[sample.use_instead], sample.utterance, LENT)
    return [bags[tool.name] for tool in tools]


def _add(bag: dict[str, float], text: str, weight: float) -> None:
    if weight:
        for term in terms(text):
            bag[term] = bag.get(term, 0.0) + weight

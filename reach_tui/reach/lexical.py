"""Keyword scores over a registry: BM25 with fields, mapped to 0..1; deterministic, without a model, without a network.

**The score.** Each term of the question has a weight, its rarity in the registry (BM25's idf). Each tool has for each
term a presence between 0 and 1 (BM25F's saturated frequency over name, samples, description and parameters). The sum of
weight times presence, divided by the sum of weights, is the *coverage*: BM25 as a share of the most that any tool could
reach for this question. The score is the geometric mean of the coverage and of the tool's standing, its coverage
divided by the best tool's. So for the best tool the score is the root of its coverage:

- 0.75 means that it accounts for 56 % of what was asked, by weight;
- 0.5 means 25 %: three quarters of what was asked are nobody's business here, "no such capability";
- a gap of 0.15 at 0.75 means that the runner-up covers at most 80 % of what the best one covers.

**Identifiers.** What a parameter's pattern accepts (an order number) is a term, too, whose presence is that the tool
takes it. A tool that does not fit the identifiers that were named loses. An identifier says on what, not what to do:
the words of a question weigh at least as much as its identifiers, so that a number alone never reaches 0.75.

Nothing is trained; the constants below say how much a field counts, and a registry's own words do the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from reach_tui.model import Candidate
from reach_tui.reach.description import Sentence, sentences
from reach_tui.reach.identifiers import Identifier, Identifiers
from reach_tui.reach.spec import ToolSpec
from reach_tui.reach.text import spelled_terms, terms

NAME, PURPOSE, SAMPLE, INPUT, PARAMETER, LIMIT = 2.0, 2.0, 0.8, 0.5, 0.4, 0.15
"""How much one mention counts: in the name, in sentences that say what the tool does, in a sample utterance (which has
incidental words, too), in sentences about input, in parameters, in sentences about what it does not do."""
ELSEWHERE = 0.0
"""A sentence that sends one to another tool speaks of that tool."""
LENT = 0.5
"""A counter-example of another tool that names this one as the right one."""
TAKEN = 2.0
"""How much it counts that a required parameter's pattern accepts an identifier of the question; an optional one counts
as any parameter."""
MISFIT = 0.5
"""How much of its coverage a tool loses that takes none of the identifiers that were named; see `Identifiers.fit`."""
SATURATION, LENGTH = 0.4, 0.15
"""BM25's k1 and b."""
UNKNOWN = 0.25
"""Weight of a word that no tool uses, as a share of the rarest word's: chatter must not hide what was asked."""
SINGLE = 0.5
"""Weight of one Chinese character as a share of a pair's: alone it says little, but people leave words out."""
COUNTER = 0.5
"""How much of its coverage a tool loses where the question is its own counter-example word for word; it falls with the
third power of their likeness, so that a shared word alone costs little."""
FEWEST = 20
"""Rarity is reckoned as if there were so many tools at least: two or three say nothing of which words are common."""
_REASONS = 5


@dataclass(frozen=True, slots=True)
class _Question:
    weights: dict[str, float]
    spelled: dict[str, str]
    total: float
    identifiers: list[tuple[Identifier, float]]
    """With the weight of each."""


class LexicalIndex:
    """An inverted index over tools. Built once per version of a registry; a question looks at its own terms only."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.names = [tool.name for tool in tools]
        self.spelled: dict[str, str] = {}
        """Each term as it first stands in the registry."""
        self._identifiers = Identifiers(tools)
        self._bags = _bags(tools, self.spelled, self._identifiers)
        self._count = len(tools)
        in_tools = Counter(term for bag in self._bags for term in bag)
        self._rarity = {term: _rarity(term, df, self._count) for term, df in in_tools.items()}
        lengths = [sum(bag.values()) for bag in self._bags]
        mean = sum(lengths) / self._count if any(lengths) else 1.0
        self._damping = [SATURATION * (1 - LENGTH + LENGTH * length / mean) for length in lengths]
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for index in range(self._count):
            for term, weight in self._weights(index).items():
                self._postings.setdefault(term, []).append((index, weight))
        self._counters: list[tuple[int, float]] = []
        self._in_counters: dict[str, list[int]] = {}
        for index, tool in enumerate(tools):
            for sample in tool.sample_calls:
                if sample.counter_example:
                    self._add_counter(index, sample.utterance)

    def scores(self, text: str, forget: int | None = None) -> list[float]:
        """The score of each tool, in the tools' order, 0..1; `forget`: as if that tool had no sample with this text."""
        question = self._question(text)
        covered = self._covered(question)
        if forget is not None:
            mentions = Counter(terms(self._identifiers.split(text)[0]))
            covered[forget] = sum(self._weight(forget, term, SAMPLE * mentions[term]) for term in question.weights)
            covered[forget] += sum(self._taken(forget, one) * weight for one, weight in question.identifiers)
        return self._scores(question, covered, range(self._count))

    def candidates(self, text: str, k: int, among: Collection[str] | None = None) -> list[Candidate]:
        """The best `k` tools with a score above 0, by falling score, then by name; `among`: only these."""
        question = self._question(text)
        chosen = [index for index, name in enumerate(self.names) if among is None or name in among]
        scores = self._scores(question, self._covered(question), chosen)
        order = sorted((-scores[index], self.names[index], index) for index in chosen if scores[index] > 0)[:k]
        return [Candidate(name, -score, self._reason(question, index)) for score, name, index in order]

    def weights(self) -> list[dict[str, float]]:
        """The terms of each tool with their weight in it, for comparing tools."""
        return [self._weights(index) for index in range(self._count)]

    def _weights(self, index: int) -> dict[str, float]:
        return {term: self._weight(index, term) for term in sorted(self._bags[index])}

    def _weight(self, index: int, term: str, less: float = 0.0) -> float:
        """Rarity times presence; `less`: with so much of the frequency taken away."""
        frequency = max(0.0, self._bags[index].get(term, 0.0) - less)
        return self._presence(index, frequency) * self._rarity[term] if frequency else 0.0

    def _presence(self, index: int, frequency: float) -> float:
        return frequency / (frequency + self._damping[index])

    def _taken(self, index: int, one: Identifier) -> float:
        """The presence of an identifier in a tool: whether a parameter takes it."""
        if index in one.required:
            return self._presence(index, TAKEN)
        return self._presence(index, PARAMETER) if index in one.optional else 0.0

    def _add_counter(self, index: int, utterance: str) -> None:
        known = {term for term in terms(self._identifiers.split(utterance)[0]) if term in self._rarity}
        for term in known:
            self._in_counters.setdefault(term, []).append(len(self._counters))
        self._counters.append((index, sum(self._rarity[term] ** 2 for term in sorted(known))))

    def _question(self, text: str) -> _Question:
        spelled: dict[str, str] = {}
        words, found = self._identifiers.split(text)
        for term, letters in spelled_terms(words):
            spelled.setdefault(term, letters)
        weights = {term: self._rarity.get(term) or UNKNOWN * _rarity(term, 0, self._count) for term in spelled}
        identifiers = [(one, _rarity(one.value, len(one.required) + len(one.optional), self._count)) for one in found]
        asked, named = sum(weights.values()), sum(weight for _, weight in identifiers)
        # An identifier says on what, not what to do: words are wanted that weigh as much.
        return _Question(weights, spelled, max(asked, named) + named, identifiers)

    def _covered(self, question: _Question) -> list[float]:
        covered = [0.0] * self._count
        for term in question.weights:
            for index, weight in self._postings.get(term, ()):
                covered[index] += weight
        self._add_identifiers(question, covered)
        for index, likeness in self._likenesses(question).items():
            covered[index] *= 1 - COUNTER * likeness**3
        return covered

    def _add_identifiers(self, question: _Question, covered: list[float]) -> None:
        """What is named has its place in the tools that take it; those that do not fit what is named lose."""
        if not question.identifiers:
            return
        for one, weight in question.identifiers:
            for index in one.required | one.optional:
                covered[index] += self._taken(index, one) * weight
        named = [one for one, _ in question.identifiers]
        for index, amount in enumerate(covered):
            if amount:
                covered[index] = amount * (1 - MISFIT * (1 - self._identifiers.fit(index, named)))

    def _likenesses(self, question: _Question) -> dict[int, float]:
        """How far the question is one of a tool's counter-examples: weighted cosine, the highest, by tool."""
        shared: dict[int, float] = {}
        for term, weight in question.weights.items():
            for counter in self._in_counters.get(term, ()):
                shared[counter] = shared.get(counter, 0.0) + weight * weight
        size = sum(weight * weight for weight in question.weights.values())
        found: dict[int, float] = {}
        for counter, amount in shared.items():
            index, counter_size = self._counters[counter]
            found[index] = max(found.get(index, 0.0), min(1.0, amount / sqrt(size * counter_size)))
        return found

    def _scores(self, question: _Question, covered: list[float], chosen: Iterable[int]) -> list[float]:
        """The geometric mean of coverage and standing, for the chosen tools; 0 for all others."""
        scores = [0.0] * self._count
        chosen = [index for index in chosen if covered[index] > 0]
        scale = sqrt(max((covered[index] for index in chosen), default=0.0) * question.total)
        for index in chosen:
            scores[index] = round(min(1.0, covered[index] / scale), 6)
        return scores

    def _reason(self, question: _Question, index: int) -> str:
        """The words that count most; single characters only where there is nothing else."""
        found = sorted((-self._weight(index, term), term) for term in question.weights if term in self._bags[index])
        whole = [term for _, term in found if len(term) > 1]
        chosen = whole or [term for _, term in found]
        taken = [one.value for one, _ in question.identifiers if self._taken(index, one)]
        parts = ["words: " + ", ".join(question.spelled[term] for term in chosen[:_REASONS])] if chosen else []
        return "; ".join([*parts, *(["takes " + ", ".join(taken[:_REASONS])] if taken else [])])


def _rarity(term: str, in_tools: int, tools: int) -> float:
    """BM25's idf, a single character's cut."""
    rarity = log(1 + (max(tools, FEWEST) - in_tools + 0.5) / (in_tools + 0.5))
    return rarity * SINGLE if len(term) == 1 else rarity


def _weight_of(part: Sentence, first: bool) -> float:
    """How much a sentence speaks for its tool; the first one says what the tool does, whatever else it says."""
    if part.elsewhere:
        return ELSEWHERE
    if part.purpose or first:
        return PURPOSE
    return LIMIT if part.limit else INPUT


def _bags(tools: Sequence[ToolSpec], spelled: dict[str, str], identifiers: Identifiers) -> list[dict[str, float]]:
    """For each tool its terms with their weighted frequency; `spelled` gathers how they are written."""

    def add(name: str, text: str, weight: float) -> None:
        for term, letters in spelled_terms(text) if weight else ():
            bags[name][term] = bags[name].get(term, 0.0) + weight
            spelled.setdefault(term, letters)

    names = {tool.name for tool in tools}
    bags: dict[str, dict[str, float]] = {tool.name: {} for tool in tools}
    for tool in tools:
        add(tool.name, tool.name, NAME)
        for place, part in enumerate(sentences(tool.description, tool.name, names)):
            add(tool.name, part.text, _weight_of(part, first=place == 0))
        for name, schema in tool.properties.items():
            add(tool.name, name, PARAMETER)
            add(tool.name, str(schema.get("description", "")), PARAMETER)
        for sample in tool.sample_calls:
            words, _ = identifiers.split(sample.utterance)
            if not sample.counter_example:
                add(tool.name, words, SAMPLE)
            elif sample.use_instead in bags:
                add(sample.use_instead, words, LENT)
    return [bags[tool.name] for tool in tools]

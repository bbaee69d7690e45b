"""Recall and scores by embeddings that the caller brings: a function from texts to vectors, nothing else (spec B5)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from math import isfinite, sqrt
from operator import mul
from typing import TypeAlias

from reach_tui.base.jsonio import dumps
from reach_tui.model import Candidate
from reach_tui.reach.recall import ScoringFailed
from reach_tui.reach.spec import ToolSpec

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""One vector for each text, all of one length, in the order of the texts."""
_REMEMBERED = 256


def tool_text(tool: ToolSpec) -> str:
    """What stands for a tool: name, description and sample calls (seed 4.2), counter-examples left out."""
    samples = [sample.model_dump(exclude_defaults=True) for sample in tool.sample_calls if not sample.counter_example]
    return f"{tool.name}\n{tool.description}\n{dumps(samples)}"


class EmbeddingRecall:
    """Cosine of the intent and each tool's text, negative ones as 0; recall and scorer in one.

    Vectors of tools are made when they are first needed and kept while the tool's text stays the same; of the last 256
    intents, too. Cosines of an embedding model are not calibrated: look at your model's before trusting the thresholds.
    """

    name = "embedding"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._texts: dict[str, str] = {}
        self._vectors: dict[str, list[float]] = {}
        self._intents: OrderedDict[str, list[float]] = OrderedDict()

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """Remember the texts; vectors of texts that are gone are forgotten."""
        self._texts = {tool.name: tool_text(tool) for tool in tools}
        kept = set(self._texts.values())
        self._vectors = {text: vector for text, vector in self._vectors.items() if text in kept}

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """The nearest `k`. Raises `ScoringFailed` where what `embed` returns are no vectors."""
        wanted = [name for name in self._texts if name in among]
        return self._nearest(intent, {name: self._texts[name] for name in wanted})[:k]

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """The cosine of each tool. Raises `ScoringFailed` as `recall`."""
        return self._nearest(intent, {tool.name: tool_text(tool) for tool in tools})

    def _nearest(self, intent: str, texts: dict[str, str]) -> list[Candidate]:
        missing = list(dict.fromkeys(text for text in texts.values() if text not in self._vectors))
        if missing:
            self._vectors.update(zip(missing, self._unit_vectors(missing), strict=True))
        asked = self._of_intent(intent)
        found = []
        for name, text in texts.items():
            vector = self._vectors[text]
            if len(vector) != len(asked):
                raise ScoringFailed(f"vectors of {len(asked)} and {len(vector)} numbers cannot be compared")
            cosine = round(max(0.0, min(1.0, sum(map(mul, asked, vector)))), 6)
            found.append(Candidate(name, cosine, f"cosine {cosine:.3f}"))
        return sorted(found, key=lambda one: (-one.score, one.name))

    def _of_intent(self, intent: str) -> list[float]:
        if intent not in self._intents:
            self._intents[intent] = self._unit_vectors([intent])[0]
            if len(self._intents) > _REMEMBERED:
                self._intents.popitem(last=False)
        return self._intents[intent]

    def _unit_vectors(self, texts: list[str]) -> list[list[float]]:
        vectors = self._embed(texts)
        if len(vectors) != len(texts):
            raise ScoringFailed(f"{len(texts)} texts were embedded, {len(vectors)} vectors came back")
        return [_unit(vector) for vector in vectors]


def _unit(vector: Sequence[float]) -> list[float]:
    numbers = [float(number) for number in vector]
    length = sqrt(sum(number * number for number in numbers))
    if not numbers or not isfinite(length):
        raise ScoringFailed("a vector is empty or holds what is no number")
    return [number / length for number in numbers] if length else numbers

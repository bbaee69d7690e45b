"""Pairs of tools that the router could take for each other, and the words that make them so (spec B3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from reach_tui.model import Thresholds
from reach_tui.reach.description import sentences
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.spec import ToolSpec
from reach_tui.reach.text import cjk_runs

ALIKE = 0.5
"""From this cosine of the router's weights on, two tools overlap whatever their samples say."""
NEAR = 0.25
"""From here on a sample that the other tool would win is more than a coincidence of one word."""
_WORDS = 6


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two tools, by name, and how alike they are."""

    first: str
    second: str
    likeness: float
    """Cosine of the two tools' words under the router's weights, 0..1."""
    words: tuple[str, ...]
    """The words that both share, heaviest first."""
    confused: tuple[str, ...]
    """Samples of one that would be sent to the other at once, had they not been written down."""
    bounded: bool
    """At least one of them says when to use the other: near neighbours on purpose."""

    @property
    def serious(self) -> bool:
        """Nothing tells the two apart: neither sends one to the other, and they are alike or confused."""
        return not self.bounded and (self.likeness >= ALIKE or (self.likeness >= NEAR and bool(self.confused)))


def overlaps(tools: Sequence[ToolSpec], thresholds: Thresholds, alike: float = ALIKE) -> list[Overlap]:
    """Pairs that are alike, or of which one takes the other's samples; the worst first."""
    index = LexicalIndex(tools)
    weights = index.weights()
    lengths = [sqrt(sum(weight * weight for weight in bag.values())) for bag in weights]
    confused = _confused(tools, index, thresholds)
    named = _named(tools)
    found = []
    for one, tool in enumerate(tools):
        for two in range(one + 1, len(tools)):
            shared = {
                term: weights[one][term] * weights[two][term] for term in weights[one].keys() & weights[two].keys()
            }
            likeness = sum(shared.values()) / (lengths[one] * lengths[two]) if shared else 0.0
            samples = confused.get((one, two), ())
            if likeness >= alike or samples:
                other = tools[two].name
                bounded = other in named[one] or tool.name in named[two]
                found.append(
                    Overlap(
                        tool.name,
                        other,
                        round(likeness, 3),
                        _words(tool, shared, index.spelled),
                        tuple(samples),
                        bounded,
                    )
                )
    return sorted(found, key=lambda pair: (-len(pair.confused), -pair.likeness, pair.first, pair.second))


def _confused(
    tools: Sequence[ToolSpec], index: LexicalIndex, thresholds: Thresholds
) -> dict[tuple[int, int], list[str]]:
    """By pair, the samples of one that would be sent to the other at once, had they not been written down."""
    found: dict[tuple[int, int], list[str]] = {}
    for own, tool in enumerate(tools):
        for sample in tool.sample_calls:
            if sample.counter_example:
                continue
            scores = index.scores(sample.utterance, forget=own)
            for other, score in enumerate(scores):
                if other != own and score >= thresholds.t1 and round(score - scores[own], 6) >= thresholds.gap:
                    found.setdefault((min(own, other), max(own, other)), []).append(sample.utterance)
    return found


def _named(tools: Sequence[ToolSpec]) -> list[set[str]]:
    """For each tool the tools that its description and its counter-examples send one to."""
    names = {tool.name for tool in tools}
    found = []
    for tool in tools:
        named = {name for part in sentences(tool.description, tool.name, names) for name in part.elsewhere}
        found.append(named | {sample.use_instead for sample in tool.sample_calls if sample.use_instead is not None})
    return found


def _words(tool: ToolSpec, shared: dict[str, float], spelled: dict[str, str]) -> tuple[str, ...]:
    """What both say, heaviest first: words as they are written, pairs of Chinese characters joined where they meet.

    Single characters only where there is nothing else.
    """
    found = {spelled[term]: weight for term, weight in shared.items() if term.isascii() and len(term) > 1}
    for text in (tool.description, *(sample.utterance for sample in tool.sample_calls)):
        for run in cjk_runs(text):
            found.update(_phrases(run, shared))
    whole = {word: weight for word, weight in found.items() if not word.isdigit()}
    if not whole:
        whole = {spelled[term]: weight for term, weight in shared.items()}
    return tuple(sorted(whole, key=lambda word: (-whole[word], word))[:_WORDS])


def _phrases(run: str, shared: dict[str, float]) -> Iterator[tuple[str, float]]:
    """The longest stretches of a run whose every pair of characters is shared, with the sum of their weights."""
    start, weight = 0, 0.0
    for at in range(len(run)):
        pair = run[at : at + 2]
        if len(pair) == 2 and pair in shared:
            weight += shared[pair]
            continue
        if at > start:
            yield run[start : at + 1], weight
        start, weight = at + 1, 0.0

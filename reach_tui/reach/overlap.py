"""Pairs of tools that the router could take for each other, and the words that make them so (spec B3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from reach_tui.model import Thresholds
from reach_tui.reach.description import sentences
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.spec import ToolSpec

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
                words = tuple(term for term, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])))
                bounded = other in named[one] or tool.name in named[two]
                found.append(
                    Overlap(tool.name, other, round(likeness, 3), _shown(words, index.spelled), tuple(samples), bounded)
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


def _shown(words: Sequence[str], spelled: dict[str, str]) -> tuple[str, ...]:
    """The first whole words as they are written; single characters only where there is nothing else."""
    whole = [word for word in words if len(word) > 1 and not word.startswith("#")]
    return tuple(spelled[word] for word in (whole or words)[:_WORDS])

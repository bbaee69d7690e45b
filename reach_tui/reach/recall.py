"""Who may propose tools and who may score them: small protocols, and the lexical ones that need nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from reach_tui.model import Candidate, Route
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.spec import ToolSpec


class ScoringFailed(Exception):
    """A recall or scorer has no answer; the router goes on with keywords and says so. No secret is in the message."""


class Recall(Protocol):
    """Proposes the tools that a scorer looks at."""

    name: str

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """The registry's tools, at first and whenever they change. Cheap: what takes long waits for `recall`."""
        ...

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """The best `k` of the tools named in `among`, scored 0..1. Raises `ScoringFailed`."""
        ...


class Scorer(Protocol):
    """Scores the proposed tools, 0..1 each."""

    name: str

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """A candidate for each tool; a tool without one has 0. Raises `ScoringFailed`."""
        ...


class LexicalRecall:
    """Keywords; recall and scorer in one."""

    name = "lexical"

    def __init__(self) -> None:
        self.index = LexicalIndex(())

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """Build the index."""
        self.index = LexicalIndex(tools)

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """The best `k` with a word in common."""
        return self.index.candidates(intent, k, among)

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """Keyword scores of these tools; tools that were not prepared make an index of their own."""
        names = {tool.name for tool in tools}
        index = self.index if names.issubset(self.index.names) else LexicalIndex(tools)
        return index.candidates(intent, len(names), names)


class RecordedScores:
    """Scores that were recorded, by intent: a replay repeats the candidates exactly. Recall and scorer in one."""

    name = "recorded"

    def __init__(self, recorded: Mapping[str, Sequence[Candidate]]) -> None:
        self._recorded = dict(recorded)

    @classmethod
    def of_routes(cls, routes: Iterable[Route]) -> RecordedScores:
        """From recorded decisions; of two with the same intent the later one stands."""
        return cls({route.intent: route.candidates for route in routes if route.basis == "recorded"})

    def prepare(self, tools: Sequence[ToolSpec]) -> None:
        """Nothing to do."""

    def recall(self, intent: str, among: Collection[str], k: int) -> Sequence[Candidate]:
        """The recorded candidates among these. Raises `ScoringFailed` for an intent that was not recorded."""
        return [one for one in self._of(intent) if one.name in among][:k]

    def score(self, intent: str, tools: Sequence[ToolSpec]) -> Sequence[Candidate]:
        """The recorded scores of these tools. Raises `ScoringFailed` for an intent that was not recorded."""
        names = {tool.name for tool in tools}
        return [one for one in self._of(intent) if one.name in names]

    def _of(self, intent: str) -> Sequence[Candidate]:
        found = self._recorded.get(intent)
        if found is None:
            raise ScoringFailed("no scores were recorded for this intent")
        return found

"""The detectors held against people's labels: precision and recall, by rule and by class, with intervals.

What nobody labelled says nothing: it is neither right nor wrong here. Precision of a rule is its own; recall has no
rule, since a failure that was missed has none. Both are those of the labelled sample: a queue of suspects shows few
misses, so recall is worth something only where random controls were labelled too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from reach_tui.analyze.intervals import wilson

NOT_A_FAILURE = "not_a_failure"


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled call: what the detectors said, and what people say."""

    failed: bool | None
    """The verdict; None is undecided, with a rule if it is soft."""
    rule: str | None
    category: str | None
    """Level-1 class the detectors gave, in the words of the codebook that people label with."""
    label: str
    """Level-1 class in force; `not_a_failure` is one of them."""
    key: str = ""
    """Something to find the call by."""
    tool: str = ""
    comparable: bool = True
    """False where that codebook has no class for the verdict's: only failed or not is compared."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of` with its 95 % Wilson interval; all None without a denominator."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """0..1."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Low and high, 0..1."""
        return wilson(self.count, self.of)


@dataclass(frozen=True, slots=True)
class RuleScore:
    """One rule among the labelled calls."""

    rule: str
    precision: Share
    """Of the calls it called failed, those that people call failed."""
    same_class: Share
    """Of its true failures, those with the class that people gave."""
    soft: Share
    """Of the calls it left open (soft), those that people call failed."""
    cleared: Share
    """Of the calls it called fine, those that people call fine."""


@dataclass(frozen=True, slots=True)
class Scores:
    """All labelled calls."""

    labelled: int
    undecided: int
    """Labelled calls without a verdict: left out of precision and recall."""
    precision: Share
    recall: Share
    same_class: Share
    rules: tuple[RuleScore, ...]
    confusion: tuple[tuple[str, str, int], ...]
    """Class by the detectors (`-`: fine, `?`: undecided), class by people, how many; most frequent first."""
    disagreements: tuple[Judged, ...]
    """Verdict and label differ on failed or not, or on the class; in the order given."""


def scores(judged: Iterable[Judged]) -> Scores:
    """Hold every labelled call's verdict against its label."""
    calls = list(judged)
    decided = [one for one in calls if one.failed is not None]
    alarms = [one for one in decided if one.failed]
    right = [one for one in alarms if _is_failure(one)]
    failures = [one for one in decided if _is_failure(one)]
    by_rule: dict[str, list[Judged]] = defaultdict(list)
    for one in calls:
        by_rule[one.rule or "(no rule)"].append(one)
    confusion = Counter((_said(one), one.label) for one in calls)
    return Scores(
        len(calls),
        len(calls) - len(decided),
        Share(len(right), len(alarms)),
        Share(len(right), len(failures)),
        _same_class(right),
        tuple(sorted((_rule_score(rule, group) for rule, group in by_rule.items()), key=_by_doubt)),
        tuple(sorted(((said, label, n) for (said, label), n in confusion.items()), key=lambda row: (-row[2], row))),
        tuple(one for one in calls if _differs(one)),
    )


def _is_failure(one: Judged) -> bool:
    return one.label != NOT_A_FAILURE


def _said(one: Judged) -> str:
    if one.failed is None:
        return "?"
    return (one.category or "(no class)") if one.failed else "-"


def _differs(one: Judged) -> bool:
    if one.failed is None:
        return False
    return one.failed != _is_failure(one) or (one.failed and one.comparable and one.category != one.label)


def _same_class(right: list[Judged]) -> Share:
    able = [one for one in right if one.comparable]
    return Share(sum(one.category == one.label for one in able), len(able))


def _rule_score(rule: str, calls: list[Judged]) -> RuleScore:
    alarms = [one for one in calls if one.failed is True]
    right = [one for one in alarms if _is_failure(one)]
    soft = [one for one in calls if one.failed is None]
    fine = [one for one in calls if one.failed is False]
    return RuleScore(
        rule,
        Share(len(right), len(alarms)),
        _same_class(right),
        Share(sum(map(_is_failure, soft)), len(soft)),
        Share(sum(not _is_failure(one) for one in fine), len(fine)),
    )


def _by_doubt(score: RuleScore) -> tuple[float, int, str]:
    """The rules that misfire first, then those seen most."""
    value = score.precision.value
    seen = score.precision.of + score.soft.of + score.cleared.of
    return (1.0 if value is None else value, -seen, score.rule)

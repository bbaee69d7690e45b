"""What labels, cases and recorded times suggest to change (spec B21): each with its evidence, none is applied."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reach_tui.analyze.detector_scores import NOT_A_FAILURE, Judged, RuleScore, Scores
from reach_tui.analyze.timeouts import Advice

FEW = 3
"""A pattern needs so many cases before anything is suggested."""
_EXAMPLES = 5
GOOD = 0.9
"""Precision that a rule should reach: the upper end of its interval below it says that it does not."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing to change."""

    kind: str
    """rule, missed, class, pair, threshold or timeout."""
    what: str
    """What to change, one sentence."""
    why: str
    """The evidence, with its numbers."""
    examples: tuple[str, ...] = ()
    """Call keys or case ids."""
    weight: float = 1.0
    """Cases behind it; only for the order."""
    tool: str = ""
    """The tool it is about, where it is about one."""


def of_scores(scores: Scores) -> list[Suggestion]:
    """Rules that misfire, rules that give another class than people do, tools whose failures are missed."""
    by_rule: dict[str, list[Judged]] = defaultdict(list)
    for call in scores.disagreements:
        by_rule[call.rule or ""].append(call)
    found = [
        suggestion
        for one in scores.rules
        for suggestion in (_misfires(one, by_rule[one.rule]), _another_class(one, by_rule[one.rule]))
        if suggestion is not None
    ]
    return found + _missed(scores.disagreements)


def _misfires(score: RuleScore, against: Sequence[Judged]) -> Suggestion | None:
    share, interval = score.precision, score.precision.interval
    wrong = share.of - share.count
    if interval is None or wrong < FEW or interval[1] >= GOOD:
        return None
    calls = [call.key for call in against if call.failed is True and call.label == NOT_A_FAILURE]
    why = (
        f"people call {wrong} of the {share.of} failures it found no failure"
        f" (precision {share.value:.2f}, 95 % {interval[0]:.2f} to {interval[1]:.2f})"
    )
    return Suggestion("rule", f"narrow or switch off the rule {score.rule}", why, tuple(calls[:_EXAMPLES]), wrong)


def _another_class(score: RuleScore, against: Sequence[Judged]) -> Suggestion | None:
    share, interval = score.same_class, score.same_class.interval
    if interval is None or share.of - share.count < FEW or interval[1] >= GOOD:
        return None
    given = Counter(call.label for call in against if call.failed and call.label != NOT_A_FAILURE)
    label, count = given.most_common(1)[0]
    calls = [call.key for call in against if call.label == label]
    why = f"people gave {label} in {count} of the {share.of} failures it found"
    return Suggestion(
        "class", f"the rule {score.rule} should give the class {label}", why, tuple(calls[:_EXAMPLES]), count
    )


def _missed(disagreements: Sequence[Judged]) -> list[Suggestion]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for call in disagreements:
        if call.failed is False and call.label != NOT_A_FAILURE:
            groups[call.tool or "?"].append(call)
    return [
        Suggestion(
            "missed",
            f"write a rule for the failures of {tool} that are missed",
            f"people call {len(calls)} calls of {tool} failed that no rule found",
            tuple(call.key for call in calls[:_EXAMPLES]),
            len(calls),
            tool,
        )
        for tool, calls in groups.items()
        if len(calls) >= FEW
    ]


def of_pairs(confused: Sequence[tuple[str, str, int]], examples: dict[tuple[str, str], list[str]]) -> list[Suggestion]:
    """Descriptions to write anew first: (expected, chosen, how often)."""
    return [
        Suggestion(
            "pair",
            f"sharpen the descriptions of {expected} and {chosen} against each other",
            f"{chosen} came first in {count} cases that were meant for {expected}",
            tuple(examples.get((expected, chosen), ())[:_EXAMPLES]),
            count,
        )
        for expected, chosen, count in confused
        if count >= FEW
    ]


def of_timeouts(advice: Iterable[Advice]) -> list[Suggestion]:
    """Limits that kill good calls, or hide that a tool has become slow."""
    found = []
    for one in advice:
        if one.finding == "kills_good_calls":
            why = f"{one.killed_early} of {one.killed} calls it ended had less than P99 × 1.3 = {one.advised:,} ms"
            found.append(
                Suggestion("timeout", f"raise the time limit of {one.tool}", why, (), one.killed_early, one.tool)
            )
        elif one.finding == "hides_slowness" and one.firm and one.today is not None:
            why = f"it is {one.today:,} ms, while P99 × 1.3 is {one.advised:,} ms over {one.calls:,} calls"
            found.append(Suggestion("timeout", f"lower the time limit of {one.tool}", why, (), 0.5, one.tool))
    return found


def in_order(suggestions: Iterable[Suggestion]) -> list[Suggestion]:
    """What most cases speak for first."""
    return sorted(suggestions, key=lambda one: (-one.weight, one.kind, one.what))

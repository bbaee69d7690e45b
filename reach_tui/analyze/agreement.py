"""How far several people's labels of the same calls agree: raw, Cohen's kappa, PABAK, Krippendorff's alpha.

Input everywhere: items, each a mapping of rater to category (exclusive categories; a rater who gave none is absent).
Where a number is undefined (nothing labelled twice, or one category only, so that chance alone agrees) it is None.
Intervals: percentile bootstrap over items, the same from run to run (B. Efron, R. Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 13); resamples in which the number is undefined are left out, and too many of them give None.

Written out here rather than taken from a statistics library: the formulas take a line each, the libraries bring numpy
and 100 to 200 MB. Tests hold them against published examples and an independent library.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

Item = TypeVar("Item")
Ratings = Mapping[str, str]
"""Rater to category, of one item."""
Pair = tuple[str, str]
RESAMPLES = 1_000
FEW = 50
"""Below so many items labelled twice an interval is a warning, not a result (labelling practice)."""
_SEED = 20_260_601
_DEFINED = 0.9  # share of resamples that must give a number before an interval is shown


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its 95 % interval; None where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryAgreement:
    """One category against all others, for a pair of raters."""

    category: str
    first: int
    """Items the first rater put there."""
    second: int
    both: int
    kappa: float | None
    pabak: float | None
    positive: float | None
    """Share of agreement on it: 2 both / (first + second); None if neither used it."""
    negative: float | None


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters over the items that both labelled."""

    raters: Pair
    items: int
    raw: Figure
    kappa: Figure
    pabak: float | None
    """(k p - 1) / (k - 1) over the k categories in use; with two it is 2 p - 1."""
    categories: tuple[CategoryAgreement, ...]

    @property
    def few(self) -> bool:
        """Too few items for the numbers to be relied on."""
        return self.items < FEW


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everybody with everybody."""

    items: int
    """Items with two labels or more."""
    single: int
    """Items that one person alone labelled: they say nothing here."""
    raters: tuple[str, ...]
    alpha: Figure
    """Krippendorff's, nominal: any number of raters, gaps allowed."""
    pairs: tuple[PairAgreement, ...]

    @property
    def few(self) -> bool:
        """Too few items for the numbers to be relied on."""
        return self.items < FEW


def agreement(items: Iterable[Ratings], *, resamples: int = RESAMPLES) -> Agreement:
    """All figures over the items; raters in alphabetical order."""
    given = [one for one in items if one]
    several = [one for one in given if len(one) > 1]
    raters = tuple(sorted({rater for one in given for rater in one}))
    pairs = []
    for first, second in combinations(raters, 2):
        both = [(one[first], one[second]) for one in several if first in one and second in one]
        if both:
            pairs.append(pair_agreement((first, second), both, resamples=resamples))
    values = [tuple(sorted(one.values())) for one in several]
    return Agreement(len(several), len(given) - len(several), raters, _figure(values, alpha, resamples), tuple(pairs))


def pair_agreement(raters: Pair, pairs: Sequence[Pair], *, resamples: int = RESAMPLES) -> PairAgreement:
    """The figures of two raters; `pairs` holds the first's and the second's category of each item."""
    names = sorted({name for pair in pairs for name in pair})
    return PairAgreement(
        raters,
        len(pairs),
        _figure(pairs, raw, resamples),
        _figure(pairs, kappa, resamples),
        pabak(pairs),
        tuple(_of_category(name, pairs) for name in names),
    )


def _of_category(name: str, pairs: Sequence[Pair]) -> CategoryAgreement:
    binary = [(str(first == name), str(second == name)) for first, second in pairs]
    counted = Counter(binary)
    both, neither = counted["True", "True"], counted["False", "False"]
    first, second = both + counted["True", "False"], both + counted["False", "True"]
    others = 2 * len(pairs) - first - second
    return CategoryAgreement(
        name,
        first,
        second,
        both,
        kappa(counted),
        2 * (both + neither) / len(pairs) - 1,
        2 * both / (first + second) if first + second else None,
        2 * neither / others if others else None,
    )


def raw(pairs: Iterable[Pair]) -> float | None:
    """Share of pairs that are equal; None without any."""
    counts = Counter(pairs)
    total = counts.total()
    return sum(count for (first, second), count in counts.items() if first == second) / total if total else None


def kappa(pairs: Iterable[Pair]) -> float | None:
    """Cohen's kappa, (p - e) / (1 - e) with e the agreement by chance; None where e is 1 or nothing is there.

    Source: J. Cohen, Educ. Psychol. Meas. 20 (1960) 37. Takes pairs, or a `Counter` of them.
    """
    counts = Counter(pairs)
    total = counts.total()
    firsts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for (first, second), count in counts.items():
        firsts[first] += count
        seconds[second] += count
    by_chance = sum(count * seconds[name] for name, count in firsts.items())  # times total squared: stays whole
    agreed = raw(counts)
    if agreed is None or by_chance == total * total:
        return None
    expected = by_chance / (total * total)
    return (agreed - expected) / (1 - expected)


def pabak(pairs: Iterable[Pair]) -> float | None:
    """Prevalence- and bias-adjusted kappa: kappa as if all categories in use were equally likely; None below two.

    Sources: T. Byrt, J. Bishop, J. B. Carlin, J. Clin. Epidemiol. 46 (1993) 423 (two categories); E. M. Bennett,
    R. Alpert, A. C. Goldstein, Public Opin. Q. 18 (1954) 303 (any number of them).
    """
    counts = Counter(pairs)
    in_use = len({name for pair in counts for name in pair})
    agreed = raw(counts)
    return (in_use * agreed - 1) / (in_use - 1) if agreed is not None and in_use > 1 else None


def alpha(units: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for names; each unit holds the values it was given (one alone is left out).

    1 - observed / expected disagreement, from coincidences; None where one value alone was ever given.
    Takes units, or a `Counter` of them. Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), C.
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    kinds = units if isinstance(units, Counter) else Counter(tuple(unit) for unit in units)
    for unit, times in kinds.items():
        if len(unit) < 2:
            continue
        values = Counter(unit)
        for name, count in values.items():
            totals[name] += count * times
        unequal = len(unit) ** 2 - sum(count * count for count in values.values())
        observed += times * unequal / (len(unit) - 1)
    total = totals.total()
    expected = total * total - sum(count * count for count in totals.values())
    return 1 - (total - 1) * observed / expected if expected else None


@lru_cache(maxsize=1)
def _resampled(kinds: tuple[tuple[Item, int], ...], resamples: int) -> tuple[Counter[Item], ...]:
    """As many items drawn with replacement, so many times; the same draws serve raw agreement and kappa of a pair."""
    generator = random.Random(_SEED)
    names, weights = [name for name, _ in kinds], [count for _, count in kinds]
    return tuple(Counter(generator.choices(names, weights, k=sum(weights))) for _ in range(resamples))


def _figure(items: Sequence[Item], measure: Callable[[Counter[Item]], float | None], resamples: int) -> Figure:
    """The measure over all items, with the 2.5th and 97.5th percentile over resamples of them."""
    kinds = Counter(items)
    value = measure(kinds)
    if value is None or not resamples:
        return Figure(value)
    drawn = [found for one in _resampled(tuple(kinds.items()), resamples) if (found := measure(one)) is not None]
    if len(drawn) < _DEFINED * resamples:
        return Figure(value)
    drawn.sort()
    return Figure(value, drawn[int(0.025 * (len(drawn) - 1))], drawn[int(0.975 * (len(drawn) - 1) + 0.5)])

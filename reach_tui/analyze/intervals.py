"""Intervals and exact tests for shares of small counts; the standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, sqrt

Z95 = 1.959963984540054
"""97.5 % point of the standard normal distribution."""
_TIE = 1e-7  # relative: probabilities this near count as equal, as in R's fisher.test


def wilson(count: int, of: int, z: float = Z95) -> tuple[float, float] | None:
    """The Wilson score interval of `count / of`, within 0..1; None without a denominator.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209; recommended for small counts by Brown, Cai and DasGupta,
    Stat. Sci. 16 (2001) 101. Raises `ValueError` for counts outside 0..of.
    """
    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of}")
    if of == 0:
        return None
    share, square = count / of, z * z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * sqrt(share * (1 - share) / of + square / (4 * of * of))
    low = 0.0 if count == 0 else max(0.0, min(share, middle - half))
    high = 1.0 if count == of else min(1.0, max(share, middle + half))
    return low, high


def newcombe(before: tuple[int, int], after: tuple[int, int], z: float = Z95) -> tuple[float, float] | None:
    """Interval of the difference of two independent shares (after - before), each as (count, of); None if one is empty.

    Source: R. G. Newcombe, Stat. Med. 17 (1998) 873, method 10: the square-and-add of two Wilson intervals.
    """
    first, second = wilson(*before, z), wilson(*after, z)
    if first is None or second is None:
        return None
    p, q = before[0] / before[1], after[0] / after[1]
    difference = q - p
    low = difference - sqrt((q - second[0]) ** 2 + (first[1] - p) ** 2)
    high = difference + sqrt((second[1] - q) ** 2 + (p - first[0]) ** 2)
    return max(-1.0, low), min(1.0, high)


def fisher_midp(before: tuple[int, int], after: tuple[int, int]) -> float | None:
    """Two-sided mid-p value of Fisher's exact test that both shares are the same; None if one denominator is empty.

    Sums the hypergeometric probabilities of the tables less probable than the one seen, and half of those equally so.
    Sources: R. A. Fisher, J. R. Stat. Soc. 98 (1935) 39; mid-p: H. O. Lancaster, J. Am. Stat. Assoc. 56 (1961) 223;
    why mid-p: A. Agresti, Categorical Data Analysis, 3.5.5 (the plain test is needlessly cautious for small counts).
    """
    (count, of), (other, other_of) = before, after
    if not of or not other_of:
        return None
    total, drawn = of + other_of, count + other
    fixed = _log_choose(total, drawn)
    lowest, highest = max(0, drawn - other_of), min(drawn, of)
    chances = [exp(_log_choose(of, k) + _log_choose(other_of, drawn - k) - fixed) for k in range(lowest, highest + 1)]
    seen = chances[count - lowest]
    rarer = sum(chance for chance in chances if chance < seen * (1 - _TIE))
    equal = sum(chance for chance in chances if abs(chance - seen) <= seen * _TIE)
    return max(0.0, min(1.0, rarer + equal / 2))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """The p-values adjusted for being looked at together, in the same places (S. Holm, Scand. J. Stat. 6 (1979) 65)."""
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(order):
        highest = max(highest, min(1.0, value * (len(order) - rank)))
        adjusted[place] = highest
    return adjusted


def share(count: int, of: int) -> float | None:
    """`count / of`, None without a denominator."""
    return count / of if of else None

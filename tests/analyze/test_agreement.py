"""Agreement figures: published worked examples, an independent library, and where they are undefined."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask

from reach_tui.analyze.agreement import agreement, alpha, kappa, pabak, pair_agreement, raw


def table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> list[tuple[str, str]]:
    cells = {("y", "y"): yes_yes, ("y", "n"): yes_no, ("n", "y"): no_yes, ("n", "n"): no_no}
    return list(Counter(cells).elements())


@pytest.mark.parametrize(
    ("cells", "expected"),
    [((20, 5, 10, 15), 0.4), ((45, 15, 25, 15), 0.1304), ((25, 35, 5, 35), 0.2593)],
    ids=["grants", "same raw agreement, lower", "same raw agreement, higher"],
)
def test_kappa_of_the_textbook_tables(cells: tuple[int, int, int, int], expected: float) -> None:
    assert kappa(table(*cells)) == pytest.approx(expected, abs=5e-5)


def test_kappa_of_cohens_own_table() -> None:
    # J. Cohen (1960), table 1: three diagnoses, proportions of 200; kappa .492
    rows = {"p": (88, 14, 18), "n": (10, 40, 10), "s": (2, 6, 12)}
    pairs = list(Counter({(a, b): n for a, row in rows.items() for b, n in zip("pns", row, strict=True)}).elements())
    assert raw(pairs) == pytest.approx(0.7)
    assert kappa(pairs) == pytest.approx(0.492, abs=5e-4)


def test_pabak_where_kappa_misleads() -> None:
    # A. R. Feinstein, D. V. Cicchetti, J. Clin. Epidemiol. 43 (1990) 543: same raw agreement, kappa .70 and .32
    balanced, skewed = table(40, 9, 6, 45), table(80, 10, 5, 5)
    assert raw(balanced) == raw(skewed) == pytest.approx(0.85)
    assert kappa(balanced) == pytest.approx(0.70, abs=5e-3)
    assert kappa(skewed) == pytest.approx(0.32, abs=5e-3)
    assert pabak(balanced) == pabak(skewed) == pytest.approx(0.70)


KRIPPENDORFF = {  # Computing Krippendorff's Alpha-Reliability (2011), sections A to C; "." = no value
    "binary": (("0100000010", "1110010000"), 0.095),
    "two observers": (("aabbdcccedda", "babbbccceddd"), 0.692),
    "four observers, gaps": (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
}


def units(rows: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(value for value in column if value != ".") for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", KRIPPENDORFF)
def test_alpha_of_krippendorffs_examples(name: str) -> None:
    rows, expected = KRIPPENDORFF[name]
    assert alpha(units(rows)) == pytest.approx(expected, abs=5e-4)


RATINGS = st.lists(
    st.dictionaries(st.sampled_from(["ann", "bo", "cy"]), st.sampled_from("abcd"), min_size=1), min_size=1, max_size=40
)


@given(RATINGS)
def test_same_values_as_an_independent_library(items: list[dict[str, str]]) -> None:
    found = agreement(items, resamples=0)
    several = [(str(number), one) for number, one in enumerate(items) if len(one) > 1]
    if len({value for _, one in several for value in one.values()}) > 1:
        triples = [(rater, number, value) for number, one in several for rater, value in one.items()]
        assert found.alpha.value == pytest.approx(AnnotationTask(triples).alpha())
    else:
        assert found.alpha.value is None
    for pair in found.pairs:
        both = [(number, one) for number, one in several if all(rater in one for rater in pair.raters)]
        task = AnnotationTask([(rater, number, one[rater]) for number, one in both for rater in pair.raters])
        assert pair.raw.value == pytest.approx(task.avg_Ao())
        if pair.kappa.value is not None:
            assert pair.kappa.value == pytest.approx(task.kappa())
        if len(task.K) > 1:
            assert pair.pabak == pytest.approx(task.S())


def test_undefined_is_none_and_not_a_number() -> None:
    one_category = [("a", "a")] * 30
    assert (raw(one_category), kappa(one_category), pabak(one_category)) == (1.0, None, None)
    assert alpha([("a", "a")] * 3) is None
    assert (raw([]), kappa([]), pabak([]), alpha([])) == (None, None, None, None)
    nobody_twice = agreement([{"ann": "a"}, {"bo": "b"}])
    assert (nobody_twice.items, nobody_twice.single, nobody_twice.alpha.value, nobody_twice.pairs) == (0, 2, None, ())


def test_perfect_and_opposite() -> None:
    assert kappa(table(10, 0, 0, 10)) == alpha(table(10, 0, 0, 10)) == 1.0
    assert kappa(table(0, 10, 10, 0)) == -1.0


def test_each_category_against_the_rest() -> None:
    pairs = [("a", "a")] * 6 + [("a", "b")] * 2 + [("b", "b")] + [("c", "a")]
    by_name = {one.category: one for one in pair_agreement(("ann", "bo"), pairs).categories}
    assert (by_name["a"].first, by_name["a"].second, by_name["a"].both) == (8, 7, 6)
    assert by_name["a"].positive == pytest.approx(12 / 15)
    assert by_name["a"].negative == pytest.approx(2 / 5)
    assert by_name["a"].pabak == pytest.approx(2 * 0.7 - 1)
    assert (by_name["c"].positive, by_name["c"].kappa) == (0.0, 0.0)


def test_interval_covers_the_value_and_says_when_there_are_few() -> None:
    found = pair_agreement(("ann", "bo"), table(20, 5, 10, 15))
    assert found.kappa.low is not None
    assert found.kappa.high is not None
    assert found.kappa.low < 0.4 < found.kappa.high
    # the standard error of kappa in this table is 0.127 (J. L. Fleiss, J. Cohen, B. S. Everitt, 1969): about +- 0.25
    assert found.kappa.low == pytest.approx(0.15, abs=0.05)
    assert found.kappa.high == pytest.approx(0.65, abs=0.05)
    assert not found.few
    assert pair_agreement(("ann", "bo"), table(20, 5, 10, 14)).few
    assert found == pair_agreement(("ann", "bo"), table(20, 5, 10, 15))


def test_interval_is_left_out_where_most_resamples_are_undefined() -> None:
    assert pair_agreement(("ann", "bo"), [*[("a", "a")] * 30, ("a", "b")]).kappa.low is None

"""Codebooks: the shipped ones, mistakes in own ones named by field, versions folded without losing an old class."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import UsageError
from reach_tui.taxonomy import Checked, Folded, Taxonomy, check, default, preset, preset_ids
from reach_tui.taxonomy.keys import KEYS, TAKEN


def entry(own: str, key: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": own, "name": own.title(), "definition": f"What {own} is.", **({"key": key} if key else {}), **more}


def checked(*categories: dict[str, Any], **more: Any) -> Checked:
    document = {"id": "mine", "version": "2", "categories": list(categories), **more}
    return check(document, lambda place: "f:" + "/".join(map(str, place)))


def book(*categories: dict[str, Any]) -> Taxonomy:
    found = checked(*categories)
    assert found.mistakes == []
    assert found.taxonomy is not None
    return found.taxonomy


@pytest.mark.parametrize("name", preset_ids())
def test_a_shipped_codebook_is_whole(name: str) -> None:
    found = preset(name)
    assert found is not None
    assert found.id == name
    keys = [one.key for one in found.categories]
    assert keys == sorted(keys, key=KEYS.find)
    assert len(set(keys)) == len(keys)
    last = found.by_key("0")
    assert last is not None
    assert last.id == "not_a_failure"
    for path, one in found.paths():
        assert one.definition.endswith("."), path
        assert all(default().has(to) for to in one.maps_to), path
        assert found.fold(*_parts(path)) == Folded(*_parts(path), "current")
    assert all(len(one.subcategories) <= 10 for one in found.categories)


def _parts(path: str) -> tuple[str, str | None]:
    level1, _, level2 = path.partition("/")
    return level1, level2 or None


def test_mast_has_fourteen_modes_in_three_groups_and_trail_twenty_in_three() -> None:
    for name, kinds in (("mast", [5, 6, 3]), ("trail", [8, 8, 4])):
        found = preset(name)
        assert found is not None
        assert [len(one.subcategories) for one in found.categories][:-1] == kinds


def test_the_peri_seed_groups_as_the_seed_did() -> None:
    found = preset("peri-seed")
    assert found is not None
    failures = {"agent_type_missing": 36, "background_limit": 5, "prompt_missing": 1, "agent_not_found": 3}
    misuse = sum(count for name, count in failures.items() if found.category(name).group == "parameter misuse")
    assert (misuse, sum(failures.values())) == (41, 45)
    assert preset("none such") is None


@pytest.mark.parametrize(
    ("name", "failure", "paths"),
    [
        ("mast", ("loop_repetition", "same_call_repeated"), ("system_design/step_repetition",)),
        ("mast", ("stale_context", "stale_edit"), ()),
        ("trail", ("timeout_or_limit", "timeout"), ("system_execution/timeout_issues",)),
        ("trail", ("permission_denied", "forbidden"), ("system_execution/authentication_errors",)),
        ("reach-seed", ("permission_denied", "forbidden"), ("denied",)),
        ("reach-seed", ("timeout_or_limit", "rate_limited"), ()),
        ("peri-seed", ("stale_context", "stale_edit"), ("edit_not_found",)),
        ("reach-failure", ("stale_context", "stale_edit"), ("stale_context/stale_edit",)),
        ("mast", ("not_a_failure", "no_match"), ("not_a_failure/no_match",)),
        ("mast", (None, None), ()),
    ],
)
def test_a_verdict_in_other_words(name: str, failure: tuple[str | None, str | None], paths: tuple[str, ...]) -> None:
    found = preset(name)
    assert found is not None
    assert found.of_failure(*failure) == paths


def test_a_class_in_the_detectors_words() -> None:
    trail = preset("trail")
    assert trail is not None
    assert trail.to_failure("system_execution", "timeout_issues") == ("timeout_or_limit/timeout",)
    assert trail.to_failure("system_execution", None) == ()
    assert default().to_failure("stale_context", "stale_edit") == ("stale_context/stale_edit",)


# Keys (G5)


@pytest.mark.parametrize("key", ["q", "j", "?", "/", ";", ".", "u", "Enter", "space", "tab", "L"])
def test_a_key_of_the_screens_is_refused_with_the_clash_named(key: str) -> None:
    (mistake,) = checked(entry("coupon", key)).mistakes
    assert mistake.where == "f:categories/0/key"
    assert repr(key) in mistake.what
    assert "coupon" in mistake.what
    assert "a key of the screens already" in mistake.what


@pytest.mark.parametrize("key", ["0", "10", "é", "x1", "w", "１"])
def test_other_keys_are_refused_too(key: str) -> None:
    (mistake,) = checked(entry("coupon", key)).mistakes
    assert "key" in mistake.what
    assert "1 to 9" in mistake.line()


def test_a_key_given_twice_names_both() -> None:
    (mistake,) = checked(entry("a", "1"), entry("b", "2"), entry("c", "1")).mistakes
    assert mistake.where == "f:categories/2/key"
    assert "'a'" in mistake.what
    assert "'c'" in mistake.what


def test_not_a_failure_is_always_there_and_has_key_0() -> None:
    last = book(entry("a", "3")).categories[-1]
    assert (last.key, last.id) == ("0", "not_a_failure")
    own = book(entry("not_a_failure", name="Fine"), entry("a", "3")).categories[-1]
    assert (own.key, own.name) == ("0", "Fine")
    (mistake,) = checked(entry("not_a_failure", "4"), entry("a", "3")).mistakes
    assert "has the key 0" in mistake.what


def test_no_key_of_a_command_can_be_a_category_and_no_command_has_a_digit() -> None:
    from reach_tui.tui.commands import COMMANDS, shown_keys

    labelling = {screen for one in COMMANDS if one.id == "label-1" for screen in one.screens}
    able = [one for one in COMMANDS if labelling & set(one.screens)]
    digits = [one.id for one in able for key in one.keys.split(",") if key in KEYS]
    assert all(name.startswith("label-") for name in digits), digits
    shown = {shown_keys(key) for one in COMMANDS for key in one.keys.split(",")} - set(KEYS)
    assert set("jk?/q;.uU") <= shown
    document = [entry(f"c{number}", key) for number, key in enumerate(sorted(shown))]
    assert len([one for one in checked(*document).mistakes if "key" in one.what]) == len(shown)
    assert set(TAKEN) <= shown | {"P"}


# Mistakes


@pytest.mark.parametrize(
    ("categories", "place", "words"),
    [
        ([{"key": "1", "name": "A", "definition": "d"}], "categories/0/id", "missing"),
        ([entry("a b", "1")], "categories/0/id", "no spaces"),
        ([entry("a/b", "1")], "categories/0/id", "slashes"),
        ([entry("uncoded", "1")], "categories/0/id", "program's own"),
        ([entry("a", "1", name="")], "categories/0/name", "missing"),
        ([entry("a", "1", definition=None)], "categories/0/definition", "missing"),
        ([entry("a", "1", defintion="x")], "categories/0/defintion", "unknown field"),
        ([entry("a", "1", maps_to="stale")], "categories/0/maps_to", "no class of reach-failure"),
        ([entry("a", "1"), entry("a", "2")], "categories/1/id", "given twice"),
        ([entry("a", "1", subcategories=[entry("x"), entry("x")])], "categories/0/subcategories/1/id", "given twice"),
        ([entry("a", "1", subcategories=[entry(f"x{n}") for n in range(11)])], "categories/0/subcategories", "ten"),
        ([entry("a", "1", subcategories="x")], "categories/0/subcategories", "a list"),
        ([entry("a", "1", name=["x"])], "categories/0/name", "text is expected"),
        ([entry("a", "1"), "b"], "categories/1", "not a mapping"),
        ([entry("a", "1", definition="x" * 3000)], "categories/0/definition", "longer than"),
        ([entry("a", "1"), entry("b", merged_into="c")], "categories/1/merged_into", "no class of this codebook"),
        ([entry("a", "1"), entry("b", split_into=["a"])], "categories/1/split_into", "two classes"),
        ([entry("a", "1", renamed_from="b"), entry("b", "2")], "categories/0", "still a class"),
        ([entry("a", "1"), entry("b", merged_into="a", replaced_by="a")], "categories/1", "exclude each other"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(categories: list[Any], place: str, words: str) -> None:
    found = checked(*categories)
    assert found.taxonomy is None
    assert any(one.where == f"f:{place}" and words in one.line() for one in found.mistakes), found.mistakes


def test_every_mistake_is_told_and_chains_that_come_back_are_one() -> None:
    found = checked(entry("a", "q"), entry("b", "x", nmae="b"), version="0")
    assert len(found.mistakes) == 4
    found = checked(entry("z", "1"), entry("a", merged_into="b"), entry("b", merged_into="a"))
    assert any("leads back to itself" in one.what for one in found.mistakes)
    documents: list[object] = [None, [], "text", 3]
    for document in documents:
        assert check(document, lambda _: "f").taxonomy is None


# Versions


VERSIONS = [
    entry("price", "1", renamed_from=["cost", "amount"], subcategories=[
        entry("rounding", renamed_from="cents"), entry("tax", renamed_from="money/vat"),
        entry("gross", merged_into="tax")]),
    entry("coupon_expired", "2"),
    entry("coupon_unknown", "3"),
    {"id": "coupon", "split_into": ["coupon_expired", "coupon_unknown"]},
    {"id": "voucher", "merged_into": "coupon_expired"},
    {"id": "old", "deprecated": True},
    {"id": "older", "deprecated": "yes", "replaced_by": "price"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "now", "state"),
    [
        ("price", "price", "current"),
        ("cost", "price", "renamed"),
        ("cost/rounding", "price/rounding", "renamed"),
        ("cost/cents", "price/rounding", "renamed"),
        ("cost/nothing", "price", "renamed"),
        ("price/cents", "price/rounding", "renamed"),
        ("money/vat", "price/tax", "renamed"),
        ("price/gross", "price/tax", "merged"),
        ("voucher", "coupon_expired", "merged"),
        ("older", "price", "merged"),
        ("coupon", "coupon", "split"),
        ("coupon/x", "coupon/x", "split"),
        ("old", "old", "deprecated"),
        ("never", "never", "unknown"),
        ("price/never", "price/never", "unknown"),
        ("uncoded", "uncoded", "current"),
    ],
)
def test_an_old_class_is_called_what_it_is_today(given: str, now: str, state: str) -> None:
    folded = book(*VERSIONS).fold(*_parts(given))
    assert (folded.path, folded.state) == (now, state)
    assert folded.wants_relabelling is (state in ("split", "deprecated", "unknown"))


def test_retired_classes_are_not_offered_and_say_what_took_their_place() -> None:
    found = book(*VERSIONS)
    assert [one.id for one in found.categories] == ["price", "coupon_expired", "coupon_unknown", "not_a_failure"]
    for former, words in (("coupon", "split: coupon_expired, coupon_unknown"), ("cost", "renamed: price")):
        with pytest.raises(UsageError) as caught:
            found.parse(former)
        assert words in caught.value.line()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda one: st.lists(one, max_size=4), max_leaves=4
)
FIELDS = st.sampled_from(
    ["id", "key", "name", "definition", "subcategories", "renamed_from", "split_into", "merged_into", "deprecated",
     "replaced_by", "maps_to", "x"]
)  # fmt: skip
WORDS = st.sampled_from(["a", "b", "c", "a/b", "1", "2", "q", "", "mine", "stale_context"]) | JSON
ENTRIES = st.dictionaries(FIELDS, WORDS | st.lists(st.dictionaries(FIELDS, WORDS, max_size=5), max_size=2), max_size=8)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["id", "version", "categories", "name"]), JSON | st.lists(ENTRIES, max_size=5)))
def test_any_document_is_a_codebook_or_mistakes(document: dict[str, Any]) -> None:
    found = check(document, lambda place: repr(place))
    assert (found.taxonomy is None) is bool(found.mistakes)
    for mistake in found.mistakes:
        assert "\n" not in mistake.line()

"""The whole log out and in: history, undo and redo included; what is newer at home stays in force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.base.jsonio import dumps
from reach_tui.labels.events import events, take_events
from reach_tui.labels.exchange import EVENT_SCHEMA, event_record, from_jsonl
from reach_tui.labels.store import LabelStore
from tests.labels.test_exchange import label


def lines(store: LabelStore) -> list[str]:
    return [dumps(event_record(row)) for row in events(store, "peri", {"s1"})]


def worked(path: Path) -> LabelStore:
    """Two people, a batch, undo, redo, a note without a class, another codebook, something cleared."""
    store = LabelStore.open(path)
    store.save(label(call_key="c1"))
    store.save_many([label(call_key=f"b{number}", category="loop_repetition", subcategory=None) for number in range(3)])
    store.undo("dev")
    store.redo("dev")
    store.save(label(call_key="c1", by="eve", category="uncoded", subcategory=None, note="多\n=1"))
    store.save(label(call_key="c1", taxonomy="mast", category="system_design", subcategory=None))
    store.save(label(call_key="c2", session_id="elsewhere"))
    store.save(label(call_key="b0", category=None, subcategory=None))
    store.undo("eve")
    return store


def test_a_log_taken_in_is_the_same_log(tmp_path: Path) -> None:
    with worked(tmp_path / "a.db") as one, LabelStore.open(tmp_path / "b.db") as other:
        written = lines(one)
        read = from_jsonl(written)
        assert (read.problems, read.labels) == ([], [])
        assert take_events(other, read.events) == len(written)
        assert lines(other) == written
        assert take_events(other, from_jsonl(written).events) == 0
        for store in (one, other):
            assert {(key, by): item.category for (key, by), item in store.in_force("peri", "s1").items()} == {
                ("c1", "dev"): "timeout_or_limit", ("b1", "dev"): "loop_repetition", ("b2", "dev"): "loop_repetition",
            }  # fmt: skip
        assert [(row.action, row.refers) for row in other.history("peri", "s1", "b1")] == [
            (row.action, row.refers) for row in one.history("peri", "s1", "b1")
        ]


def test_undo_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with worked(tmp_path / "a.db") as one, LabelStore.open(tmp_path / "b.db") as other:
        take_events(other, from_jsonl(lines(one)).events)
        other.undo("dev")  # the clearing of b0
        assert ("b0", "dev") in other.in_force("peri", "s1")
        other.undo("dev")  # of mast: the label of elsewhere did not come along
        assert {item.taxonomy for item in other.of_call("peri", "s1", "c1")} == {"reach-failure"}
        other.undo("dev")  # the batch
        assert set(other.in_force("peri", "s1")) == {("c1", "dev")}


def test_what_is_newer_at_home_stays_and_undo_does_not_reach_into_history(tmp_path: Path) -> None:
    with worked(tmp_path / "a.db") as one, LabelStore.open(tmp_path / "b.db") as other:
        mine = other.save(label(call_key="c1", category="context_gap", subcategory=None, at=1_790_000_000_000))
        take_events(other, from_jsonl(lines(one)).events)
        assert other.in_force("peri", "s1")["c1", "dev"].uid == mine.uid
        assert [row.late for row in other.history("peri", "s1", "c1") if row.label.taxonomy == "reach-failure"] == [
            False, True, False, False,
        ]  # fmt: skip
        other.undo("dev")
        assert other.undo("dev") is None
        assert ("b1", "dev") in other.in_force("peri", "s1")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"event":"label"', '"event":"forget"', "unknown event"),
        ('"uid":"', '"uide":"', "needs the `uid`"),
        ('"refers":null', '"refers":5', "`refers` is not text"),
        (EVENT_SCHEMA, "other", ""),
    ],
)
def test_an_event_with_a_mistake_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    with worked(tmp_path / "a.db") as one:
        read = from_jsonl([line.replace(old, new) for line in lines(one)[:1]])
    assert (len(read.events), [words in one.what for one in read.problems]) == ((0, [True]) if words else (1, []))


# Several codebooks in one file


def test_labels_of_two_codebooks_stand_side_by_side(tmp_path: Path) -> None:
    with LabelStore.open(tmp_path / "a.db") as store:
        store.save(label())
        store.codebook = "mast"
        assert store.targets("dev") == set()
        store.save(label(taxonomy="mast", category="system_design", subcategory=None))
        assert store.targets("dev") == {("peri", "s1", "c1")}
        assert [item.taxonomy for item in store.all_in_force()] == ["reach-failure", "mast"]
        assert store.in_force("peri", "s1")["c1", "dev"].taxonomy == "mast"
        assert store.counts_by_session("peri") == {"s1": 1}
        store.undo("dev")
        assert [item.taxonomy for item in store.all_in_force()] == ["reach-failure"]
        store.redo("dev")
        store.save(label(taxonomy="mast", category=None, subcategory=None))
        store.codebook = "reach-failure"
        assert [item.category for item in store.all_in_force()] == ["timeout_or_limit"]
        assert store.in_force("peri", "s1")["c1", "dev"].category == "timeout_or_limit"


def test_a_class_or_a_codebook_that_is_gone_loses_no_label() -> None:
    rows = [
        label(taxonomy="theirs", category="price", subcategory="tax"),
        label(uid="u2", category="uncoded", subcategory=None),
        label(uid="u3", taxonomy_version=9, category="newer", subcategory=None),
    ]
    text = [dumps({"label": {name: getattr(one, name) for name in one.__slots__ if name != "id"}}) for one in rows]
    read = from_jsonl(text)
    assert read.problems == []
    assert [replace(one, id=None) for one in read.labels] == rows
    assert sorted(read.kept.values()) == [1, 1]
    assert any("'theirs'" in what for what in read.kept)
    by_hand = from_jsonl([line.replace('"uid"', '"x"') for line in text])
    assert [one.category for one in by_hand.labels] == ["uncoded"]
    assert [problem.line for problem in by_hand.problems] == [1, 3]

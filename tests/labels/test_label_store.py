"""The label log: what is in force, undo and redo, two people, and files that are something else."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import LabelError
from reach_tui.labels.store import LabelStore, default_path
from reach_tui.model import Label


def label(call: str | None = "c1", category: str | None = "timeout_or_limit", **other: object) -> Label:
    base = Label(
        store="peri",
        session_id="s1",
        call_key=call,
        content_hash="sha256:0",
        category=category,
        subcategory=None,
        note="",
        by="dev",
        at=1_780_000_000_000,
        taxonomy="reach-failure",
        taxonomy_version=1,
        verdict=True,
        rule="edit.not_found",
        tool_version="0.1.0",
    )
    return replace(base, **other)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "labels.db"


def forced(store: LabelStore, session: str = "s1") -> dict[tuple[str | None, str], str | None]:
    return {target: label.category for target, label in store.in_force("peri", session).items()}


def rows(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        count = connection.execute("SELECT count(*) FROM label").fetchone()[0]
    connection.close()
    return int(count)


def test_nothing_is_created_before_the_first_label(path: Path) -> None:
    with LabelStore.open(path) as store:
        assert store.in_force("peri", "s1") == {}
        assert store.counts_by_session("peri") == {}
        assert store.undo("dev") is None
    assert LabelStore.open(default_path()).all_in_force() == []
    assert not default_path().exists()


def test_a_label_comes_back_whole_after_reopening(path: Path) -> None:
    given = label(subcategory="timeout", note="多行\nnote \x00 [red]x[/] =cmd|", call=None, verdict=None, rule=None)
    with LabelStore.open(path) as store:
        saved = store.save(given)
    assert saved.id is not None
    assert saved.uid
    assert replace(saved, id=None, uid=None) == given
    with LabelStore.open(path) as store:
        assert store.in_force("peri", "s1") == {(None, "dev"): saved}
        assert store.all_in_force() == [saved]


def test_lone_surrogates_are_replaced_not_refused(path: Path) -> None:
    with LabelStore.open(path) as store:
        saved = store.save(label(note="a\ud800b", session_id="s\udfff"))
        assert saved.note == "a\ufffdb"
        assert store.in_force("peri", "s\udfff") == {("c1", "dev"): saved}


def test_the_newest_label_counts_and_nothing_is_overwritten(path: Path) -> None:
    with LabelStore.open(path) as store:
        first, second = store.save(label()), store.save(label(category="loop_repetition"))
        assert forced(store) == {("c1", "dev"): "loop_repetition"}
        assert [row.label for row in store.history("peri", "s1", "c1")] == [first, second]


def test_the_same_key_twice_is_one_label_in_force(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label())
        store.save(label())
        assert forced(store) == {("c1", "dev"): "timeout_or_limit"}
        assert store.counts_by_session("peri") == {"s1": 1}


def test_a_clock_set_back_does_not_bring_an_old_label_back(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label())
        store.save(label(category="loop_repetition", at=1_700_000_000_000))
        assert forced(store) == {("c1", "dev"): "loop_repetition"}


def test_two_people_stand_side_by_side(path: Path) -> None:
    with LabelStore.open(path) as one, LabelStore.open(path) as other:
        one.save(label())
        other.save(label(category="not_a_failure", by="eve"))
        one.save(label(category="loop_repetition"))
        expected = {("c1", "dev"): "loop_repetition", ("c1", "eve"): "not_a_failure"}
        assert forced(one) == forced(other) == expected
        assert one.counts_by_session("peri") == {"s1": 1}
        assert one.undo("eve") is not None
        assert forced(other) == {("c1", "dev"): "loop_repetition"}


def test_undo_goes_back_one_by_one_also_after_a_restart(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label("c1", "timeout_or_limit"))
        store.save(label("c1", "loop_repetition"))
        store.save(label("c2", "stale_context"))
    seen = []
    for _ in range(4):
        with LabelStore.open(path) as store:
            answer = store.undo("dev")
            seen.append((answer and (answer.call_key, answer.category), forced(store)))
    assert seen == [
        (("c2", None), {("c1", "dev"): "loop_repetition"}),
        (("c1", "timeout_or_limit"), {("c1", "dev"): "timeout_or_limit"}),
        (("c1", None), {}),
        (None, {}),
    ]
    assert rows(path) == 6, "undo writes rows and removes none"


def test_five_clears_are_restored_one_by_one(path: Path) -> None:
    with LabelStore.open(path) as store:
        for number in range(5):
            store.save(label(f"c{number}"))
        for number in range(5):
            store.save(label(f"c{number}", None))
        assert forced(store) == {}
        assert len(store.all_in_force(cleared=True)) == 5
        for number in range(5):
            store.undo("dev")
            assert len(forced(store)) == number + 1


def test_redo_follows_undo_until_a_new_label(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label("c1"))
        store.save(label("c2"))
        store.undo("dev")
        store.undo("dev")
        again = store.redo("dev")
        assert again is not None
        assert (again.call_key, again.category) == ("c1", "timeout_or_limit")
        store.undo("dev")
        assert store.redo("dev") is not None
        store.save(label("c3"))
        assert store.redo("dev") is None
        assert set(forced(store)) == {("c1", "dev"), ("c3", "dev")}
        store.undo("dev")
        store.undo("dev")
        assert forced(store) == {}


OPERATION = st.one_of(
    st.sampled_from(["undo", "redo", "reopen"]),
    st.lists(
        st.tuples(st.sampled_from(["c1", "c2", None]), st.sampled_from(["loop_repetition", "stale_context", None])),
        min_size=1,
        max_size=3,
    ),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["dev", "eve"]), OPERATION), max_size=25))
def test_undo_and_redo_agree_with_a_stack_of_states(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str | list[tuple[str | None, str | None]]]]
) -> None:
    path = tmp_path_factory.mktemp("undo") / "labels.db"
    past: dict[str, list[dict[str | None, str | None]]] = {"dev": [{}], "eve": [{}]}
    future: dict[str, list[dict[str | None, str | None]]] = {"dev": [], "eve": []}
    store = LabelStore.open(path)
    for by, operation in operations:
        if operation == "undo":
            assert (store.undo(by) is None) == (len(past[by]) == 1)
            if len(past[by]) > 1:
                future[by].append(past[by].pop())
        elif operation == "redo":
            assert (store.redo(by) is None) == (not future[by])
            if future[by]:
                past[by].append(future[by].pop())
        elif isinstance(operation, list):
            store.save_many([label(call, category, by=by) for call, category in operation])
            past[by].append(past[by][-1] | dict(operation))
            future[by].clear()
        else:
            store.close()
            store = LabelStore.open(path)
        expected = {
            (call, who): category
            for who, states in past.items()
            for call, category in states[-1].items()
            if category is not None
        }
        assert forced(store) == expected
    store.close()


def test_a_batch_is_undone_in_one_step(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label("c0"))
        store.save_many([label(f"c{number}", "loop_repetition") for number in range(4)])
        assert store.counts_by_session("peri") == {"s1": 4}
        store.undo("dev")
        assert forced(store) == {("c0", "dev"): "timeout_or_limit"}
        store.redo("dev")
        assert forced(store) == {(f"c{number}", "dev"): "loop_repetition" for number in range(4)}


def test_a_store_that_only_reads_sees_what_others_write(path: Path) -> None:
    with LabelStore.open(path) as reader, LabelStore.open(path) as writer:
        assert forced(reader) == {}
        for number in range(3):
            writer.save(label(f"c{number}", session_id=f"s{number}"))
            assert len(forced(reader, f"s{number}")) == 1
        writer.undo("dev")
        assert forced(reader, "s2") == {}
        assert reader._connection is None


def test_counts_leave_session_labels_and_other_stores_out(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label(None))
        store.save(label("c1", session_id="s2"))
        store.save(label("c1", store="opencode"))
        assert store.counts_by_session("peri") == {"s2": 1}
        assert [item.session_id for item in store.all_in_force("opencode")] == ["s1"]
        assert store.all_in_force(by="nobody") == []


def test_a_nameless_label_is_refused(path: Path) -> None:
    with LabelStore.open(path) as store, pytest.raises(LabelError, match="needs the name"):
        store.save(label(by=" "))
    assert not path.exists() or rows(path) == 0


def test_many_threads_share_one_store(path: Path) -> None:
    with LabelStore.open(path) as store:
        threads = [
            threading.Thread(target=lambda who=who: [store.save(label(f"c{n}", by=f"p{who}")) for n in range(25)])
            for who in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.all_in_force()) == 150
    assert rows(path) == 150


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\x00" + b"\x00" * 10])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.db"
    path.write_bytes(content)
    with pytest.raises(LabelError) as caught:
        LabelStore.open(path)
    assert "labels.db" in caught.value.line()
    assert path.read_bytes() == content


def test_another_program_s_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE threads (id)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LabelError, match="not a label database"):
        LabelStore.open(path)
    with pytest.raises(LabelError, match="not a label database"):
        LabelStore(path).save(label())
    assert path.read_bytes() == before


def test_a_newer_label_database_is_refused(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save(label())
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LabelError, match="newer reach-tui"):
        LabelStore.open(path)


def test_an_empty_file_is_a_new_label_database(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    path.touch()
    with LabelStore.open(path) as store:
        assert store.all_in_force() == []
        store.save(label())
        assert len(store.all_in_force()) == 1


def test_ten_thousand_labels_open_and_undo_quickly(path: Path) -> None:
    with LabelStore.open(path) as store:
        store.save_many([label(f"c{number}", session_id=f"s{number % 50}") for number in range(10_000)])
        store.save(label("last"))
    with LabelStore.open(path) as store:
        assert sum(store.counts_by_session("peri").values()) == 10_001
        undone = store.undo("dev")
        assert undone is not None
        assert undone.call_key == "last"
        assert len(store.in_force("peri", "s7")) == 200


def test_a_first_version_s_file_is_read_as_it_is_and_migrated_with_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with LabelStore.open(path) as store:
        store.save(label("c1"))
    with closing(sqlite3.connect(path)) as connection:  # the layout of version 1
        connection.execute("PRAGMA journal_mode = DELETE")
        for name in ("role", "first_cause", "shown"):
            connection.execute(f"ALTER TABLE label DROP COLUMN {name}")
        for name in ("deferral", "queue_item", "queue"):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    before = path.read_bytes()
    with LabelStore.open(path) as store:
        (read,) = store.all_in_force("peri")
        assert (read.role, read.first_cause, read.shown) == ("annotator", False, None)
        assert path.read_bytes() == before
        store.save(replace(label("c2"), role="adjudicator", first_cause=True, shown='{"blind": true}'))
        assert [(one.role, one.first_cause, one.shown) for one in store.all_in_force("peri")] == [
            ("annotator", False, None),
            ("adjudicator", True, '{"blind": true}'),
        ]
    with closing(sqlite3.connect(tmp_path / "labels.db.v1-backup")) as backup:
        assert backup.execute("SELECT call_key FROM label").fetchall() == [("c1",)]
        assert backup.execute("PRAGMA user_version").fetchone() == (1,)

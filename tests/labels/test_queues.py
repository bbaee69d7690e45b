"""Queues: kept with their recipe, one place for each person, what is put off comes back last."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reach_tui.base.errors import LabelError
from reach_tui.base.jsonio import JsonValue
from reach_tui.labels.queues import (
    Queue,
    QueueItem,
    Standing,
    load_queue,
    put_off,
    put_off_by,
    queues,
    save_queue,
    standing,
)
from reach_tui.labels.store import LabelStore
from reach_tui.native.schema import create
from tests.labels.test_label_store import label

RECIPE: dict[str, JsonValue] = {"kind": "hidden", "seed": 7, "controls": 0.2}


def items(count: int) -> list[QueueItem]:
    return [QueueItem(number, "peri", "s1", f"c{number}", "bash", "a.db") for number in range(1, count + 1)]


def where(store: LabelStore, queue: Queue, by: str = "dev") -> Standing:
    mine = {(one.store, one.session_id, one.call_key or "") for one in store.all_in_force(by=by)}
    return standing(queue, mine, put_off_by(store, queue.id, by))


def positions(found: Standing) -> list[int]:
    return [item.position for item in found.left]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LabelStore]:
    with LabelStore.open(tmp_path / "labels.db") as opened:
        yield opened


def test_nothing_is_made_by_looking(store: LabelStore) -> None:
    assert queues(store) == []
    with pytest.raises(LabelError, match="no queue 'abc'"):
        load_queue(store, "abc")
    assert not store.path.exists()


def test_a_queue_comes_back_with_its_recipe(store: LabelStore) -> None:
    first = save_queue(store, "hidden, June", "dev", RECIPE, items(3))
    second = save_queue(store, "soft", "dev", {}, [])
    with LabelStore.open(store.path) as again:
        assert [one.id for one in queues(again)] == [second.id, first.id]
        assert load_queue(again, first.id) == first
        assert load_queue(again, first.id[:7]).recipe == RECIPE
        with pytest.raises(LabelError, match="no queue ''"):
            load_queue(again, "")


def test_deferred_items_come_last_and_skipped_ones_not_at_all(store: LabelStore) -> None:
    queue = save_queue(store, "q", "dev", RECIPE, items(5))
    put_off(store, queue.id, 1, "dev", "defer")
    put_off(store, queue.id, 2, "dev", "skip")
    put_off(store, queue.id, 4, "dev", "defer")
    found = where(store, queue)
    assert positions(found) == [3, 5, 1, 4]
    assert (found.done, found.skipped, found.deferred, found.total) == (0, 1, 2, 4)
    put_off(store, queue.id, 1, "dev", "defer")  # put off again: behind the other
    assert positions(where(store, queue)) == [3, 5, 4, 1]
    put_off(store, queue.id, 2, "dev", "return")
    assert positions(where(store, queue)) == [2, 3, 5, 4, 1]


def test_a_label_takes_an_item_out_and_its_undo_brings_it_back(store: LabelStore) -> None:
    queue = save_queue(store, "q", "dev", RECIPE, items(3))
    put_off(store, queue.id, 2, "dev", "defer")
    store.save(label("c1"))
    store.save(label("c2"))
    assert (positions(where(store, queue)), where(store, queue).done) == ([3], 2)
    store.undo("dev")
    store.close()
    with LabelStore.open(store.path) as again:
        assert positions(where(again, queue)) == [3, 2]


def test_what_another_person_did_stays_in_mine(store: LabelStore) -> None:
    queue = save_queue(store, "q", "dev", RECIPE, items(2))
    store.save(replace(label("c1"), by="kim"))
    put_off(store, queue.id, 2, "kim", "skip")
    assert positions(where(store, queue)) == [1, 2]
    assert positions(where(store, queue, "kim")) == []


def test_queues_live_in_label_databases_only(tmp_path: Path) -> None:
    create(tmp_path / "shop.db")
    with LabelStore.open(tmp_path / "shop.db") as native:
        assert queues(native) == []
        with pytest.raises(LabelError, match="not in a trace"):
            save_queue(native, "q", "dev", RECIPE, items(1))


def _defer_some(path: Path, queue_id: str, by: str) -> None:
    with LabelStore.open(path) as store:
        for number in range(1, 31):
            put_off(store, queue_id, number, by, "defer")


def test_two_processes_at_once_lose_nothing(store: LabelStore) -> None:
    queue = save_queue(store, "q", "dev", RECIPE, items(30))
    store.close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_defer_some, args=(store.path, queue.id, by)) for by in ("dev", "kim")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    for by in ("dev", "kim"):
        assert put_off_by(store, queue.id, by) == [(number, "defer") for number in range(1, 31)]

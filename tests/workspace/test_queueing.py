"""Queues over open traces: what may be drawn, the same list again, whose place is where, disagreements."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from reach_tui.analyze.sampling import CONTROL, Recipe
from reach_tui.base.errors import LabelError
from reach_tui.base.paths import labels_file
from reach_tui.labels.queues import Queue, QueueItem, put_off
from reach_tui.labels.store import UNCODED, LabelStore
from reach_tui.workspace import JudgedCall, Settings, Workspace
from reach_tui.workspace.queue_desk import Desk, Place, likeness
from reach_tui.workspace.queueing import (
    Progress,
    adjudication_queue,
    all_queues,
    candidates,
    class_notes,
    described,
    drawn,
    make_queue,
    notes,
    opened,
    queue_records,
    recipe_of,
    rule_error_queue,
    standing_of,
    step_back,
    to_go_on_with,
    whole_queue,
)
from tests.workspace.test_importing import DATA

PERI = DATA / "peri" / "schema_17.db"
OPENCODE = DATA / "opencode" / "opencode-1.2.20.db"
Made = TypeVar("Made")


def end_of(work: Generator[Progress, None, Made]) -> Made:
    """What the work comes to."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        made: Made = end.value
        return made


_MADE: list[Workspace] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _MADE:
        _MADE.pop().close()


def workspace(*paths: Path, by: str = "dev") -> Workspace:
    _MADE.append(Workspace(paths or (PERI,), Settings(by=by)))
    return _MADE[-1]


def queue_of(desk: Workspace, **recipe: object) -> Queue:
    return end_of(make_queue(desk, desk.found.sources, Recipe(**recipe)))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [PERI, OPENCODE])
def test_every_call_is_a_candidate_as_it_is_judged_whether_the_index_knows_it_or_not(path: Path) -> None:
    desk = workspace(path)
    source = desk.found.sources[0]
    expected = {
        (one.call.key, one.call.shown_tool, one.verdict.failed, one.hidden, one.verdict.rule, one.verdict.category,
         one.call.flagged, round(one.verdict.confidence, 3), one.call.session_id)
        for one in desk.judged_calls(source)
        if one.call.copy_of is None
    }  # fmt: skip
    for _ in ("judged now", "from the index"):
        found = [one for one in candidates(desk, source) if one is not None]
        assert len(found) == len(expected)
        assert {
            (one.key, one.tool, one.failed, one.hidden, one.rule, one.category, one.flagged, one.confidence,
             one.session_id)
            for one in found
        } == expected  # fmt: skip


def test_the_same_recipe_gives_the_same_list_and_is_kept_with_it() -> None:
    desk = workspace(PERI, OPENCODE)
    first, second = queue_of(desk, size=20, seed=5), queue_of(desk, size=20, seed=5)
    other = queue_of(desk, size=20, seed=6)
    assert first.items == second.items
    assert first.items != other.items
    assert {item.store for item in first.items} == {"peri", "opencode"}
    assert any(item.stratum == CONTROL for item in first.items)
    assert recipe_of(whole_queue(desk, first.id)) == Recipe(size=20, seed=5)
    assert described(first.recipe) == "hidden, by tool, doubt, 20% controls, seed 5"


def test_progress_is_told_and_a_drawing_can_be_given_up() -> None:
    desk = workspace()
    work = drawn(desk, desk.found.sources, Recipe())
    told = next(work)
    assert (told.done, told.sessions) == (1, len(list(desk.found.sources[0].reader.sessions())))
    work.close()
    assert not labels_file().exists()
    assert max(step.done for step in drawn(desk, desk.found.sources, Recipe())) == told.sessions


def test_nothing_to_label_is_said() -> None:
    desk = workspace()
    with pytest.raises(LabelError, match="no hidden errors to label"):
        queue_of(desk, rules=("no.such.rule",))
    assert not labels_file().exists()


def test_each_person_has_a_place_and_the_newest_unfinished_queue_is_found() -> None:
    desk = workspace()
    old, new = queue_of(desk, size=3), queue_of(desk, size=2, kind="failed")
    sources = desk.found.sources
    assert (found := to_go_on_with(desk, sources)) is not None
    assert found.id == new.id
    table = Desk(desk, sources, new)
    for position in (1, 2):
        item = table.load(position)
        assert item.judged is not None
        answer = table.save(item, [(item.judged, table.label(item, item.judged, "context_gap"))])
        assert answer.error is None
        table.take_in(answer)
    assert table.place.first() is None
    assert (found := to_go_on_with(desk, sources)) is not None
    assert found.id == old.id
    assert {record["id"]: record["done"] for record in queue_records(desk, sources)}[new.id] == 2
    ann = workspace(by="ann")
    assert standing_of(ann, ann.found.sources, new).done == 0
    elsewhere = workspace(OPENCODE)
    assert to_go_on_with(elsewhere, elsewhere.found.sources) is None
    assert [one.id for one in all_queues(elsewhere)] == [new.id, old.id]


def test_what_is_opened() -> None:
    desk = workspace()
    first = end_of(opened(desk, desk.found.sources, "resume"))
    assert first.recipe["kind"] == "hidden"
    assert end_of(opened(desk, desk.found.sources, "resume")).id == first.id
    store = desk.label_store(desk.found.sources[0])
    calls = {one.call.key: one for one in desk.judged_calls(desk.found.sources[0])}
    for item in first.items:
        store.save(desk.make_label(desk.found.sources[0], calls[item.call_key], "context_gap"))
    assert end_of(opened(desk, desk.found.sources, "resume")).id == first.id, "finished, and still the one to undo in"
    with pytest.raises(LabelError, match="no hidden errors to label that you have not labelled"):
        end_of(opened(desk, desk.found.sources, "hidden"))
    soft = end_of(opened(desk, desk.found.sources, "failed"))
    assert not {item.call_key for item in soft.items} & {item.call_key for item in first.items}
    assert end_of(opened(desk, desk.found.sources, "all")).id != first.id
    assert end_of(opened(desk, desk.found.sources, first.id)).items == first.items
    with pytest.raises(LabelError, match="people agree"):
        end_of(opened(desk, desk.found.sources, "disputes"))


def failures(desk: Workspace, count: int) -> list[JudgedCall]:
    source = desk.found.sources[0]
    return [one for one in desk.judged_calls(source) if one.verdict.failed][:count]


def test_disagreements_are_settled_and_everybodys_label_stays() -> None:
    desk = workspace(by="ann")
    source = desk.found.sources[0]
    store = desk.label_store(source)
    one, two = failures(desk, 2)
    for call, mine, theirs in ((one, "context_gap", "stale_context"), (two, "context_gap", "context_gap")):
        store.save(desk.make_label(source, call, mine))
        store.save(replace(desk.make_label(source, call, theirs), by="bob"))
    queue = adjudication_queue(desk, [source])
    assert [item.call_key for item in queue.items] == [one.call.key]
    table = Desk(desk, [source], queue)
    item = table.load(1)
    assert item.judged is not None
    assert table.own(item) is None, "what she said as an annotator is one side of it"
    table.take_in(table.save(item, [(item.judged, table.label(item, item.judged, "stale_context"))]))
    assert table.place.left == 0
    labels = store.of_call(source.kind, one.call.session_id, one.call.key)
    assert {(label.by, label.role, label.category) for label in labels} == {
        ("ann", "annotator", "context_gap"),
        ("bob", "annotator", "stale_context"),
        ("ann", "adjudicator", "stale_context"),
    }
    with pytest.raises(LabelError, match="people agree"):
        adjudication_queue(desk, [source])
    with pytest.raises(LabelError, match="detectors and labels agree"):
        rule_error_queue(workspace(OPENCODE), workspace(OPENCODE).found.sources)
    table.take_in(table.undo())
    assert table.place.left == 1
    assert len(store.of_call(source.kind, one.call.session_id, one.call.key)) == 2


def test_rule_and_person_walk() -> None:
    desk = workspace()
    source = desk.found.sources[0]
    one, two = failures(desk, 2)
    desk.save_label(source, one, desk.make_label(source, one, "not_a_failure"))
    desk.save_label(source, two, desk.make_label(source, two, str(two.verdict.category)))
    queue = rule_error_queue(desk, [source])
    assert [(item.call_key, item.stratum) for item in queue.items] == [(one.call.key, one.verdict.rule)]
    table = Desk(desk, [source], queue)
    assert table.place.left == 1, "it was labelled before: that is what it is about"
    item = table.load(1)
    assert item.judged is not None
    label = table.label(item, item.judged, "not_a_failure", shown=table.shown(item, 5, blind=False))
    table.take_in(table.save(item, [(item.judged, label)]))
    assert table.place.left == 0
    assert Desk(desk, [source], queue).place.left == 0
    table.take_in(table.undo())
    assert table.place.left == Desk(desk, [source], queue).place.left == 1


def test_notes_get_a_class_in_one_step_of_undo() -> None:
    desk = workspace()
    source = desk.found.sources[0]
    for call, note in zip(failures(desk, 3), ("first", "second", "third"), strict=True):
        desk.save_label(source, call, desk.make_label(source, call, UNCODED, note=note))
    found = notes(desk, desk.found.sources)
    assert [label.note for _, label in found] == ["first", "second", "third"]
    assert class_notes(desk, found[:2], "context_gap") == 2
    assert [label.note for _, label in notes(desk, desk.found.sources)] == ["third"]
    assert len(step_back(desk, desk.found.sources, redo=False)) == 2
    assert [label.note for _, label in notes(desk, desk.found.sources)] == ["first", "second", "third"]
    assert len(step_back(desk, desk.found.sources, redo=True)) == 2
    assert len(notes(desk, desk.found.sources)) == 1


def test_undo_goes_to_the_database_written_last(tmp_path: Path) -> None:
    """A native trace keeps its labels itself, the others are in the person's database."""
    native = tmp_path / "shop.db"
    native.write_bytes((DATA.parents[1] / "sample_traces" / "reach" / "shop.db").read_bytes())
    desk = workspace(native, PERI)
    given = []
    for source in desk.found.sources:
        call = next(one for one in desk.judged_calls(source) if one.verdict.failed)
        given.append(desk.save_label(source, call, desk.make_label(source, call, "context_gap")).call_key)
    assert desk.label_path(desk.found.sources[0]) != desk.label_path(desk.found.sources[1])
    taken = [step_back(desk, desk.found.sources, redo=False)[0].call_key for _ in given]
    assert taken == given[::-1]
    assert step_back(desk, desk.found.sources, redo=False) == []
    queue = queue_of(desk, size=10)
    assert {item.store for item in queue.items} == {"reach", "peri"}
    desk.close()


def test_items_that_cannot_be_shown_say_why(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(PERI.read_bytes())
    desk = workspace(copy)
    queue = queue_of(desk, size=2)
    elsewhere = Desk(desk, workspace(OPENCODE).found.sources, queue)
    assert "not open: copy.db" in elsewhere.load(1).problem
    lost = replace(queue, items=tuple(replace(item, call_key="gone") for item in queue.items))
    item = Desk(desk, desk.found.sources, lost).load(1)
    assert "no longer has this call" in item.problem
    assert item.judged is None
    table = Desk(desk, desk.found.sources, queue)
    copy.write_bytes(b"no database at all" * 500)
    assert table.load(2).problem
    answer = table.save(table.load(2), [])
    assert answer.error is not None


def test_a_label_given_in_a_session_counts_in_the_queue() -> None:
    desk = workspace()
    queue = queue_of(desk, size=3)
    source = desk.found.sources[0]
    call = next(one for one in desk.judged_calls(source) if one.call.key == queue.items[1].call_key)
    desk.save_label(source, call, desk.make_label(source, call, "context_gap"))
    assert Desk(desk, desk.found.sources, queue).place.done == {2}
    with LabelStore.open(labels_file()) as store:
        put_off(store, queue.id, 1, "dev", "defer")
    place = Desk(desk, desk.found.sources, queue).place
    assert (place.first(), place.after(3), place.deferred) == (3, 1, [1])


def test_labels_of_another_codebook_are_another_matter() -> None:
    desk = workspace()
    queue = queue_of(desk, size=3)
    source = desk.found.sources[0]
    call = next(one for one in desk.judged_calls(source) if one.call.key == queue.items[0].call_key)
    desk.save_label(source, call, replace(desk.make_label(source, call, "misuse"), taxonomy="other"))
    table = Desk(desk, desk.found.sources, queue)
    assert table.place.first() == 1
    assert table.own(table.load(1)) is None


def test_identical_failures_differ_in_numbers_at_most() -> None:
    desk = workspace()
    calls = [one for one in desk.judged_calls(desk.found.sources[0]) if one.verdict.failed]
    groups = {likeness(one) for one in calls}
    assert None not in groups
    assert 1 < len(groups) < len(calls)
    for one in calls:
        again = replace(one, call=replace(one.call, arguments={"other": 1}))
        assert likeness(one) == likeness(again)
    fine = next(one for one in desk.judged_calls(desk.found.sources[0]) if one.verdict.failed is False)
    assert likeness(fine) is None


def test_the_rate_is_that_of_the_last_labels_in_this_queue() -> None:
    desk = workspace()
    queue = queue_of(desk, size=8)
    table = Desk(desk, desk.found.sources, queue)
    assert table.minutes_left is None
    for position, spent in ((1, 60_000), (2, 60_000), (3, 10**9)):
        item = table.load(position)
        assert item.judged is not None
        label = table.label(item, item.judged, "context_gap", shown=table.shown(item, spent, blind=True))
        table.take_in(table.save(item, [(item.judged, label)]))
    again = Desk(desk, desk.found.sources, queue)
    again.recall_rate()
    assert again.place.left == len(queue.items) - 3
    assert again.minutes_left == round((60 + 60 + 300) / 3 * again.place.left / 60), "a pause is no work"


class TestPlace:
    """The order of work."""

    def place(self, count: int = 5) -> Place:
        return Place([QueueItem(number, "peri", "s", f"c{number}", "bash", "a.db") for number in range(1, count + 1)])

    def test_in_order_then_what_was_left_then_what_was_put_off(self) -> None:
        place = self.place()
        place.put_off(1, "defer")
        assert place.first() == 2
        assert place.after(5) == 2, "what was passed over without an answer comes before what was put off"
        place.answered([2, 3, 4])
        assert place.after(5) == 1
        place.answered([5])
        assert (place.first(), place.left) == (1, 1)
        assert place.after(1) is None

    def test_what_is_being_written_is_not_come_back_to(self) -> None:
        place = self.place(3)
        for position in (1, 2):
            place.begin(position)
        assert place.after(3) is None
        assert place.left == 1
        place.answered([1], answered=False)  # the write failed
        assert place.after(3) == 1
        assert place.done == set()

    def test_skipping_and_taking_back(self) -> None:
        place = self.place(3)
        place.put_off(2, "skip")
        assert (place.after(1), place.total, place.left) == (3, 2, 2)
        place.put_off(2, "return")
        assert (place.after(1), place.total, place.left) == (2, 3, 3)
        place.answered([2])
        place.put_off(2, "defer")
        assert place.deferred == [], "it is answered"
        place.answered([2], answered=False)
        assert (place.deferred, place.first(), place.after(1)) == ([2], 1, 3), "its undo: put off again, as on disk"

    def test_ends(self) -> None:
        place = self.place(2)
        assert (place.beside(1, -1), place.beside(1, 1), place.beside(2, 1)) == (None, 2, None)
        place.answered([1, 2])
        assert (place.first(), place.after(1), place.left) == (None, None, 0)

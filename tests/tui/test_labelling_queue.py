"""The labelling queue: one key labels, saves and shows the next; undo over restarts; nothing lost or overwritten."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from reach_tui.analyze.sampling import Recipe
from reach_tui.base.errors import LabelError
from reach_tui.base.paths import labels_file
from reach_tui.labels.queues import Queue, put_off_by
from reach_tui.labels.store import LabelStore
from reach_tui.tui.app import ReachApp
from reach_tui.tui.screens.dialogs import HelpDialog, NoteDialog, PickDialog
from reach_tui.tui.screens.notes import NotesScreen
from reach_tui.tui.screens.queue import QueueScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.workspace import Settings, Workspace
from reach_tui.workspace.queueing import all_queues, make_queue
from tests.tui.kit import DATA, ROOT, running, screen_text, shows, until

PERI = DATA / "peri" / "schema_17.db"


def on_disk() -> list[dict[str, Any]]:
    """The rows of the log, read by another connection."""
    with sqlite3.connect(labels_file()) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM label ORDER BY id")]


def in_force() -> dict[str, tuple[str, str]]:
    """Call key: category and person, of what is in force."""
    store = LabelStore.open(labels_file())
    return {str(one.call_key): (str(one.category), one.by) for one in store.all_in_force()}


async def open_queue(app: ReachApp, pilot: Pilot[int], keys: str = "L") -> QueueScreen:
    """The queue's screen, its first item read."""
    await pilot.press(keys)
    await until(lambda: isinstance(app.screen, QueueScreen) and app.screen.desk is not None)
    assert isinstance(app.screen, QueueScreen)
    await until(lambda: queue_of(app).item is not None or queue_of(app).position is None)
    await pilot.pause()
    return app.screen


def queue_of(app: ReachApp) -> QueueScreen:
    """The queue's screen, which must be in front."""
    assert isinstance(app.screen, QueueScreen)
    return app.screen


async def rows(count: int) -> None:
    """Until the log has so many rows."""
    await until(lambda: labels_file().exists() and len(on_disk()) == count)


async def standing(count: int) -> None:
    """Until so many labels are in force."""
    await until(lambda: len(in_force()) == count)


def draw(size: int, **recipe: Any) -> Queue:
    """A queue of some calls, drawn before the program starts."""
    workspace = Workspace([PERI], Settings(by="dev"))
    work = make_queue(workspace, workspace.found.sources, Recipe(size=size, **recipe))
    try:
        while True:
            next(work)
    except StopIteration as end:
        queue: Queue = end.value
        return queue
    finally:
        workspace.close()


async def saved(app: ReachApp, word: str = "saved") -> None:
    """Until the head says that what was done is on disk."""
    await until(lambda: word in queue_of(app).status[0])


async def test_hundred_keys_label_a_hundred_calls_and_ten_are_undone_after_a_restart() -> None:
    """Issue 7: the file holds exactly that, however often the program was started in between."""
    settings = Settings(by="dev")
    async with running([PERI], settings=settings) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        keys = [item.call_key for item in screen.desk.queue.items][:100]
        digits = [str(number % 10) for number in range(len(keys))]
        for digit in digits:
            await pilot.press(digit)
        await until(lambda: screen.desk is not None and len(screen.desk.place.done) == len(keys))
        assert f"{len(keys)} of " in screen_text(app)
    taxonomy = Workspace().taxonomy
    expected = {key: str(taxonomy.by_key(digit).id) for key, digit in zip(keys, digits, strict=True)}  # type: ignore[union-attr]
    assert [row["call_key"] for row in on_disk()] == keys
    assert {row["call_key"]: row["category"] for row in on_disk()} == expected
    async with running([PERI], settings=settings) as (app, pilot):
        screen = await open_queue(app, pilot)
        for number in range(10):
            await pilot.press("u")
            await rows(len(keys) + number + 1)
        await until(lambda: screen.position == len(keys) - 9)
    log = on_disk()
    assert [row["action"] for row in log] == ["label"] * len(keys) + ["undo"] * 10
    assert [row["call_key"] for row in log[len(keys) :]] == keys[:-11:-1]
    assert {key: category for key, (category, _) in in_force().items()} == {key: expected[key] for key in keys[:-10]}


async def test_one_key_saves_and_shows_the_next() -> None:
    """G9, G6: no second key, and what the head says is on disk."""
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        first, before = screen.item, screen_text(app)
        assert first is not None
        await pilot.press("4")
        await saved(app)
        assert [(row["call_key"], row["category"]) for row in on_disk()] == [(first.item.call_key, "stale_context")]
        assert screen.position == 2
        await pilot.pause()
        assert screen_text(app) != before
        await shows(app, "1 of ", "item 2 ·")


async def test_the_label_says_how_the_call_was_shown() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        await pilot.press("1")
        await saved(app)
        await pilot.press("b", "2")
        await rows(2)
        told = [json.loads(row["shown"]) for row in on_disk()]
        assert [(one["blind"], one["position"], one["queue"]) for one in told] == [
            (True, 1, screen.desk.queue.id), (False, 2, screen.desk.queue.id)
        ]  # fmt: skip
        assert all(0 <= one["spent_ms"] < 60_000 for one in told)


async def test_blind_hides_verdict_and_others_until_answered() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        while screen.item is None or screen.item.judged is None or not screen.item.judged.verdict.rule:
            await pilot.press("n")
            await pilot.pause()
        judged, source = screen.item.judged, screen.item.source
        assert source is not None
        other = app.workspace.make_label(source, judged, "model_reasoning", note="seen by ann")
        app.workspace.label_store(source).save(replace(other, by="ann"))
        screen.items.clear()
        screen.want()
        await until(lambda: screen.item is not None and bool(screen.item.labels))
        screen.redraw()
        hidden = (str(judged.verdict.rule), "HIDDEN", "seen by ann", "The store says")
        await pilot.pause()
        assert not [word for word in hidden if word in screen_text(app)]
        await shows(app, "hidden until you answer")
        await pilot.press("b")
        await shows(app, str(judged.verdict.rule), "seen by ann")
        await pilot.press("b")
        await pilot.press("0")
        await saved(app)
        await pilot.press("p")
        await shows(app, str(judged.verdict.rule), "seen by ann", "yours: not_a_failure")
        assert in_force()[judged.call.key] in (("model_reasoning", "ann"), ("not_a_failure", "dev"))
        assert sorted(row["by"] for row in on_disk()) == ["ann", "dev"]  # G10: both kept


async def test_refine_repeat_note_first_cause() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        await pilot.press("4")
        await saved(app)
        await pilot.press("semicolon")
        await until(lambda: isinstance(app.screen, PickDialog))
        await pilot.press("1")
        await rows(2)
        assert on_disk()[1]["subcategory"] == "stale_edit"
        assert screen.position == 2, "refining stays where one is"
        await pilot.press("full_stop")
        await rows(3)
        assert (on_disk()[2]["category"], on_disk()[2]["subcategory"]) == ("stale_context", "stale_edit")
        await pilot.press("p", "e")
        await until(lambda: isinstance(app.screen, NoteDialog))
        await pilot.press(*"1 u?", "enter")  # a text field swallows the keys
        await rows(4)
        assert on_disk()[3]["note"] == "1 u?"
        await pilot.press("f")
        await rows(5)
        assert [row["first_cause"] for row in on_disk()] == [0, 0, 0, 0, 1]
        assert on_disk()[4]["note"] == "1 u?"
        await pilot.press("2")
        await rows(6)
        last = on_disk()[5]
        assert (last["category"], last["note"], last["first_cause"]) == ("invalid_parameter", "1 u?", 1)
        assert len(in_force()) == 2


async def test_an_empty_note_makes_no_label() -> None:
    """G6: no blank draft."""
    async with running([PERI]) as (app, pilot):
        await open_queue(app, pilot)
        await pilot.press("e")
        await until(lambda: isinstance(app.screen, NoteDialog))
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, QueueScreen))
        await pilot.press("e")
        await until(lambda: isinstance(app.screen, NoteDialog))
        await pilot.press("space", "x", "escape")
        await until(lambda: isinstance(app.screen, QueueScreen))
    assert on_disk() == []


async def test_put_off_comes_back_last_and_skipped_not_at_all() -> None:
    draw(6)
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        queue = screen.desk.queue
        await pilot.press("space", "s")
        assert screen.position == 3
        for _ in range(len(queue.items) - 2):
            await pilot.press("0")
        await until(lambda: screen.position == 1)
        await pilot.press("0")
        await until(lambda: screen.position is None)
        await shows(app, "are done")
        with LabelStore.open(labels_file()) as store:
            assert put_off_by(store, queue.id, "dev") == [(1, "defer"), (2, "skip")]
        assert queue.items[1].call_key not in in_force()
        assert len(in_force()) == len(queue.items) - 1


async def test_one_comes_back_to_the_same_place() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        await pilot.press("3", "space", "3")
        await standing(2)
        await pilot.press("escape")
        screen = await open_queue(app, pilot)
        assert screen.position == 4
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.position == 4
        assert len(all_queues(app.workspace)) == 1
    async with running([PERI], settings=Settings(by="ann")) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.position == 1, "everybody has a place of their own"


async def test_identical_failures_are_labelled_together_and_undone_in_one_step() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        while screen.item is None or not screen.item.alike:
            assert screen.position is not None
            assert screen.position < len(screen.desk.queue.items)
            await pilot.press("n")
            await pilot.pause()
        group = {one.call.key for one in screen.item.alike} | {screen.item.item.call_key}
        position = screen.position
        await pilot.press("m", "4")
        await rows(len(group))
        assert set(in_force()) == group
        assert len({row["batch"] for row in on_disk()}) == 1
        await saved(app)
        await pilot.press("u")
        await saved(app, "undone")
        assert in_force() == {}
        assert screen.position is not None
        assert screen.position <= position  # type: ignore[operator]
        await pilot.press("U")
        await saved(app, "redone")
        assert set(in_force()) == group


async def test_five_cleared_labels_come_back_one_by_one() -> None:
    """G8."""
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        await pilot.press(*"12345")
        await standing(5)
        for count in (4, 3, 2, 1, 0):
            await pilot.press("u")
            await standing(count)
        for count in (1, 2, 3, 4, 5):
            await pilot.press("U")
            await standing(count)
        categories = [category for category, _ in in_force().values()]
        assert len(set(categories)) == 5
        assert screen.desk is not None
        await until(lambda: screen.desk is not None and len(screen.desk.place.done) == 5)


async def test_a_failing_disk_is_told_and_the_item_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.desk is not None
        await pilot.press("1")
        await saved(app)

        def full(*_: object) -> None:
            raise LabelError("the label was not saved: the disk is full", labels_file(), "make room, then label again")

        with monkeypatch.context() as patch:
            patch.setattr(LabelStore, "save", full)
            await pilot.press("2")
            await saved(app, "NOT saved")
            await shows(app, "the disk is full")
            assert screen.position == 2
            assert screen.desk.place.done == {1}
            assert len(on_disk()) == 1
        await pilot.press("2")
        await standing(2)
        assert screen.position == 3


async def test_open_coding_first_classes_later() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        await pilot.press("o", "4")
        await shows(app, "open coding")
        assert on_disk() == []
        for number in range(3):
            await pilot.press("e")
            await until(lambda: isinstance(app.screen, NoteDialog))
            await pilot.press(*f"note{number}", "enter")
            await rows(number + 1)
            await until(lambda: isinstance(app.screen, QueueScreen))
        assert screen.position == 4
        assert [(row["category"], row["note"]) for row in on_disk()] == [
            ("uncoded", f"note{number}") for number in range(3)
        ]
        await pilot.press("N")
        await shows(app, "note0", "note1", "note2", "notes without a class · 3")
        await pilot.press("space", "space", "7")
        await shows(app, "notes without a class · 1", "2 notes saved as upstream_error")
        assert [row["category"] for row in on_disk()[3:]] == ["upstream_error"] * 2
        assert [row["note"] for row in on_disk()[3:]] == ["note0", "note1"]
        await pilot.press("u")
        await shows(app, "notes without a class · 3", "2 labels undone")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen))
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, NotesScreen))
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, QueueScreen))


async def test_notes_given_a_class_while_leaving_are_saved() -> None:
    workspace = Workspace([PERI], Settings(by="dev"))
    source = workspace.found.sources[0]
    call = next(one for one in workspace.judged_calls(source) if one.hidden)
    workspace.save_label(source, call, workspace.make_label(source, call, "uncoded", note="odd"))
    workspace.close()
    async with running([PERI]) as (app, pilot):
        await pilot.press("N")
        await shows(app, "odd")
        busy = threading.Event()
        app.on_label_thread(lambda: [busy.wait(20)].clear())
        await pilot.press("7", "escape")
        await until(lambda: not isinstance(app.screen, NotesScreen))
        busy.set()
        await rows(2)
    assert in_force() == {call.call.key: ("upstream_error", "dev")}


async def test_enter_opens_the_call_and_escape_comes_back() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.item is not None
        key = screen.item.item.call_key
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        assert isinstance(app.screen, SessionScreen)
        assert app.screen.current_call is not None
        assert app.screen.current_call.call.key == key
        await pilot.press("6")
        await rows(1)
        await pilot.press("escape")
        await until(lambda: app.screen is screen and screen.item is not None)
        await until(lambda: screen.desk is not None and screen.desk.place.done == {1})


async def test_people_who_disagree_are_shown_side_by_side_and_settled() -> None:
    with LabelStore.open(labels_file()) as store:
        workspace = Workspace([PERI], Settings(by="ann"))
        source = workspace.found.sources[0]
        calls = [one for one in workspace.judged_calls(source) if one.verdict.failed][:3]
        for by, categories in (("ann", ("stale_context", "context_gap", "context_gap")), ("bob", ("context_gap",) * 3)):
            for call, category in zip(calls, categories, strict=True):
                store.save(replace(workspace.make_label(source, call, category), by=by))
    async with running([PERI], settings=Settings(by="ann")) as (app, pilot):
        await open_queue(app, pilot)
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, PickDialog))
        dialog = app.screen
        assert isinstance(dialog, PickDialog)
        digit = next(one.digit for one in dialog._choices if one.id == "disputes")
        await pilot.press(digit)
        await until(lambda: isinstance(app.screen, QueueScreen) and app.screen.desk is not None)
        await shows(app, "ann: stale_context", "bob: context_gap", "0 of 1", "disagreements")
        await pilot.press("4")
        await saved(app)
    roles = {(row["by"], row["role"], row["category"]) for row in on_disk() if row["call_key"] == calls[0].call.key}
    given = {("ann", "annotator", "stale_context"), ("bob", "annotator", "context_gap")}
    assert roles == given | {("ann", "adjudicator", "stale_context")}
    with LabelStore.open(labels_file()) as store:
        assert len(store.of_call(source.kind, calls[0].call.session_id, calls[0].call.key)) == 3


async def test_a_label_that_fails_after_one_left_is_still_said(monkeypatch: pytest.MonkeyPatch) -> None:
    draw(4)
    go_on = threading.Event()

    def full(*_: object) -> None:
        go_on.wait(20)
        raise LabelError("the label was not saved: the disk is full", labels_file())

    async with running([PERI]) as (app, pilot):
        await open_queue(app, pilot)
        monkeypatch.setattr(LabelStore, "save", full)
        await pilot.press("2", "escape")
        await until(lambda: not isinstance(app.screen, QueueScreen))
        go_on.set()
        await until(lambda: any("NOT saved" in one.message for one in app._notifications))


async def test_rule_and_person_from_the_report() -> None:
    workspace = Workspace([PERI], Settings(by="dev"))
    source = workspace.found.sources[0]
    call = next(one for one in workspace.judged_calls(source) if one.hidden)
    workspace.save_label(source, call, workspace.make_label(source, call, "not_a_failure"))
    workspace.close()
    async with running([PERI]) as (app, pilot):
        await pilot.press("R", "L")
        await until(lambda: isinstance(app.screen, PickDialog))
        dialog = app.screen
        assert isinstance(dialog, PickDialog)
        await pilot.press(next(one.digit for one in dialog._choices if one.id == "wrong rules"))
        await until(lambda: isinstance(app.screen, QueueScreen) and queue_of(app).item is not None)
        await shows(app, "rule and person disagree", str(call.verdict.rule), "yours: not_a_failure", "0 of 1")
        await pilot.press("3")
        await shows(app, "all 1 are done")


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.tui.kit import running, until
from tests.tui.test_labelling_queue import open_queue

async def main():
    async with running([Path(sys.argv[1])]) as (app, pilot):
        screen = await open_queue(app, pilot)
        await pilot.press("4")
        await until(lambda: "saved" in screen.status[0])
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_what_the_screen_called_saved_survives_kill_9() -> None:
    """G6: exactly one label after the restart, and the queue goes on behind it."""
    draw(5)
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(PERI), cwd=ROOT)
    assert await ended.wait() == -9
    assert len(in_force()) == len(on_disk()) == 1
    async with running([PERI]) as (app, pilot):
        screen = await open_queue(app, pilot)
        assert screen.position == 2
        await pilot.press("u")
        await saved(app, "undone")
        assert screen.position == 1
    assert in_force() == {}


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_every_key_of_the_sheet_on_every_size(size: tuple[int, int]) -> None:
    """No key fails, whatever comes after whatever, and the sheet names them."""
    draw(8)
    chance = random.Random(size[0])
    keys = ["1", "5", "0", "n", "p", "space", "s", "b", "m", "f", "o", "full_stop", "u", "U", "left", "right", "j", "G"]
    async with running([PERI], size=size) as (app, pilot):
        screen = await open_queue(app, pilot)
        for _ in range(60):
            await pilot.press(chance.choice(keys))
        await pilot.resize_terminal(size[0] + 7, size[1] + 3)
        await pilot.pause()
        assert app.screen is screen
        await until(lambda: not screen.desk.place.pending)  # type: ignore[union-attr]
        place = screen.desk.place  # type: ignore[union-attr]
        fresh = screen.desk.find_place()  # type: ignore[union-attr]
        assert (place.done, place.skipped, place.deferred) == (fresh.done, fresh.skipped, fresh.deferred)
        await pilot.press("question_mark")
        await until(lambda: isinstance(app.screen, HelpDialog))
        await pilot.press("escape")


async def test_remapped_keys_work_in_the_queue() -> None:
    settings = Settings(by="dev", keys={"label-4": "x", "defer": "z"})
    async with running([PERI], settings=settings) as (app, pilot):
        screen = await open_queue(app, pilot)
        await pilot.press("4", "space")
        assert screen.position == 1
        await pilot.press("x")
        await saved(app)
        assert on_disk()[0]["category"] == "stale_context"
        await pilot.press("z")
        assert screen.position == 3


async def test_the_first_cause_is_marked_in_a_session_too() -> None:
    async with running([PERI]) as (app, pilot):
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        session = app.screen
        assert isinstance(session, SessionScreen)
        await pilot.press("h", "f")
        await shows(app, "label the call first")
        await pilot.press("4")
        await rows(1)
        await pilot.press("p")
        await until(lambda: session.current_call is not None and session.current_call.label is not None)
        await pilot.press("f")
        await rows(2)
        await shows(app, "first cause")
        assert on_disk()[1]["first_cause"] == 1

"""One session: stepping, finding failures, the inspector, labels that are on disk before they are shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from textual.pilot import Pilot

from reach_tui.base.hashing import content_hash
from reach_tui.base.paths import labels_file
from reach_tui.tui.app import ReachApp
from reach_tui.tui.screens.detail import DetailScreen
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.widgets.line_view import LinesView
from reach_tui.workspace import Settings
from tests.tui.kit import DATA, SAMPLES, open_session, running, screen_text, session_of, sessions_of, shows, until

PERI = DATA / "peri" / "schema_3.db"


def labels_on_disk() -> list[tuple[str, str, str]]:
    """(call key, category, action) of every row, read by another connection."""
    with sqlite3.connect(labels_file()) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'label'").fetchone():
            return []  # being made
        return connection.execute("SELECT call_key, category, action FROM label ORDER BY id").fetchall()


async def saved(app: ReachApp, pilot: Pilot[int], rows: int) -> None:
    """Wait until the label database has so many rows and the screen has said so."""
    await until(lambda: labels_file().exists() and len(labels_on_disk()) >= rows)
    await until(lambda: bool(session_of(app).status[0]) if isinstance(app.screen, SessionScreen) else True)
    await pilot.pause()


async def test_from_the_list_to_the_first_hidden_error_in_two_keys() -> None:
    async with running([PERI]) as (app, pilot):
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await pilot.press("h")
        await pilot.pause()
        current = session_of(app).current_call
        assert current is not None
        assert current.hidden
        await shows(app, "◆ HIDDEN", "The store says succeeded")


async def test_key_pressed_before_the_session_is_read_is_not_lost() -> None:
    async with running([PERI]) as (app, pilot):
        sessions_of(app).action_open()
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.is_mounted)
        session_of(app).action_next_hidden()
        await until(lambda: session_of(app).loaded)
        await pilot.pause()
        current = session_of(app).current_call
        assert current is not None
        assert current.hidden


async def test_n_and_p_walk_every_failure_and_nothing_else() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        failures = [one.step.number for one in screen.step_list.steps if one.judged and one.judged.verdict.failed]
        seen = []
        while screen.jump(1, hidden=False):
            assert screen.current is not None
            seen.append(screen.current.step.number)
        folded = {row.index: row.repeats for row in screen.step_list.rows if row.repeats > 1}
        covered = set(seen)
        for index, repeats in folded.items():
            covered |= {screen.step_list.steps[index + extra].step.number for extra in range(repeats)}
        assert covered >= set(failures)
        assert set(seen) <= set(failures)
        assert "no further failure" in screen.status[0]
        back = []
        while screen.jump(-1, hidden=False):
            assert screen.current is not None
            back.append(screen.current.step.number)
        assert back == seen[-2::-1]


async def test_label_is_on_disk_before_the_screen_says_so() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h")
        target = screen.current_call
        assert target is not None
        await pilot.press("4")
        await until(lambda: "saved" in screen.status[0])
        assert labels_on_disk() == [(target.call.key, "stale_context", "label")]
        assert screen.step_list.digits == {target.call.key: "4"}
        with sqlite3.connect(labels_file()) as connection:
            shown = connection.execute("SELECT content_hash FROM label").fetchall()
        result = target.call.result.text if target.call.result else None
        assert shown == [(content_hash(target.call.tool, target.call.arguments, result),)]
        assert screen.current_call is not None
        assert screen.current_call.call.key != target.call.key, "the cursor has moved on"
        await pilot.pause()
        await shows(app, "✎4")
        await shows(app, "labels.db")


async def test_fast_digits_label_one_call_each_in_order() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "4", "4", "2", "2")
        await saved(app, pilot, 4)
        rows = labels_on_disk()
        assert [category for _, category, _ in rows] == ["stale_context"] * 2 + ["invalid_parameter"] * 2
        assert len({key for key, _, _ in rows}) == 4
        assert len(screen.step_list.digits) == 4


async def test_refine_note_repeat_undo_redo() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "4")
        await saved(app, pilot, 1)
        await pilot.press("semicolon")
        await until(lambda: isinstance(app.screen, PickDialog))
        await pilot.pause()
        await shows(app, "Stale context")
        await pilot.press("1")
        await saved(app, pilot, 2)
        await pilot.press("e")
        await until(lambda: isinstance(app.screen, NoteDialog))
        await pilot.press(*"[b]q", "enter")
        await saved(app, pilot, 3)
        await pilot.press("full_stop")
        await saved(app, pilot, 4)
        with sqlite3.connect(labels_file()) as connection:
            rows = connection.execute("SELECT category, subcategory, note FROM label ORDER BY id").fetchall()
        assert rows[1] == ("stale_context", "stale_edit", "")
        assert rows[2] == ("stale_context", "stale_edit", "[b]q")
        assert rows[3][:2] == ("stale_context", "stale_edit")
        assert len(screen.step_list.digits) == 2
        await pilot.press("u")
        await until(lambda: len(screen.step_list.digits) == 1)
        assert "undone" in screen.status[0]
        await pilot.press("U")
        await until(lambda: len(screen.step_list.digits) == 2)
        assert [action for _, _, action in labels_on_disk()][-2:] == ["undo", "redo"]


async def test_label_that_cannot_be_saved_is_refused_aloud(tmp_path: Path) -> None:
    blocked = tmp_path / "not-a-folder"
    blocked.write_text("a file where a folder should be")
    settings = Settings(by="dev", labels=blocked / "labels.db")
    async with running([PERI], settings=settings) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "4")
        await until(lambda: "NOT saved" in screen.status[0])
        assert screen.step_list.digits == {}
        assert any("NOT saved" in note.message for note in app._notifications)
        await pilot.press("n")
        assert screen.current_call is not None


async def test_labels_come_back_when_the_program_starts_again() -> None:
    async with running([PERI]) as (app, pilot):
        await open_session(app, pilot)
        await pilot.press("h", "7")
        await saved(app, pilot, 1)
    async with running([PERI]) as (app, pilot):
        rows = sessions_of(app).session_list.rows
        await until(lambda: any(row.judged.labelled for _, row in sessions_of(app).session_list.rows))
        assert rows
        screen = await open_session(app, pilot)
        assert list(screen.step_list.digits.values()) == ["7"]
        await pilot.press("u")
        await until(lambda: not screen.step_list.digits)


async def test_going_back_shows_the_label_count() -> None:
    async with running([PERI]) as (app, pilot):
        await open_session(app, pilot)
        await pilot.press("h", "4")
        await saved(app, pilot, 1)
        await pilot.press("escape")
        await until(lambda: sessions_of(app).session_list.rows[0][1].judged.labelled == 1)
        await pilot.pause()
        await shows(app, "✎ 1")


async def test_folded_repeats_unfold() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        screen = await open_session(app, pilot, "批量通知客户")
        rows = screen.step_list.rows
        fold = next(index for index, row in enumerate(rows) if row.repeats > 1)
        assert rows[fold].repeats == 5
        await shows(app, "×5")
        screen.step_list.cursor = fold
        await pilot.press("right")
        assert all(row.repeats == 1 for row in screen.step_list.rows)
        await pilot.press("left")
        assert any(row.repeats == 5 for row in screen.step_list.rows)


async def test_route_and_slots_side_by_side_with_thresholds() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        await open_session(app, pilot, "帮我看看上周那笔退款到账没")
        screen = session_of(app)
        clarify = next(
            index
            for index, one in enumerate(screen.step_list.steps)
            if one.judged and one.judged.call.route and one.judged.call.slots
        )
        screen.step_list.cursor = screen.step_list.row_of(clarify)
        await pilot.pause()
        text = screen_text(app)
        head = next(line for line in text.splitlines() if "route · recorded" in line)
        assert "slots · recorded" in head
        assert "┊" in text
        assert "gap" in text


async def test_origin_jumps_and_comes_back() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        screen = await open_session(app, pilot, "Refund for order")
        index = next(
            i
            for i, one in enumerate(screen.step_list.steps)
            if one.judged and any(slot.origin_step for slot in one.judged.call.slots or ())
        )
        screen.step_list.cursor = screen.step_list.row_of(index)
        await pilot.press("o")
        assert screen.current is not None
        judged = screen.step_list.steps[index].judged
        assert judged is not None
        assert screen.current.step.number in {slot.origin_step for slot in judged.call.slots or ()}
        await pilot.press("o")
        assert screen.current.step.number == screen.step_list.steps[index].step.number


async def test_search_finds_words_in_results_and_arguments() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        everything = len(screen.step_list.rows)
        await pilot.press("slash", *"not found")
        await until(lambda: screen.hits is not None and len(screen.step_list.rows) < everything)
        assert len(screen.step_list.rows) > 0
        await pilot.press("escape")
        assert len(screen.step_list.rows) == everything


async def test_enter_shows_the_whole_call_and_labels_work_there() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "enter")
        await until(lambda: isinstance(app.screen, DetailScreen))
        await until(lambda: "HIDDEN" in screen_text(app))
        first = screen.current_call
        await pilot.press("4")
        await until(lambda: "saved" in screen.status[0])
        assert first is not None
        assert labels_on_disk()[0][0] == first.call.key
        await pilot.press("escape")
        assert app.screen is screen


async def test_tab_walks_the_panels_and_keys_scroll_there() -> None:
    async with running([PERI], size=(80, 24)) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "tab")
        inspector = screen.query_one("#inspector", LinesView)
        assert inspector.has_focus
        row = screen.step_list.cursor
        await pilot.press("j", "j")
        assert screen.step_list.cursor == row
        await until(lambda: inspector.top == 2)
        await pilot.press("tab")
        assert screen.step_list.has_focus


@pytest.mark.parametrize(
    ("size", "narrow"), [((80, 24), True), ((99, 30), True), ((100, 30), False), ((200, 60), False)]
)
async def test_narrow_screens_stack(size: tuple[int, int], narrow: bool) -> None:
    async with running([SAMPLES / "reach"], size=size) as (app, pilot):
        screen = await open_session(app, pilot)
        steps, inspector = screen.step_list, screen.query_one("#inspector")
        assert (inspector.region.y > steps.region.y) is narrow
        assert steps.size.height >= 8
        if size == (80, 24):
            assert steps.size.height == 8
            await pilot.press("h")
            await pilot.pause()
            text = screen_text(app)
            assert "route  " in text
            assert "slots  " in text


async def test_resize_storm_leaves_the_screen_usable() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        await open_session(app, pilot)
        for size in ((40, 10), (300, 80), (80, 24), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await pilot.press("h")
        await pilot.pause()
        await shows(app, "HIDDEN")


async def test_row_that_cannot_be_parsed_is_shown_raw_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    path.write_bytes(PERI.read_bytes())
    with sqlite3.connect(path) as connection:
        thread, row = connection.execute(
            "SELECT thread_id, min(rowid) FROM messages WHERE role = 'assistant'"
        ).fetchone()
        connection.execute("UPDATE messages SET content = '{broken [red]' WHERE rowid = ?", (row,))
    connection.close()
    async with running([path]) as (app, pilot):
        screen = sessions_of(app)
        index = next(i for i, (_, one) in enumerate(screen.session_list.rows) if one.judged.session.id == thread)
        screen.session_list.cursor = index
        session = await open_session(app, pilot)
        raw = [one for one in session.step_list.steps if one.step.kind == "raw"]
        assert [one.step.text for one in raw] == ["{broken [red]"]
        assert len(session.step_list.steps) > 3
        await shows(app, "unreadable {broken [red]")


async def test_copy_puts_the_record_on_the_clipboard() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "y")
        current = screen.current_call
        assert current is not None
        assert f'"call_key": "{current.call.key}"' in app.clipboard
        await pilot.press("Y")
        assert current.verdict.evidence is not None
        assert app.clipboard == current.verdict.evidence.text


async def test_a_filter_that_finds_nothing_says_so_and_keeps_the_place() -> None:
    async with running([PERI]) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h", "h")
        here = screen.current
        await pilot.press("slash", *"zzq")
        await shows(app, "no step holds “zzq”", "Escape clears the filter", "0 of ")
        assert screen.current is None
        await pilot.press("escape")
        await until(lambda: screen.current is not None)
        assert screen.current is here
        await pilot.press("slash", *"grep", "enter")
        await until(lambda: screen.current is not here)
        hit = screen.current
        await pilot.press("escape")
        await until(lambda: screen.hits is None)
        assert screen.current is hit


async def test_under_a_filter_the_last_hit_is_said_to_be_the_last() -> None:
    async with running([PERI], size=(80, 24)) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("slash", *"not found", "enter")
        await until(lambda: bool(screen.hits))
        counted = f"{len(screen.hits or ())} of {len(screen.step_list.steps)} steps have"
        await shows(app, counted)
        while screen.jump(1, hidden=False):
            assert screen.status[0] == ""
        await shows(app, "no further failure")
        await pilot.press("g")
        await shows(app, counted)


async def test_a_jump_lifts_the_filter_that_hides_where_it_goes() -> None:
    async with running([SAMPLES / "reach"], size=(80, 24)) as (app, pilot):
        screen = await open_session(app, pilot, "Refund for order")
        steps = screen.step_list.steps
        origins = {slot.origin_step for one in steps if one.judged for slot in one.judged.call.slots or ()}
        index, judged = next((i, one.judged) for i, one in enumerate(steps) if one.judged and one.judged.call.slots)
        await pilot.press("slash", *judged.call.tool, "enter")
        await until(lambda: screen.hits == {index})
        await pilot.press("o")
        await shows(app, f"filter lifted; o goes back to step {steps[index].step.number}")
        assert screen.hits is None
        assert screen.current is not None
        assert screen.current.step.number in origins
        there = screen.current.step.number
        await pilot.press("o")
        await pilot.pause()
        assert screen.current is steps[index]
        await pilot.press("slash", *judged.call.tool, "enter")
        await until(lambda: screen.hits == {index})
        screen.go_to_step(there)
        await shows(app, "filter lifted: it hid this step")
        assert screen.current.step.number == there


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 8), ((60, 15), 4), ((80, 40), 15)])
async def test_on_low_screens_the_list_leaves_room_for_the_verdict(size: tuple[int, int], rows: int) -> None:
    async with running([PERI], size=size) as (app, pilot):
        screen = await open_session(app, pilot)
        await pilot.press("h")
        await pilot.pause()
        assert screen.step_list.size.height == rows
        assert screen.step_list.cursor in screen.step_list.seen
        assert "◆ HIDDEN" in screen_text(app)
        assert "The store says succeeded" in screen_text(app)

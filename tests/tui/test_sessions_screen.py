"""The session list: worst first, filtered and sorted as one types, usable whatever cannot be read."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from reach_tui.tui.screens.dialogs import HelpDialog, TextDialog
from reach_tui.workspace import Settings
from tests.tui.kit import DATA, SAMPLES, open_session, running, screen_text, sessions_of, shows, until


async def test_worst_session_is_first_and_chosen() -> None:
    async with running([SAMPLES]) as (app, _):
        rows = sessions_of(app).session_list.rows
        hidden = [row.judged.counts.counts.hidden for _, row in rows if row.judged.counts and not row.depth]
        assert hidden[0] == max(hidden) > 0
        assert sessions_of(app).session_list.cursor == 0
        text = screen_text(app)
        assert "hide errors" in text
        assert "◆" in text


async def test_counts_of_every_session_arrive() -> None:
    async with running([SAMPLES]) as (app, _):
        screen = sessions_of(app)
        assert all(entry.judged.counts is not None for entry in screen.entries.values())
        assert len(screen.sources) == 3


async def test_filter_narrows_as_one_types_and_escape_clears() -> None:
    async with running([SAMPLES]) as (app, pilot):
        screen = sessions_of(app)
        everything = len(screen.session_list.rows)
        await pilot.press("slash", *"refund")
        await pilot.pause()
        found = [row.judged.session for _, row in screen.session_list.rows]
        assert 0 < len(found) < everything
        assert all("refund" in f"{one.title} {one.project}".casefold() for one in found)
        await shows(app, "“refund”")
        await pilot.press("enter")
        assert screen.focused is screen.session_list
        assert 0 < len(screen.session_list.rows) < everything
        await pilot.press("escape")
        assert len(screen.session_list.rows) == everything


async def test_typed_letters_are_no_commands() -> None:
    async with running([SAMPLES]) as (app, pilot):
        await pilot.press("slash", "q", "s", "question_mark")
        await pilot.pause()
        assert sessions_of(app).sort == "hidden"
        assert sessions_of(app).filter is not None


async def test_sort_cycles() -> None:
    async with running([SAMPLES]) as (app, pilot):
        screen = sessions_of(app)
        await pilot.press("s")
        times = [row.judged.session.started_at or 0 for _, row in screen.session_list.rows if not row.depth]
        assert screen.sort == "when"
        assert times[0] == max(times)
        await pilot.press("s", "s")
        calls = [
            row.judged.counts.counts.calls for _, row in screen.session_list.rows if row.judged.counts and not row.depth
        ]
        assert screen.sort == "calls"
        assert calls[0] == max(calls)


async def test_sub_agents_fold_and_unfold() -> None:
    async with running([DATA / "peri" / "schema_3.db"]) as (app, pilot):
        screen = sessions_of(app)
        rows = screen.session_list.rows
        index = next(i for i, (_, row) in enumerate(rows) if row.children and not row.unfolded)
        before, children = len(rows), rows[index][1].children
        screen.session_list.cursor = index
        await pilot.press("right")
        rows = screen.session_list.rows
        assert [row.depth > 0 for _, row in rows[screen.session_list.cursor + 1 :][:children]] == [True] * children
        await pilot.press("left")
        assert len(screen.session_list.rows) <= before


async def test_broken_file_is_told_and_the_rest_stays_usable(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "reach" / "shop.db", tmp_path / "shop.db")
    (tmp_path / "torn.db").write_bytes((SAMPLES / "reach" / "shop.db").read_bytes()[:5000])
    (tmp_path / "empty.db").write_bytes(b"")
    async with running([tmp_path]) as (app, pilot):
        screen = sessions_of(app)
        assert len(screen.entries) > 5
        assert len(screen.problems) == 2
        await shows(app, "2 unreadable")
        await pilot.press("exclamation_mark")
        await pilot.pause()
        dialog = app.screen
        assert isinstance(dialog, TextDialog)
        assert any("torn.db: torn" in line for line in dialog.paragraphs)
        await shows(app, "what could not be read", "torn")
        await pilot.press("escape")
        await open_session(app, pilot)


async def test_nothing_to_show_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database")
    async with running([tmp_path]) as (app, _):
        await shows(app, "no sessions here")
        await shows(app, "reach-tui demo")


async def test_help_lists_every_key_and_mark() -> None:
    async with running([SAMPLES / "reach"], size=(120, 50)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpDialog)
        text = screen_text(app)
        for word in ("filter the list", "sort by the next column", "Marks"):
            assert word in text or await _scrolled_has(app, pilot, word)


async def _scrolled_has(app, pilot, word: str) -> bool:  # type: ignore[no-untyped-def]
    for _ in range(40):
        await pilot.press("j")
        if word in screen_text(app):
            return True
    return False


async def test_arrows_letters_and_pages_move_the_cursor() -> None:
    async with running([SAMPLES], size=(80, 24)) as (app, pilot):
        rows = sessions_of(app).session_list
        last = len(rows.rows) - 1
        page = rows.page()
        for key, expected in (
            ("down", 1), ("j", 2), ("up", 1), ("k", 0), ("up", 0), ("pagedown", page), ("ctrl+d", 2 * page),
            ("pageup", page), ("end", last), ("down", last), ("home", 0), ("G", last), ("g", 0),
        ):  # fmt: skip
            await pilot.press(key)
            assert rows.cursor == expected, key
            assert rows.top <= rows.cursor < rows.top + rows.size.height, f"{key}: the cursor is off screen"


async def test_moving_the_cursor_draws_two_lines_only() -> None:
    async with running([SAMPLES]) as (app, pilot):
        rows = sessions_of(app).session_list
        drawn: list[int] = []
        draw = rows.render_line
        rows.render_line = lambda y: drawn.append(y) or draw(y)  # type: ignore[func-returns-value, method-assign]
        await pilot.press("down")
        await pilot.pause()
        assert sorted(set(drawn)) == [0, 1]


async def test_mouse_opens_a_session() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        screen = sessions_of(app)
        await pilot.click(screen.session_list, offset=(30, 2))
        assert screen.session_list.cursor == 2
        await pilot.click(screen.session_list, offset=(30, 2))
        await until(lambda: app.screen is not screen)


async def test_key_line_can_be_clicked() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        row = screen_text(app).splitlines()[-1]
        await pilot.click("#bottom", offset=(row.index("sort"), 1))
        await pilot.pause()
        assert sessions_of(app).sort == "when"


async def test_remapped_key_works_and_is_shown() -> None:
    settings = Settings(by="dev", keys={"sort": "z"})
    async with running([SAMPLES / "reach"], settings=settings) as (app, pilot):
        await shows(app, "z sort")
        await pilot.press("s")
        assert sessions_of(app).sort == "hidden"
        await pilot.press("z")
        assert sessions_of(app).sort == "when"


async def test_palette_finds_and_runs_a_command() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        screen = sessions_of(app)
        await pilot.press("ctrl+p")
        await until(lambda: app.screen is not screen)
        await pilot.press(*"sort by")
        await until(lambda: "sort by the next column" in screen_text(app))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(lambda: screen.sort == "when")


async def test_clashing_keys_are_refused_by_name() -> None:
    settings = Settings(by="dev", keys={"sort": "j"})
    async with running([SAMPLES / "reach"], settings=settings) as (app, pilot):
        assert any("both" in note.message and "sort" in note.message for note in app._notifications)
        await pilot.press("s")
        assert sessions_of(app).sort == "when"


async def test_q_quits_from_the_first_screen() -> None:
    async with running([SAMPLES / "reach"]) as (app, pilot):
        await pilot.press("q")
        await until(lambda: app._exit)
        assert app.return_code in (0, None)


async def test_no_path_and_hostile_file_name(tmp_path: Path) -> None:
    target = tmp_path / "[red]x[@click=app.quit]q[.db"
    shutil.copy(SAMPLES / "reach" / "shop.db", target)
    (tmp_path / "[b]\x1b[31mbad.db").write_bytes(b"")
    async with running([tmp_path]) as (app, _):
        await shows(app, "[red]x[@click=app.q")
        assert any("[b]bad.db" in note.message for note in app._notifications)


async def test_rows_that_are_not_whole_are_among_what_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    shutil.copy(DATA / "opencode" / "opencode-1.2.20.db", path)
    with sqlite3.connect(path) as connection:
        tool = "json_extract(data, '$.type') = 'tool'"
        row, session = connection.execute(f"SELECT id, session_id FROM part WHERE {tool} LIMIT 1").fetchone()
        connection.execute("UPDATE part SET data = substr(data, 1, 60) WHERE id = ?", (row,))
        connection.execute("UPDATE session SET title = 'half a row' WHERE id = ?", (session,))
    async with running([path]) as (app, pilot):
        await until(lambda: all(one.judged.counts is not None for one in sessions_of(app).entries.values()))
        await pilot.press("exclamation_mark")
        await shows(app, "Rows that are not whole, by session", "1  half a row")
        assert "everything could be read" not in screen_text(app)


async def test_a_session_that_was_found_by_a_filter_stays_chosen_without_it() -> None:
    async with running([DATA / "peri" / "schema_3.db"]) as (app, pilot):
        screen = sessions_of(app)
        last = screen.session_list.rows[-1]
        await pilot.press("slash", *(last[1].judged.session.title or "")[:12], "enter")
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, type(screen)))
        await pilot.press("escape", "escape")
        await until(lambda: screen.filter is None)
        await pilot.pause()
        assert screen.session_list.rows[screen.session_list.cursor][0] == last[0]

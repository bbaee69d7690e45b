"""The replay: stepped through, turned, and what flips, driven by keys."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from reach_tui.model import Session
from reach_tui.native.writer import NativeWriter
from reach_tui.replay.differences import Course, Kind
from reach_tui.tui.app import ReachApp
from reach_tui.tui.knobs import KNOBS, UNCHANGED
from reach_tui.tui.screens.dialogs import NoteDialog
from reach_tui.tui.screens.replay import NumbersDialog, ReplayScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.workspace import JudgedCall, Settings, Source, Workspace
from tests.tui.kit import DATA, ROOT, SAMPLES, open_session, running, screen_text, shows, until
from tests.tui.test_hostile import ATTACK, UNSAFE, attack_store

SHOP = SAMPLES / "reach" / "shop.db"
OPENCODE = DATA / "opencode" / "opencode-1.2.20.db"


async def replayed(app: ReachApp, pilot: Pilot[int], screen: ReplayScreen | None = None) -> ReplayScreen:
    """The replay, made for the settings on screen."""
    await until(lambda: isinstance(app.screen, ReplayScreen) and app.screen.course is not None)
    screen = app.screen if isinstance(app.screen, ReplayScreen) else screen
    assert screen is not None
    await until(lambda: not screen.busy)
    await pilot.pause()
    return screen


def course_of(screen: ReplayScreen) -> Course:
    """What was replayed."""
    assert screen.course is not None
    return screen.course


async def choose(screen: ReplayScreen, pilot: Pilot[int], knob: str) -> None:
    """Tab to a setting."""
    wanted = next(i for i, one in enumerate(KNOBS) if one.id == knob)
    await pilot.press(*["tab"] * ((wanted - screen.knob) % len(KNOBS)))


async def type_in(app: ReachApp, pilot: Pilot[int], text: str) -> None:
    """Type the chosen setting's value."""
    await pilot.press("e")
    await until(lambda: isinstance(app.screen, NoteDialog))
    app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


async def says(app: ReachApp, words: str) -> None:
    """Wait until a notification has these words."""
    await until(lambda: any(words in one.message for one in app._notifications), seconds=10)


async def test_nothing_flips_until_a_threshold_is_turned_and_a_flip_opens_its_numbers() -> None:
    async with running([SHOP]) as (app, pilot):
        await open_session(app, pilot, "Fix the greeting")
        await pilot.press("j", "j", "P")
        screen = await replayed(app, pilot)
        assert screen.current is not None
        assert screen.current.step.number == 3  # where the session's cursor stood
        assert course_of(screen).counts[Kind.FLIP] == 0
        await shows(app, "0 of", "decisions flip", "guard by flag", "0 of 5", "recorded", "as recorded")
        await pilot.press(*["plus"] * 5)
        screen = await replayed(app, pilot)
        assert screen.settings.t1 == 1.0
        flips = course_of(screen).counts[Kind.FLIP]
        assert flips == course_of(screen).replayed.decisions > 0
        await shows(app, f"{flips} of {flips} decisions flip", "1.00*", "clarify")
        await pilot.press("f", "j", "enter")
        await until(lambda: isinstance(app.screen, NumbersDialog))
        await shows(app, "score:", "< t1 1", "gap:", "floor:", "then", "now")
        await pilot.press("escape", "escape", "0")
        screen = await replayed(app, pilot)
        assert screen.settings == UNCHANGED
        assert course_of(screen).counts[Kind.FLIP] == 0
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, SessionScreen))


async def test_guards_count_by_flag_and_by_truth_and_jumps_find_where_they_speak() -> None:
    async with running([SHOP]) as (app, pilot):
        rows = app.screen.session_list.rows  # type: ignore[attr-defined]
        app.screen.session_list.cursor = next(  # type: ignore[attr-defined]
            i for i, (_, row) in enumerate(rows) if "批量通知" in (row.judged.session.title or "")
        )
        await pilot.press("P")
        screen = await replayed(app, pilot)
        await shows(app, "would speak at step 6")
        await pilot.press("n")
        await pilot.pause()
        assert screen.current is not None
        assert screen.current.step.number == 6
        await shows(app, "●●●●●", "5 of 5", "0 of 5", "speaks here")
        await pilot.press("p")
        await shows(app, "no earlier difference")
        await choose(screen, pilot, "guard")
        await pilot.press("minus", "minus", "minus")
        screen = await replayed(app, pilot)
        assert [one.step for one in course_of(screen).differences if one.kind is Kind.GUARD] == [3, 4, 5, 6, 7]
        await choose(screen, pilot, "rule")
        await pilot.press("plus")
        screen = await replayed(app, pilot)
        assert [one.step for one in course_of(screen).differences if one.kind is Kind.GUARD] == [3]
        await type_in(app, pilot, "some error")
        await says(app, "same error, or any error")
        await pilot.press("backspace")
        screen = await replayed(app, pilot)
        assert screen.settings.guard_rule == "same_error"


async def test_limits_breaker_budget_and_retries() -> None:
    async with running([OPENCODE]) as (app, pilot):
        await pilot.press("P")
        screen = await replayed(app, pilot)
        await choose(screen, pilot, "timeout")
        await type_in(app, pilot, "1 ms")
        screen = await replayed(app, pilot)
        killed = [one for one in course_of(screen).replayed.moments if one.timed_out == "good"]
        assert course_of(screen).counts[Kind.KILLED_GOOD] == len(killed) > 0
        await shows(app, "good calls killed")
        await pilot.press("backspace", "plus")
        screen = await replayed(app, pilot)
        assert screen.settings.advised_timeouts
        await shows(app, "timeout p99")
        await pilot.press("backspace")
        await choose(screen, pilot, "budget")
        await type_in(app, pilot, "1 ms")
        screen = await replayed(app, pilot)
        assert screen.settings.budget_ms == 1
        assert course_of(screen).counts[Kind.KILLED_GOOD] > 0
        await pilot.press("end", "home", "right")
        await shows(app, "left of 1 ms")
        await choose(screen, pilot, "breaker")
        await pilot.press("plus")
        await choose(screen, pilot, "retry")
        await pilot.press("plus")
        screen = await replayed(app, pilot)
        assert screen.settings.breaker
        assert screen.settings.retries
        await shows(app, "breaker after 5", "retry on", "closed for")


async def test_a_registry_that_is_edited_is_read_again_and_a_broken_file_keeps_its_last_good_version(
    tmp_path: Path,
) -> None:
    tools = Path(shutil.copytree(ROOT / "reach_tui/registries/shop", tmp_path / "tools"))
    async with running([SHOP]) as (app, pilot):
        await open_session(app, pilot, "Fix the greeting")
        await pilot.press("P")
        screen = await replayed(app, pilot)
        await choose(screen, pilot, "registry")
        await type_in(app, pilot, str(tmp_path / "nothing"))
        await says(app, "no such folder of tools")
        screen = await replayed(app, pilot)
        assert screen.settings == UNCHANGED
        await type_in(app, pilot, str(tools))
        screen = await replayed(app, pilot)
        assert screen.settings.registry == tools
        before = screen.course
        file = tools / "query_refund.yaml"
        text = file.read_text(encoding="utf-8")
        file.write_text("name: [", encoding="utf-8")
        await shows(app, "the last good version counts")
        assert screen.course is before
        file.write_text(text.replace("timeout_ms: ", "timeout_ms: 1", 1), encoding="utf-8")
        await until(lambda: screen.course is not before and not screen.busy, seconds=10)
        await shows(app, "registry read again")


async def test_it_plays_scrubs_and_stops() -> None:
    async with running([OPENCODE], size=(80, 24)) as (app, pilot):
        await pilot.press("P")
        screen = await replayed(app, pilot)
        steps = screen.step_list
        await pilot.press("left_square_bracket", "left_square_bracket", "space")
        await until(lambda: steps.cursor > 0)
        await pilot.press("space")
        await pilot.pause()
        stands = steps.cursor
        await pilot.pause(0.3)
        assert steps.cursor == stands
        await pilot.press("end")
        assert steps.cursor == steps.count - 1
        await pilot.press("left", "pageup")
        assert steps.cursor == max(0, steps.count - 2 - 10)
        await pilot.press("home", "right", "k")
        assert steps.cursor == 0
        await shows(app, f"step 1 of {steps.count}", "×1")
        await pilot.press(*["right_square_bracket"] * 9, "space")
        await shows(app, "×64", "the end")


async def test_keys_typed_fast_end_at_the_last_settings() -> None:
    async with running([SHOP]) as (app, pilot):
        await pilot.press("P")
        await pilot.press(*["minus"] * 4, *["plus"] * 2, "tab", "plus")
        screen = await replayed(app, pilot)
        await until(lambda: not screen.busy)
        assert (screen.settings.t1, screen.settings.gap) == (0.65, 0.2)
        told = [one for one in course_of(screen).replayed.moments if one.after is not None]
        assert {(one.after.thresholds.t1, one.after.thresholds.gap) for one in told if one.after} == {(0.65, 0.2)}


async def test_settings_turned_while_limits_are_read_overtake_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running([OPENCODE]) as (app, pilot):
        await pilot.press("P")
        screen = await replayed(app, pilot)
        begun: list[str] = []
        real = Workspace.judged_calls

        def slow(
            workspace: Workspace, source: Source, session_ids: Iterable[str] | None = None
        ) -> Iterator[JudgedCall]:
            begun.append("session")
            time.sleep(0.3)
            return real(workspace, source, session_ids)

        monkeypatch.setattr(Workspace, "judged_calls", slow)
        await choose(screen, pilot, "timeout")
        await pilot.press("plus")
        await shows(app, "sessions read for the advised limits")
        await pilot.press("backspace")
        await until(lambda: not screen.busy)
        assert screen.settings == UNCHANGED
        assert len(begun) < sum(1 for _ in app.workspace.found.sources[0].reader.sessions())
        assert course_of(screen).counts[Kind.KILLED_GOOD] == 0


async def test_the_file_that_an_edit_believed_in_stands_beside_what_it_held() -> None:
    async with running([SHOP], size=(120, 60)) as (app, pilot):
        await open_session(app, pilot, "Fix the greeting")
        await pilot.press("h", "P")
        screen = await replayed(app, pilot)
        await until(lambda: screen.current is not None and screen.files_at(screen.current) is not None)
        await shows(app, "templates/address.txt", "believed", "held version")


async def test_an_empty_session_and_one_left_while_it_is_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    with NativeWriter(empty) as writer:
        writer.add_session(Session("reach", "s1", title="nothing yet"))
    async with running([empty], size=(80, 24)) as (app, pilot):
        await pilot.press("P")
        await replayed(app, pilot)
        await shows(app, "this session has no steps", "nothing differs")
        await pilot.press("space", "n", "enter", "right", "tab", "plus", "f", "pagedown")
        await replayed(app, pilot)
        await pilot.press("escape")
        await shows(app, "hide errors")
        await pilot.press("P", "escape")
        await shows(app, "hide errors")
        assert "sort" in screen_text(app)


async def test_hostile_texts_are_shown_and_never_obeyed(tmp_path: Path) -> None:
    store = attack_store(tmp_path / "attack.db")
    async with running([store], settings=Settings(by=ATTACK)) as (app, pilot):
        await open_session(app, pilot)
        await pilot.press("j", "P")
        screen = await replayed(app, pilot)
        for keys in (("plus",) * 4, ("tab",) * 11, ("f",), ("enter",)):
            await pilot.press(*keys)
            await pilot.pause()
            assert not UNSAFE.search(screen_text(app))
        await until(lambda: isinstance(app.screen, NumbersDialog))
        assert course_of(screen).counts[Kind.FLIP] == 5
        await pilot.press("escape", "escape", "escape", "escape")
        for key in ("D", "M"):
            await pilot.press(key)
            await pilot.pause(0.3)
            assert not UNSAFE.search(screen_text(app))
            await pilot.press("escape")
        await pilot.press("R")
        await shows(app, "guards")
        for key in ("i", "a"):
            await pilot.press(key)
            await pilot.pause(0.3)
            assert not UNSAFE.search(screen_text(app))
        assert app.is_running

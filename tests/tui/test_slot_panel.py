"""Slots and beliefs on screen: what stands out does so by word and glyph, fits any width, and comes after the step."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.infer.held import Belief, Standing
from reach_tui.model import Slot
from reach_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.slot_panel import MOST, belief_lines, slot_lines, slots_brief
from tests.tui.kit import open_session, running, screen_text, sessions_of, shows, until

PERI = Path(__file__).resolve().parents[1] / "data" / "peri" / "schema_3.db"
STALE = Slot(
    "old_string", "def a():\n  x", "result", "inferred", "step 4 · Read", 4, 1, 0.08,
    "STALE: replaced by your own edit, step 9",
)  # fmt: skip
GAP = Slot("kind", None, "none", "inferred", None, None, 0, 0.0, "GAP: required and absent")
FINE = Slot("path", "src/a.py", "user", "inferred", "step 1 · user", 1, 3, 0.97)
COMPOSED = Slot("new_string", "x", "composed", "inferred")


@pytest.mark.parametrize(("glyphs", "again", "wrong"), [(UNICODE, "↻", "✗"), (ASCII, "r", "x")])
def test_what_stands_out_has_a_word_and_a_glyph(glyphs: Glyphs, again: str, wrong: str) -> None:
    shown = plain(slot_lines([GAP, FINE, STALE, COMPOSED], 70, glyphs))
    lines = shown.splitlines()
    assert "slots" in lines[0]
    assert "inferred" in lines[0]
    assert lines[1].startswith(f"kind       {wrong} GAP none")
    assert lines[1].endswith("0.00")
    assert lines[2].strip() == "required and absent"
    assert "user step 1 · user 3×" in lines[3]
    assert f"old_string {again} STALE result step 4 · Read 1× def a():" in lines[4]
    assert lines[5].strip() == "replaced by your own edit, step 9"
    assert lines[6].endswith("–")
    assert f"{wrong} GAP" in plain([slots_brief([FINE, GAP], 70, glyphs)])


def test_states_without_slots() -> None:
    assert "being inferred" in plain(slot_lines(None, 60, UNICODE, reading=True))
    assert "not recorded by this store" in plain(slot_lines(None, 60, UNICODE))
    assert "the call needs none" in plain(slot_lines([], 60, UNICODE))
    many = [Slot(f"leaf_{number}", number, "composed", "inferred") for number in range(30)]
    assert f"{30 - MOST} more: Enter shows all" in plain(slot_lines(many, 60, UNICODE))
    assert "leaf_29" in plain(slot_lines(many, 60, UNICODE, full=True))


ODD = ["\x1b[31mred", "[bold]x", "号" * 40, "\u202eabc", "a\nb\tc", "x" * 500]
TEXTS = st.text(max_size=30) | st.sampled_from(ODD)
SLOTS = st.builds(
    Slot, TEXTS, TEXTS | st.none() | st.lists(TEXTS, max_size=2), st.sampled_from(["user", "none"]),
    st.just("inferred"),
    TEXTS | st.none(), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.none() | st.floats(-1, 2),
    TEXTS | st.sampled_from(["GAP: x", "STALE: y; z"]),
)  # fmt: skip


@given(st.lists(SLOTS, max_size=6), st.integers(20, 140), st.booleans())
def test_any_slots_fit_any_width(slots: list[Slot], width: int, full: bool) -> None:
    for line in [*slot_lines(slots, width, UNICODE, full=full), slots_brief(slots, width, UNICODE)]:
        assert width_of(line) <= width
        assert not any(char in "".join(text for text, _ in line) for char in "\x1b\n\u202e")


WORDS = st.sampled_from(["stale", "gone", "near", "lines", "absent"])


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, max_size=5), st.integers(20, 140), WORDS)
def test_any_belief_fits_any_width(believed: list[str], held: list[str], width: int, word: str) -> None:
    replaced = 9 if word in ("stale", "gone") else None
    belief = Belief("a.py", tuple(believed), tuple(held), Standing(word, 4, "read", "Read", 0, replaced), 12)
    for line in belief_lines(belief, width, UNICODE):
        assert width_of(line) <= width
        assert "\x1b" not in "".join(text for text, _ in line)


def test_believed_beside_held() -> None:
    belief = Belief("a.py", ("one", "two"), ("one", "2"), Standing("stale", 4, "read", "Read", 0, 9), 12)
    shown = plain(belief_lines(belief, 61, UNICODE)).splitlines()
    assert "believed, step 4" in shown[0]
    assert "held · line 12" in shown[0]
    assert shown[1].split("│")[0].strip() == shown[1].split("│")[1].strip() == "one"
    assert (shown[2].split("│")[0].strip(), shown[2].split("│")[1].strip()) == ("two", "2")
    assert shown[3] == "↻ STALE: replaced by your own change, step 9"
    assert belief_lines(None, 61, UNICODE) == []
    held = Belief("a.py", ("one",), ("one",), Standing("held", 4, "read", "Read", 1))
    assert belief_lines(held, 61, UNICODE) == []
    gone = Belief("a.py", ("one",), (), Standing("absent", 4, "read", "Read"))
    assert "nothing like it" in plain(belief_lines(gone, 61, UNICODE))


# On screen


async def stale_step(screen: SessionScreen) -> int:
    """The place of an edit whose old text is outdated, told and under the cursor; -1 without one."""
    for place, one in enumerate(screen.step_list.steps):
        if one.judged is not None and one.judged.verdict.subcategory == "stale_edit":
            screen.step_list.cursor = screen.step_list.row_of(place)
            await until(lambda: screen.current is not None and not screen.told(screen.current)[2])
            told = screen.told(one)[0].judged
            if told is not None and any("STALE" in slot.note for slot in told.call.slots or ()):
                return place
    return -1


async def test_a_stale_edit_is_told_and_its_origin_is_one_key_away() -> None:
    async with running([PERI], size=(160, 50)) as (app, pilot):
        rows = sessions_of(app).session_list.rows
        place = -1
        for _, row in list(rows)[:12]:
            screen = await open_session(app, pilot, row.judged.session.title or "")
            if (place := await stale_step(screen)) >= 0:
                break
            await pilot.press("escape")
            await until(lambda: not isinstance(app.screen, SessionScreen))
        assert place >= 0
        await shows(app, "slots · inferred", "↻ STALE", "replaced by your own edit, step", "believed, step", "held")
        told = screen.told(screen.step_list.steps[place])[0].judged
        assert told is not None
        origin = next(slot.origin_step for slot in told.call.slots or () if "STALE" in slot.note)
        await pilot.press("o")
        assert screen.current is not None
        assert screen.current.step.number == origin
        await pilot.press("o")
        assert screen.step_list.rows[screen.step_list.cursor].index == place
        await pilot.press("enter")
        await shows(app, "slots · inferred", "STALE: replaced by your own change")


async def test_stepping_on_does_not_wait_for_what_is_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, drawn = count_inferences(monkeypatch)
    async with running([PERI], size=(160, 50)) as (app, pilot):
        screen = await open_session(app, pilot)
        await until(lambda: "being inferred" not in screen_text(app))
        asked.clear()
        drawn.clear()
        for _ in range(30):
            screen.step_list.cursor += 1
        assert len(drawn) == 30  # one a key
        await until(lambda: screen.current is not None and not screen.told(screen.current)[2])
        await until(lambda: "being inferred" not in screen_text(app))
        assert len(drawn) <= 31  # and one when the keys have paused
        await until(lambda: screen._thread is not None and not screen._wanted.is_set())
        assert len(set(asked)) <= 13  # where the cursor rests and around, not where it passed


async def test_a_step_after_a_pause_is_drawn_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    _, drawn = count_inferences(monkeypatch)
    async with running([PERI], size=(160, 50)) as (app, pilot):
        screen = await open_session(app, pilot)
        for _ in range(8):
            rows = screen.step_list
            ahead = rows.steps[rows.rows[rows.cursor + 1].index]
            await until(lambda ahead=ahead: not screen.told(ahead)[2])  # type: ignore[misc]
            await until(lambda: "being inferred" not in screen_text(app))
            drawn.clear()
            await pilot.press("j")
            assert "being inferred" not in screen_text(app)
            assert len(drawn) == 1


async def test_the_thread_ends_with_the_screen() -> None:
    async with running([PERI], size=(160, 50)) as (app, pilot):
        screen = await open_session(app, pilot)
        await until(lambda: screen._thread is not None)
        await pilot.press("escape")
        await until(lambda: screen._thread is not None and screen._thread.is_finished)


def count_inferences(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """The places asked for, and the times the inspector was drawn."""
    from reach_tui.workspace.insights import SessionInsights

    asked: list[int] = []
    drawn: list[int] = []
    of, inspect = SessionInsights.of, SessionScreen.inspect

    def counted_of(self: SessionInsights, steps, place, cancelled=bool):  # type: ignore[no-untyped-def]
        asked.append(place)
        return of(self, steps, place, cancelled)

    def counted_inspect(self: SessionScreen, *, keep_scroll: bool = False) -> None:
        drawn.append(self.step_list.cursor)
        inspect(self, keep_scroll=keep_scroll)

    monkeypatch.setattr(SessionInsights, "of", counted_of)
    monkeypatch.setattr(SessionScreen, "inspect", counted_inspect)
    return asked, drawn


async def test_what_cannot_be_inferred_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from reach_tui.base.errors import ReachError
    from reach_tui.workspace.insights import SessionInsights

    def broken(self: SessionInsights, *_: object) -> None:
        raise ReachError("no registry", "registry", "check it")

    monkeypatch.setattr(SessionInsights, "of", broken)
    async with running([PERI], size=(160, 50)) as (app, pilot):
        screen = await open_session(app, pilot)
        calls = [place for place, one in enumerate(screen.step_list.steps) if one.judged is not None]
        screen.step_list.cursor = screen.step_list.row_of(calls[0])
        await shows(app, "not recorded by this store")
        await until(lambda: any("no registry" in note.message for note in app._notifications))
        await pilot.press("o")
        assert "no slot of this step" in screen.status[0]


@pytest.mark.parametrize(
    ("note", "last"),
    [("3 different order numbers fit: ask instead of guessing", "guessing"), ("one two three four five six " * 9, "…")],
)
def test_what_is_said_of_a_slot_is_whole_or_cut_with_a_mark(note: str, last: str) -> None:
    lines = plain(
        slot_lines([Slot("id", 1, "result", "recorded", "step 5", 5, 3, 0.3, note)], 26, UNICODE)
    ).splitlines()
    assert lines[-1].endswith(last)
    assert len(lines) <= 5

"""Symptoms: one line in the session, the list with cause, action and evidence, and the table over everything."""

from __future__ import annotations

from pathlib import Path

from reach_tui.analyze.symptoms import table
from reach_tui.analyze.symptoms.model import Finding, Shown
from reach_tui.model import Result, Session, StepKind, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.tui.glyphs import ASCII, UNICODE
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.tui.screens.symptoms import SymptomsScreen
from reach_tui.tui.symptom_rows import symptom_rows, symptoms_brief
from tests.tui.kit import DATA, SAMPLES, open_session, running, screen_text, session_of, shows, until

SHOP = SAMPLES / "reach" / "shop.db"


def found(*evidence: Shown, which: int = 1) -> list[Finding]:
    """The table with evidence for one symptom."""
    return [Finding(one, evidence if number == which else ()) for number, one in enumerate(table())]


async def test_a_line_in_the_session_leads_to_the_evidence_and_back_to_its_step() -> None:
    async with running([SHOP]) as (app, pilot):
        screen = await open_session(app, pilot, "批量通知")
        await until(lambda: screen.findings is not None)
        await shows(app, "2 symptoms: a tool is called and fails again and again · a tool that", "D lists")
        await pilot.press("D")
        await until(lambda: isinstance(app.screen, SymptomsScreen))
        await shows(app, "cause", "do ", "notify_customer failed 6 times in a row", "looked for and not found")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen))
        current = session_of(app).current_call
        assert current is not None
        assert current.call.step == 2


async def test_the_table_over_everything_opens_sessions_at_the_step() -> None:
    async with running([SHOP, DATA / "peri" / "schema_3.db"], size=(120, 50)) as (app, pilot):
        await pilot.press("D")
        await until(lambda: isinstance(app.screen, SymptomsScreen) and app.screen.findings is not None)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, SymptomsScreen)
        assert screen.findings is not None
        several = [one for one in screen.findings if one.found]
        assert f"{len(several)} of 10 found" in screen_text(app)
        rows = screen.symptom_list.rows
        index = max(i for i, row in enumerate(rows) if row.shown is not None and row.shown.step is not None)
        screen.symptom_list.cursor = index
        wanted = rows[index].shown
        assert wanted is not None
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await pilot.pause()
        session = session_of(app)
        assert session.judged.session.id == wanted.session_id
        assert session.current is not None
        assert session.current.step.number == wanted.step
        await pilot.press("escape", "escape", "D", "escape")
        await shows(app, "hide errors")


async def test_a_healthy_session_says_nothing_and_its_list_says_so(tmp_path: Path) -> None:
    store = tmp_path / "fine.db"
    with NativeWriter(store) as writer:
        writer.add_session(Session("reach", "s1", title="fine"))
        writer.add_message("s1", StepKind.USER, "look")
        writer.add_call(ToolCall("k", "c", "s1", "read", {"path": "a"}, False, Result("a", 1)))
        writer.add_message("s1", StepKind.ASSISTANT, "done")
    async with running([store], size=(80, 24)) as (app, pilot):
        screen = await open_session(app, pilot)
        await until(lambda: screen.findings is not None)
        assert "symptom:" not in screen_text(app)
        await pilot.press("D")
        await shows(app, "none of the ten symptoms was found", "0 of 10 found")
        await pilot.press("enter", "escape")
        await until(lambda: isinstance(app.screen, SessionScreen))


def test_rows_fit_and_evidence_is_wrapped_not_lost() -> None:
    shown = Shown("s", 7, "k", "退款 " * 30 + "the end")
    for width in (40, 80, 200):
        rows = symptom_rows(found(shown), width, UNICODE, lambda _: "一个很长的会话标题" * 5)
        assert all(width_of(row.line) <= width for row in rows if row.shown is not None)
    rows = symptom_rows(found(shown), 200, ASCII)
    assert "the end" in plain(row.line for row in rows)
    assert sum(row.shown is shown for row in rows) >= 1
    assert "\N{BLACK DIAMOND}" not in plain(row.line for row in rows)


def test_the_line_counts_and_is_cut() -> None:
    shown = Shown("s", 1, None, "words")
    both = [*found(shown), Finding(table()[0], (shown,))]
    assert symptoms_brief(both, 200).startswith("2 symptoms: a tool is called and fails again and again · the same")
    assert len(symptoms_brief(both, 30)) <= 30
    assert symptoms_brief(found(), 80) == ""

"""The metrics on screen: the command's figures, every grouping, definitions, the tasks against, files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from textual.widgets import Input

from reach_tui.analyze.metric_words import WORDS, table
from reach_tui.analyze.outcomes import GROUPS, Outcomes, Task
from reach_tui.report.metrics import over_time
from reach_tui.tui.glyphs import ASCII, UNICODE
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.metric_rows import metric_rows
from reach_tui.tui.screens.dialogs import NoteDialog, PickDialog
from reach_tui.tui.screens.metrics import MetricsScreen, WordsDialog
from reach_tui.tui.screens.report import ReportScreen
from reach_tui.tui.screens.session import SessionScreen
from reach_tui.workspace import Workspace
from reach_tui.workspace.measuring import Measuring, measure, outcomes_record
from tests.tui.kit import ROOT, SAMPLES, running, session_of, shows, until

SHOP = SAMPLES / "reach" / "shop.db"


def measuring(*tasks: Task) -> Measuring:
    """Tasks added up, by week alone."""
    found = Measuring(Workspace([]))
    for number, task in enumerate(tasks):
        found.total.count(task)
        found.groups["week"].setdefault(f"2026-W{20 + number}", Outcomes()).count(task)
        if task.outcome in ("failed", "corrected"):
            found.against.append(task)
    return found


def test_the_page_and_the_screen_have_one_source() -> None:
    assert table() in (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), (
        "print it with: python -m reach_tui.analyze.metric_words"
    )


async def test_figures_groups_definitions_and_tasks_against(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path))
    workspace = Workspace([shop])
    expected = measure(workspace, workspace.found.sources, "tool")
    async with running([shop], size=(120, 50)) as (app, pilot):
        await pilot.press("M")
        await until(lambda: isinstance(app.screen, MetricsScreen) and app.screen.found is not None)
        screen = app.screen
        assert isinstance(screen, MetricsScreen)
        total = expected.total
        await shows(app, f"{total.tasks} tasks with an outcome", f"{total.success} of {total.tasks}", "By tool", "95 %")
        for by in (*GROUPS[1:], GROUPS[0]):
            await pilot.press("b")
            await shows(app, f"By {by}", f"by {by}")
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, WordsDialog))
        await shows(app, WORDS[0][0], "first pass")
        await pilot.press("escape")
        await pilot.pause()
        rows = screen.metric_list.rows
        screen.metric_list.cursor = next(i for i, row in enumerate(rows) if row.task is not None)
        task = rows[screen.metric_list.cursor].task
        assert task == expected.against[0]
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionScreen) and app.screen.loaded)
        await pilot.pause()
        session = session_of(app)
        assert session.judged.session.id == task.session_id
        assert session.current is not None
        assert session.current.step.number == (task.at_step or task.first_step)


async def test_written_to_files_in_every_form(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path))
    workspace = Workspace([shop])
    async with running([shop]) as (app, pilot):
        await pilot.press("R")
        await until(lambda: isinstance(app.screen, ReportScreen) and app.screen.report is not None)
        await pilot.press("M")
        await until(lambda: isinstance(app.screen, MetricsScreen) and app.screen.found is not None)
        for digit, name in (("1", "m.html"), ("2", "m.md"), ("3", "m.json"), ("4", "m.txt")):
            await pilot.press("x")
            await until(lambda: isinstance(app.screen, PickDialog))
            await pilot.pause()
            await pilot.press(digit)
            await until(lambda: isinstance(app.screen, NoteDialog))
            app.screen.query_one(Input).value = str(tmp_path / name)
            await pilot.press("enter")
            await until((tmp_path / name).exists)
    record = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    expected = outcomes_record(measure(workspace, workspace.found.sources, "week").total)
    assert {key: record[key] for key in expected} == expected
    assert set(record["groups"]) == set(GROUPS)
    for name in ("m.html", "m.md", "m.txt"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        for words in ("The four metrics", "By week", "By tool", "Tasks against", "unrecovered", "95 % interval"):
            assert words in text, (name, words)


def test_an_alarm_stands_out_and_missing_decisions_are_said() -> None:
    good = Task("s", 1, 1, "success", "nothing speaks against it", covered=True)
    bad = Task("s", 2, 5, "failed", "read failed", at_step=6, covered=False, cause="tool")
    text = plain(row.line for row in metric_rows(measuring(good, bad), "week", 120, UNICODE, lambda one: one))
    assert "ALARM: below 85 %, a tool is missing" in text
    assert "50.0 %" in text
    assert "2026-W20 █▁ 2026-W21" in text
    assert "tool 1" in text
    unrouted = Task("s", 1, 1, "success", "nothing speaks against it")
    text = plain(row.line for row in metric_rows(measuring(unrouted), "week", 80, ASCII, lambda one: one))
    assert "no decision was recorded" in text
    assert "no task failed or was corrected" in text
    assert "ALARM" not in text
    assert not set("█░▁└") & set(text)


def test_without_a_task_it_says_what_one_is() -> None:
    text = plain(row.line for row in metric_rows(measuring(), "tool", 60, UNICODE, lambda one: one))
    assert "no task has an outcome yet" in text
    assert over_time({}, 20) == ""


def test_rows_fit_their_width() -> None:
    task = Task("会话" * 40, 1, 1, "corrected", "“不对，还是不行”" * 20)
    for width in (60, 80, 120, 200):
        rows = metric_rows(measuring(task, task), "week", width, UNICODE, lambda one: one)
        assert all(width_of(row.line) <= width for row in rows if row.task is not None)

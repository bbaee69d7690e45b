"""A tool whose name is empty is `(no name)` wherever people read it, and stays empty in records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reach_tui.model import Session, StepKind
from reach_tui.native.writer import NativeWriter
from tests.cli.conftest import MISSED, Run, call
from tests.tui.kit import open_session, running, shows

EMPTY = "(no name)"


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    """One session whose two calls of a tool without a name failed."""
    path = tmp_path / "nameless.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s", title="Rename it", started_at=1_780_000_000_000))
        writer.add_message("s", StepKind.USER, "rename it please", turn=1)
        writer.add_call(call("s", 1, "", MISSED))
        writer.add_call(call("s", 2, " \n", MISSED))
        writer.add_message("s", StepKind.ASSISTANT, "done", turn=1)
    return path


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        (["calls"], 2),
        (["search", "not found"], 2),
        (["metrics", "--by", "tool"], 2),
        (["report"], 8),
        (["report", "--inferred"], 8),
        (["report", "--format", "md"], 8),
        (["report", "--format", "html"], 8),
        (["export", "--session", "s"], 2),
        (["export", "--session", "s", "--format", "html"], 2),
    ],
)
def test_every_table_says_that_there_is_no_name(reach: Run, nameless: Path, arguments: list[str], times: int) -> None:
    command, *more = arguments
    ran = reach(command, nameless, *more)
    assert ran.code == 0
    assert ran.out.count(EMPTY) >= times


def test_labels_and_comparisons_say_so_too(reach: Run, nameless: Path) -> None:
    assert reach("label", nameless, "s/c1", "stale_context").code == 0
    assert EMPTY in reach("labels", "list", nameless).out
    assert reach("report", nameless, "--compare", nameless).out.count(EMPTY) >= 14


def test_records_keep_the_name_as_it_is(reach: Run, nameless: Path) -> None:
    assert [record["tool"] for record in reach("calls", nameless, "--jsonl").records] == ["", " \n"]
    answer = json.loads(reach("report", nameless, "--json").out)
    assert {row["tool"] for row in answer["tools"]} == {"", " \n"}
    assert EMPTY not in reach("report", nameless, "--json").out


async def test_the_screens_say_so(nameless: Path) -> None:
    async with running([nameless]) as (app, pilot):
        await open_session(app, pilot)
        await pilot.press("h")
        await shows(app, f"◆ HIDDEN  {EMPTY} · ", f"2 ◆    {EMPTY} ")
        await pilot.press("4", "semicolon")
        await shows(app, f"step 2 {EMPTY}")
        await pilot.press("escape", "escape", "c")
        await shows(app, f"◆  {EMPTY} ")
        await pilot.press("escape", "R")
        await shows(app, f" {EMPTY} ", "in truth")

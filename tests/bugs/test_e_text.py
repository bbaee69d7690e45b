"""Text on a terminal and in files: bugs that other programs had (section E of the list of bug reports)."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.base.text import clean, inline
from reach_tui.stores.catalog import open_store
from tests.cli.conftest import Run
from tests.stores.test_opencode import ASSISTANT, USER, text, tool

Build = Callable[..., Path]
MARKUP = ["[/", "[b + should reply 3", "[/a0/tests/x]", "[red]x", "[@click=app.quit]q[/]", "[data: /messages?id=bb-]"]


@pytest.mark.parametrize("hostile", MARKUP)
def test_e1_e3_markup_is_shown_as_it_is_written(build_opencode: Build, reach: Run, hostile: str) -> None:
    part = tool(name=hostile, call_id=hostile, output=f"Error: {hostile} not found", input={hostile: hostile})
    path = build_opencode(
        {"s": [(USER, [text(hostile)]), (ASSISTANT, [part])]}, sessions=[{"id": "s", "title": hostile}]
    )
    named = path.with_name(f"{hostile.replace('/', '_')}.db")
    path.rename(named)
    assert hostile[:6] in reach("sessions", named).out
    assert hostile[:6] in reach("calls", named).out
    assert reach("calls", named, "--jsonl").records[0]["tool"] == hostile
    for form in ("md", "html", "json"):
        ran = reach("export", named, "--session", "s", "--format", form)
        assert ran.code == 0
        assert hostile[:4] in ran.out
    assert hostile.replace("/", "_")[:5] in reach("calls", named, "--session", "none").err


@pytest.mark.parametrize(
    "wide", ["中文标题很长" * 20, "👩‍👩‍👧‍👦" * 30, "🇨🇭" * 40, "e\u0301" * 80, "שלום" * 30, "a\tb" * 40]
)
def test_e4_columns_are_aligned_by_cells(build_opencode: Build, reach: Run, wide: str) -> None:
    from rich.cells import cell_len

    path = build_opencode({"s": [], "t": []}, sessions=[{"id": "s", "title": wide}, {"id": "t", "title": "plain"}])
    lines = reach("sessions", path).out.rstrip("\n").split("\n")
    assert len(lines) == 3
    assert max(cell_len(line.rstrip()) for line in lines) <= 120
    starts = {
        cell_len(line[: line.index(word)])
        for line, word in zip(lines, ("title", "plain", inline(wide)[:1]), strict=True)
    }
    assert len(starts) == 1


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_e6_half_characters_are_replaced_and_exported(build_opencode: Build, reach: Run, form: str) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = replace(data, '\"done\"', '\"a\\ud83d b\\udcb2\"')")
        connection.commit()
    (record,) = reach("calls", path, "--jsonl").records
    assert record["result"] == "a\ufffd b\ufffd"
    ran = reach("label", path, record["call_key"], "stale_context", "--note", "half \ud83d")
    assert ran.code == 0
    assert reach("export", path, "--session", "s", "--format", form).code == 0
    for kind in ("jsonl", "csv"):
        ran = reach("labels", "export", path, "--format", kind)
        assert ran.code == 0
        ran.out.encode("utf-8")


ESCAPES = ["\x1b[31mred", "\x1b]8;;http://evil\x07link\x1b]8;;\x07", "\x1b]52;c;aGk=\x07", "\x1b[2J", "\x07", "\x9b31m"]


@pytest.mark.parametrize("hostile", ESCAPES)
def test_e7_no_escape_reaches_the_terminal(build_opencode: Build, reach: Run, hostile: str) -> None:
    part = tool(name=f"t{hostile}", call_id="c", output=f"Error: {hostile}")
    path = build_opencode({"s": [(ASSISTANT, [part])]}, sessions=[{"id": "s", "title": hostile}])
    path = path.rename(path.with_name(f"n{hostile.replace('/', '')}.db"))
    for command in (["sessions"], ["calls"], ["calls", "--jsonl"], ["stores"], ["calls", "--session", "none"]):
        ran = reach(command[0], path, *command[1:])
        assert not set(ran.out + ran.err) & {"\x1b", "\x07", "\x9b"}


def test_e7_twenty_thousand_colour_codes_are_quick() -> None:
    noisy = "\x1b[31mx\x1b[0m" * 20_000
    begun = time.process_time()
    assert clean(noisy) == "x" * 20_000
    assert time.process_time() - begun < 0.3


def test_e9_a_line_that_holds_a_line_separator_is_one_record(build_opencode: Build, reach: Run, tmp_path: Path) -> None:
    output = "one\u2028two\u2029three\x85four\x0bfive"
    path = build_opencode({"s": [(ASSISTANT, [tool(output=output)])]})
    out = reach("calls", path, "--jsonl").out
    assert len(out.splitlines()) == 1
    record = json.loads(out)
    assert record["result"] == output
    file = tmp_path / "calls.jsonl"
    file.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    assert reach("import", file, "--into", tmp_path / "all.db").code == 0
    assert [call.result and call.result.text for call in open_store(tmp_path / "all.db").reader.calls()] == [output]
    line = {"id": "1", "tool": "bash", "result_text": f"Error: {output}"}
    file.write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")
    assert len(reach("classify", file).records) == 1


def test_e10_fences_within_fences_keep_the_rest(build_opencode: Build, reach: Run) -> None:
    nested = "````\n```\ninner\n```\n````\n~~~"
    path = build_opencode({"s": [(ASSISTANT, [tool(output=nested), text("after the fence")])]})
    out = reach("export", path, "--session", "s", "--format", "md").out
    inside = False
    fence = ""
    for line in out.split("\n"):
        mark = line.strip()
        if not inside and mark.startswith("```"):
            inside, fence = True, mark[: len(mark) - len(mark.lstrip("`"))]
        elif inside and mark == fence:
            inside = False
        if line.startswith("## 2"):
            assert not inside
            break
    else:
        pytest.fail("the step after the fence is gone")
    assert out.rstrip().endswith("after the fence\n```")


@pytest.mark.parametrize("environment", [{"TERM": "screen", "COLUMNS": "40"}, {"NO_COLOR": "1", "COLUMNS": "300"}])
def test_e12_verdicts_are_words_not_only_colours(
    build_opencode: Build, process: Run, environment: dict[str, str]
) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool("edit", output="Error: oldString not found in content")])]})
    ran = process("calls", path, **environment)
    assert ran.code == 0
    assert "hidden" in ran.out
    assert "\x1b" not in ran.out

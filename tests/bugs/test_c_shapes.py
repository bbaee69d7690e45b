"""Store shapes and versions: bugs that other programs had (section C of the list of bug reports)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.clock import to_iso
from reach_tui.model import StepKind
from reach_tui.stores.catalog import open_store
from tests.cli.conftest import Run
from tests.stores.test_opencode import ASSISTANT, USER, text, tool
from tests.stores.test_peri import assistant, result, use

Build = Callable[..., Path]
NOON = 1_780_000_000_000


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize("command", ["sessions", "calls", "stores"])
def test_c1_tables_of_another_name_are_never_an_empty_list(tmp_path: Path, reach: Run, command: str) -> None:
    path = database(
        tmp_path / "a.db", "CREATE TABLE sessions (id)", "CREATE TABLE messages (id)", "CREATE TABLE parts (id, data)"
    )
    ran = reach(command, path)
    assert ran.code == 2
    assert "opencode in a layout this version cannot read" in ran.err + ran.out


def test_c2_only_the_second_family_of_tables(tmp_path: Path, reach: Run) -> None:
    path = database(
        tmp_path / "opencode.db",
        "CREATE TABLE session_v2 (id TEXT)",
        "CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, data TEXT)",
    )
    ran = reach("calls", path, "--jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "second interface" in ran.err


def test_c4_one_row_in_a_hundred_lacks_keys(build_opencode: Build) -> None:
    parts: list[Any] = [tool(call_id=f"c{number}") for number in range(99)]
    parts.insert(50, {"type": "tool"})
    reader = open_store(build_opencode({"s": [(USER, [text("go")]), (ASSISTANT, parts)]})).reader
    calls = list(reader.calls(["s"]))
    assert sum(call.problem is None for call in calls) == 99
    assert sum("missing" in (call.problem or "") for call in calls) + sum(
        "missing" in trouble.what or "incomplete" in trouble.what for trouble in reader.troubles("s")
    )


def test_c5_an_older_schema_without_columns(build_opencode: Build, build_peri: Build) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    database(path, "ALTER TABLE session DROP COLUMN title", "ALTER TABLE session DROP COLUMN model")
    (session,) = open_store(path).reader.sessions()
    assert (session.title, session.model) == (None, None)
    path = build_peri([assistant([use("a")]), result("a")])
    database(path, "ALTER TABLE threads DROP COLUMN title", "ALTER TABLE messages DROP COLUMN excluded")
    reader = open_store(path).reader
    assert [session.title for session in reader.sessions()] == [None]
    assert len(list(reader.calls())) == 1


def test_c6_a_part_of_a_new_type_is_shown_raw(build_opencode: Build) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool(), {"type": "future-thing", "x": [1]}, tool(call_id="b")])]})
    steps = list(open_store(path).reader.steps("s"))
    assert [step.kind for step in steps] == [StepKind.CALL, StepKind.RAW, StepKind.CALL]
    assert "future-thing" in steps[1].text


def test_c7_typed_blocks_become_text_and_pictures_a_mark(build_peri: Build) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 16_000}
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "source": source}]
    (call,) = open_store(build_peri([assistant([use("a")]), result("a", blocks)])).reader.calls()
    assert call.result is not None
    assert call.result.text == "a[image 48 kB]"


def test_c8_content_as_text_and_as_blocks(build_peri: Build) -> None:
    rows = [assistant("plain"), assistant([{"type": "text", "text": "blocks"}])]
    steps = list(open_store(build_peri(rows)).reader.steps("t1"))
    assert [step.text for step in steps] == ["plain", "blocks"]


@pytest.mark.parametrize("project", ["", None, "x" * 4096, "/home/dev\n/evil\x1b[2J"])
def test_c11_odd_project_names(build_opencode: Build, reach: Run, project: str | None) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]}, sessions=[{"id": "s", "directory": project}])
    assert reach("sessions", path, "--jsonl").records[0]["project"] == (project or None)
    table = reach("sessions", path)
    assert table.code == 0
    assert len(table.out.strip().splitlines()) == 2
    assert "\x1b[2J" not in table.out


def test_c12_rows_without_times_keep_their_order(build_opencode: Build, reach: Run) -> None:
    parts = [tool(call_id=f"c{number}", time={} if number % 2 else {"start": NOON}) for number in range(6)]
    path = build_opencode({"s": [(ASSISTANT, parts)]})
    database(path, "UPDATE part SET time_created = NULL, time_updated = NULL WHERE rowid % 2")
    records = reach("calls", path, "--jsonl").records
    assert [record["call_id"] for record in records] == [f"c{number}" for number in range(6)]
    assert {record["duration_ms"] for record in records if record["started_at"] is None} <= {None}
    assert all(record["duration_ms"] != 0 for record in records)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (NOON, NOON), (NOON // 1000, NOON), (NOON * 1000, NOON), (-5, None), (253_402_300_799_000, None), (0, None),
        ("2026-05-28T20:26:40+00:00", NOON), ("2026-05-28T22:26:40+02:00", NOON), ("yesterday", None),
    ],
)  # fmt: skip
def test_c13_times_in_every_unit(build_opencode: Build, reach: Run, stored: object, shown: int | None) -> None:
    path = build_opencode({"s": []}, sessions=[{"id": "s", "time_created": stored}])
    assert reach("sessions", path, "--jsonl").records[0]["started_at"] == to_iso(shown)


def test_c14_titles_with_tags_are_readable(tmp_path: Path, reach: Run) -> None:
    said = ["<command-name>/clear</command-name>\n<command-message>clear</command-message>", "fix the login"]
    lines = [
        {
            "type": "user", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
            "cwd": "/home/dev", "sessionId": "11111111-1111-4111-8111-111111111111",
            "timestamp": f"2026-06-01T10:00:0{number}.000Z",
            "version": "2.1.197", "isSidechain": False, "message": {"role": "user", "content": words},
        }
        for number, words in enumerate(said)
    ]  # fmt: skip
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [record["title"] for record in reach("sessions", path, "--jsonl").records] == ["fix the login"]


def test_c16_one_part_of_eighty_megabytes(build_opencode: Build) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool(), tool(call_id="b"), tool(call_id="c")])]})
    huge = """UPDATE part SET data = json_set(data, '$.state.output', hex(zeroblob(40000000)))
        WHERE json_extract(data, '$.callID') = 'b'"""
    database(path, huge)
    reader = open_store(path).reader
    assert [session.id for session in reader.sessions()] == ["s"]
    calls = list(reader.calls(["s"]))
    assert [call.id for call in calls] == ["call_1", "b", "c"]
    assert calls[1].result is not None
    assert calls[1].result.bytes == 80_000_000

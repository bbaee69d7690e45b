"""The record commands: the contract's keys, the filters, the forms."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import MISSED, Run, write

DATA = Path(__file__).resolve().parents[1] / "data"
CALL_KEYS = {
    *(
        "store",
        "path",
        "session_id",
        "call_key",
        "call_id",
        "step",
        "turn",
        "tool",
        "arguments",
        "result",
        "result_bytes",
    ),
    *(
        "flagged",
        "failed",
        "hidden",
        "confidence",
        "category",
        "subcategory",
        "rule",
        "evidence",
        "started_at",
        "duration_ms",
    ),
    *("route", "slots", "label", "copy_of"),
}
SESSION_KEYS = {
    *(
        "store",
        "path",
        "session_id",
        "parent_id",
        "title",
        "project",
        "model",
        "started_at",
        "ended_at",
        "turns",
        "calls",
    ),
    *("flagged", "hidden", "failed", "unfinished", "labelled", "tokens", "first_pass", "outcome"),
}
STORE_KEYS = {"path", "store", "title", "version", "sessions", "calls", "access", "verified", "readable", "problem"}
DATABASES = ["opencode/opencode-1.2.20.db", "opencode/opencode-1.14.48.db", "peri/schema_17.db", "peri/schema_min.db"]


@pytest.mark.parametrize("name", DATABASES)
def test_every_store_gives_the_contracts_records(reach: Run, name: str) -> None:
    path = DATA / name
    calls = reach("calls", path, "--jsonl")
    assert (calls.code, calls.err) == (0, "")
    assert calls.records
    for record in calls.records:
        assert record.keys() >= CALL_KEYS
        assert record["path"] == path.name
        assert record["hidden"] == (record["failed"] is True and record["flagged"] is not True)
    keys = [record["call_key"] for record in calls.records]
    assert len(set(keys)) == len(keys)
    sessions = reach("sessions", path, "--jsonl")
    assert sessions.code == 0
    for record in sessions.records:
        assert record.keys() >= SESSION_KEYS
        mine = [call for call in calls.records if call["session_id"] == record["session_id"]]
        assert record["calls"] == len(mine)
        assert record["hidden"] == sum(call["hidden"] for call in mine)
        assert record["flagged"] == sum(call["flagged"] is True for call in mine)
    (store,) = json.loads(reach("stores", path, "--json").out)
    assert store.keys() == STORE_KEYS
    assert store["calls"] == len(calls.records)
    assert store["sessions"] == len(sessions.records)
    assert store["readable"] is True


def test_the_same_records_in_both_forms_and_from_run_to_run(reach: Run, trace: Path) -> None:
    lines = reach("calls", trace, "--jsonl")
    assert json.loads(reach("calls", trace, "--json").out) == lines.records
    assert reach("calls", trace, "--jsonl").out == lines.out
    assert [record["call_key"] for record in lines.records] == [*(f"ses_1/c{n}" for n in (1, 2, 3, 4, 5)), "ses_2/c6"]


def test_a_records_values(reach: Run, trace: Path) -> None:
    record = reach("calls", trace, "--jsonl").records[1]
    assert record["result"] == MISSED
    assert record["result_bytes"] == len(MISSED)
    assert record["flagged"] is False
    assert record["failed"] is True
    assert record["hidden"] is True
    assert record["started_at"] == "2026-06-02T10:00:00.000Z"
    evidence = record["evidence"]
    assert MISSED[evidence["start"] : evidence["end"]] == evidence["text"]
    assert record["route"]["basis"] == "inferred"
    assert record["label"] is None


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--session", "ses_2"], ["ses_2/c6"]),
        (["--session", "ses_2", "--session", "ses_1", "--tool", "edit"], ["ses_2/c6", "ses_1/c2"]),
        (["--tool", "bash"], ["ses_1/c3", "ses_1/c4"]),
        (["--tool", "bas"], []),
        (["--failed"], ["ses_1/c2", "ses_1/c3", "ses_2/c6"]),
        (["--hidden"], ["ses_1/c2", "ses_2/c6"]),
        (["--hidden", "--tool", "edit", "--session", "ses_1"], ["ses_1/c2"]),
        (["--since", "2026-06-03"], ["ses_1/c3", "ses_1/c4", "ses_2/c6"]),
        (["--until", "2026-06-03T10:00:00Z"], ["ses_1/c1", "ses_1/c2"]),
        (["--since", "2026-06-02T10:00:00", "--until", "2026-06-03T12:00:00+02:00"], ["ses_1/c2"]),
        (["--since", "2026-07-01"], []),
    ],
)
def test_filters(reach: Run, trace: Path, options: list[str], wanted: list[str]) -> None:
    ran = reach("calls", trace, "--jsonl", *options)
    assert ran.code == 0
    assert [record["call_key"] for record in ran.records] == wanted


def test_calls_without_a_time_are_said_to_be_left_out(reach: Run, trace: Path) -> None:
    assert "1 calls without a recorded time" in reach("calls", trace, "--jsonl", "--since", "2026-01-01").err


def test_soft_ones_are_counted_in(reach: Run, trace: Path) -> None:
    every = reach("calls", trace, "--jsonl").records
    soft = [record["call_key"] for record in every if record["soft"]]
    assert [record["call_key"] for record in reach("calls", trace, "--jsonl", "--soft").records] == soft
    both = reach("calls", trace, "--jsonl", "--failed", "--soft").records
    assert {record["call_key"] for record in both} == {*soft, "ses_1/c2", "ses_1/c3", "ses_2/c6"}


def test_nothing_is_an_empty_document(reach: Run, trace: Path) -> None:
    assert reach("calls", trace, "--tool", "none", "--json").out == "[]\n"
    assert reach("calls", trace, "--tool", "none", "--jsonl").out == ""
    shown = reach("calls", trace, "--tool", "none")
    assert (shown.code, shown.out) == (0, "")
    assert "no such calls" in shown.err


def test_a_folder_is_every_database_in_it(reach: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.db", prefix="a")
    write(tmp_path / "b.db", prefix="b")
    records = reach("sessions", tmp_path, "--jsonl").records
    assert [(record["path"], record["session_id"]) for record in records] == [
        ("a.db", "a_1"),
        ("a.db", "a_2"),
        ("b.db", "b_1"),
        ("b.db", "b_2"),
    ]


def test_the_table_shows_marks_and_words(reach: Run, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    out = reach("calls", trace).out
    assert "◆ hidden" in out
    assert "✗ flagged" in out
    assert "? no result" in out
    assert "old_string not found" in out
    assert "2026-06-01 09:00" in reach("sessions", trace).out


def test_no_colour_in_pipes_nor_with_no_color(process: Run, trace: Path) -> None:
    for form in ([], ["--json"], ["--jsonl"]):
        assert "\x1b" not in process("calls", trace, *form).out
        assert "\x1b" not in process("calls", trace, *form, NO_COLOR="1", FORCE_COLOR="1").out


def test_the_table_keeps_to_the_terminals_width(process: Run, trace: Path) -> None:
    for width in (60, 80, 200):
        out = process("calls", trace, COLUMNS=str(width)).out
        assert max(len(line.rstrip()) for line in out.splitlines()) <= width


def test_unreadable_bytes_do_not_stop_the_output(process: Run, trace: Path) -> None:
    with sqlite3.connect(trace) as connection:
        connection.execute(
            "UPDATE tool_call SET result = CAST(x'fffe41edb2b2' AS TEXT), arguments = '{\"a\": \"\\ud83d\"}'"
        )
    connection.close()
    ran = process("calls", trace, "--jsonl", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ran.code == 0
    assert len(ran.records) == 6
    assert process("calls", trace, PYTHONIOENCODING="ascii", LC_ALL="C").code == 0
    assert process("export", trace, "--session", "ses_1", LC_ALL="C").code == 0


@pytest.mark.shared
def test_every_recorded_database_is_read_whole(reach: Run, shared: Path) -> None:
    folder = shared / "real_traces" / "opencode"
    stores = json.loads(reach("stores", folder, "--json").out)
    assert len(stores) >= 4
    assert all(store["readable"] for store in stores)
    calls = reach("calls", folder, "--jsonl")
    assert calls.code == 0
    assert len(calls.records) == sum(store["calls"] for store in stores)
    assert any(record["hidden"] for record in calls.records)


def test_stores_names_what_is_absent_with_all(process: Run, tmp_path: Path) -> None:
    shutil.copytree(DATA / "opencode", tmp_path / ".local" / "share" / "opencode")
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": "", "OPENCODE_DB": "", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    few = process("stores", "--jsonl", **environ)
    assert {record["store"] for record in few.records} == {"opencode"}
    every = process("stores", "--all", "--jsonl", **environ)
    absent = {record["store"]: record["problem"] for record in every.records if not record["readable"]}
    assert (every.code, every.records[: len(few.records)]) == (0, few.records)
    assert absent["peri"] == f"not found in {tmp_path}/.peri/threads/threads.db"
    assert "yes" in process("stores", "--all", **environ).out


def test_stores_lists_every_database_also_those_beside_transcripts(reach: Run) -> None:
    ran = reach("stores", DATA, "--jsonl")
    listed = {Path(record["path"]).resolve(): record for record in ran.records}
    databases = {path for suffix in ("*.db", "*.sqlite") for path in DATA.rglob(suffix)}
    assert {path.resolve() for path in databases} <= listed.keys()
    index = listed[(DATA / "copilot_cli" / "session-store.db").resolve()]
    assert (index["store"], index["companion"], index["calls"]) == ("copilot_cli", True, None)


def test_stores_explain_stands_alone_and_is_toml(reach: Run) -> None:
    ran = reach("stores", "--explain", DATA / "peri" / "schema_17.db")
    assert (ran.code, ran.err) == (0, "")
    assert tomllib.loads(ran.out)["session"]["table"] == "threads"
    assert reach("stores", "--explain", DATA / "none.db").code == 2
    assert reach("stores", "--explain", DATA / "peri" / "schema_17.db", "--json").code == 2

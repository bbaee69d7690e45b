"""Labels from the command line: given, listed, exported, imported elsewhere, written back."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"
NOTE = "=cmd|' /C calc'!A0 — “notiz”, 失败\nline two"


@pytest.fixture(params=["opencode/opencode-1.2.20.db", "peri/schema_17.db"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an agent's database in a folder of its own."""
    folder = tmp_path / "agent"
    folder.mkdir()
    return Path(shutil.copy(DATA / request.param, folder))


def keys_of(reach: Run, store: Path) -> list[str]:
    """The call keys of a store."""
    return [record["call_key"] for record in reach("calls", store, "--jsonl", "--no-infer").records]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_label_list_export_import_elsewhere(reach: Run, store: Path, tmp_path: Path, form: str) -> None:
    one, two = keys_of(reach, store)[:2]
    assert reach("label", store, one, "stale_context/stale_edit", "--note", NOTE, "--by", "ann").code == 0
    assert reach("label", store, one, "not_a_failure", "--by", "bob").code == 0
    assert reach("label", store, two, "stale_context", "--by", "ann").code == 0
    assert reach("label", store, two, "invalid_parameter", "--by", "ann").code == 0
    listed = json.loads(reach("labels", "list", store, "--json").out)
    brief = {(label["call_key"], label["by"]): label["category"] for label in listed}
    assert brief == {(one, "ann"): "stale_context", (one, "bob"): "not_a_failure", (two, "ann"): "invalid_parameter"}
    assert {label["target"] for label in listed} == {"same"}
    assert next(label["note"] for label in listed if label["subcategory"] == "stale_edit") == NOTE

    exported = reach("labels", "export", store, "--format", form)
    file = tmp_path / f"labels.{form}"
    file.write_text(exported.out, encoding="utf-8", newline="")
    elsewhere = ["--labels", tmp_path / "team" / "labels.db"]
    assert json.loads(reach("labels", "list", store, "--json", *elsewhere).out) == []
    counts = json.loads(reach("labels", "import", store, file, "--json", *elsewhere).out)
    assert counts == {"imported": 3, "known": 0, "elsewhere": 0, "refused": 0, "unknown_class": 0}
    assert json.loads(reach("labels", "list", store, "--json", *elsewhere).out) == listed
    assert json.loads(reach("labels", "import", store, file, "--json", *elsewhere).out)["imported"] == 0


def test_the_trace_and_its_folder_stay_as_they_are(reach: Run, store: Path) -> None:
    before = store.read_bytes()
    key = keys_of(reach, store)[0]
    assert reach("label", store, key, "stale_context").code == 0
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_a_label_shows_in_calls_and_sessions(reach: Run, store: Path) -> None:
    key = keys_of(reach, store)[0]
    reach("label", store, key, "stale_context/stale_edit", "--by", "ann")
    record = next(one for one in reach("calls", store, "--jsonl").records if one["call_key"] == key)
    assert record["label"]["category"] == "stale_context"
    assert record["label"]["by"] == "ann"
    sessions = reach("sessions", store, "--jsonl").records
    assert sum(one["labelled"] for one in sessions) == 1


def test_exported_lines_carry_call_and_context(reach: Run, trace: Path) -> None:
    reach("label", trace, "ses_1/c2", "stale_context")
    (line,) = reach("labels", "export", trace, "--context", "1").records
    assert line["call"]["call_key"] == "ses_1/c2"
    assert [step["step"] for step in line["context"]] == [line["call"]["step"] - 1, line["call"]["step"] + 1]
    assert line["label"]["category"] == "stale_context"


def test_csv_is_safe_for_a_spreadsheet(reach: Run, trace: Path) -> None:
    reach("label", trace, "ses_1/c2", "stale_context", "--note", "=1+1")
    rows = list(csv.DictReader(io.StringIO(reach("labels", "export", trace, "--format", "csv").out)))
    assert rows[0]["note"] == "'=1+1"


def test_bad_lines_are_named_and_the_others_taken(reach: Run, trace: Path, tmp_path: Path) -> None:
    reach("label", trace, "ses_1/c2", "stale_context")
    good = reach("labels", "export", trace).out
    file = tmp_path / "mixed.jsonl"
    file.write_text("{broken\n" + good + '{"label": {"store": 1}}\n', encoding="utf-8")
    ran = reach("labels", "import", trace, file, "--labels", tmp_path / "b.db", "--json")
    assert ran.code == 2
    assert json.loads(ran.out) == {"imported": 1, "known": 0, "elsewhere": 0, "refused": 2, "unknown_class": 0}
    assert [line.split(": ")[2] for line in ran.err.splitlines()] == ["line 1", "line 3"]


def test_labels_of_other_traces_are_not_taken(reach: Run, trace: Path, store: Path, tmp_path: Path) -> None:
    reach("label", trace, "ses_1/c2", "stale_context")
    file = tmp_path / "labels.jsonl"
    file.write_text(reach("labels", "export", trace).out, encoding="utf-8")
    ran = reach("labels", "import", store, file, "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["elsewhere"] == 1
    assert "not in" in ran.err


def test_a_changed_and_a_vanished_call_are_told_apart(reach: Run, trace: Path, tmp_path: Path) -> None:
    file = ["--labels", tmp_path / "labels.db"]
    for number in (1, 2, 3):
        assert reach("label", trace, f"ses_1/c{number}", "stale_context", *file).code == 0
    with sqlite3.connect(trace) as connection:
        connection.execute("UPDATE tool_call SET result = 'other' WHERE key = 'ses_1/c2'")
        connection.execute("DELETE FROM tool_call WHERE key = 'ses_1/c3'")
    connection.close()
    listed = reach("labels", "list", trace, "--jsonl", *file).records
    assert {one["call_key"]: one["target"] for one in listed} == {
        "ses_1/c1": "same",
        "ses_1/c2": "changed",
        "ses_1/c3": "gone",
    }


def test_write_back_adds_one_table(reach: Run, store: Path) -> None:
    key = keys_of(reach, store)[0]
    reach("label", store, key, "stale_context", "--note", "see")
    connection = sqlite3.connect(store)
    before = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert json.loads(reach("labels", "write-back", store, "--json").out)["labels"] == 1
    connection = sqlite3.connect(store)
    after = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    rows = connection.execute("SELECT call_key, category, note FROM reach_label").fetchall()
    connection.close()
    assert after - before == {"reach_label"}
    assert rows == [(key, "stale_context", "see")]
    assert keys_of(reach, store)[0] == key


def test_write_back_is_refused_while_another_uses_the_file(reach: Run, store: Path) -> None:
    key = keys_of(reach, store)[0]
    reach("label", store, key, "stale_context")
    before = store.read_bytes()
    other = sqlite3.connect(store, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        ran = reach("labels", "write-back", store)
    finally:
        other.close()
    assert ran.code == 2
    assert "no label was written back" in ran.err
    assert store.read_bytes()[:100] == before[:100]


def test_cases_of_labelled_failures_are_read_by_regress(reach: Run, tmp_path: Path) -> None:
    store = Path(shutil.copy(DATA / "opencode/opencode-1.2.20.db", tmp_path))
    calls = reach("calls", store, "--failed", "--jsonl").records
    kinds = [
        ("tool_not_covered/wrong_tool_chosen", "should have searched, tool: grep"),
        ("tool_not_covered/wrong_tool_chosen", "no idea"),
        ("tool_not_covered/capability_missing", ""),
        ("context_gap/intent_underspecified", ""),
        ("invalid_parameter/missing_required", ""),
        ("not_a_failure", ""),
    ]
    for call, (category, note) in zip(calls, kinds, strict=False):
        arguments = ["--note", note] if note else []
        assert reach("label", store, call["call_key"], category, "--by", "ann", *arguments).code == 0
    made = reach("labels", "export", store, "--format", "cases")
    assert made.code == 0
    assert made.err.count("no case") == 1
    assert "tool: NAME" in made.err
    found = {case["category"]: case for case in made.records}
    named = found["tool_not_covered/wrong_tool_chosen"]
    assert (named["tool"], named["forbidden"]) == ("grep", [calls[0]["tool"]])
    assert found["tool_not_covered/capability_missing"]["decision"] == "no_capability"
    assert found["context_gap/intent_underspecified"]["alternatives"] == [calls[3]["tool"]]
    refused = found["invalid_parameter/missing_required"]
    assert (refused["tool"], refused["parameters"]) == (calls[4]["tool"], {})
    origins = {label["uid"] for label in json.loads(reach("labels", "list", store, "--json").out)}
    assert {case["origin"] for case in found.values()} <= origins
    (tmp_path / "cases.jsonl").write_text(made.out, encoding="utf-8")
    assert reach("regress", tmp_path / "cases.jsonl", "--registry", "opencode", "--json").code == 0

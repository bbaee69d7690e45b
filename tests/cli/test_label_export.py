"""Exports of labels: the identity through every form, readable by others, nothing private by default."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import jsonschema_rs
import pandas
import pyarrow.json
import pyarrow.parquet
import pytest

from reach_tui.base.paths import labels_file
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
SCHEMA = json.loads((ROOT / "reach_tui/labels/row.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the labels of `store` are kept once the first test has given them."""
    return tmp_path_factory.mktemp("labelled") / "labels.db"


@pytest.fixture
def store(reach: Run, tmp_path: Path, labelled: Path) -> Path:
    """A copy of a recording whose failures two people labelled."""
    copy = Path(shutil.copy(DATA / "opencode/opencode-1.2.20.db", tmp_path))
    if labelled.exists():
        labels_file().parent.mkdir(parents=True)
        shutil.copy(labelled, labels_file())
        return copy
    for number, call in enumerate(reach("calls", copy, "--failed", "--jsonl").records[:12]):
        for by, category in (("ann", "upstream_error"), ("bo", "not_a_failure" if number % 3 else "context_gap")):
            assert reach("label", copy, call["call_key"], category, "--by", by, "--note", f"n{number}").code == 0
    with closing(sqlite3.connect(labels_file())) as connection:
        connection.execute("VACUUM INTO ?", (str(labelled),))
    return copy


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_export_import_export_gives_the_same_bytes(reach: Run, store: Path, tmp_path: Path, form: str) -> None:
    first, second = tmp_path / f"1.{form}", tmp_path / f"2.{form}"
    assert reach("labels", "export", store, "--format", form, "-o", first).code == 0
    team = ["--labels", tmp_path / "team.db"]
    assert reach("labels", "import", store, first, *team).code == 0
    assert reach("labels", "export", store, "--format", form, "-o", second, *team).code == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1000


def test_readers_of_training_data_load_it(reach: Run, store: Path, tmp_path: Path) -> None:
    file, table = tmp_path / "l.jsonl", tmp_path / "l.parquet"
    assert reach("labels", "export", store, "-o", file).code == 0
    assert reach("labels", "export", store, "--format", "parquet", "-o", table).code == 0
    assert len(pandas.read_json(file, lines=True)) == 24
    assert pyarrow.json.read_json(file).num_rows == 24
    flat = pyarrow.parquet.read_table(table)
    assert flat.num_rows == 24
    assert {"category", "by", "tool", "arguments", "result"} <= set(flat.column_names)


def test_every_row_fits_the_schema(reach: Run, store: Path) -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)
    rows = reach("labels", "export", store).records
    assert rows
    for row in rows:
        assert [error.message for error in validator.iter_errors(row)] == []
    assert not validator.is_valid({**rows[0], "label": {}})


def planted(store: Path) -> str:
    """A secret and a home folder in every result of the store."""
    secret = "sk-" + "a1B2" * 12
    with closing(sqlite3.connect(store)) as connection:
        for row, data in connection.execute("SELECT rowid, data FROM part WHERE data LIKE '%\"tool\"%'").fetchall():
            value = json.loads(data)
            for name in ("output", "error"):
                if isinstance(value.get("state", {}).get(name), str):
                    value["state"][name] += f"\ntoken {secret} in /home/marianne/keys and C:\\Users\\Marianne\\keys"
            connection.execute("UPDATE part SET data = ? WHERE rowid = ?", (json.dumps(value), row))
        connection.commit()
    return secret


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "cases", "dataset"])
def test_nothing_private_leaves_by_default(reach: Run, store: Path, tmp_path: Path, form: str) -> None:
    secret = planted(store)
    out = tmp_path / "out"
    found = reach("labels", "export", store, "--format", form, "-o", out)
    assert found.code == 0
    files = sorted(out.iterdir()) if out.is_dir() else [out]
    whole = b"".join(file.read_bytes() for file in files)
    if form == "parquet":
        whole = json.dumps(pyarrow.parquet.read_table(out).to_pylist()).encode()
    for private in (secret, "marianne", "Marianne"):
        assert private.encode() not in whole
    if form != "cases":
        assert "home folder" in found.err
    if form == "jsonl":
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert all({one["kind"] for one in row["omissions"]} >= {"home folder"} for row in rows)
        plain = reach("labels", "export", store, "--no-redact").out
        assert secret in plain
        assert "marianne" in plain


def test_a_dataset_keeps_what_was_held_back_held_back(reach: Run, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ds"
    assert reach("labels", "export", store, "--format", "dataset", "-o", folder, "--test-share", "0.5").code == 0
    names = {"README.md", "codebook.json", "dataset.json", "dev.jsonl", "schema.json", "test.jsonl"}
    assert {file.name for file in folder.iterdir()} == names
    before = {name: sessions(folder / f"{name}.jsonl") for name in ("dev", "test")}
    assert before["dev"]
    assert before["test"]
    assert not before["dev"] & before["test"]
    for call in reach("calls", store, "--failed", "--jsonl").records[12:]:
        assert reach("label", store, call["call_key"], "context_gap", "--by", "ann").code == 0
    assert reach("labels", "export", store, "--format", "dataset", "-o", folder, "--test-share", "0.5").code == 0
    for name in ("dev", "test"):
        assert before[name] <= sessions(folder / f"{name}.jsonl")
    moved = reach("labels", "export", store, "--format", "dataset", "-o", folder, "--test-share", "0.4")
    assert moved.code == 2
    assert "would move from test to dev" in moved.err
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "`upstream_error`" in readme
    assert "home folder" in readme


def sessions(file: Path) -> set[str]:
    return {json.loads(line)["label"]["session_id"] for line in file.read_text(encoding="utf-8").splitlines()}


def test_a_folder_with_something_else_is_left_alone(reach: Run, store: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x.txt").write_text("mine")
    assert reach("labels", "export", store, "--format", "dataset", "-o", tmp_path / "other").code == 2
    assert reach("labels", "export", store, "--format", "parquet").code == 2
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    found = reach("labels", "import", store, tmp_path / "broken.parquet")
    assert found.code == 2
    assert "not a Parquet file" in found.err

"""`--explain`: what is in a database, and a mapping to start from."""

from __future__ import annotations

import shutil
import sqlite3
import tomllib
from pathlib import Path

import pytest

from reach_tui.base.sqlite import reading, schema_of
from reach_tui.stores.catalog import open_store
from reach_tui.stores.mapping.loader import check, read
from reach_tui.stores.mapping.model import looks_secret
from reach_tui.stores.mapping.propose import explain
from reach_tui.stores.mapping.reader import MappedReader


def test_explain_proposes_a_mapping_that_reads(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    shutil.copyfile(data / "llm" / "llm-0.27.1.db", path)
    Path(f"{path}.mapping.toml").write_text(explain(path), encoding="utf-8")
    reader = open_store(path).reader
    assert isinstance(reader, MappedReader)
    assert len(list(reader.sessions())) == 18
    assert sum(call.flagged is True for call in reader.calls()) == 13


def test_explain_of_any_schema_is_a_mapping_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "1 odd\x1b[2J.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE users (id, password);"
        "CREATE TABLE entry (id, book, at, tool, input, output, ok, api_key);"
        'CREATE TABLE "x""]; y" ("a\nb"); CREATE VIEW v AS SELECT 1 AS one;'
        "INSERT INTO users VALUES ('u', 'hunter2');",
    )
    connection.close()
    text = explain(path)
    assert "#   users: not read" in text
    assert "hunter2" not in text
    assert "\x1b" not in text
    told = read(tomllib.loads(text), path)
    with reading(path) as again:
        check(told, schema_of(again))
    assert told.calls
    assert "api_key" not in [expression.column for _, _, expression in told.places]


@pytest.mark.parametrize(
    "name", ["users", "api_keys", "oauth2_clients", "access_tokens", "mcp_oauth_credentials", "apiKey"]
)
def test_secret_names(name: str) -> None:
    assert looks_secret(name, table=True)


@pytest.mark.parametrize("name", ["user_initiated", "tokens_input", "token_count", "author", "message", "user_data"])
def test_harmless_names(name: str) -> None:
    assert not looks_secret(name, table=True)


@pytest.mark.shared
def test_every_recording_can_be_explained(shared: Path) -> None:
    for path in sorted((shared / "real_traces").rglob("*.db")):
        told = read(tomllib.loads(explain(path)), path)
        with reading(path) as connection:
            check(told, schema_of(connection))

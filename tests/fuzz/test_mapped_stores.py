"""Stores read by a mapping survive what readers survive: damaged files, wrong types in every column."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.stores.catalog import open_store
from reach_tui.stores.mapping.reader import MappedReader
from tests.fuzz.kit import DAMAGES, survive
from tests.fuzz.test_damaged_stores import spoil

TESTS = Path(__file__).resolve().parents[1]
LLM = TESTS / "data" / "llm" / "llm-0.27.1.db"


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    """llm's recorded log with a mapping beside it, which comes before the reader."""
    path = tmp_path / "log.db"
    shutil.copyfile(LLM, path)
    shutil.copyfile(TESTS / "stores" / "mappings" / "llm.toml", f"{path}.mapping.toml")
    assert isinstance(open_store(path).reader, MappedReader)
    return path


@pytest.mark.parametrize("chunk", range(4))
def test_flipped_cut_and_overwritten(mapped: Path, chunk: int) -> None:
    body = mapped.read_bytes()
    for number in range(chunk * 10, chunk * 10 + 10):
        damage = DAMAGES[number % len(DAMAGES)]
        mapped.write_bytes(damage(bytearray(body), random.Random(f"mapped {number}")))
        survive(mapped)


@pytest.mark.parametrize("table", ["conversations", "responses", "tool_calls", "tool_results"])
def test_wrong_types_in_every_column(mapped: Path, table: str) -> None:
    assert spoil(mapped, table, random.Random(table)) > 0
    assert not [fault for fault in survive(mapped) if "damaged" in fault.what]


@pytest.mark.parametrize("seed", range(6))
def test_json_blocks_with_anything_in_them(tmp_path: Path, seed: int) -> None:
    """Crush's layout: blocks of every type whose fields are of every type."""
    chance = random.Random(seed)
    odd: tuple[object, ...] = (
        None,
        True,
        -1,
        1.5,
        "",
        "text",
        [],
        {},
        [[]],
        {"type": "text"},
        "[" * 500,
        "\x1b[2J",
        "\ud83d",
    )

    def block() -> object:
        kind: object = chance.choice(("text", "tool_call", "tool_result", "reasoning", "finish", None, []))
        names = (
            "text",
            "id",
            "name",
            "input",
            "tool_call_id",
            "content",
            "is_error",
            "thinking",
            "message",
            "metadata",
        )
        data = {name: chance.choice(odd) for name in names if chance.random() < 0.8}
        return chance.choice(({"type": kind, "data": data}, {"type": kind, "data": data}, chance.choice(odd)))

    path = tmp_path / "crush.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sessions (id, parent_session_id, title, prompt_tokens, completion_tokens, created_at);"
            "CREATE TABLE messages (session_id, role, parts, created_at, finished_at);"
        )
        for session in ("a", "b", None):
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, 't', 1, 1, 1780308000)", (session, chance.choice("ab"))
            )
            for _ in range(40):
                parts = json.dumps([block() for _ in range(chance.randrange(5))])
                row = (
                    session,
                    chance.choice(("user", "assistant", "tool", None, 7)),
                    parts,
                    chance.choice((1, "x", None)),
                )
                connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, NULL)", row)
        connection.commit()
    assert open_store(path).reader.kind == "crush"
    assert not survive(path)

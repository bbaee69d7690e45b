"""Who is above a few sessions of a large table is looked up row by row, and the same as from all rows."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

from reach_tui.base.sqlite import reading
from reach_tui.stores.kin import rings, rings_of


def table(path: Path, rows: list[tuple[object, object]]) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT)")
        connection.executemany("INSERT INTO session VALUES (?, ?)", rows)
    connection.close()
    return path


def test_rings_of_a_few_are_those_of_all(tmp_path: Path) -> None:
    dice = random.Random(4)
    for number in range(20):
        names = [f"s{one}" for one in range(40)]
        rows: list[tuple[object, object]] = [(one, dice.choice([*names, None, "gone"])) for one in names]
        with reading(table(tmp_path / f"{number}.db", rows)) as connection:
            everything = rings(connection, "session", "id", "parent_id")
            for size in (0, 1, 5, 40):
                some = dice.sample(names, size)
                found = rings_of(connection, "session", "id", "parent_id", some)
                assert found <= everything
                assert found & set(some) == everything & set(some)


def test_a_chain_longer_than_a_query(tmp_path: Path) -> None:
    rows: list[tuple[object, object]] = [(f"s{one}", f"s{(one + 1) % 1200}") for one in range(1200)]
    with reading(table(tmp_path / "ring.db", rows)) as connection:
        every = [name for name, _ in rows]
        assert rings_of(connection, "session", "id", "parent_id", every) == set(every)
        assert rings_of(connection, "session", "id", "parent_id", ["s7"]) == set(every)

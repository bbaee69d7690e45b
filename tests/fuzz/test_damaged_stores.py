"""Damaged copies of every recorded store, the same ones every time."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.fuzz.kit import DAMAGES, stores, survive

STORES = stores()
VARIANTS = int(os.environ.get("REACH_TUI_FUZZ") or 1_000)  # over all stores; more for a night
_EACH = -(-VARIANTS // len(STORES))
CHUNK = 10
HOSTILE = (
    None, 0, -1, 2**62, 1.5, "", "\x1b[2J[/bold]\u202e", "\ud83d".encode("utf-8", "surrogatepass"), b"\xff\x00\xfe",
    "x" * 200_000, "[" * 10_000, '{"a":' * 10_000, "null", "[]", '{"type":[]}', '"\\ud83d"', "9999-99-99T99:99:99Z",
)  # fmt: skip


def copied(name: str, folder: Path) -> Path:
    """A copy of a recorded store with what belongs beside it."""
    source = STORES[name]
    for one in source.parent.glob(f"{source.name}*"):
        shutil.copyfile(one, folder / one.name)
    return folder / source.name


@pytest.mark.parametrize("first", range(0, _EACH, CHUNK))
@pytest.mark.parametrize("name", STORES)
def test_flipped_cut_and_overwritten(name: str, first: int, tmp_path: Path) -> None:
    body = STORES[name].read_bytes()
    for number in range(first, min(first + CHUNK, _EACH)):
        chance = random.Random(f"{name} {number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        path = copied(name, folder)
        damage = DAMAGES[number % len(DAMAGES)]
        path.write_bytes(damage(bytearray(body), chance))
        survive(path)
        shutil.rmtree(folder)


def tables(path: Path) -> list[str]:
    if path.suffix in (".jsonl", ".json"):
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        return [
            name
            for (name,) in names.fetchall()
            if not name.startswith("sqlite_")
            and connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() is not None
        ]


DATABASES = [name for name in STORES if tables(STORES[name])]


@pytest.mark.parametrize("name", DATABASES)
def test_wrong_types_in_every_column(name: str, tmp_path: Path) -> None:
    """Table by table, one cell in six is something that does not belong there."""
    for number, table in enumerate(tables(STORES[name])):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = copied(name, folder)
        changed = spoil(path, table, random.Random(f"{name} {table}"))
        faults = survive(path)
        assert changed == 0 or not [fault for fault in faults if "damaged" in fault.what]
        shutil.rmtree(folder)


def spoil(path: Path, table: str, chance: random.Random) -> int:
    """Put hostile values into a table's cells, as far as its constraints let us; how many were changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute("PRAGMA foreign_keys = 0")
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        connection.execute("BEGIN")
        with suppress(sqlite3.OperationalError):  # no rowid
            rows = [row[0] for row in connection.execute(f'SELECT rowid FROM "{table}" ORDER BY rowid DESC LIMIT 120')]
            for row in rows:
                for column in columns:
                    if chance.random() < 1 / 6:
                        value = chance.choice(HOSTILE)
                        place = chance.choice(("?", "CAST(? AS TEXT)")) if isinstance(value, bytes) else "?"
                        update = f'UPDATE "{table}" SET "{column}" = {place} WHERE rowid = ?'
                        with suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                            connection.execute(update, (value, row))
        changed = connection.total_changes
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return changed


def test_undamaged_stores_are_read_without_a_fault(tmp_path: Path) -> None:
    for number, name in enumerate(STORES):
        folder = tmp_path / str(number)
        folder.mkdir()
        faults = survive(copied(name, folder))
        assert all("without its transcripts" in fault.what for fault in faults), name

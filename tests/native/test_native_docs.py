"""The queries and the DDL of the docs are run, and give what the docs say."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.labels.store import LabelStore
from reach_tui.model import Label
from reach_tui.native.error_types import ERROR_TYPES
from reach_tui.native.schema import LABEL, TABLES, VERSION, ddl

ROOT = Path(__file__).resolve().parents[2]
NATIVE = (ROOT / "docs" / "native.md").read_text(encoding="utf-8")
LABELS = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")
METRICS = re.findall(r"### (.+?)\n.*?```sql\n(.*?)```\n\n((?:\|[^\n]*\n)+)", NATIVE, re.S)


def test_the_docs_have_the_schema_of_the_code() -> None:
    assert ddl() in NATIVE
    assert f"**{VERSION}**" in NATIVE
    assert all(f"| `{table.name}` |" in NATIVE for table in TABLES)
    assert all(f"`{name}`" in LABELS for name in LABEL.names)
    attribution = NATIVE.split("### Failure attribution")[1]
    named = re.findall(r"'(\w+)'", " ".join(re.findall(r"error_type IN \((.*?)\)", attribution, re.S)))
    assert len(named) > 10
    assert set(named) <= {*ERROR_TYPES}


def test_there_is_a_query_for_each_of_the_four_metrics() -> None:
    assert [name for name, _, _ in METRICS] == [
        "End-to-end success", "First-pass rate", "Reach coverage", "Failure attribution",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "sql", "table"), METRICS, ids=[metric[0] for metric in METRICS])
def test_each_query_gives_what_the_docs_show(name: str, sql: str, table: str) -> None:
    with closing(sqlite3.connect(f"file:{ROOT}/sample_traces/reach/shop.db?mode=ro", uri=True)) as connection:
        cursor = connection.execute(sql)
        head = [column[0] for column in cursor.description]
        rows = [[str(value) for value in row] for row in cursor]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert [lines[0], *lines[2:]] == [head, *rows], name


def test_the_query_for_labels_in_force_agrees_with_the_store(tmp_path: Path) -> None:
    (sql,) = re.findall(r"```sql\n(.*?)```", LABELS, re.S)
    path = tmp_path / "labels.db"

    def label(call: str, by: str = "dev") -> Label:
        return Label(
            "peri", "s1", call, None, "stale_context", None, "", by, 1, "reach-failure", 1, None, None, "0.1.0"
        )

    with LabelStore.open(path) as store:
        for call in ("c1", "c2", "c3"):
            store.save(label(call))
        store.save(label("c1", "eve"))
        store.undo("dev")
        expected = sorted((item.id, item.call_key, item.by) for item in store.all_in_force())
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = sorted((row["id"], row["call_key"], row["by"]) for row in connection.execute(sql))
    assert found == expected
    assert [(call, by) for _, call, by in found] == [("c1", "dev"), ("c2", "dev"), ("c1", "eve")]

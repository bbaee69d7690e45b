"""Size: bugs that other programs had (section F of the list of bug reports)."""

from __future__ import annotations

import sqlite3
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from reach_tui.stores.catalog import open_store
from reach_tui.workspace import Workspace, open_paths
from tests.cli.conftest import Run
from tests.stores.test_opencode import ASSISTANT, tool

Build = Callable[..., Path]
PART = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO part SELECT printf('prt_x%07d', i), 'msg_s_000', 's', 1780000000000 + i, 1780000000000 + i,
  json_object('type', 'tool', 'tool', 'read', 'callID', 'c' || i, 'state',
    json_object('status', 'completed', 'input', json_object('n', i), 'output', 'out ' || i)) FROM n"""


def run(path: Path, sql: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()
    return path


@pytest.mark.parametrize("megabytes", [12, 60])
def test_f1_one_huge_result(build_opencode: Build, megabytes: int) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool(), tool(call_id="big")])]})
    grow = f"hex(zeroblob({megabytes * 500_000}))"
    run(path, f"UPDATE part SET data = json_set(data, '$.state.output', {grow}) WHERE data LIKE '%\"big\"%'")
    workspace = Workspace([path])
    (source,) = workspace.found.sources
    begun = time.process_time()
    judged = list(workspace.judged_calls(source))
    assert time.process_time() - begun < 5
    assert [one.call.result and one.call.result.bytes for one in judged] == [4, megabytes * 1_000_000]


def test_f3_forty_thousand_calls_in_one_session_stream(build_opencode: Build) -> None:
    path = run(build_opencode({"s": [(ASSISTANT, [])]}), PART.format(count=40_000))
    reader = open_store(path).reader
    begun = time.process_time()
    assert len(list(islice(reader.calls(["s"]), 100))) == 100
    first = time.process_time() - begun
    assert sum(1 for _ in reader.calls(["s"])) == 40_000
    tracemalloc.start()
    assert sum(1 for _ in islice(reader.calls(["s"]), 3_000)) == 3_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert first < 2
    assert peak < 50_000_000


def test_f4_f5_lists_come_from_the_session_table_alone(build_opencode: Build, reach: Run) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    run(
        path,
        """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO session (id, title, time_created) SELECT 'x' || i, hex(zeroblob(5000)),
        1780000000000 + i FROM n""",
    )
    run(path, "UPDATE part SET data = json_set(data, '$.state.output', hex(zeroblob(20000000)))")
    (source,) = open_paths([path]).sources
    begun = time.process_time()
    assert len(list(islice(source.reader.sessions(), 256))) == 256
    assert time.process_time() - begun < 0.5
    assert sum(1 for _ in source.reader.sessions()) == 3_001


def test_f6_a_huge_file_of_another_kind_is_passed_by(build_opencode: Build, reach: Run) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    for name in ("huge.db", "huge.bin", "huge.jsonl"):
        with open(path.parent / name, "wb") as file:
            file.truncate(734_000_000)  # sparse
    begun = time.monotonic()
    ran = reach("calls", path.parent, "--jsonl")
    assert time.monotonic() - begun < 5
    assert ran.code == 0
    assert len(ran.records) == 1
    assert "huge.db: not an SQLite database" in ran.err


@pytest.mark.parametrize("count", [1_001, 25_000])
def test_f9_every_row_is_counted_and_printed(build_opencode: Build, reach: Run, count: int) -> None:
    path = run(build_opencode({"s": [(ASSISTANT, [])]}), PART.format(count=count))
    assert reach("sessions", path, "--jsonl").records[0]["calls"] == count
    out = reach("calls", path, "--jsonl").out
    assert out.count("\n") == count


@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_json_nested_ten_thousand_deep(build_opencode: Build, build_peri: Build, reach: Run, depth: int) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool(call_id="a"), tool(call_id="deep"), tool(call_id="z")])]})
    deep = "[" * depth + "]" * depth
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            'UPDATE part SET data = replace(data, \'{"command": "ls"}\', ?) WHERE data LIKE \'%"deep"%\'', (deep,)
        )
        connection.commit()
    ran = reach("calls", path, "--jsonl")
    assert ran.code == 0
    assert {"a", "z"} <= {record["call_id"] for record in ran.records}
    steps = list(open_store(path).reader.steps("s"))
    assert len(steps) == 3  # the deep one is a call, or a row shown raw
    into = path.with_name("all.db")
    assert reach("import", path, "--into", into).code == 0
    assert [step.kind for step in open_store(into).reader.steps("s")] == [step.kind for step in steps]

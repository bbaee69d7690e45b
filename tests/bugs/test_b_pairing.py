"""Pairing and counting: bugs that other programs had (section B of the list of bug reports)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.stores.catalog import open_store
from reach_tui.stores.kin import NOTE, in_rings
from reach_tui.stores.reader import Reader
from reach_tui.tui.session_tree import Entry, visible_rows
from reach_tui.workspace import JudgedSession, open_paths
from reach_tui.workspace.filters import parse_filter
from tests.cli.conftest import Run
from tests.stores.test_opencode import ASSISTANT, USER, text, tool
from tests.stores.test_peri import assistant, result, use

Build = Callable[..., Path]


def texts(reader: Reader, session: str) -> list[str | None]:
    return [call.result.text if call.result else None for call in reader.calls([session])]


def test_b1_ids_that_start_again_every_turn(build_opencode: Build, build_peri: Build) -> None:
    turns = [
        one
        for number in (1, 2, 3)
        for one in ((USER, [text("go")]), (ASSISTANT, [tool(call_id="bash:0", output=f"r{number}")]))
    ]
    assert texts(open_store(build_opencode({"s": turns})).reader, "s") == ["r1", "r2", "r3"]
    rows = [one for n in (1, 2, 3) for one in (assistant([use("bash:0", "Bash")]), result("bash:0", f"r{n}"))]
    assert texts(open_store(build_peri(rows)).reader, "t1") == ["r1", "r2", "r3"]


def test_b3_the_same_id_in_two_sessions(build_opencode: Build, build_peri: Build) -> None:
    call = [(ASSISTANT, [tool(call_id="a", output="mine")])]
    other = [(ASSISTANT, [tool(call_id="a", status="running")])]
    reader = open_store(build_opencode({"one": call, "two": other})).reader
    assert (texts(reader, "one"), texts(reader, "two")) == (["mine"], [None])
    reader = open_store(build_peri([assistant([use("a")])], [assistant([use("a")]), result("a", "mine")])).reader
    assert (texts(reader, "t1"), texts(reader, "t2")) == ([None], ["mine"])


def test_b4_one_tool_twice_with_other_arguments(build_peri: Build, reach: Run) -> None:
    path = build_peri([assistant([use("a", path="x"), use("b", path="y")]), result("b", "2"), result("a", "1")])
    records = reach("calls", path, "--jsonl").records
    assert [(one["arguments"], one["result"]) for one in records] == [({"path": "x"}, "1"), ({"path": "y"}, "2")]


def test_b5_a_fork_repeats_its_parents_history(build_opencode: Build, reach: Run) -> None:
    history = [
        (USER, [text("go")]),
        (ASSISTANT, [tool("edit", call_id=f"c{number}", output=f"out {number}") for number in range(20)]),
    ]
    path = build_opencode(
        {"one": history, "two": [*history, (ASSISTANT, [tool(call_id="new")])]},
        sessions=[{"id": "one", "title": "Talk"}, {"id": "two", "title": "Talk (fork #1)", "time_created": 2 * 10**12}],
    )
    records = reach("calls", path, "--jsonl", "--session", "two").records
    assert sum(record["copy_of"] is not None for record in records) == 20
    keys = {record["call_key"] for record in reach("calls", path, "--jsonl", "--session", "one").records}
    assert {record["copy_of"] for record in records} == {*keys, None}


def test_b7_rings_are_cut_and_said_and_depth_is_right(build_opencode: Build) -> None:
    parents = {"self": "self", "a": "b", "b": "a", "root": None, "child": "root", "grandchild": "child", "in": "a"}
    sessions = [{"id": name, "parent_id": parent} for name, parent in parents.items()]
    (source,) = open_paths([build_opencode({name: [] for name in parents}, sessions=sessions)]).sources
    listed = {session.id: session for session in source.reader.sessions()}
    assert {name for name, session in listed.items() if NOTE in session.notes} == {"self", "a", "b"}
    assert all(source.reader.session(name) == session for name, session in listed.items())
    entries = [Entry((0, name), source, JudgedSession(session)) for name, session in listed.items()]
    rows = visible_rows(entries, "when", parse_filter(""))
    assert sorted(key[1] for key, _ in rows) == sorted(parents)
    depth = {key[1]: row.depth for key, row in rows}
    assert [depth[name] for name in ("root", "child", "grandchild", "in", "a", "self")] == [0, 1, 2, 1, 0, 0]


@pytest.mark.parametrize("closed", [False, True])
def test_b7_chains_of_five_thousand(build_peri: Build, closed: bool) -> None:
    count = 5_000
    last = "'t1'" if closed else "NULL"
    extra = f"""WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO threads (id, message_count, updated_at, created_at, parent_thread_id)
        SELECT 't' || i, 1, 'x', '2026-06-01', CASE i WHEN {count} THEN {last} ELSE 't' || (i + 1) END FROM n;
        UPDATE threads SET parent_thread_id = 't2' WHERE id = 't1'"""
    (source,) = open_paths([build_peri([], extra=extra)]).sources
    listed = list(source.reader.sessions())
    assert len(listed) == count
    assert sum(NOTE in session.notes for session in listed) == (count if closed else 0)
    entries = [Entry((0, session.id), source, JudgedSession(session)) for session in listed]
    assert len(visible_rows(entries, "when", parse_filter(""))) == count


def test_b7_what_is_in_a_ring() -> None:
    assert in_rings({}) == frozenset()
    assert in_rings({"a": "b", "b": "c", "c": "b", "d": "a", "e": "gone"}) == {"b", "c"}


def test_b9_three_tasks_answered_in_another_order(build_peri: Build) -> None:
    asked = assistant([use(name, "Task", prompt=name) for name in "abc"])
    answers: list[Any] = [result(name, f"child_thread_id: {name}{name}") for name in "cab"]
    calls = list(open_store(build_peri([asked, *answers])).reader.calls(["t1"]))
    assert [(call.id, call.result and call.result.text) for call in calls] == [
        (name, f"child_thread_id: {name}{name}") for name in "abc"
    ]

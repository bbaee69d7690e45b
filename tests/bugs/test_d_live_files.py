"""SQLite as a live foreign file: bugs that other programs had (section D of the list of bug reports)."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base import answering
from reach_tui.base.errors import StoreLocked, StoreUnreadable
from reach_tui.stores.catalog import open_store
from reach_tui.workspace import open_paths
from tests.cli.conftest import Ran, Run
from tests.stores.test_opencode import ASSISTANT, tool

Build = Callable[..., Path]
HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE session SET title = 'held'")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("COMMIT")
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(path), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "held"
    return process


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_d1_a_short_lock_is_waited_for(build_opencode: Build, journal: str) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    with hold(path, 1.0) as process:
        assert len(list(open_store(path).reader.calls())) == 1
        process.wait()


def test_d1_a_long_lock_is_one_line(build_opencode: Build, process: Run) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    holder = hold(path, 60)
    try:
        begun = time.monotonic()
        with pytest.raises(StoreLocked):
            list(open_store(path).reader.calls())
        assert 1 < time.monotonic() - begun < 6
        ran: Ran = process("calls", path)
    finally:
        holder.kill()
        holder.communicate()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "locked by another process — wait until it has finished" in ran.err


def test_d4_a_whole_session_leaves_the_folder_as_it_was(
    build_opencode: Build, process: Run, snapshot: Callable[[Path], Any]
) -> None:
    path = build_opencode({"s": [(ASSISTANT, [tool()])]})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = snapshot(path.parent)
    for command in (["stores"], ["sessions"], ["calls", "--jsonl"]):
        assert process(command[0], path, *command[1:]).code == 0
    assert process("export", path, "--session", "s", "--format", "md").code == 0
    assert snapshot(path.parent) == before


def test_d8_a_pipe_is_no_database(tmp_path: Path, process: Run) -> None:
    os.mkfifo(tmp_path / "opencode.db")
    for command in ("calls", "sessions", "stores"):
        ran = process(command, tmp_path / "opencode.db")
        assert ran.code == 2
        assert "not a regular file" in ran.err + ran.out
    assert process("import", tmp_path / "opencode.db", "--into", tmp_path / "x.db").code == 2


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path for which the operating system never answers."""
    path = tmp_path / "dead" / "opencode.db"
    real, never = os.stat, threading.Event()

    def stat(name: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if not isinstance(name, int) and os.fspath(name) == os.fspath(path):
            never.wait(60)
        return real(name, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(answering, "PATIENCE", 0.3)
    return path


def test_d8_a_dead_mount_times_out_with_a_line(dead: Path, reach: Run) -> None:
    begun = time.monotonic()
    with pytest.raises(StoreUnreadable, match="does not answer"):
        answering.await_answer(dead)
    found = open_paths([dead])
    assert [problem.what for problem in found.problems] == ["does not answer (0 s)"]
    for command in (["calls"], ["sessions"], ["import", "--into", str(dead.parent.parent / "x.db")]):
        ran = reach(command[0], dead, *command[1:])
        assert ran.code == 2
        assert "a dead network mount?" in ran.err
    assert time.monotonic() - begun < 10


def test_d9_four_faults_four_lines(tmp_path: Path, reach: Run, data: Path) -> None:
    whole = (data / "peri" / "schema_3.db").read_bytes()
    torn = bytearray(whole)
    torn[8192:60_000] = os.urandom(60_000 - 8192)
    bodies = {"garbage": bytes(torn), "empty": b"", "text": b"hello " * 1000, "noise": os.urandom(8192)}
    lines = set()
    for name, body in bodies.items():
        path = tmp_path / f"{name}.db"
        path.write_bytes(body)
        ran = reach("calls", path)
        assert ran.code == 2
        lines.add(ran.err.split(": ", 2)[2].partition(" (")[0])
    assert len(lines) == len(bodies)

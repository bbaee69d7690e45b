"""`calls --follow` as a process beside a writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reach_tui.model import Result, Session, ToolCall
from reach_tui.native.writer import NativeWriter
from tests.cli.conftest import MISSED, Run


@contextmanager
def following(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "reach_tui", "calls", *map(str, arguments), "--follow"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def add(path: Path, *keys: str, text: str = "fine") -> None:
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s"))
        for key in keys:
            writer.add_call(ToolCall(key, key, "s", "edit", {}, False, Result(text, len(text))))


def test_new_calls_come_at_once_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    with following(path, "--failed", "--jsonl") as process:
        assert process.stderr is not None
        assert "waiting for it" in process.stderr.readline()
        add(path, "k1", "k2", text=MISSED)
        first = [json.loads(line) for line in lines(process, 2)]
        assert [record["call_key"] for record in first] == ["k1", "k2"]
        said = list(iter(process.stderr.readline, "reach-tui: later.db: live\n"))
        assert all("waiting for it" in line for line in said)  # it may have been met half made
        begun = time.monotonic()
        add(path, "k3")
        add(path, "k4", text=MISSED)
        record: dict[str, Any] = json.loads(lines(process, 1)[0])
        assert (record["call_key"], record["hidden"]) == ("k4", True)
        assert time.monotonic() - begun < 2
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (130, "", "")


def test_the_table_has_one_head(tmp_path: Path) -> None:
    path = tmp_path / "a" / "reach.db"
    path.parent.mkdir()
    with following(path.parent) as process:
        assert process.stderr is not None
        assert "waiting for it" in process.stderr.readline()
        add(path, "k1")
        head, one = lines(process, 2)
        assert head.startswith("call key")
        assert one.startswith("k1")
        add(path, "k2")
        assert lines(process, 1)[0].startswith("k2")
        add(tmp_path / "a" / "second.db", "k3")  # a database that comes later
        assert lines(process, 1)[0].startswith("k3")


def test_one_document_has_an_end(reach: Run, trace: Path) -> None:
    ran = reach("calls", trace, "--follow", "--json")
    assert ran.code == 2
    assert "use --jsonl" in ran.err

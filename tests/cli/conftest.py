"""A native database with one call of each kind, a hostile one, and ways to run the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.clock import parse_time
from reach_tui.model import Result, Session, StepKind, Tokens, ToolCall
from reach_tui.native.writer import NativeWriter

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J[bold red]x[/foo]\x00\u202eevil\x9b31m\nsecond line"
MISSED = "Error: old_string not found in file"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """stdout as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


@pytest.fixture
def reach(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs `reach-tui` in this process."""
    from reach_tui.cli.main import run

    def call(*arguments: object) -> Ran:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


@pytest.fixture
def process() -> Run:
    """Runs `reach-tui` in a process of its own; `stdin` and extra environment may be given."""

    def call(*arguments: object, stdin: bytes = b"", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "reach_tui", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def call(session: str, number: int, tool: str, text: str | None, **more: Any) -> ToolCall:
    """A call with a result, one minute after the one before."""
    result = None if text is None else Result(text, len(text.encode("utf-8", "replace")))
    start = parse_time(f"2026-06-{number:02}T10:00:00Z")
    fields = {"arguments": {"filePath": "a.py"}, "flagged": False, "started_at": start, "duration_ms": 41, "turn": 1}
    return ToolCall(f"{session}/c{number}", f"id{number}", session, tool, result=result, **{**fields, **more})


def write(path: Path, title: str = "Rename it", prefix: str = "ses") -> Path:
    """A native database: five calls in one session (ok, hidden, flagged, no result, without a time), one in another."""
    with NativeWriter(path) as writer:
        one, two = f"{prefix}_1", f"{prefix}_2"
        start = parse_time("2026-06-01T09:00:00Z")
        writer.add_session(
            Session("reach", one, title=title, project="/home/dev/shop", started_at=start, tokens=Tokens(10, 20))
        )
        writer.add_session(Session("reach", two, title=None, started_at=(start or 0) - 86_400_000))
        writer.add_message(one, StepKind.USER, "rename it please", turn=1, at=start)
        writer.add_call(call(one, 1, "read", "def a(): pass"))
        writer.add_call(call(one, 2, "edit", MISSED))
        writer.add_call(call(one, 3, "bash", "make: *** [all] Error 2", flagged=True, metadata={"exit_code": 2}))
        writer.add_call(call(one, 4, "bash", None, flagged=None))
        writer.add_call(call(one, 5, "read", "x = 1", started_at=None))
        writer.add_message(one, StepKind.ASSISTANT, "done", turn=1)
        writer.add_call(call(two, 6, "edit", MISSED))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The database of `write`."""
    return write(tmp_path / "reach.db")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Every text that reaches a person is hostile."""
    path = tmp_path / "hostile.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "ses_h", title=HOSTILE, project=HOSTILE, model=HOSTILE))
        writer.add_message("ses_h", StepKind.USER, f"{HOSTILE}\n```\n# not a heading\n````\n<script>alert(1)</script>")
        writer.add_call(
            ToolCall(
                f"ses_h/{HOSTILE}",
                HOSTILE,
                "ses_h",
                HOSTILE,
                {"x": HOSTILE, HOSTILE: ["<script>alert(1)</script>"]},
                flagged=False,
                result=Result(f"Error: {HOSTILE} <script>alert(1)</script> ``` ", 90),
                status=HOSTILE,
            )
        )
    return path

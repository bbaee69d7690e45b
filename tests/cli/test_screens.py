"""The screens from the command line, on a terminal of their own."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pty = pytest.importorskip("pty", reason="pseudo-terminals are a Unix thing")


def on_terminal(arguments: list[str], wanted: str, environment: dict[str, str], keys: bytes = b"q") -> tuple[int, str]:
    """Exit code and screen text of `reach-tui` on a terminal; `keys` are pressed once `wanted` has been shown."""
    import fcntl
    import struct
    import termios

    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(
            sys.executable,
            [sys.executable, "-m", "reach_tui", *arguments],
            {**os.environ, **environment, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown, pressed, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end has closed
                break
            if not part:
                break
            shown += part
        if not pressed and wanted.encode() in shown:
            os.write(terminal, keys)
            pressed = True
    if not pressed:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "replace")


# a process that forks a pty must have no other threads' locks held: fork is followed by exec at once
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def test_the_demo_opens_and_q_ends_it() -> None:
    code, shown = on_terminal(["demo"], "sample traces", {})
    assert code == 0, shown[-2000:]
    assert "shop" in shown


def test_without_agents_the_sample_traces_open_and_it_says_so(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "OPENCODE_DB": ""}
    code, _ = on_terminal([], "No agent's database in your home", home)
    assert code == 0


def test_a_database_opens(trace: Path) -> None:
    code, _ = on_terminal([str(trace)], "Rename it", {})
    assert code == 0


def test_the_demo_leaves_nothing_behind(process: Run, tmp_path: Path) -> None:
    ran = process("demo", "--headless", TMPDIR=str(tmp_path))
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []

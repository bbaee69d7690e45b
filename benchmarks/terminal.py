"""A terminal program driven through a pseudo terminal and timed from outside: paint, keys, processor time. Linux."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass

KEYS = {
    "down": b"\x1b[B",
    "up": b"\x1b[A",
    "pagedown": b"\x1b[6~",
    "pageup": b"\x1b[5~",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "enter": b"\r",
}
_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_]|\][^\x07]*\x07)")
_KEPT = 500_000
"""Bytes of output that `until` knows of from before."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one key caused: milliseconds to the first and last byte, bytes of output."""

    first_ms: float
    done_ms: float
    size: int


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command: Sequence[str], columns: int = 140, rows: int = 50) -> None:
        self._begun = time.perf_counter()
        self._written = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the modules of an installed program are compiled
            os.execvpe(command[0], list(command), dict(os.environ, TERM="xterm-256color", COLORTERM="truecolor"))
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._fd], [], [], seconds)[0]:
            return b""
        data = os.read(self._fd, 1 << 16)
        self._written = self._written[-_KEPT:] + data
        if b"\x1b[?2026$p" in data:  # it asks for synchronised output: yes
            os.write(self._fd, b"\x1b[?2026;2$y")
        return data

    def until(self, words: str, seconds: float = 60, *, before: bool = False) -> float:
        """Milliseconds from the start until the words are written, or were `before`. Raises `TimeoutError`."""
        seen, wanted = b"", words.encode()
        if before and wanted in _CONTROL.sub(b"", self._written):
            return (time.perf_counter() - self._begun) * 1e3
        while time.perf_counter() - self._begun < seconds:
            data = self._read(0.02)
            seen += data
            if data and wanted in _CONTROL.sub(b"", seen):
                return (time.perf_counter() - self._begun) * 1e3
        raise TimeoutError(f"{words!r} did not appear in {seconds} s")

    def settle(self, quiet: float = 0.3) -> None:
        """Read until nothing has come for so many seconds."""
        while self._read(quiet):
            pass

    def press(self, key: str, quiet: float = 0.06, seconds: float = 1.0) -> Answer | None:
        """Press a key and wait until the screen is quiet again; None if nothing was drawn within `seconds`."""
        self.settle(0)
        begun = time.perf_counter()
        os.write(self._fd, KEYS.get(key, key.encode()))
        first = last = 0.0
        size = 0
        while data := self._read(quiet if first else seconds):
            last = time.perf_counter()
            first = first or last
            size += len(data)
        return Answer((first - begun) * 1e3, (last - begun) * 1e3, size) if first else None

    def cpu_ms(self) -> float:
        """Processor time of the program so far, without its children."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / _TICKS

    def memory_mb(self) -> dict[str, int]:
        """Resident memory now, its anonymous part, and the peak, in MB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        return {name: int(lines[name].split()[0]) // 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}

    def close(self) -> None:
        """End the program and what it started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._fd)

"""Guards of keys: the processor time of one key on the screens, as a multiple of one on the floor (goals G4 and G5).

The floor is a one-widget Textual program that redraws its whole screen at every key, in the same terminal, in the same
run: what Textual itself takes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

from terminal import KEYS, Terminal

_PAUSE = 0.03  # seconds between two keys: each gets frames of its own
_ROUNDS = 2
_FLOOR = """
from rich.segment import Segment
from textual.app import App
from textual.strip import Strip
from textual.widget import Widget
class Whole(Widget, can_focus=True):
    turn = 0
    def render_line(self, y):
        return Strip([Segment(f"floor ready {y} {self.turn} ".ljust(self.size.width, "."))], self.size.width)
    def on_key(self, event):
        self.turn += 1
        self.refresh()
class Floor(App):
    ENABLE_COMMAND_PALETTE = False
    def compose(self):
        yield Whole()
Floor().run()
"""


class Stored(Protocol):
    """What the guards need of a bench: a folder, and a store of 20,000 calls."""

    folder: Path

    @property
    def store(self) -> Path: ...


def _cpu_of_a_key(program: Terminal, keys: list[str]) -> float:
    """Milliseconds of processor time of a key, the screen read away between them."""

    def press_all() -> float:
        program.settle(0.2)
        before = program.cpu_ms()
        for key in keys:
            os.write(program._fd, KEYS.get(key, key.encode()))
            until = time.perf_counter() + _PAUSE
            while (left := until - time.perf_counter()) > 0:
                program._read(left)
        program.settle(0.1)
        return (program.cpu_ms() - before) / len(keys)

    return min(press_all() for _ in range(_ROUNDS))


@contextmanager
def _running(command: list[str], words: str) -> Iterator[Terminal]:
    program = Terminal(command)
    try:
        program.until(words)
        program.settle(0.3)
        yield program
    finally:
        program.close()


@cache
def _floor(folder: Path) -> float:
    path = folder / "floor.py"
    path.write_text(_FLOOR, encoding="utf-8")
    with _running([sys.executable, str(path)], "floor ready") as program:
        return _cpu_of_a_key(program, ["down"] * 80)


def _times_floor(bench: Stored, prepare: Callable[[Terminal], None], keys: list[str]) -> float:
    with tempfile.TemporaryDirectory(dir=bench.folder) as home:
        for name in ("DATA", "CONFIG", "CACHE"):
            os.environ[f"REACH_TUI_{name}"] = str(Path(home) / name.lower())
        with _running([sys.executable, "-m", "reach_tui", str(bench.store)], "20,000 calls") as program:
            prepare(program)
            cost = _cpu_of_a_key(program, keys)
    return cost / _floor(bench.folder)


def step(bench: Stored) -> float:
    """G4: one step in a session with the inspector beside it, times a key on the floor."""

    def into_session(program: Terminal) -> None:
        program.press("enter", quiet=0.5)

    return _times_floor(bench, into_session, ["down"] * 40 + ["up"] * 40)


def paging(bench: Stored) -> float:
    """G5: page down, end and home in the list of all calls, times a key on the floor."""

    def into_calls(program: Terminal) -> None:
        program.press("c", quiet=0.5)

    return _times_floor(bench, into_calls, ["pagedown", "pagedown", "end", "home"] * 15)

"""G7: a result of 2 MB, of many lines and of one line, opened on the whole screen: time, processor time, memory.

    python benchmarks/large_result.py [--size 2000000]

The store is made on the spot. Prints one JSON object: milliseconds (and processor time) from Enter to the result, of a
page down, and how many times the size of the result the program's anonymous memory grew by opening it.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from make_store import make_store
from terminal import Terminal

MARK = "the large result begins here"


def plant(store: Path, text: str) -> str:
    """Give the first completed call of the newest session that result; the session's title."""
    with closing(sqlite3.connect(store)) as connection:
        session, title = connection.execute(
            "SELECT id, title FROM session WHERE parent_id IS NULL ORDER BY time_created DESC LIMIT 1"
        ).fetchone()
        query = "SELECT rowid, data FROM part WHERE session_id = ? AND data LIKE '%\"completed\"%' ORDER BY id LIMIT 1"
        row, data = connection.execute(query, (session,)).fetchone()
        part = json.loads(data)
        part["state"]["output"] = f"{MARK}\n{text}" if "\n" in text else f"{MARK} {text}"
        connection.execute("UPDATE part SET data = ? WHERE rowid = ?", (json.dumps(part), row))
        connection.commit()
    return str(title)


def until(program: Terminal, words: str, seconds: float = 5) -> float:
    """Milliseconds until the words are painted, from now on."""
    begun, seen = time.perf_counter(), b""
    while time.perf_counter() - begun < seconds:
        seen += program._read(0.002)
        if words.encode() in seen:
            return (time.perf_counter() - begun) * 1e3
    raise TimeoutError(words)


def measure(store: Path, title: str, size: int) -> dict[str, float]:
    """Open the call on the whole screen, page down, and look at the memory."""
    program = Terminal([sys.executable, "-m", "reach_tui", str(store)])
    program.until(title)
    program.settle(2.0)
    program.press("/", quiet=0.3)
    os.write(program._fd, title.encode())
    program.settle(0.5)
    program.press("enter", quiet=0.3)
    program.press("enter", quiet=0.5)
    program.press("/", quiet=0.3)
    os.write(program._fd, MARK.encode())
    program.settle(1.0)
    program.press("enter", quiet=0.5)
    memory, spent = program.memory_mb()["RssAnon"], program.cpu_ms()
    os.write(program._fd, b"\r")
    opened = until(program, MARK)
    program.settle(0.5)
    cost = program.cpu_ms() - spent
    spent = program.cpu_ms()
    pages = [answer for _ in range(10) if (answer := program.press("pagedown"))]
    result = {
        "opened_ms": round(opened),
        "opened_cpu_ms": round(cost),
        "page_ms": round(sorted(one.done_ms for one in pages)[len(pages) // 2], 1),
        "page_cpu_ms": round((program.cpu_ms() - spent) / len(pages), 1),
        "memory_times_size": round((program.memory_mb()["RssAnon"] - memory) * 1e6 / size, 1),
    }
    program.press("a", quiet=1.0)  # the whole of it
    result["whole_memory_times_size"] = round((program.memory_mb()["RssAnon"] - memory) * 1e6 / size, 1)
    program.close()
    return result


def main() -> None:
    """Both shapes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2_000_000)
    size = parser.parse_args().size
    lines = "\n".join(
        f"{number:6}  src/module_{number % 97}.py: def f{number}(a, b): return a" for number in range(size)
    )
    shapes = {"many lines": lines[:size], "one line": ("word " * (size // 5 + 1))[:size]}
    found = {}
    for name, text in shapes.items():
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "opencode.db"
            make_store(store, sessions=20, calls=1_000)
            for kind in ("DATA", "CONFIG", "CACHE"):
                os.environ[f"REACH_TUI_{kind}"] = str(Path(folder) / kind.lower())
            found[name] = measure(store, plant(store, text), size)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

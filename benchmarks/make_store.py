"""Writes a store in the layout of opencode 1.18, of any size, for measuring.

    python benchmarks/make_store.py --sessions 100 --calls 5000 STORE

The same arguments give the same rows. Sizes as in recordings: results 0.6 kB in the median, 1 % above 20 kB, up to
200 kB; about 5 MB of database for 1,000 calls, of which some 4 % failed. The text is made of few words: right for
measuring, wrong for judging detectors.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, title TEXT NOT NULL,
  version TEXT NOT NULL, tokens_input INTEGER DEFAULT 0 NOT NULL, tokens_output INTEGER DEFAULT 0 NOT NULL, revert TEXT,
  agent TEXT, model TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_archived INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
  time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
  time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL,
  seq INTEGER NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""
_START = 1_767_225_600_000  # 2026-01-01, milliseconds
_LARGEST, _MEDIAN, _SIGMA = 200_000, 600, 1.6  # log-normal sizes of results
_SHARES = {"read": 29, "bash": 24, "edit": 15, "grep": 10, "glob": 6, "write": 5, "shopdb_query": 5, "task": 3,
           "webfetch": 2, "todowrite": 1}  # fmt: skip
_NOUNS = ("order", "user", "config", "cache", "router", "session", "parser", "token", "index", "report", "queue")
_VERBS = ("load", "save", "build", "check", "merge", "parse", "fetch", "update", "render", "split", "resolve")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FLAGGED = {"edit": "Could not find oldString in the file. It must match exactly.", "read": "File not found: /home/x",
            "glob": "ripgrep execution failed"}  # fmt: skip
"""Failures that the program itself calls so."""
_HIDDEN = {"bash": ("bash: line 1: orderctl: command not found", 127),
           "shopdb_query": ('{"ok": false, "code": 403, "message": "service account may not read it"}', None),
           "webfetch": ("ErrorError: upstream 503, please try again later.", None)}  # fmt: skip
"""Failures that it calls a success, with the exit status."""


class Maker:
    """Makes texts, ids and calls from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.count = 0
        self.pools = {
            "code": self._pool(self._code, 400_000),
            "log": self._pool(self._log, 400_000),
            "list": self._pool(self._path, 200_000),
            "json": self._pool(self._json, 300_000),
            "prose": self._pool(self._sentence, 300_000),
        }

    def _pool(self, line: Callable[[], str], size: int) -> str:
        lines, total = [], 0
        while total < size:
            lines.append(line())
            total += len(lines[-1]) + 1
        return "\n".join(lines)

    def _words(self) -> tuple[str, str, int]:
        return self.chance.choice(_NOUNS), self.chance.choice(_VERBS), self.chance.randrange(1, 999)

    def _path(self) -> str:
        noun, verb, _ = self._words()
        return f"/home/dev/project/src/{noun}/{verb}_{noun}.py"

    def _json(self) -> str:
        noun, verb, number = self._words()
        return json.dumps({"id": number, "name": noun, "state": verb, "error": None})

    def _sentence(self) -> str:
        noun, verb, number = self._words()
        return f"The {noun} should {verb} each {noun} when it is {number}."

    def _code(self) -> str:
        noun, verb, number = self._words()
        return self.chance.choice((
            f"def {verb}_{noun}({noun}, limit={number}):", f"    {noun} = {verb}_{noun}({noun}_id)", "",
            f'        raise ValueError("{noun} is invalid")', f'    logger.error("{verb} failed: %s", {noun})',
            "    except Exception as exc:  # keep going", f"    return [{noun}.{verb}(x) for x in {noun}s]",
        ))  # fmt: skip

    def _log(self) -> str:
        noun, verb, number = self._words()
        return self.chance.choice((
            f"[{number:03d}/999] {verb} {noun}.o", f"tests/test_{noun}.py::test_{verb} PASSED [{number % 100:3d}%]",
            f"2026-01-01T10:00:00Z INFO {noun} {verb} took {number} ms", f"Installing {noun}-{number % 9}.1",
            f"{noun}/{verb}.py:{number}: warning: unused {noun}", f"{number} passed, 0 errors in 1.{number}s",
        ))  # fmt: skip

    def text(self, kind: str, median: int = _MEDIAN) -> str:
        """Some lines of a kind, of a size as results have."""
        size = min(_LARGEST, max(12, int(median * math.exp(self.chance.gauss(0, _SIGMA)))))
        pool = self.pools[kind]
        start = pool.find("\n", self.chance.randrange(max(1, len(pool) - size - 300))) + 1
        return pool[start : start + size]

    def name(self, prefix: str, at: int) -> str:
        """An id that sorts by time."""
        self.count += 1
        return f"{prefix}_{at:012x}{self.count:08x}" + "".join(self.chance.choices(_LETTERS, k=6))

    def call(self, tool: str) -> tuple[dict[str, Any], str, dict[str, Any]]:
        """Arguments, output and metadata of a call that did its work."""
        noun, verb, _ = self._words()
        path = f"/home/dev/project/src/{noun}/{verb}.py"
        match tool:
            case "read":
                lines = self.text("code").split("\n")
                body = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))
                text = f"<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n</content>"
                return {"filePath": path}, text, {"preview": body[:300]}
            case "bash":
                text = self.text(self.chance.choice(("log", "log", "list", "json", "prose")))
                given = {"command": f"python3 tools/{verb}_{noun}.py", "description": f"{verb} the {noun}"}
                return given, text, {"output": text[:30_000], "exit": 0}
            case "edit":
                old = self.text("code", 90)
                given = {"filePath": path, "oldString": old, "newString": old.replace(noun, verb) + "\n"}
                return given, "Edit applied successfully.", {"diff": f"-{old}\n+{old}"}
            case "write":
                return {"filePath": path, "content": self.text("code", 1200)}, "Wrote file successfully.", {}
            case "grep" | "glob":
                return {"pattern": f"{verb}_{noun}"}, self.text("list"), {"truncated": False}
            case "shopdb_query":
                return {f"{noun}_id": f"{self.chance.randrange(10**16):016d}"}, self.text("json"), {}
            case "todowrite":
                todo = [{"content": f"{verb} {noun} {number}", "status": "pending"} for number in range(3)]
                return {"todos": todo}, json.dumps(todo, indent=2), {"todos": todo}
        return {"prompt": f"{verb} the {noun}"}, self.text("prose"), {}

    def state(self, tool: str, at: int, end: int) -> dict[str, Any]:
        """A call's state as opencode keeps it."""
        given, text, facts = self.call(tool)
        times = {"start": at, "end": end}
        failed = self.chance.random() < 0.08
        if failed and tool in _FLAGGED:
            return {"status": "error", "input": given, "error": _FLAGGED[tool], "time": times}
        if failed and tool in _HIDDEN:
            text, status = _HIDDEN[tool]
            facts = facts if status is None else {"output": text, "exit": status}
        return {"status": "completed", "input": given, "output": text, "metadata": facts, "title": "", "time": times}


def shares(chance: random.Random, total: int, count: int) -> list[int]:
    """How many of `total` calls each session has, with a heavy tail."""
    weights = [math.exp(chance.gauss(0, 1.3)) for _ in range(count)]
    bounds, reached = [0], 0.0
    for weight in weights:
        reached += weight
        bounds.append(round(total * reached / sum(weights)))
    return [after - before for before, after in pairwise(bounds)]


def make_store(path: Path, sessions: int, calls: int, seed: int = 1) -> None:
    """Write the store; one that is there is replaced."""
    maker = Maker(seed)
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}")
        step = max(1, 90 * 86_400_000 // max(1, sessions))
        for number, left in enumerate(shares(maker.chance, calls, sessions)):
            _write_session(connection, maker, _START + number * step, left)
        connection.commit()
        connection.execute("PRAGMA journal_mode = WAL")


def _write_session(connection: sqlite3.Connection, maker: Maker, start: int, left: int) -> None:
    session, now, chance = maker.name("ses", start), start, maker.chance
    messages: list[tuple[object, ...]] = []
    parts: list[tuple[object, ...]] = []

    def message(role: str, **more: object) -> str:
        name = maker.name("msg", now)
        value = {"role": role, "agent": "build", "modelID": "sim-large", "time": {"created": now}, **more}
        messages.append((name, session, now, now, json.dumps(value, separators=(",", ":"))))
        return name

    def part(owner: str, **value: object) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        parts.append((maker.name("prt", now), owner, session, now, now, text))

    part(message("user"), type="text", text=maker.text("prose", 200))
    while left > 0:
        if chance.random() < 0.08:
            part(message("user"), type="text", text=maker.text("prose", 200))
        now += chance.randrange(500, 4000)
        owner = message(
            "assistant", path={"cwd": "/home/dev/project", "root": "/home/dev/project"}, finish="tool-calls"
        )
        part(owner, snapshot=f"{chance.getrandbits(160):040x}", type="step-start")
        if chance.random() < 0.4:
            part(owner, type="text", text=maker.text("prose", 250), time={"start": now, "end": now})
        for _ in range(min(left, 1 + (chance.random() < 0.25))):
            left -= 1
            tool = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
            end = now + int(math.exp(chance.gauss(5, 1.2)))
            call_id = "call_" + "".join(chance.choices(_LETTERS, k=24))
            part(owner, type="tool", tool=tool, callID=call_id, state=maker.state(tool, now, end))
            now = max(now + 1, end)
        tokens = {"input": 9000, "output": 300, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        part(owner, reason="tool-calls", type="step-finish", tokens=tokens, cost=0)
    connection.execute(
        "INSERT INTO session (id, directory, title, version, agent, model, time_created, time_updated) "
        "VALUES (?, '/home/dev/project', ?, '1.18.33', 'build', '{\"id\":\"sim-large\"}', ?, ?)",
        (session, " the ".join(maker._words()[1::-1]), start, now),
    )
    connection.executemany("INSERT INTO message VALUES (?, ?, ?, ?, ?)", messages)
    connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", parts)


def main() -> None:
    """Write one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--sessions", type=int, required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    make_store(chosen.store, chosen.sessions, chosen.calls, chosen.seed)
    print(f"{chosen.store}: {chosen.calls} calls, {chosen.store.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

"""Databases for the readers' tests: recorded ones, and small ones built row by row."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).resolve().parents[1] / "data"
TRANSCRIPT_FOLDERS = ("claude_code", "codex/main", "copilot_cli", "gemini_cli", "pi", "qwen_code")
"""Recorded transcripts, one folder a program, with truth files."""
Listing = dict[str, tuple[int, int, str]]

OPENCODE = """
CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT);
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
  model TEXT, tokens_input INTEGER, tokens_output INTEGER,
  time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
  data TEXT);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
  data TEXT);
CREATE INDEX part_message ON part (message_id, id);
CREATE INDEX part_session ON part (session_id);
"""
PERI = """
CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT, cwd TEXT, created_at TEXT, updated_at TEXT,
  message_count INTEGER, parent_thread_id TEXT, hidden BOOLEAN, agent_status TEXT, inherited_context TEXT);
CREATE TABLE messages (message_id TEXT PRIMARY KEY, thread_id TEXT, role TEXT, content TEXT,
  truncated BOOLEAN DEFAULT 0, excluded BOOLEAN DEFAULT 0, projection TEXT);
"""
START = 1_780_000_000_000  # 2026-05-28


@pytest.fixture
def data() -> Path:
    """The recorded and generated databases that ship with the tests."""
    return RECORDED


@pytest.fixture
def snapshot() -> Callable[[Path], Listing]:
    """What a folder holds: names, sizes, modification times and hashes of everything in it."""

    def take(folder: Path) -> Listing:
        found: Listing = {}
        for path in sorted(folder.rglob("*")):
            info = os.lstat(path)
            body = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else b""
            found[str(path.relative_to(folder))] = (info.st_size, info.st_mtime_ns, hashlib.sha256(body).hexdigest())
        return found

    return take


def as_column(value: Any) -> Any:
    """JSON text of objects and lists; everything else as it is."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


@pytest.fixture
def build_opencode(tmp_path: Path) -> Callable[..., Path]:
    """Builds `opencode.db`: sessions as column values, messages as (data, parts), rows of the second interface."""

    def build(
        messages: Mapping[str, Iterable[tuple[Any, Iterable[Any]]]],
        *,
        sessions: Iterable[Mapping[str, Any]] = (),
        second: Iterable[tuple[str, str, Any]] = (),
        name: str = "opencode.db",
    ) -> Path:
        path = tmp_path / name
        connection = sqlite3.connect(path)
        connection.executescript(OPENCODE)
        rows = {
            session: {"id": session, "title": session, "time_created": START + 1000 * n}
            for n, session in enumerate(messages)
        }
        for row in sessions:
            rows.setdefault(row["id"], {"time_created": START}).update(row)
        for row in rows.values():
            columns = ", ".join(row)
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO session ({columns}) VALUES ({marks})", [as_column(value) for value in row.values()]
            )
        for session, turns in messages.items():
            for m, (body, parts) in enumerate(turns):
                message, at = f"msg_{session}_{m:03}", START + m
                connection.execute(
                    "INSERT INTO message VALUES (?,?,?,?,?)", (message, session, at, at, as_column(body))
                )
                for p, part in enumerate(parts):
                    values = (f"prt_{session}_{m:03}_{p:03}", message, session, at, at, as_column(part))
                    connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)
        for seq, (session, kind, body) in enumerate(second):
            values = (f"msg2_{session}_{seq:03}", session, kind, seq, START + seq, as_column(body))
            connection.execute("INSERT INTO session_message VALUES (?,?,?,?,?,?)", values)
        connection.commit()
        connection.close()
        return path

    return build


def uuid7(ms: int, number: int) -> str:
    """A UUID v7 of that millisecond."""
    head = f"{ms:012x}"
    return f"{head[:8]}-{head[8:]}-7000-8000-{number:012x}"


@pytest.fixture
def build_peri(tmp_path: Path) -> Callable[..., Path]:
    """Builds `threads.db` with one thread `t1` (or more, by name) from messages; `at` in one gives its time in ms."""

    def build(*threads: Iterable[Any], extra: str = "", **columns: Any) -> Path:
        path = tmp_path / "threads.db"
        connection = sqlite3.connect(path)
        connection.executescript(PERI)
        number = 0
        for t, messages in enumerate(threads, 1):
            row = {
                "id": f"t{t}", "title": f"thread {t}", "cwd": "/home/dev", "message_count": 1, "hidden": 0,
                "created_at": "2026-06-01T10:00:00.123456+00:00", "updated_at": "2026-06-01T10:05:00+00:00", **columns,
            }  # fmt: skip
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO threads ({', '.join(row)}) VALUES ({marks})", [as_column(v) for v in row.values()]
            )
            for message in messages:
                number += 1
                body, own = message, {}
                if isinstance(message, dict):
                    own = {
                        name: message.pop(name)
                        for name in ("at", "excluded", "truncated", "row_role")
                        if name in message
                    }
                    body = {"id": uuid7(own.get("at", START + number), number), **message}
                role = own.get("row_role") or (body.get("role") if isinstance(body, dict) else "user")
                connection.execute(
                    "INSERT INTO messages (message_id, thread_id, role, content, truncated, excluded) "
                    "VALUES (?,?,?,?,?,?)",
                    (uuid7(own.get("at", START + number), number), f"t{t}", role, as_column(body),
                     own.get("truncated", 0), own.get("excluded", 0)),
                )  # fmt: skip
        connection.executescript(extra)
        connection.commit()
        connection.close()
        return path

    return build

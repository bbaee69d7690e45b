"""Kilo Code's `kilo.db`: what differs from opencode's."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.sqlite import Schema
from reach_tui.stores.catalog import open_store
from reach_tui.stores.kilo import KiloReader
from reach_tui.stores.opencode import OpencodeReader

BOARD = "CREATE TABLE kilo_board (root_session_id TEXT PRIMARY KEY, objective TEXT, message_count INTEGER);"
UNTITLED = "New session - 2026-11-30T17:54:00.460Z"


@pytest.fixture
def recorded(data: Path) -> KiloReader:
    reader = open_store(data / "kilo" / "kilo-7.7.9.db").reader
    assert isinstance(reader, KiloReader)
    return reader


def test_the_board_tells_it_from_opencode(recorded: KiloReader, tmp_path: Path) -> None:
    other = tmp_path / "opencode.db"
    shutil.copyfile(recorded.path, other)
    opened = open_store(other)
    assert (opened.reader.kind, opened.version) == ("kilo", "7.7 or later")
    connection = sqlite3.connect(other)
    connection.executescript("DROP TABLE kilo_board_message; DROP TABLE kilo_board;")
    connection.close()
    assert open_store(other).reader.kind == "opencode"


def test_without_a_board_its_name_or_folder_tells(build_opencode: Callable[..., Path], tmp_path: Path) -> None:
    path = build_opencode({"s": []}, name="kilo-dev.db")
    assert open_store(path).reader.kind == "kilo"
    moved = tmp_path / "kilo" / "sessions.db"
    moved.parent.mkdir()
    path.rename(moved)
    assert open_store(moved).reader.kind == "kilo"
    other = build_opencode({"s": []}, name="opencode.db")
    assert type(open_store(other).reader) is OpencodeReader


def test_a_kilo_folder_makes_no_store_of_anything() -> None:
    assert KiloReader.recognise(Schema({"notes": frozenset({"id"})}, 0), Path("kilo/notes.db")) is None


def test_sessions_are_of_its_own_kind(recorded: KiloReader) -> None:
    assert {session.store for session in recorded.sessions()} == {"kilo"}
    assert not any((session.title or "").startswith("New session") for session in recorded.sessions())


def test_calls_say_how_they_were_allowed(recorded: KiloReader) -> None:
    decisions = [call.metadata["approval"] for call in recorded.calls() if "approval" in call.metadata]
    assert len(decisions) > 50
    assert all(isinstance(one, dict) and one["source"] for one in decisions)


def test_killed_calls_are_open_and_unknown_tools_are_flagged(recorded: KiloReader) -> None:
    calls = list(recorded.calls())
    assert [call.flagged for call in calls if call.status == "running"] == [None, None, None]
    unknown = [call for call in calls if call.result and "unavailable tool" in call.result.text]
    assert unknown
    assert all(call.flagged and call.tool != "invalid" for call in unknown)


@pytest.mark.parametrize(
    ("title", "objective", "expected"),
    [
        (UNTITLED, "Fix it\nplease", "Fix it"),
        (UNTITLED, "", "Say hello"),
        (UNTITLED, None, "Say hello"),
        ("My own", "Fix it", "My own"),
        ("New session - soon", "Fix it", "New session - soon"),
    ],
)
def test_titles(build_opencode: Callable[..., Path], title: str, objective: str | None, expected: str) -> None:
    messages: dict[str, Any] = {"s": [({"role": "user"}, [{"type": "text", "text": "Say hello"}])]}
    path = build_opencode(messages, sessions=[{"id": "s", "title": title}], name="kilo.db")
    connection = sqlite3.connect(path)
    connection.executescript(BOARD)
    if objective is not None:
        connection.execute("INSERT INTO kilo_board VALUES ('s', ?, 3)", (objective,))
    connection.commit()
    connection.close()
    reader = open_store(path).reader
    (session,) = reader.sessions()
    assert session.title == expected
    assert reader.session("s") == session
    assert session.notes == (("3 notes between its agents",) if objective is not None else ())


@pytest.mark.shared
def test_the_whole_recording(shared: Path) -> None:
    reader = open_store(shared / "real_traces" / "kilo" / "kilo-7.7.9.db").reader
    calls = list(reader.calls())
    assert (len(calls), sum(call.flagged is True for call in calls)) == (147, 44)
    assert len(list(reader.sessions())) == 38

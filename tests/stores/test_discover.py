"""Finding traces: what is a candidate, and where the known agents keep theirs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from reach_tui.base.errors import StoreUnreadable
from reach_tui.stores.discover import MAX_DEPTH, default_locations, find_traces


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (n)")
    connection.close()
    return path


def test_candidates_of_a_folder(tmp_path: Path) -> None:
    wanted = [database(tmp_path / name) for name in ("a.db", "b.SQLITE", "deep/er/c.sqlite3", "d.vscdb", "no_ending")]
    (tmp_path / "empty.db").touch()
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("a.db-wal", "a.db-shm", "a.db-journal", "notes.txt", "x.json"):
        (tmp_path / name).write_text("text")
    database(tmp_path / ".git" / "index.db")
    database(tmp_path / "node_modules" / "m.db")
    assert find_traces([tmp_path]) == sorted([*wanted, tmp_path / "empty.db", tmp_path / "pipe.db"])


def test_a_named_file_stands_for_itself_and_each_is_given_once(tmp_path: Path) -> None:
    path = database(tmp_path / "odd.name")
    missing = tmp_path / "missing.db"
    assert find_traces([path, tmp_path, path, missing]) == sorted([path, missing])


def test_links_in_circles_end(tmp_path: Path) -> None:
    database(tmp_path / "a" / "one.db")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert len(find_traces([tmp_path])) == 1


def test_depth_is_limited(tmp_path: Path) -> None:
    inside = database(tmp_path.joinpath(*"abcdef"[:MAX_DEPTH]) / "in.db")
    database(tmp_path.joinpath(*"abcdefg") / "out.db")
    assert find_traces([tmp_path]) == [inside]


def test_a_wal_without_its_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.db-wal").write_bytes(b"x")
    assert find_traces([tmp_path]) == [tmp_path / "gone.db"]


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(StoreUnreadable, match="cannot be listed"):
        find_traces([tmp_path])


def test_known_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("OPENCODE_DB", raising=False)
    monkeypatch.setenv("REACH_TUI_DATA", str(tmp_path / "own"))
    assert default_locations() == []
    peri = database(tmp_path / ".peri" / "threads" / "threads.db")
    opencode = database(tmp_path / ".local" / "share" / "opencode" / "opencode.db")
    channel = database(opencode.with_name("opencode-dev.db"))
    own = database(tmp_path / "own" / "reach.db")
    assert default_locations() == [peri, channel, opencode, own]
    elsewhere = database(tmp_path / "xdg" / "opencode" / "opencode.db")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert default_locations() == [peri, elsewhere, own]
    named = database(tmp_path / "named.db")
    for value in (str(named), "../../named.db"):
        monkeypatch.setenv("OPENCODE_DB", value)
        assert [path.resolve() for path in default_locations()] == [peri, named, elsewhere, own]
    monkeypatch.setenv("OPENCODE_DB", ":memory:")
    assert default_locations() == [peri, elsewhere, own]

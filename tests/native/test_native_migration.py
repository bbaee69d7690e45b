"""Older native databases: read through a copy, migrated in place only after a backup; newer ones refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.base.errors import LabelError, SchemaUnknown, StoreError
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label, Session, ToolCall
from reach_tui.native.error_types import ERROR_TYPES, map_error_type
from reach_tui.native.migrations import migrate
from reach_tui.native.schema import MESSAGE_KINDS, TABLES, VERSION, create, ddl
from reach_tui.native.writer import NativeWriter
from reach_tui.stores.catalog import open_store
from reach_tui.stores.reach import ReachReader
from reach_tui.taxonomy import default

VERSION_1 = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, project TEXT, model TEXT,
  started_at INTEGER, ended_at INTEGER, outcome TEXT);
CREATE TABLE message (id INTEGER PRIMARY KEY, session_id TEXT, seq INTEGER, role TEXT, text TEXT, at INTEGER);
CREATE TABLE tool_call (key TEXT PRIMARY KEY, call_id TEXT, session_id TEXT, seq INTEGER, tool TEXT, arguments TEXT,
  result TEXT, flagged INTEGER, started_at INTEGER, duration_ms INTEGER);
CREATE TABLE event (id INTEGER PRIMARY KEY, trace_id TEXT, step TEXT, session_id TEXT, call_key TEXT, intent TEXT,
  candidates TEXT, decision TEXT, param_valid INTEGER, error_type TEXT, retryable INTEGER, duration_ms INTEGER,
  at INTEGER);
CREATE TABLE slot (id INTEGER PRIMARY KEY, call_key TEXT, name TEXT, value TEXT, source TEXT, origin TEXT,
  matches INTEGER, confidence REAL);
CREATE TABLE label (id INTEGER PRIMARY KEY, session_id TEXT, call_key TEXT, category TEXT, subcategory TEXT, note TEXT,
  "by" TEXT, at INTEGER);
CREATE INDEX tool_call_session_id_seq ON tool_call (session_id, seq);
PRAGMA user_version = 1;
INSERT INTO session VALUES ('s1', NULL, '旧库', 'shop', NULL, 1780000000000, 1780000060000, 'success');
INSERT INTO message VALUES (1, 's1', 1, 'user', 'refund 42?', 1780000000000), (2, 's1', 4, 'assistant', NULL, NULL);
INSERT INTO tool_call VALUES
  ('k1', 'c1', 's1', 2, 'query_refund', '{"id": 42}', '{"ok": false}', 0, 1780000001000, 30),
  ('k2', 'c2', 's1', 3, 'query_refund', '{"id": 42}', 'late', 1, 1780000002000, 9000);
INSERT INTO event VALUES
  (1, 't1', 'route', 's1', 'k1', 'refund', '[{"name": "query_refund", "score": 0.8}]', 'execute', 1, NULL, NULL, 3, 5),
  (2, 't1', 'execute', 's1', 'k1', NULL, NULL, NULL, 1, 'Weird-Thing', 0, 30, 5),
  (3, 't1', 'execute', 's1', 'k2', NULL, NULL, NULL, 1, 'time_out', 1, 9000, 5),
  (4, 't1', 'execute', 's1', 'k2', NULL, NULL, NULL, 1, 'timeout_error', 1, 9000, 5);
INSERT INTO slot VALUES (1, 'k1', 'id', '42', 'user', 'step 1', 1, 0.97);
INSERT INTO slot VALUES (2, 'k1', 'lang', '"en"', 'default', NULL, 1, 0.9);
INSERT INTO label VALUES (1, 's1', 'k1', 'upstream_error', NULL, NULL, 'dev', 1780000070000);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old" / "shop.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
    return path


def a_label() -> Label:
    return Label(
        "reach", "s1", "k2", None, "timeout_or_limit", None, "", "dev", 1_780_000_080_000, "reach-failure", 1,
        None, None, "0.1.0",
    )  # fmt: skip


def value(path: Path, sql: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def test_a_new_database_has_the_documented_schema(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.db"
    create(path)
    assert value(path, "PRAGMA user_version") == VERSION
    with closing(sqlite3.connect(path)) as connection:
        made = [
            row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        ]
    assert [sql for sql in made if "sqlite_sequence" not in sql] == ddl().rstrip(";\n").split(";\n")
    with pytest.raises(StoreError, match="already"):
        create(path)


def test_the_enumerations_are_those_of_model_and_taxonomy() -> None:
    from reach_tui.model import StepKind

    known = {sub.error_type for item in default().categories for sub in item.subcategories}
    assert set(ERROR_TYPES) == known | {"none"}
    assert {*MESSAGE_KINDS, "call", "decision"} == {kind.value for kind in StepKind}


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("timeout", "timeout"), ("time_out", "timeout"), ("timeout_error", "timeout"), ("TimeoutError", "timeout"),
        ("TIMED OUT", "timeout"), ("time-out", "timeout"), ("deadline exceeded", "timeout"), ("401", "auth_denied"),
        ("403 Forbidden", "auth_denied"), ("EACCES", "auth_denied"), ("unauthorized", "auth_denied"),
        ("HTTP 502", "upstream_5xx"),
        ("INTERNAL", "upstream_5xx"), ("UNAVAILABLE", "upstream_5xx"), ("400", "invalid_param"),
        ("422", "invalid_param"),
        ("-32602", "invalid_param"), ("ValidationError", "invalid_param"), ("Invalid-Param", "invalid_param"),
        ("Not Found", "not_found"), ("ok", "none"), ("weird", None), ("", None), ("gremlins", None),
    ],
)  # fmt: skip
def test_free_spellings_are_mapped(spelling: str, expected: str | None) -> None:
    assert map_error_type(spelling) == expected


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_old_database_is_read_whole_and_left_as_it_is(old: Path, journal: str) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    before = old.read_bytes()
    opened = open_store(old)
    assert opened.version == "user_version 1"
    (session,) = opened.reader.sessions()
    assert (session.id, session.title, session.outcome, session.store) == ("s1", "旧库", "success", "reach")
    steps = list(opened.reader.steps("s1"))
    assert [step.number for step in steps] == [1, 2, 3, 4]
    assert [step.kind.value for step in steps] == ["user", "call", "call", "assistant"]
    first, second = opened.reader.calls()
    assert first.route is not None
    assert first.route.basis == "recorded"
    assert [(slot.name, slot.value, slot.source) for slot in first.slots or ()] == [
        ("id", 42, "user"),
        ("lang", "en", "default"),
    ]
    assert first.metadata["event"] == {
        "trace_id": "t1", "param_valid": True, "retryable": False, "detail": "error_type: Weird-Thing",
    }  # fmt: skip
    assert second.flagged is True
    assert isinstance(opened.reader, ReachReader)
    assert [event.error_type for event in opened.reader.events("s1")] == [None, None, "timeout", "timeout"]
    with LabelStore.open(old) as labels:
        (label,) = labels.all_in_force()
        assert (label.store, label.category, label.by) == ("reach", "upstream_error", "dev")
    assert old.read_bytes() == before
    assert [entry.name for entry in old.parent.iterdir()] == ["shop.db"]


def test_migration_in_place_keeps_a_backup_and_lists_what_it_could_not_map(old: Path) -> None:
    report = migrate(old)
    assert report.from_version == 1
    assert report.unmapped == ["event.error_type: Weird-Thing"]
    assert report.backup == old.with_name("shop.db.v1-backup")
    assert value(report.backup, "PRAGMA user_version") == 1
    assert value(report.backup, "SELECT count(*) FROM event WHERE error_type = 'time_out'") == 1
    assert value(old, "PRAGMA user_version") == VERSION
    assert value(old, "PRAGMA integrity_check") == "ok"
    assert value(old, "SELECT count(*) FROM pragma_foreign_key_check") == 0
    assert value(old, "SELECT count(*) FROM sqlite_master WHERE name LIKE '%_old'") == 0
    with closing(sqlite3.connect(old)) as connection:
        for table in TABLES:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table.name})")]
            assert columns == list(table.names)
    again = migrate(old)
    assert again.backup is None
    assert again.unmapped == []


def test_version_2_is_read_and_migrated(tmp_path: Path) -> None:
    """The layout before `session.origin`: nothing else changes."""
    path = tmp_path / "shop.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title="kept", notes=("a note",)))
        writer.add_call(ToolCall("k1", "c1", "s1", "read", {"x": 1}, False))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "ALTER TABLE session DROP COLUMN origin; ALTER TABLE session DROP COLUMN digest; PRAGMA user_version = 2"
        )
    before = path.read_bytes()
    opened = open_store(path)
    sessions, calls = list(opened.reader.sessions()), list(opened.reader.calls())
    assert [session.title for session in sessions] == ["kept"]
    assert [call.arguments for call in calls] == [{"x": 1}]
    assert path.read_bytes() == before
    assert migrate(path).backup == path.with_name("shop.db.v2-backup")
    assert value(path, "PRAGMA user_version") == VERSION
    assert value(path, "SELECT count(*) FROM pragma_foreign_key_check") == 0
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(session)")]
        foreign = connection.execute("PRAGMA foreign_key_list(tool_call)").fetchone()[2]
    assert columns == list(next(table for table in TABLES if table.name == "session").names)
    assert foreign == "session"
    assert (list(open_store(path).reader.sessions()), list(open_store(path).reader.calls())) == (sessions, calls)


def test_backups_never_overwrite_one_another(old: Path) -> None:
    old.with_name("shop.db.v1-backup").write_text("precious")
    assert migrate(old).backup == old.with_name("shop.db.v1-backup-2")
    assert old.with_name("shop.db.v1-backup").read_text() == "precious"


def test_the_first_label_migrates_with_a_backup(old: Path) -> None:
    with LabelStore.open(old) as labels:
        labels.save(a_label())
        assert {label.call_key for label in labels.all_in_force("reach")} == {"k1", "k2"}
        labels.undo("dev")
        labels.undo("dev")
        assert labels.all_in_force("reach") == []
    assert old.with_name("shop.db.v1-backup").exists()
    assert len(list(ReachReader(old).calls())) == 2


def test_a_failing_migration_changes_nothing(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("UPDATE slot SET source = 'the moon'")
        connection.commit()
        before = list(connection.iterdump())
    with pytest.raises(StoreError, match="CHECK"):
        migrate(old)
    with closing(sqlite3.connect(old)) as connection:
        assert list(connection.iterdump()) == before


def test_a_newer_database_is_refused_by_all(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(SchemaUnknown, match="newer reach-tui"):
        open_store(old)
    with pytest.raises(LabelError, match="newer reach-tui"):
        LabelStore.open(old)
    with pytest.raises(SchemaUnknown), NativeWriter(old) as writer:
        writer.add_session(Session("reach", "s2"))


def test_a_current_database_with_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    create(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE session DROP COLUMN notes")
    with pytest.raises(SchemaUnknown, match=r"session\.notes"):
        open_store(path)

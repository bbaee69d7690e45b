"""agentsview's archive: what it keeps of others' sessions, and what it does not."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from reach_tui.base.errors import SchemaUnknown
from reach_tui.detect.engine import default_engine
from reach_tui.model import StepKind
from reach_tui.stores.agentsview import AgentsviewReader, _without_calls
from reach_tui.stores.catalog import open_store


@pytest.fixture
def archive(data: Path, tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    shutil.copyfile(data / "agentsview" / "agentsview-0.46.1.db", path)
    return path


def change(path: Path, *statements: str) -> AgentsviewReader:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return AgentsviewReader(path)


def test_a_result_that_was_not_kept_is_said_and_judged_open(archive: Path) -> None:
    lost = [call for call in AgentsviewReader(archive).calls() if call.metadata.get("result_kept") is False]
    assert len(lost) == 18
    engine = default_engine()
    for call in lost:
        assert call.result is None
        assert call.problem is not None
        assert "did not keep the result" in call.problem
        assert engine.judge(call).failed is (True if call.flagged else None)


def test_an_empty_result_is_a_result(archive: Path) -> None:
    reader = change(
        archive,
        "UPDATE tool_result_events SET content = '', content_length = 0 WHERE id = 1",
        "UPDATE tool_calls SET result_content_length = 0",
    )
    call = next(call for call in reader.calls() if call.id == "toolu_jSckCEk01CbNrlVhj2cfy1cn")
    assert call.result is not None
    assert (call.result.text, call.problem) == ("", None)


def test_programs_whose_results_are_not_kept_at_all(archive: Path) -> None:
    """As for opencode: neither text nor size, with an event or without; never judged fine."""
    reader = change(
        archive,
        "UPDATE sessions SET agent = 'opencode'",
        "UPDATE tool_calls SET result_content_length = NULL, observed_outcome = 'unknown'",
        "UPDATE tool_result_events SET content = '', content_length = 0, status = ''",
        "DELETE FROM tool_result_events WHERE id % 2 = 0",
    )
    calls = list(reader.calls())
    assert {call.flagged for call in calls} == {False, None}
    engine = default_engine()
    for call in calls:
        assert (call.result, call.metadata["result_kept"]) == (None, False)
        assert call.problem is not None
        assert engine.judge(call).failed is None
    assert "keeps no results of this program" in next(reader.sessions()).notes[1]


def test_sessions_say_who_recorded_them_and_deleted_ones_are_gone(archive: Path) -> None:
    session = next(AgentsviewReader(archive).sessions())
    assert session.notes[0] == "recorded by claude"
    assert session.project == "/srv/dev/shop-c"
    reader = change(archive, f"UPDATE sessions SET deleted_at = '2026-12-01T00:00:00Z' WHERE id = '{session.id}'")
    assert reader.session(session.id) is None
    assert list(reader.steps(session.id)) == []
    assert session.id not in {call.session_id for call in reader.calls()}


def test_repeated_ids_events_without_ids_and_orphans(archive: Path) -> None:
    source = "1cf042eb-21ad-4984-91d4-da6a8f52e864"
    reader = change(
        archive,
        f"UPDATE tool_calls SET tool_use_id = 'same' WHERE session_id = '{source}'",
        f"UPDATE tool_result_events SET tool_use_id = NULL WHERE session_id = '{source}'",
        "INSERT INTO tool_result_events (session_id, tool_call_message_ordinal, source, status, content, event_index)"
        f" VALUES ('{source}', 1, 'x', 'cancelled', 'second', 1)",
        "INSERT INTO tool_result_events (session_id, tool_call_message_ordinal, source, status, content)"
        f" VALUES ('{source}', 99, 'x', '', 'of nobody')",
        "INSERT INTO tool_calls (message_id, session_id, tool_name, category, input_json)"
        f" VALUES (999, '{source}', 'Bash', 'Bash', '{{cut')",
    )
    steps = list(reader.steps(source))
    calls = [step.call for step in steps if step.call]
    assert [call.key for call in calls] == [f"{source}/same", f"{source}/same#2", f"{source}/."]
    assert calls[0].flagged is True
    assert calls[0].result is not None
    assert calls[0].result.text.endswith("\nsecond")
    assert calls[2].arguments == "{cut"
    assert [step.text for step in steps if step.kind is StepKind.NOTE] == [
        "result without a call (message 99): of nobody"
    ]
    whats = {trouble.what for trouble in reader.troubles(source)}
    assert whats == {"orphan result", "malformed call", "call without its message"}


def test_an_unknown_status_word_is_shown_and_no_flag(archive: Path) -> None:
    reader = change(archive, "UPDATE tool_result_events SET status = 'pondering'")
    assert {(call.status, call.flagged) for call in reader.calls()} == {("pondering", None)}


def test_columns_of_older_archives_may_be_missing(archive: Path) -> None:
    gone = [("messages", "thinking_text"), ("tool_calls", "observed_outcome"), ("sessions", "is_truncated")]
    before = [(call.key, call.flagged, call.result) for call in AgentsviewReader(archive).calls()]
    change(archive, "DROP VIEW IF EXISTS message_search_content")
    reader = change(archive, *(f"ALTER TABLE {table} DROP COLUMN {column}" for table, column in gone))
    assert [(call.key, call.flagged, call.result) for call in reader.calls()] == before
    change(archive, "ALTER TABLE tool_calls RENAME COLUMN input_json TO input")
    with pytest.raises(SchemaUnknown, match="no table tool_calls with"):
        open_store(archive)


def test_calls_rendered_into_the_text_are_told_once() -> None:
    assert _without_calls("I look.\n\n[Bash: run]\n$ ls", ["Bash"]) == "I look."
    assert _without_calls("[Read: /a]\n\n[Read: /b]", ["Read", "Read"]) == ""
    assert _without_calls("[Read: /a]\n\nMore words.", ["Read"]) == "[Read: /a]\n\nMore words."
    assert _without_calls("no calls", ["Read"]) == "no calls"

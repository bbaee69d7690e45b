"""llm's `logs.db` in both layouts, and in one file with both."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.sqlite import Schema
from reach_tui.model import StepKind
from reach_tui.stores.catalog import open_store
from reach_tui.stores.llm import LlmReader
from reach_tui.stores.offered import OffersTools

CONTINUED = "01m8pqf50s7vn5dbpc16w3dgbm"
"""A conversation that version 0.27.1 began and 0.36 went on with, in `llm-0.36-upgraded.sqlite`."""
THREAD, FORK = "01m8q5d4gew0c606hkwtwjzfqf", "01m8q5d4gmpref0qf6nnvzcn8z"


@pytest.fixture
def upgraded(data: Path) -> LlmReader:
    reader = open_store(data / "llm" / "llm-0.36-upgraded.sqlite").reader
    assert isinstance(reader, LlmReader)
    return reader


@contextmanager
def copied(recording: Path, to: Path) -> Iterator[tuple[sqlite3.Connection, LlmReader]]:
    """A copy of a recording to be changed, and its reader."""
    path = to / "logs.db"
    shutil.copyfile(recording, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection, LlmReader(path)


@pytest.fixture
def newest(data: Path, tmp_path: Path) -> Iterator[tuple[sqlite3.Connection, LlmReader]]:
    """A copy of the newest recording to be changed, and its reader."""
    with copied(data / "llm" / "llm-0.36.db", tmp_path) as found:
        yield found


@pytest.fixture
def oldest(data: Path, tmp_path: Path) -> Iterator[tuple[sqlite3.Connection, LlmReader]]:
    """A copy of the older recording to be changed, and its reader."""
    with copied(data / "llm" / "llm-0.27.1.db", tmp_path) as found:
        yield found


def add_part(connection: sqlite3.Connection, message: str, kind: str, payload: Any, position: int = 9) -> None:
    body = payload if isinstance(payload, str | bytes) else json.dumps(payload)
    row = (message, position, kind, body)
    connection.execute("INSERT INTO parts (message_hash, position, type, payload) VALUES (?,?,?,?)", row)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("llm-0.36.db", "messages and responses"),
        ("llm-0.27.1.db", "responses"),
        ("llm-0.36-upgraded.sqlite", "messages and responses"),
    ],
)
def test_layouts(data: Path, name: str, version: str) -> None:
    opened = open_store(data / "llm" / name)
    assert (opened.reader.kind, opened.version) == ("llm", version)


def test_its_file_of_embeddings_is_no_log() -> None:
    schema = Schema({"_llm_migrations": frozenset({"name"}), "embeddings": frozenset({"id"})}, 0)
    assert LlmReader.recognise(schema, Path("embeddings.db")) is None


def test_a_continued_conversation_is_one_session_told_once(upgraded: LlmReader) -> None:
    assert [session.id for session in upgraded.sessions()].count(CONTINUED) == 1
    session = upgraded.session(CONTINUED)
    assert session is not None
    assert session.title == "Has the refund for order 441700…"
    assert [(step.kind, step.text or (step.call and step.call.tool)) for step in upgraded.steps(CONTINUED)] == [
        (StepKind.USER, "Has the refund for order 4417000012345678 arrived?"),
        (StepKind.CALL, "query_refund"),
        (StepKind.ASSISTANT, "Yes: 129.50 EUR were refunded on 4 March 2026."),
        (StepKind.USER, "And now add twice"),
        (StepKind.CALL, "add"),
        (StepKind.CALL, "add"),
        (StepKind.ASSISTANT, "done"),
    ]


def test_keys_survive_the_upgrade(upgraded: LlmReader, data: Path) -> None:
    before = LlmReader(data / "llm" / "llm-0.27.1.db")
    old = [call.key for call in before.calls([CONTINUED])]
    assert [call.key for call in upgraded.calls([CONTINUED])][: len(old)] == old


def test_a_fork_holds_copies(upgraded: LlmReader) -> None:
    session = upgraded.session(FORK)
    assert session is not None
    assert session.copy_of == THREAD
    originals = [call.key for call in upgraded.calls([THREAD])]
    assert [call.copy_of for call in upgraded.calls([FORK])] == originals
    assert [call.copy_of for call in upgraded.calls([THREAD])] == [None, None]


def test_fragments_and_attachments_are_one_message(upgraded: LlmReader) -> None:
    steps = list(upgraded.steps(THREAD))
    assert [(step.turn, step.text) for step in steps[:2]] == [(1, "a long fragment\nHello"), (1, "[image/png 8 B]")]
    assert {step.turn for step in steps} == {1}


def test_parallel_results_find_their_calls(upgraded: LlmReader) -> None:
    calls = list(upgraded.calls([THREAD]))
    assert [(call.arguments, call.result and call.result.text) for call in calls] == [
        ({"a": 1, "b": 2}, "3"),
        ({"a": 2, "b": 2}, "4"),
    ]


def test_offered_tools_have_their_schema(upgraded: LlmReader, data: Path) -> None:
    assert isinstance(upgraded, OffersTools)
    (tool,) = upgraded.offered_tools(THREAD)
    assert (tool.name, tool.description, tool.source) == ("add", "add", None)
    assert isinstance(tool.schema, dict)
    assert tool.schema["required"] == ["a", "b"]
    for name in ("llm-0.36.db", "llm-0.27.1.db"):
        reader = LlmReader(data / "llm" / name)
        for session in reader.sessions():
            offered = {one.name for one in reader.offered_tools(session.id)}
            assert len(offered) == 15
    assert upgraded.offered_tools("nothing") == []


def test_a_flag_is_an_exception(data: Path) -> None:
    for name in ("llm-0.36.db", "llm-0.27.1.db"):
        calls = list(LlmReader(data / "llm" / name).calls())
        assert [call.flagged for call in calls].count(True) == 13
        assert all(("exception" in call.metadata) == call.flagged for call in calls)


def test_without_the_column_nothing_is_known(oldest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = oldest
    connection.execute("ALTER TABLE tool_results DROP COLUMN exception")
    calls = list(reader.calls())
    assert {call.flagged for call in calls} == {None}
    assert all(call.result for call in calls)


def test_versions_before_tools(oldest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = oldest
    for table in ("tool_results_attachments", "tool_responses", "tool_results", "tool_calls", "tools"):
        connection.execute(f"DROP TABLE {table}")
    assert open_store(reader.path).version == "responses without tools"
    assert list(reader.calls()) == []
    session = next(reader.sessions())
    assert [step.kind for step in reader.steps(session.id)] == [StepKind.USER, StepKind.ASSISTANT]
    assert reader.offered_tools(session.id) == []


def test_a_response_without_a_conversation_stands_for_itself(oldest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = oldest
    row = ("lonely", "Hello", "Hi", "2026-11-30T17:00:00+00:00")
    connection.execute("INSERT INTO responses (id, prompt, response, datetime_utc) VALUES (?,?,?,?)", row)
    session = reader.session("lonely")
    assert session is not None
    assert session.title == "Hello"
    assert [step.text for step in reader.steps("lonely")] == ["Hello", "Hi"]


def test_an_empty_conversation_is_listed(oldest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = oldest
    connection.execute("INSERT INTO conversations VALUES ('empty', 'Nothing yet', 'm')")
    assert reader.session("empty") in list(reader.sessions())
    assert list(reader.steps("empty")) == []


def test_fragments_and_systems_of_older_versions(oldest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = oldest
    (session, response) = connection.execute("SELECT conversation_id, min(id) FROM responses").fetchone()
    connection.execute("UPDATE responses SET system = 'Be kind.' WHERE id = ?", (response,))
    connection.execute("INSERT INTO fragments VALUES (7, 'h', 'A novel.', '', '')")
    connection.execute("INSERT INTO prompt_fragments VALUES (?, 7, 0)", (response,))
    connection.execute("INSERT INTO attachments VALUES ('pic', 'image/png', NULL, NULL, ?)", (b"\x00" * 2500,))
    connection.execute("INSERT INTO prompt_attachments VALUES (?, 'pic', 0)", (response,))
    system, user = list(reader.steps(session))[:2]
    assert (system.kind, system.text) == (StepKind.SYSTEM, "Be kind.")
    assert user.text.startswith("A novel.\nHas the refund")
    assert user.text.endswith("[image/png 2 kB]")


def test_a_cycle_and_a_missing_message_end_the_walk(newest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = newest
    first, second = (session.id for session in list(reader.sessions())[:2])
    tip = connection.execute("SELECT tip_message_hash FROM threads WHERE id = ?", (first,)).fetchone()[0]
    connection.execute("UPDATE messages SET parent_hash = ? WHERE parent_hash IS NULL", (tip,))
    assert list(reader.steps(first))
    tip = connection.execute("SELECT tip_message_hash FROM threads WHERE id = ?", (second,)).fetchone()[0]
    connection.execute("UPDATE messages SET parent_hash = 'b2:gone' WHERE hash = ?", (tip,))
    steps = list(reader.steps(second))
    assert any(step.kind is StepKind.RAW for step in steps)
    assert any("missing" in trouble.where for trouble in reader.troubles(second))


def test_messages_off_the_thread_are_shown_as_left_behind(newest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = newest
    session = next(one.id for one in reader.sessions() if len(list(reader.steps(one.id))) > 2)
    connection.execute(
        "UPDATE threads SET tip_message_hash = (SELECT parent_message_hash FROM turns WHERE thread_id = threads.id "
        "ORDER BY id LIMIT 1) WHERE id = ?",
        (session,),
    )
    steps = list(reader.steps(session))
    assert [step.visible for step in steps] == [True] + [False] * (len(steps) - 1)


def test_broken_and_unknown_parts(newest: tuple[sqlite3.Connection, LlmReader]) -> None:
    connection, reader = newest
    session = next(reader.sessions()).id
    tip = connection.execute("SELECT tip_message_hash FROM threads WHERE id = ?", (session,)).fetchone()[0]
    before = list(reader.steps(session))
    for position, (kind, payload) in enumerate(
        [
            ("tool_call", "{broken"),
            ("tool_call", {"name": "t", "arguments": "text", "tool_call_id": 5}),
            ("tool_result", b"\xff{"),
            ("tool_result", {"output": None, "exception": "E: x", "tool_call_id": "nobody"}),
            ("hologram", {"a": 1}),
            ("text", "[" * 5000),
            ("reasoning", {"redacted": True}),
            ("text", {"text_ref": [{"fragment": 99}, {"literal": "x"}, 7]}),
        ],
        10,
    ):
        add_part(connection, tip, kind, payload, position)
    steps = list(reader.steps(session))
    assert len(steps) > len(before) + 5
    assert next(step for step in steps if step.kind is StepKind.REASONING).text == "[withheld]"
    assert any(step.text == "[fragment 99]x" for step in steps)
    raw = next(step for step in steps if step.kind is StepKind.RAW)
    assert '{"a": 1}' in raw.text
    assert {trouble.what for trouble in reader.troubles(session)} >= {"unreadable message", "malformed call"}

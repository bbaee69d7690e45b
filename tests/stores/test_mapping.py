"""Mappings: stores read by a description of their tables; what the document says is what happens."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from reach_tui.base.errors import ConfigError, NotRecognised, SchemaUnknown
from reach_tui.base.paths import config_dir
from reach_tui.base.sqlite import reading, schema_of
from reach_tui.detect.engine import default_engine
from reach_tui.model import StepKind, ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.stores.mapping.loader import check, load, read
from reach_tui.stores.mapping.reader import MappedReader

ROOT = Path(__file__).resolve().parents[2]
LLM = Path(__file__).parent / "mappings" / "llm.toml"
DOCUMENT = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")


def from_document(what: str, name: str) -> str:
    found = re.search(rf"<!-- {what}: {re.escape(name)} -->\n```\w+\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "trace.db"
    connection = sqlite3.connect(path)
    connection.executescript(from_document("file", "trace.sql"))
    connection.close()
    mapping = from_document("file", "trace.db.mapping.toml")
    (tmp_path / "trace.db.mapping.toml").write_text(mapping, encoding="utf-8")
    return path


Build = Callable[[str, str], MappedReader]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A database from SQL and the reader by a mapping in TOML; `kind`, `title`, `recognise` and session are given."""

    def make(sql: str, mapping: str) -> MappedReader:
        path = tmp_path / "built.db"
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        connection.close()
        head = 'kind = "built"\ntitle = "Built"\n[recognise]\nm = []\n'
        with reading(path) as open_one:
            schema = schema_of(open_one)
        told = read(tomllib.loads(head + mapping), tmp_path / "built.toml")
        check(told, schema)
        return MappedReader(path, told)

    return make


def same(call: ToolCall) -> tuple[object, ...]:
    return call.session_id, call.id, call.tool, call.arguments, call.flagged, call.result


# -- the document


def test_the_example_of_the_document(example: Path) -> None:
    opened = open_store(example)
    assert (opened.reader.kind, opened.verified) == ("talker", False)
    (session,) = opened.reader.sessions()
    assert (session.title, session.id) == ("Read the notes", "t1")
    steps = list(opened.reader.steps("t1"))
    assert [(step.kind.value, step.text) for step in steps if not step.call] == [
        ("user", "Read notes.md."),
        ("reasoning", "A file."),
        ("assistant", "I look."),
        ("assistant", "There is none."),
    ]
    assert [step.kind for step in steps][3:5] == [StepKind.CALL, StepKind.CALL]
    engine = default_engine()
    shown = []
    for call in opened.reader.calls():
        failed = engine.judge(call).failed
        words = f"flagged: {str(call.flagged).lower()}", f"failed: {str(failed).lower()}"
        hidden = str(failed is True and call.flagged is not True).lower()
        text = call.result.text if call.result else ""
        shown.append(f"{call.tool}  {words[0]:<16}{words[1]:<15}hidden: {hidden:<7}{text}".rstrip())
    assert "\n".join(shown) == from_document("output", "calls").strip()


def test_the_mistake_of_the_document(example: Path) -> None:
    file = Path(f"{example}.mapping.toml")
    file.write_text(file.read_text().replace('arguments = "input"', 'arguments = "args"'))
    with pytest.raises(ConfigError) as error:
        open_store(example)
    assert error.value.line().replace(str(file), file.name) == from_document("output", "mistake").strip()


def test_what_was_read_by_another_mapping_is_stale(example: Path) -> None:
    before = open_store(example).reader.data_version()
    assert open_store(example).reader.data_version() == before
    file = Path(f"{example}.mapping.toml")
    file.write_text(file.read_text(encoding="utf-8").replace('["broken"]', '["broken", "done"]'), encoding="utf-8")
    assert open_store(example).reader.data_version() != before


# -- a known store through a mapping alone


def test_llm_without_its_reader_gives_the_same_calls(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded log through a mapping in the person's folder: the calls of the reader, and of the truth file."""
    path = data / "llm" / "llm-0.27.1.db"
    folder = config_dir() / "mappings"
    folder.mkdir(parents=True)
    shutil.copy(LLM, folder / "llm.toml")
    monkeypatch.setenv("REACH_TUI_WITHOUT", "llm")
    mapped = open_store(path).reader
    assert isinstance(mapped, MappedReader)
    calls = list(mapped.calls())
    truth = json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))["calls"]
    assert sorted((one.session_id, one.id, one.tool, str(one.flagged)) for one in calls) == sorted(
        (one["session_id"], one["call_id"], one["tool"], str(one["flagged"])) for one in truth
    )
    monkeypatch.delenv("REACH_TUI_WITHOUT")
    reader = open_store(path).reader
    assert not isinstance(reader, MappedReader)
    assert sorted(map(same, calls), key=repr) == sorted(map(same, reader.calls()), key=repr)


def test_with_an_index_and_without_the_calls_are_those_of_the_steps(data: Path, tmp_path: Path) -> None:
    """Without an index many sessions are read in one go; the contract's order and identity hold either way."""
    found = []
    for name, index in (("a.db", ""), ("b.db", "CREATE INDEX i ON responses (conversation_id)")):
        path = tmp_path / name
        shutil.copyfile(data / "llm" / "llm-0.27.1.db", path)
        connection = sqlite3.connect(path)
        connection.executescript(index + "; CREATE INDEX c ON tool_calls (response_id);" * bool(index))
        connection.close()
        reader = MappedReader(path, load(LLM))
        told = [step.call for one in reader.sessions() for step in reader.steps(one.id) if step.call]
        assert list(reader.calls()) == told
        assert list(reader.calls([told[0].session_id, "none", told[0].session_id])) == [
            call for call in told if call.session_id == told[0].session_id
        ]
        assert list(reader.calls([])) == []
        found.append(told)
    assert found[0] == found[1]


def test_switched_off_and_without_a_mapping_nobody_knows_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACH_TUI_WITHOUT", "peri, llm")
    with pytest.raises(NotRecognised, match="no known agent"):
        open_store(data / "peri" / "schema_17.db")


# -- mistakes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "about"', 'title = "abuot"', "key session.title: table talk has no column abuot"),
        ('table = "talk"', 'table = "talks"', "key session.table: there is no table talks"),
        ('tool = "tool"', 'tol = "tool"', "key call.0.tool: Field required"),
        ('from = "calls"', 'from = "call"', r"key call 1.from: there is no \[from.call\] .*calls, messages"),
        ('session = "talk"', "", "key from.messages: no `session`"),
        ('"said:$[type=text]"', '"said:$[type=text"', "key message 2.each: .* cannot be read from"),
        ('arguments = "input"', 'arguments = "$.input"', "key call 1.arguments: .* there is no `each`"),
        ('kind = "reasoning"', "", "key message 1: neither `role` nor `kind`"),
        ('kind = "reasoning"', 'kind = "call"', "key message 1.kind: a message cannot be a call"),
        ('joins = ["message.id = message"]', "", "key from.calls.session: table message is not among call"),
        ('joins = ["message.id = message"]', 'joins = ["id = message"]', "is not TABLE.COLUMN = COLUMN"),
        ('session = "talk"', 'session = "said:$.x"', "a plain column is needed"),
        ('person = "user"', 'person = "boss"', "key roles.person"),
        ('tool = "tool"', 'tool = "api_key"', "api_key may hold accounts, keys or tokens"),
        ('table = "call"', 'table = "users"', "users may hold accounts"),
        ('kind = "talker"', 'kind = "Talker!"', "key kind"),
        ("[recognise]", "[recognise", "cannot be read as TOML"),
        ('talk = ["id", "about"]', 'talk = ["id", "other"]', "key recognise: trace.db is not such a store"),
    ],
)  # fmt: skip
def test_mistakes_name_file_and_key(example: Path, old: str, new: str, message: str) -> None:
    file = Path(f"{example}.mapping.toml")
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as error:
        open_store(example)
    assert error.value.where == str(file)


def test_own_mapping_with_a_mistake_is_said_and_others_go_on(example: Path) -> None:
    folder = config_dir() / "mappings"
    folder.mkdir(parents=True)
    file = Path(f"{example}.mapping.toml")
    (folder / "a.toml").write_text("recognise = { elsewhere = [] }\nnonsense = true", encoding="utf-8")
    shutil.move(file, folder / "b.toml")
    assert open_store(example).reader.kind == "talker"
    (folder / "a.toml").write_text("recognise = { talk = [] }\nnonsense = true", encoding="utf-8")
    with pytest.raises(ConfigError, match="key "):
        open_store(example)


# -- hostile rows

ONE = """
[session]
table = "s"
id = "id"
title = "t"
[from.m]
table = "m"
session = "s"
order = ["rowid"]
time = "at?"
[[message]]
from = "m"
each = "j:$[type=text]"
text = "$.text"
role = "role"
[[call]]
from = "m"
each = "j:$[type=call]"
id = "$.id"
tool = "$.name"
arguments = "$.input"
[[result]]
from = "m"
each = "j:$[type=result]"
call = "$.id"
text = "$.text"
status = "$.status"
[[result.flag]]
value = "$.bad"
failed = [true]
succeeded = [false]
[[result.flag]]
value = "$.status"
failed = ["error"]
"""
TABLES = "CREATE TABLE s (id, t); CREATE TABLE m (s, role, j); INSERT INTO s VALUES ('a', 'one');"


def rows(*values: object) -> str:
    def quoted(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return "INSERT INTO m VALUES ('a', 'assistant', '" + text.replace("'", "''") + "');"

    return TABLES + "".join(map(quoted, values))


def test_broken_json_is_shown_as_it_is_and_once(build: Build) -> None:
    reader = build(rows('[{"type": "text"', "", "null", [{"type": "text", "text": "after"}]), ONE)
    assert [(step.kind, step.text) for step in reader.steps("a")] == [
        (StepKind.RAW, '[{"type": "text"'),
        (StepKind.ASSISTANT, "after"),
    ]
    assert [trouble.what for trouble in reader.troubles("a")] == ["unreadable row"]


def test_repeated_ids_orphans_and_calls_without_a_name(build: Build) -> None:
    call = {"type": "call", "id": "c", "name": "run", "input": '{"x": 1}'}
    answer = {"type": "result", "id": "c", "text": "one", "bad": False}
    reader = build(
        rows(
            [call, answer],
            [call, {**answer, "text": "two", "status": "error"}],
            [answer],
            [{"type": "call", "id": "d"}],
        ),
        ONE,
    )
    calls = list(reader.calls())
    assert [(one.key, one.flagged, one.result and one.result.text) for one in calls] == [
        ("a/c", False, "one"),
        ("a/c#2", True, "two"),
    ]
    assert calls[0].arguments == {"x": 1}
    assert {trouble.what for trouble in reader.troubles("a")} == {"orphan result", "malformed call"}
    told = [step.call for step in reader.steps("a") if step.call]
    assert told == calls


def test_parents_in_a_ring_are_cut_and_said(build: Build) -> None:
    sessions = "INSERT INTO s VALUES ('b', 'c'), ('c', 'b'), ('d', 'b');"
    reader = build(TABLES + sessions, ONE.replace('title = "t"', 'parent = "t"'))
    parents = {one.id: (one.parent_id, one.own_work, len(one.notes)) for one in reader.sessions()}
    assert parents == {"a": ("one", False, 0), "b": (None, True, 1), "c": (None, True, 1), "d": ("b", False, 0)}
    assert all(reader.session(one.id) == one for one in reader.sessions())


def test_arguments_that_are_no_json_stay_text(build: Build) -> None:
    reader = build(rows([{"type": "call", "id": "c", "name": "run", "input": '{"cut": '}]), ONE)
    (call,) = reader.calls()
    assert (call.arguments, call.flagged, call.result) == ('{"cut": ', None, None)
    assert call.problem is not None


def test_wrong_types_everywhere_end_in_steps(build: Build) -> None:
    deep = "[" * 5000 + "]" * 5000
    reader = build(
        rows([1, None, "x", {"type": {}}, {"type": "call", "name": [1], "id": 5, "input": 7}], {"type": "text"}, deep)
        + "INSERT INTO m VALUES ('a', 7, x'ff00'); INSERT INTO m VALUES ('a', NULL, 12.5);"
        "INSERT INTO s VALUES (NULL, 3);",
        ONE,
    )
    for session in reader.sessions():
        list(reader.steps(session.id))
    assert [call.tool for call in reader.calls(["a"])] == ["[1]"]


def test_the_schema_may_change_under_us(build: Build) -> None:
    reader = build(rows([{"type": "text", "text": "x"}]), ONE)
    assert len(list(reader.steps("a"))) == 1
    connection = sqlite3.connect(reader.path)
    connection.executescript("ALTER TABLE m RENAME COLUMN j TO k; INSERT INTO s VALUES ('more', 'to change the size');")
    connection.close()
    with pytest.raises(SchemaUnknown, match="no column j"):
        list(reader.steps("a"))


def test_load_says_when_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.toml")

"""Search: arguments and results, Chinese, and whatever a person types; the same with and without an index."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.base.paths import cache_dir
from reach_tui.detect.engine import default_engine
from reach_tui.index.places import index_path
from reach_tui.index.scanner import scan
from reach_tui.index.search import Hit, Query, search
from reach_tui.index.text import Words, excerpt, folded, full_text_query, position
from reach_tui.index.words import index_words
from reach_tui.model import Result, Session, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.stores.reader import Reader
from reach_tui.workspace.sources import open_source

DATA = Path(__file__).resolve().parents[1] / "data"
CALLS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "plain": ("read", {"filePath": "src/alpha.py"}, "def total(): return 1"),
    "chinese": ("bash", {"command": "部署"}, "部署失败：用户权限不足，连接超时了"),
    "accent": ("bash", {"command": "echo"}, "Überraschung im Café"),
    "signs": ("bash", {"command": 'g++ -O2 "my file.cpp" && echo C++ is key:value'}, "foo-bar AND (baz) NEAR x*"),
    "failed": ("edit", {"filePath": "b.py", "oldString": "zebra"}, "Error: old_string not found in file"),
    "long": ("bash", {"command": "cat"}, "head " + "x " * 4000 + "needle " + "y " * 4000 + "tail"),
    "waiting": ("task", {"prompt": "do the giraffe"}, None),
    "deep": ("odd", {"a": [[[{"b": ["okapi", 7, True, None]}]]]}, "\x1b[31mred\x1b[0m\x00 zero"),
}
HOSTILE = [
    "foo-bar", '"', '""', "*", "NEAR", "a AND", "AND", "OR", "NOT", "C++", "key:value", "", " ", "(", ")", "NEAR(a b)",
    "body:x", "^a", "x*", "-x", "'", ";", "\0", "\ud800", "x" * 10_000, "字" * 10_000, "{a b}: c", "a\nb", "%", "_",
]  # fmt: skip


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    path = tmp_path / "reach.db"
    with NativeWriter(path) as writer:
        for number, (name, (tool, arguments, text)) in enumerate(CALLS.items()):
            session = f"s{number // 2}"
            if number % 2 == 0:
                writer.add_session(Session("reach", session, started_at=1_780_000_000_000 + number))
            result = None if text is None else Result(text, len(text.encode()))
            writer.add_call(ToolCall(f"{session}/{name}", name, session, tool, arguments, False, result))
    old = time.time() - 3600
    os.utime(path, (old, old))
    return open_source(path).reader


def build(reader: Reader) -> None:
    list(scan(reader, default_engine()))
    list(index_words(reader, default_engine()))


def hits(reader: Reader, *words: str, limit: int | None = None, **query: object) -> list[Hit]:
    return list(search(reader, default_engine(), Query(words, **query), limit))  # type: ignore[arg-type]


def names(found: list[Hit]) -> set[str]:
    return {hit.call.id for hit in found}


FOUND = [
    (["total"], {"plain"}),
    (["TOTAL"], {"plain"}),
    (["alpha"], {"plain"}),
    (["alph"], {"plain"}),
    (["lpha"], set()),
    (["权限"], {"chinese"}),
    (["超时"], {"chinese"}),
    (["不足连接"], set()),
    (["部署"], {"chinese"}),
    (["uberraschung"], {"accent"}),
    (["café"], {"accent"}),
    (["C++"], {"signs"}),
    (["key:value"], {"signs"}),
    (["foo-bar"], {"signs"}),
    (["foo", "baz"], {"signs"}),
    (["foo baz"], set()),
    (['"my file.cpp"'], {"signs"}),
    (["old_string not found"], {"failed"}),
    (["zebra"], {"failed"}),
    (["zebra", "found"], {"failed"}),
    (["giraffe"], {"waiting"}),
    (["okapi"], {"deep"}),
    (["red"], {"deep"}),
    (["nothing-like-it"], set()),
    (["tail", "head"], {"long"}),
]


@pytest.mark.parametrize(("words", "expected"), FOUND, ids=lambda value: " ".join(value))
def test_the_same_is_found_with_and_without_an_index(reader: Reader, words: list[str], expected: set[str]) -> None:
    assert names(hits(reader, *words)) == expected
    assert not index_path(reader).exists()
    build(reader)
    assert names(hits(reader, *words)) == expected


def test_the_index_is_what_answers(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    build(reader)
    asked: list[list[str]] = []
    real = type(reader).calls

    def calls(self: Reader, session_ids: object = None) -> object:
        asked.append(list(session_ids))  # type: ignore[call-overload]
        return real(self, asked[-1])

    monkeypatch.setattr(type(reader), "calls", calls)
    (hit,) = hits(reader, "权限")
    assert asked == [["s0"]]
    assert (hit.session_id, hit.call_key, hit.where) == ("s0", "s0/chinese", "result")
    assert "用户权限不足" in hit.excerpt
    assert hit.step == hit.call.step > 0


def test_a_search_that_the_index_answers_tells_how_far_it_is_and_can_be_ended(reader: Reader) -> None:
    """Its phrase may stand in a million calls with signs between the words: all of them are looked at in vain."""
    build(reader)
    told: list[tuple[int, int]] = []

    def watch(read: int, of: int) -> None:
        told.append((read, of))

    query = Query(("foo bar",))
    assert list(search(reader, default_engine(), query, watch=watch)) == []
    assert told
    assert all(0 <= read <= of == 4 for read, of in told)

    def end(read: int, of: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(search(reader, default_engine(), query, watch=end))


def test_whole_words_come_before_longer_ones(reader: Reader) -> None:
    with NativeWriter(reader.path) as writer:
        writer.add_session(Session("reach", "late", started_at=1_790_000_000_000))
        for name, text in (("longer", "oryxes grazed"), ("whole", "an oryx grazed")):
            session = "late" if name == "longer" else "s0"
            call = ToolCall(f"{session}/{name}", name, session, "bash", {"command": "ls"}, False, Result(text, 20))
            writer.add_call(call)
    build(reader)
    assert [hit.call.id for hit in hits(reader, "oryx")] == ["whole", "longer"]
    assert [hit.call.id for hit in hits(reader, "oryxes")] == ["longer"]


def test_arguments_are_named_as_the_place(reader: Reader) -> None:
    (hit,) = hits(reader, "zebra")
    assert hit.where == "arguments"
    assert "oldString: zebra" in hit.excerpt


@pytest.mark.parametrize("indexed", [False, True])
def test_the_middle_of_a_long_result(reader: Reader, indexed: bool) -> None:
    if indexed:
        build(reader)
        assert not hits(reader, "needle")
    (hit,) = hits(reader, "needle", whole=True)
    assert "needle" in hit.excerpt
    assert len(hit.excerpt) < 200


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("word", HOSTILE, ids=lambda word: ascii(word[:12]))
def test_no_query_is_an_error(reader: Reader, word: str, indexed: bool) -> None:
    if indexed:
        build(reader)
    hits(reader, word)
    hits(reader, word, "total")
    hits(reader, *[word] * 300)


@given(words=st.lists(st.text(max_size=30), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_text_finds_the_same_both_ways(reader: Reader, words: list[str]) -> None:
    if not index_path(reader).exists():
        build(reader)
    with_index = names(hits(reader, *words))
    shutil.move(index_path(reader), index_path(reader).with_suffix(".away"))
    without = names(hits(reader, *words))
    index_path(reader).unlink(missing_ok=True)
    shutil.move(index_path(reader).with_suffix(".away"), index_path(reader))
    assert with_index - {"long"} == without - {"long"}  # of whose middle the index knows nothing


def test_tools_failures_and_limit_narrow(reader: Reader) -> None:
    for _ in range(2):
        assert names(hits(reader, "b.py")) == {"failed"}
        assert names(hits(reader, "b.py", failed=True)) == {"failed"}
        assert names(hits(reader, "alpha", failed=True)) == set()
        assert names(hits(reader, "echo", tools=frozenset({"bash"}))) == {"accent", "signs"}
        assert names(hits(reader, "echo", tools=frozenset({"read"}))) == set()
        assert len(hits(reader, "echo", limit=1)) == 1
        build(reader)


def test_what_came_after_the_scan_is_found(reader: Reader) -> None:
    build(reader)
    with NativeWriter(reader.path) as writer:
        writer.add_call(ToolCall("s1/new", "new", "s1", "bash", {"command": "quagga"}, False, Result("fine", 4)))
        writer.add_session(Session("reach", "late", started_at=1_790_000_000_000))
        writer.add_call(ToolCall("late/new", "later", "late", "bash", {"command": "quagga"}, False, Result("ok", 2)))
    assert names(hits(reader, "quagga")) == {"new", "later"}
    assert names(hits(reader, "foo-bar")) == {"signs"}
    build(reader)
    assert names(hits(reader, "quagga")) == {"new", "later"}
    assert names(hits(reader, "foo-bar")) == {"signs"}


def test_a_call_whose_text_changed_is_found_by_the_new_text_alone(reader: Reader) -> None:
    import sqlite3
    from contextlib import closing

    build(reader)
    with closing(sqlite3.connect(reader.path)) as connection, connection:
        connection.execute("UPDATE tool_call SET result = 'an ocelot' WHERE tool = 'task'")
    build(reader)
    assert names(hits(reader, "ocelot")) == {"waiting"}
    assert names(hits(reader, "giraffe")) == {"waiting"}
    with closing(sqlite3.connect(reader.path)) as connection, connection:
        connection.execute("UPDATE tool_call SET result = 'a lynx' WHERE tool = 'task'")
    list(scan(reader, default_engine()))
    assert names(hits(reader, "ocelot")) == set()
    assert names(hits(reader, "lynx")) == {"waiting"}


def test_a_broken_index_does_not_break_search(reader: Reader) -> None:
    build(reader)
    path = index_path(reader)
    raw = bytearray(path.read_bytes())
    for place in range(4096, len(raw), 97):
        raw[place] ^= 0x5A
    path.write_bytes(raw)
    assert names(hits(reader, "权限")) == {"chinese"}
    shutil.rmtree(cache_dir())
    assert names(hits(reader, "权限")) == {"chinese"}


def test_recorded_stores(tmp_path: Path) -> None:
    for name in ("opencode/opencode-1.2.20.db", "peri/schema_17.db"):
        path = Path(shutil.copy(DATA / name, tmp_path))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        one = open_source(path).reader
        without = {word: {hit.call_key for hit in hits(one, word, whole=True)} for word in ("error", "file", "the")}
        assert without["file"]
        build(one)
        assert {word: {hit.call_key for hit in hits(one, word, whole=True)} for word in without} == without


def test_positions_and_excerpts() -> None:
    assert position("b", "ab b") == 3
    assert position("不", "权限不足") == 2
    assert position("x", "") is None
    text = "ÀÀÀ " * 200 + "ŒUF target here"
    plain = folded(text)
    at = position("target", plain)
    assert at is not None
    assert "target" in excerpt(text, plain, at, 6)
    assert full_text_query(["*", '"']) is None
    assert Words(["", " "]).words == ()

"""Lines as bytes: where they end, what is torn, how much is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import StoreUnreadable
from reach_tui.base.jsonio import as_int
from reach_tui.stores.transcripts.lines import Excerpt, decode, first_objects, last_line_where, read_lines
from tests.stores.transcripts.conftest import Write, dumped

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_only_a_line_feed_ends_a_line(write: Write) -> None:
    odd = {"text": "a\u2028b\u2029c\x85d\x0be\x0cf"}
    path = write("x.jsonl", [odd, b'{"n":1}\r\n', b"\n", b"  \n", b"\xef\xbb\xbf\n", odd])
    lines = list(read_lines(path))
    assert [line.value for line in lines[:2]] == [odd, {"n": 1}]
    assert lines[-1].value == odd
    assert [line.number for line in lines if line.fault is None] == [1, 2, 6]


def test_broken_lines_keep_their_text(write: Write) -> None:
    path = write("x.jsonl", [b"\xff\xfe no json\n", b"[1]\n", {"ok": "\ud7ff"}, b'{"bad": "\xff"}\n', b'{"torn": "en'])
    lines = list(read_lines(path))
    assert [line.fault for line in lines] == ["not JSON", "not a JSON object", None, None, "torn"]
    assert lines[0].text == "\ufffd\ufffd no json"
    assert lines[3].value == {"bad": "\ufffd"}
    assert lines[4].text == '{"torn": "en'


def test_a_last_line_without_its_line_feed_is_whole_if_it_is_json(write: Write) -> None:
    assert [line.fault for line in read_lines(write("x.jsonl", [{"a": 1}, b'{"b": 2}']))] == [None, None]


def test_what_a_power_cut_leaves_is_no_line(write: Write) -> None:
    assert len(list(read_lines(write("x.jsonl", [{"a": 1}, b"\x00" * 5000])))) == 1


def test_a_huge_line_is_cut_and_the_next_is_read(write: Write) -> None:
    path = write("x.jsonl", [{"big": "x" * 5_000_000}, {"next": 1}])
    big, after = read_lines(path, longest=100_000)
    assert big.fault == "a line of 5 MB"
    assert big.text.startswith('{"big"')
    assert len(big.text) < 5_000
    assert (after.number, after.value) == (2, {"next": 1})


def test_no_file_and_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="no such file"):
        list(read_lines(tmp_path / "gone.jsonl"))
    with pytest.raises(StoreUnreadable, match="a folder"):
        list(read_lines(tmp_path))


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=12))
def test_every_object_comes_back(values: list[dict[str, object]]) -> None:
    for number, value in enumerate(values, 1):
        line = decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), number)
        assert line is not None
        assert line.fault is None


@pytest.mark.parametrize("padding", [10, 40_000, 600_000])
def test_an_excerpt_reads_both_ends_of_any_file(write: Write, padding: int) -> None:
    middle = [{"n": n, "pad": "x" * padding} for n in range(1, 5)]
    path = write("x.jsonl", [{"n": 0}, b"no json\n", *middle, {"n": 5}, b'{"to'])
    excerpt = Excerpt(path)
    head = [as_int(value["n"]) or 0 for value in excerpt.head()]
    tail = [as_int(value["n"]) or 0 for value in excerpt.tail()]
    assert head[:3] == [0, 1, 2]
    assert tail == sorted(tail, reverse=True)
    assert tail[:3] == [5, 4, 3]
    assert len(set(tail)) == len(tail)
    if excerpt.whole:
        assert head == list(range(6))


def test_the_first_objects_of_what_is_no_transcript(tmp_path: Path, write: Write) -> None:
    assert first_objects(write("text.jsonl", [b"once upon a time\n"])) == []
    assert first_objects(write("empty.jsonl", [])) == []
    assert first_objects(write("list.json", [[{"sessionId": 1}]])) == []
    assert first_objects(tmp_path / "gone.jsonl") == []
    huge = write("huge.jsonl", [b'{"no line end": "' + b"x" * 9_000_000])
    assert first_objects(huge) == []


def test_the_last_line_with_a_mark(write: Write) -> None:
    lines = [{"mark": True}, {"mark": True}, {"text": "a mark"}]
    path = write("x.jsonl", lines)
    assert last_line_where(path, b"mark", lambda value: value.get("mark") is True) == 2
    assert last_line_where(path, b"other", lambda value: True) == 0
    assert dumped({"mark": True}) == b'{"mark": true}\n'

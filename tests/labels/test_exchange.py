"""Labels out and in again: the identity, also for hostile text; what is no label is named by its line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.errors import LabelError
from reach_tui.labels.exchange import Labelled, from_csv, from_jsonl, read_file, to_csv, to_jsonl
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label
from reach_tui.taxonomy import default
from reach_tui.workspace.label_export import Exporter

TEXT = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\x00\n\r\t,;\"'=+-@\u2028\ufeff\x1b|")),
    max_size=30,
)
NAME = TEXT.filter(bool)
CATEGORIES = st.sampled_from(
    [(item.id, None) for item in default().categories]
    + [(item.id, sub.id) for item in default().categories for sub in item.subcategories]
)


@st.composite
def labels(draw: st.DrawFn) -> Label:
    category, subcategory = draw(CATEGORIES)
    return Label(
        store=draw(NAME),
        session_id=draw(NAME),
        call_key=draw(st.none() | NAME),
        content_hash=draw(st.none() | NAME),
        category=category,
        subcategory=subcategory,
        note=draw(TEXT),
        by=draw(NAME),
        at=draw(st.integers(946_684_800_000, 4_102_444_799_999) | st.integers(-5, 5)),
        taxonomy="reach-failure",
        taxonomy_version=draw(st.integers(0, 9)),
        verdict=draw(st.none() | st.booleans()),
        rule=draw(st.none() | NAME),
        tool_version=draw(TEXT),
        uid=draw(NAME),
    )


def label(**other: object) -> Label:
    base = Label(
        "peri", "s1", "c1", "sha256:0", "timeout_or_limit", "timeout", "n", "dev", 1_780_000_000_123,
        "reach-failure", 1, True, "rule", "0.1.0", None, "u1",
    )  # fmt: skip
    return replace(base, **other)  # type: ignore[arg-type]


@given(st.lists(labels(), max_size=4))
def test_json_lines_round_trip(given_labels: list[Label]) -> None:
    text = "".join(to_jsonl(Exporter(redact=False).rows(Labelled(item) for item in given_labels)))
    read = from_jsonl(text.split("\n"))
    assert read.problems == []
    assert read.labels == given_labels


@given(st.lists(labels(), max_size=4))
def test_csv_round_trip(given_labels: list[Label]) -> None:
    read = from_csv("".join(to_csv(Labelled(item) for item in given_labels)))
    assert read.problems == []
    assert read.labels == given_labels


def test_a_line_carries_call_and_context_whole() -> None:
    call = {"tool": "bash", "result": "x" * 50_000, "arguments": {"a": "\ud800"}}
    rows = Exporter(redact=False).rows([Labelled(label(), call, [{"kind": "user", "text": "hi\nthere"}])])
    (line,) = to_jsonl(rows)
    record = json.loads(line)
    assert record["call"]["result"] == "x" * 50_000
    assert json.loads(record["call"]["arguments"]) == {"a": "\ufffd"}
    assert record["context"] == [{"kind": "user", "text": "hi\nthere"}]
    assert record["label"]["at"] == "2026-05-28T20:26:40.123Z"
    assert line.count("\n") == 1


def test_a_cell_is_never_a_formula_and_a_cut_result_says_so() -> None:
    call = {"tool": "=cmd|' /C calc'!A0", "result": "y" * 5_000, "arguments": {"x": 1}}
    text = "".join(to_csv([Labelled(label(note="@SUM(A1)"), call)]))
    assert "\"'=cmd|' /C calc'!A0\"" in text
    assert '"\'@SUM(A1)"' in text
    assert "[cut: 5000 characters, sha256 " in text
    assert from_csv(text).labels == [label(note="@SUM(A1)")]


def test_a_note_longer_than_the_csv_module_s_limit_comes_back() -> None:
    long = label(note="n" * 200_000)
    assert from_csv("".join(to_csv([Labelled(long)]))).labels == [long]


def test_bad_lines_are_named_and_the_others_imported() -> None:
    good = json.dumps(
        {
            "store": "peri",
            "session_id": "s1",
            "category": "timeout_or_limit/timeout",
            "by": "x",
            "at": 1_780_000_000_000,
        }
    )
    lines = [
        good,
        "{not json",
        "[1, 2]",
        '{"label": {"store": "peri", "session_id": "s1", "category": "no_such", "by": "x", "at": 1780000000000}}',
        "",
        good.replace('"by": "x"', '"by": 5'),
        good.replace("1780000000000", '"yesterday"'),
        good.replace('"session_id": "s1", ', ""),
        good.replace('"by"', '"taxonomy": "mast", "by"'),
        good.replace('"s1"', '"s2"'),
    ]
    read = from_jsonl(lines)
    assert [(item.session_id, item.category, item.subcategory) for item in read.labels] == [
        ("s1", "timeout_or_limit", "timeout"),
        ("s2", "timeout_or_limit", "timeout"),
    ]
    assert [problem.line for problem in read.problems] == [2, 3, 4, 6, 7, 8, 9]
    assert "no_such" in read.problems[2].what
    assert "mast" in read.problems[-1].what


def test_bad_csv_rows_are_named_by_the_line_they_begin_on() -> None:
    text = "".join(to_csv([Labelled(label(note="two\nlines")), Labelled(label(uid="u2"))]))
    text = text.replace('"timeout_or_limit","timeout","n"', '"invented","timeout","n"')
    read = from_csv(text)
    assert [item.uid for item in read.labels] == ["u1"]
    assert [(problem.line, "invented" in problem.what) for problem in read.problems] == [(4, True)]
    assert from_csv("").labels == []


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_file_imported_twice_doubles_nothing(tmp_path: Path, suffix: str) -> None:
    with LabelStore.open(tmp_path / "a.db") as one:
        for number in range(5):
            one.save(label(call_key=f"c{number}", note="=1+1\r\n多"))
        one.save(label(call_key="c0", category="loop_repetition", subcategory=None))
        rows = [Labelled(item) for item in one.all_in_force()]
    file = tmp_path / f"labels.{suffix}"
    lines = to_jsonl(Exporter(redact=False).rows(rows)) if suffix == "jsonl" else to_csv(rows)
    file.write_text("".join(lines), encoding="utf-8", newline="")
    with LabelStore.open(tmp_path / "b.db") as other:
        read = read_file(file)
        assert read.problems == []
        assert other.merge(read.labels) == 5
        assert other.merge(read_file(file).labels) == 0
        assert [replace(item, id=None) for item in other.all_in_force()] == [
            replace(row.label, id=None) for row in rows
        ]
        assert other.undo("dev") is None, "an import is not one of this person's keys"
    with LabelStore.open(tmp_path / "a.db") as one:
        assert one.merge(read_file(file).labels) == 0


def test_an_older_label_is_imported_as_history_only(tmp_path: Path) -> None:
    with LabelStore.open(tmp_path / "a.db") as store:
        store.save(label(category="loop_repetition", subcategory=None))
        assert store.merge([label(uid="old", at=1_700_000_000_000), label(uid="eve", by="eve")]) == 2
        forced = {target: item.category for target, item in store.in_force("peri", "s1").items()}
        assert forced == {("c1", "dev"): "loop_repetition", ("c1", "eve"): "timeout_or_limit"}
        assert [row.late for row in store.history("peri", "s1", "c1")] == [False, True, False]
        assert store.merge([label(uid="new", at=1_790_000_000_000)]) == 1
        assert store.in_force("peri", "s1")["c1", "dev"].uid == "new"


def test_lines_without_a_uid_get_the_same_one_each_time(tmp_path: Path) -> None:
    with LabelStore.open(tmp_path / "a.db") as store:
        assert store.merge([label(uid=None)]) == 1
        assert store.merge([label(uid=None)]) == 0


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="cannot be read"):
        read_file(tmp_path / "none.jsonl")

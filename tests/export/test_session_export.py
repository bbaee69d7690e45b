"""One session as a file: whole, redacted, cut with size and hash stated, evidence where it was."""

from __future__ import annotations

import hashlib
import json
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import UsageError
from reach_tui.base.jsonio import JsonValue
from reach_tui.export.document import make_document
from reach_tui.export.markdown import code, fence
from reach_tui.model import Result, Session, StepKind, ToolCall
from reach_tui.native.writer import NativeWriter
from reach_tui.tui.panels import sentence
from reach_tui.workspace import Workspace
from reach_tui.workspace.session_export import FORMATS, render, session_document, write_export

KEY = "ghp_" + "a1B2" * 9
LONG = "Error: old_string not found in file\n" + "log line\n" * 25_000


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A session with a secret, and a result of 200 kB."""
    path = tmp_path / "reach.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s", title=f"deploy with {KEY}"))
        writer.add_message("s", StepKind.USER, f"use {KEY}\n```\nnested\n````\nafter")
        arguments: JsonValue = {
            "command": f"curl -H 'Authorization: Bearer {KEY}'",
            "env": {"DB_PASSWORD": "Tr0ub4dor&3"},
        }
        result = Result("Error: old_string not found, Tr0ub4dor&3", 40)
        writer.add_call(ToolCall("s/1", "1", "s", "edit", arguments, flagged=False, result=result))
        writer.add_call(ToolCall("s/2", "2", "s", "edit", {}, flagged=False, result=Result(LONG, len(LONG))))
    return path


def exported(trace: Path, form: str, *, redact: bool = True, limit: int = 20_000) -> str:
    workspace = Workspace([trace])
    (source,) = workspace.found.sources
    return render(session_document(workspace, source, "s", redact=redact, limit=limit), form)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_secrets_are_gone_and_said_to_be(trace: Path, form: str) -> None:
    text = exported(trace, form)
    assert KEY not in text
    assert "Tr0ub4dor" not in text
    assert "[redacted: github token]" in text
    assert KEY in exported(trace, form, redact=False)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_long_result_is_cut_with_size_and_hash(trace: Path, form: str) -> None:
    text = exported(trace, form)
    assert len(text) < 60_000
    assert hashlib.sha256(LONG.encode()).hexdigest() in text
    assert f"{len(LONG):,}" in text or str(len(LONG)) in text
    assert "…[cut " in text
    assert len(exported(trace, form, limit=0)) > 200_000


def test_the_json_document(trace: Path) -> None:
    document = json.loads(exported(trace, "json"))
    assert document["session"]["session_id"] == "s"
    assert [step["kind"] for step in document["steps"]] == ["user", "call", "call"]
    assert [step["call_key"] for step in document["steps"]] == [None, "s/1", "s/2"]
    assert [call["hidden"] for call in document["calls"]] == [True, True]
    assert document["redacted"]
    for call in document["calls"]:
        evidence = call["evidence"]
        assert call["result"][evidence["start"] : evidence["end"]] == evidence["text"]


def test_verdicts_and_evidence_show(trace: Path) -> None:
    markdown = exported(trace, "md")
    assert "◆ HIDDEN" in markdown
    assert "▐" in markdown
    html = exported(trace, "html")
    assert '<span class="hidden">◆ HIDDEN</span>' in html
    assert "<mark>" in html


@pytest.mark.parametrize(
    ("flagged", "status", "said"),
    [
        (False, "completed", "The store says succeeded (completed)"),
        (True, None, "The store says failed"),
        (None, "run`ning\n<b>", "The store says nothing about success (run`ning <b>)"),
    ],
)
def test_files_and_screens_say_alike_what_the_store_says(
    tmp_path: Path, flagged: bool | None, status: str | None, said: str
) -> None:
    path = tmp_path / "reach.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s"))
        writer.add_call(ToolCall("s/1", "1", "s", "edit", {}, flagged=flagged, status=status, result=Result("ok", 2)))
    workspace = Workspace([path])
    (judged,) = workspace.judged_calls(workspace.found.sources[0])
    assert sentence(judged).startswith(f"{said}.")
    assert f"<dd>{escape(said)}</dd>" in exported(path, "html")
    outer, mark, inner = said.partition(" (")
    assert f"- {outer}{mark}{code(inner[:-1]) + ')' if mark else ''}\n" in exported(path, "md")


@pytest.mark.parametrize("form", ["md", "html"])
def test_recorded_routes_and_slots_show(form: str) -> None:
    samples = Path(__file__).resolve().parents[2] / "sample_traces" / "reach"
    workspace = Workspace([samples])
    (source,) = workspace.found.sources
    call = next(one.call for one in workspace.judged_calls(source) if one.call.route and one.call.slots)
    text = render(session_document(workspace, source, call.session_id), form)
    assert call.route is not None
    assert call.slots is not None
    first = call.route.candidates[0]
    assert f"{first.name} {first.score}" in text
    assert f"→ {call.route.decision}" in text
    assert f"{call.slots[0].name}: {call.slots[0].source}" in text


@given(st.integers(0, 3_000), st.integers(1, 400), st.integers(200, 1_500), st.integers(0, 3_000))
@settings(max_examples=200, deadline=None)
def test_evidence_survives_any_cut(before: int, length: int, limit: int, after: int) -> None:
    text = "a" * before + "E" * length + "z" * after
    evidence: JsonValue = {"text": "E" * length, "start": before, "end": before + length, "where": "result"}
    call: dict[str, JsonValue] = {"call_key": "k", "result": text, "result_bytes": len(text), "evidence": evidence}
    (cut,) = make_document({}, [], [call], limit=limit).calls
    assert cut["result_cut"] is None or isinstance(cut["result_cut"], dict)
    shown, found = cut["result"], cut["evidence"]
    assert isinstance(shown, str)
    assert isinstance(found, dict)
    start, end = found["start"], found["end"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    assert len(shown) <= limit + 2 * len("\n…[cut 9,999 characters]…\n")
    if length <= limit // 3:
        assert shown[start:end] == "E" * length
    else:
        assert shown[start : start + 1] == "E"
    if cut["result_cut"] is not None:
        assert cut["result_cut"]["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@given(st.text(st.sampled_from("`a\n~ "), max_size=60))
@settings(max_examples=200, deadline=None)
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    lines = fence(text).splitlines()
    ticks = lines[0]
    assert set(ticks) == {"`"}
    assert lines[-1] == ticks
    assert not any(line.strip().startswith(ticks) for line in lines[1:-1])
    span = code(text)
    mark = span[: len(span) - len(span.lstrip("`"))]
    assert mark not in span[len(mark) : -len(mark)].replace(mark + "`", "")


def test_an_export_never_replaces_a_database(trace: Path, tmp_path: Path) -> None:
    workspace = Workspace([trace])
    sources = workspace.found.sources
    other = tmp_path / "other.txt"
    other.write_bytes(trace.read_bytes())
    for target in (trace, other):
        before = target.read_bytes()
        with pytest.raises(UsageError, match="database"):
            write_export("text", target, sources)
        assert target.read_bytes() == before
    with pytest.raises(UsageError, match="cannot be written"):
        write_export("text", tmp_path / "no" / "folder" / "x.md", sources)
    target = tmp_path / "x.md"
    write_export("one \udcb2", target, sources)
    write_export("two", target, sources)
    assert target.read_text() == "two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt", "reach.db", "x.md"]

"""Any JSON in any line of any program: nothing raises, nothing is lost, and calls stay the calls of the steps."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.jsonio import dumps
from reach_tui.model import StepKind
from reach_tui.stores.transcripts.reader import TranscriptReader
from reach_tui.stores.transcripts.recognition import formats
from tests.stores.conftest import RECORDED

DEEP = "[" * 2000 + "]" * 2000
FOLDERS = {
    "claude_code": "claude_code",
    "codex": "codex/main",
    "copilot_cli": "copilot_cli",
    "gemini_cli": "gemini_cli",
    "pi": "pi",
    "qwen_code": "qwen_code",
}
VALUES: list[Any] = [
    None, True, -1, 2**70, 1.5, "", "x", "\ud800", "\x1b]0;t\x07\u2028\x00", [], {}, [[]], [None, 1, "a", {}],
    {"a": {}}, [{"type": "text"}], {"type": 5, "id": [], "content": {}},
]  # fmt: skip


def lines_of(kind: str) -> list[Any]:
    """Some recorded lines of a program."""
    paths = sorted((RECORDED / FOLDERS[kind]).rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    return [json.loads(line) for path in paths[1:5] for line in path.read_text(encoding="utf-8").splitlines()]


def spoiled(value: Any, draw: st.DataObject, depth: int = 0) -> Any:
    """The value with a member at any depth replaced by something else, or taken out."""
    if depth < 6 and isinstance(value, dict) and value:
        name = draw.draw(st.sampled_from(sorted(value)))
        if draw.draw(st.integers(0, 9)) == 0:
            return {key: member for key, member in value.items() if key != name}
        return {**value, name: spoiled(value[name], draw, depth + 1)}
    if depth < 6 and isinstance(value, list) and value:
        index = draw.draw(st.integers(0, len(value) - 1))
        return [*value[:index], spoiled(value[index], draw, depth + 1), *value[index + 1 :]]
    return draw.draw(st.sampled_from(VALUES))


@pytest.mark.parametrize("kind", sorted(FOLDERS))
@settings(max_examples=30, deadline=None)
@given(draw=st.data())
def test_spoiled_lines(kind: str, draw: st.DataObject) -> None:
    lines = lines_of(kind)
    start = draw.draw(st.integers(0, len(lines) - 2))
    body = lines[start : start + 25]
    for _ in range(draw.draw(st.integers(1, 6))):
        index = draw.draw(st.integers(0, len(body) - 1))
        body[index] = spoiled(body[index], draw)
    raw = [json.dumps(line).encode() for line in body]
    raw.insert(draw.draw(st.integers(0, len(raw))), draw.draw(st.sampled_from([b"\xff\xfe{", b"null", DEEP.encode()])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollout-x.jsonl"
        path.write_bytes(b"\n".join(raw))
        for one in formats().values():
            one.recognise([line for line in body if isinstance(line, dict)] or [{}], path)
        check(path, kind)


def check(path: Path, kind: str) -> None:
    """The promises of a reader, on one file whoever wrote it."""
    form = formats()[kind]
    reader = TranscriptReader(form, path)
    reader.files = lambda: [path]  # type: ignore[method-assign]  # also where nothing in it can be recognised
    sessions = list(reader.sessions())
    steps = [step for session in sessions for step in reader.steps(session.id)]
    calls = [step.call for step in steps if step.call is not None]
    assert calls == list(reader.calls())
    assert len({call.key for call in calls}) == len(calls)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    for call in calls:
        dumps(call.arguments)
        dumps(dict(call.metadata))
    unread = sum(step.kind is StepKind.RAW for step in steps)
    troubles = [trouble for session in sessions for trouble in reader.troubles(session.id)]
    assert unread == sum(trouble.what == "unreadable line" for trouble in troubles)

"""Files that claim to hold call records: every line is imported, or named with its number."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.native.writer import NativeWriter
from reach_tui.workspace.call_records import RecordFile, holds_records
from reach_tui.workspace.importing import Importer
from reach_tui.workspace.sources import open_source
from tests.fuzz.kit import DAMAGES

RECORD = {
    "session_id": "s", "call_key": "k", "call_id": "c", "step": 3, "turn": 1, "tool": "bash", "target": None,
    "arguments": {"command": "ls"}, "result": "ok\u2028", "status": "completed", "metadata": {"exit_code": 0},
    "flagged": False, "started_at": "2026-06-01T10:00:00.123Z", "duration_ms": 5, "copy_of": None, "problem": None,
    "route": {"basis": "recorded", "intent": "x", "candidates": [{"name": "bash", "score": 0.9, "reason": ""}],
              "decision": "execute", "thresholds": {"t1": 0.75, "gap": 0.15, "floor": 0.5}},
    "slots": [{"name": "command", "value": "ls", "source": "user", "basis": "recorded", "confidence": 0.9}],
    "label": {"category": "stale_context", "note": "", "by": "dev", "at": "2026-06-01T10:00:00.123Z"},
}  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("recorded"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*RECORD, "name", "score"]), inner),
    max_leaves=8,
)


def take_in(file: Path, into: Path) -> tuple[int, int]:
    """How many calls came in, and how many lines did not."""
    records = RecordFile(file)
    with NativeWriter(into) as writer:
        importer = Importer(writer)
        for story in records.stories():
            importer.add(story, "records:x")
    assert len(list(open_source(into).reader.calls())) == importer.done.calls
    return importer.done.calls, len({number for number, _ in records.problems})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(sorted(RECORD)), values, max_size=6))
def test_wrong_types_in_every_field(changes: dict[str, Any], tmp_path: Path) -> None:
    file, into = tmp_path / "calls.jsonl", tmp_path / "all.db"
    into.unlink(missing_ok=True)
    file.write_text(json.dumps({**RECORD, **changes}), encoding="utf-8")
    calls, bad = take_in(file, into)
    assert calls + bad == 1
    assert bad == (not all(isinstance({**RECORD, **changes}[name], str) for name in ("session_id", "call_key", "tool")))


@pytest.mark.parametrize("number", range(24))
def test_damaged_files(number: int, tmp_path: Path) -> None:
    chance = random.Random(number)
    lines = [{**RECORD, "session_id": f"s{n % 3}", "call_key": f"k{n}", "step": n} for n in range(40)]
    body = bytearray("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    body = DAMAGES[number % len(DAMAGES)](body, chance)
    file = tmp_path / "calls.jsonl"
    file.write_bytes(body)
    holds_records(file)
    calls, bad = take_in(file, tmp_path / "all.db")
    written = sum(1 for line in body.split(b"\n") if line.strip())
    assert min(written, 1) <= calls + bad <= written  # two lines of one key are one call

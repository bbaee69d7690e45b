"""opencode's faster way to the calls gives the same ones as the exact way, but for their steps."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reach_tui.analyze.counts import tally
from reach_tui.detect import default_engine
from reach_tui.model import Glance, ToolCall
from reach_tui.stores import opencode_scan
from reach_tui.stores.catalog import open_store
from reach_tui.stores.reader import Scanned, told

_DATA = Path(__file__).resolve().parents[1] / "data" / "opencode"
RECORDED = sorted(_DATA.rglob("*.db"))


GLANCED = [name for name, value in vars(Glance).items() if isinstance(value, property)]


def _key(call: ToolCall) -> str:
    left_out: dict[str, Any] = {"step": 0, "visible": True}
    return repr(replace(call, metadata=dict(sorted(call.metadata.items())), **left_out))


def compare(path: Path) -> int:
    """Holds the two ways against each other; how many calls there were."""
    reader = open_store(path).reader
    assert isinstance(reader, Scanned)
    ids = [session.id for session in reader.sessions()]
    found = list(reader.scan(ids))
    assert sorted(one.session_id for one in found) == sorted(ids)
    scanned = {one.session_id: [call.whole() for call in one.calls] for one in found}
    glances = {one.session_id: one.calls for one in found}
    states = reader.growth.row_states(path, ids)
    for one in found:
        assert one.rows == states[one.session_id]
        exactly = told(one.session_id, reader.steps(one.session_id))
        assert (one.turns, one.unreadable) == (exactly.turns, exactly.unreadable)
        assert [call.key for call in one.calls] == [call.key for call in exactly.calls]
    engine = default_engine()
    seen = 0
    for session in ids:
        exact = list(reader.calls([session]))
        assert Counter(map(_key, exact)) == Counter(map(_key, scanned[session]))
        verdicts = {call.key: engine.judge(call) for call in exact}
        for glance, whole in zip(glances[session], scanned[session], strict=True):
            assert all(getattr(glance, name) == getattr(whole, name) for name in GLANCED if name != "plain")
            assert engine.judge(glance) == engine.judge(whole) == verdicts[whole.key]
        both: tuple[Sequence[Glance], ...] = (exact, glances[session])
        sums = [tally((call, verdicts[call.key]) for call in calls).of(session) for calls in both]
        assert sums[0] == sums[1]
        seen += len(exact)
    return seen


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: str(path.relative_to(_DATA)))
def test_recordings(path: Path) -> None:
    assert compare(path)


@pytest.mark.shared
def test_every_recording(shared: Path) -> None:
    found = [path for kind in ("opencode", "kilo") for path in sorted((shared / "real_traces" / kind).rglob("*.db"))]
    assert sum(compare(path) for path in found) > 300


def test_a_large_session_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode_scan, "_ROWS_AT_ONCE", 3)
    assert compare(RECORDED[0])


HOSTILE: list[Any] = [
    {"type": "tool", "tool": "bash"},
    {"type": "tool", "tool": "", "state": {"status": "completed", "input": {"a": 1}, "output": "x"}},
    {"type": "tool", "tool": 3, "state": {"status": 4, "input": [1], "output": {"a": 1}}},
    {"type": "tool", "tool": "bash", "state": []},
    {"type": "tool", "tool": "bash", "state": {"status": "error", "input": {"a": 1}, "error": {"message": "gone"}}},
    {"type": "tool", "tool": "bash", "state": {"status": "error", "input": {"a": 1}}},
    {"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"a": 1}, "output": "so far"}},
    {"type": "tool", "tool": "bash", "state": {"status": "strange", "input": {"a": 1}}},
    {"type": "tool", "tool": "bash", "state": {"status": "completed", "input": "{\"command\": \"ls\"}", "output": "x"}},
    {"type": "tool", "tool": "bash", "state": {"status": "completed", "input": {}, "raw": "{", "output": "x"}},
    {"type": "tool", "tool": "invalid", "state": {"status": "completed", "input": {"tool": "x", "error": "JSON"},
     "output": "x"}},
    {"type": "tool", "tool": "bash", "callID": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
     "metadata": {"exit": 3, "x": 1}, "state": {"status": "completed", "input": {"command": "ls"}, "output": "é\ud83d",
     "metadata": {"exit": True, "exitCode": 2.0, "output": "é", "sessionId": "ses_x"},
     "attachments": [{"type": "file"}, 3]}},
    {"type": "tool", "tool": "bash", "state": {"status": "completed", "input": {"command": "ls"}, "attachments": {},
     "output": "x\n<bash_metadata>\nbash tool terminated command after exceeding timeout 10 ms\n</bash_metadata>",
     "metadata": {"exit": None}}},
    {"type": "text", "text": 'the "tool" of choice'},
    {"type": "text", "text": "two"},
    {"type": "text", "text": "  "},
    {"type": "text", "text": "not typed", "synthetic": True},
    {"type": "file", "filename": "a.py"},
    {"type": "subtask"},
    {"type": "novelty", "text": "x"},
    {"type": 3},
    {"kind": "text"},
    [],
]  # fmt: skip


def test_rows_of_any_shape(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    shutil.copy(next(one for one in RECORDED if one.name == "opencode-1.2.20.db"), path)
    connection = sqlite3.connect(path)
    session, message = connection.execute("SELECT session_id, message_id FROM part LIMIT 1").fetchone()
    asked = connection.execute('SELECT id FROM message WHERE data LIKE \'%"role":"user"%\' LIMIT 1').fetchone()[0]
    columns = [row[1] for row in connection.execute("PRAGMA table_info(part)")]
    texts: list[Any] = [json.dumps(value) for value in HOSTILE]
    texts += [json.dumps(value, indent=1) for value in HOSTILE]
    texts += [
        '{"type": "tool"',
        b'{"type":"tool","tool":"b\xff","state":{}}',
        b'{"type":"tool","tool":"bash","state":{"status":"completed","input":{"n":1e999},"output":"x"}}',
        b'{"type":"tool","tool":"bash","title":"\xff","state":{"status":"completed","input":{"n":1.0},"output":"x"}}',
        b'{"type":"tool","tool":"bash","state":{"status":"completed","input":{"n":123456789012345678901234567890},'
        b'"title":"\xff","output":"x","metadata":{"exi\xff":3,"exit":4}}}',
        b'{"type":"tool","tool":"bash","state":{"status":"completed","input":{"n":"\xff"},"output":"x"}}',
        b'{"type":"text","text":"typed \xff"}',
        b'{"type":"text","text":"typed \\ud800"}',
        b'{"text":"typed","type":"text","synthetic":null}',
        b'{"text":"typed","type":"text","synthetic":false}',
        b'{"type":"reasoning","text":"\\q"}',
        "[" * 2000 + '"tool"',
        '"tool"',
        '{"type":"text"',
        "",
        "3",
    ]
    texts += [msgspec.json.encode({"type": "tool", "tool": "x", "state": {"input": {"n": 1}, "output": "y"}})]
    for number, text in enumerate(texts):
        row = {"id": f"prt_z{number:03}", "message_id": (message, "gone", asked)[number % 3], "session_id": session,
               "time_created": 0, "time_updated": 0, "data": text}  # fmt: skip
        names = [name for name in row if name in columns]
        marks = ",".join("?" * len(names))
        connection.execute(f"INSERT INTO part ({','.join(names)}) VALUES ({marks})", [row[name] for name in names])
    for name, text in [("x1", '{"role": "assistant"'), ("x2", "[]"), ("x3", '{"role":"user"}'), ("x4", b"\xff")]:
        connection.execute("INSERT INTO message SELECT ?, session_id, 0, 0, ? FROM message LIMIT 1", (name, text))
    error = json.dumps({"role": "assistant", "error": {"name": "MessageAbortedError", "data": {}}})
    connection.execute("UPDATE message SET data = ? WHERE id = ?", (error, message))
    connection.commit()
    connection.close()
    assert compare(path) > len(texts) / 2

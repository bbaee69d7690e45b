"""Reading is exact: calls, tools, flags and results against the truth files, by the rules of the shared scorer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from reach_tui.model import ToolCall
from reach_tui.stores.catalog import open_store
from reach_tui.workspace.sources import open_source
from tests.stores.conftest import TRANSCRIPT_FOLDERS

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDED = sorted(path for path in DATA.rglob("*.db") if path.with_suffix(".truth.json").exists())
SHARED_OPENCODE = ("opencode-1.2.20", "opencode-1.14.48", "opencode-1.18.33", "killed/opencode")


def faults(truth: list[dict[str, Any]], found: list[ToolCall]) -> list[tuple[object, ...]]:
    """What differs between the truth and the calls read; empty where reading is exact."""
    by_id: dict[tuple[str, str], list[ToolCall]] = defaultdict(list)
    for call in found:
        by_id[call.session_id, call.id].append(call)
    wrong: list[tuple[object, ...]] = []
    for want in truth:
        have = by_id[want["session_id"], want["call_id"] or ""]
        same_tool = [call for call in have if call.tool == want["tool"]]
        if not have:
            wrong.append(("missing", want["session_id"], want["call_id"]))
            continue
        call = (same_tool or have)[0]
        have.remove(call)
        if call.tool != want["tool"]:
            wrong.append(("tool", want["call_id"], want["tool"], call.tool))
        if call.flagged != want["flagged"]:
            wrong.append(("flag", want["call_id"], want["flagged"], call.flagged))
        kept = want.get("has_result") and want.get("result_kept", True)
        elsewhere = want.get("has_result") is False and bool(want.get("result_head"))  # shown or not
        if kept is not None and not elsewhere and bool(call.result) != kept:
            wrong.append(("has result", want["call_id"], want["has_result"]))
        head = "".join((want.get("result_head") or "").split())[:60]
        if head and call.result and head not in "".join(call.result.text.split()):
            wrong.append(("result", want["call_id"], head))
    wrong += [("extra", call.session_id, call.id) for rest in by_id.values() for call in rest]
    return wrong


def check(database: Path, truth: Path) -> int:
    return len(checked(database, truth))


def checked(database: Path, truth: Path) -> list[ToolCall]:
    """The calls of a store, held against its truth."""
    calls = list(open_source(database).reader.calls())
    wanted = json.loads(truth.read_text(encoding="utf-8"))["calls"]
    assert faults(wanted, calls) == []
    return calls


def truth_of(folder: Path) -> Path:
    """The truth file in, or beside, a folder of transcripts."""
    return next(folder.glob("*.truth.json"), folder.with_name(f"{folder.name}.truth.json"))


@pytest.mark.parametrize("database", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_recordings(database: Path) -> None:
    assert check(database, database.with_suffix(".truth.json")) > 0


@pytest.mark.parametrize("name", TRANSCRIPT_FOLDERS)
def test_shipped_transcripts(data: Path, name: str) -> None:
    assert check(data / name, truth_of(data / name)) > 0


@pytest.mark.shared
@pytest.mark.parametrize("name", [*TRANSCRIPT_FOLDERS, "codex/killed"])
def test_every_recorded_transcript(shared: Path, name: str) -> None:
    folder = shared / "real_traces" / name
    assert check(folder, truth_of(folder)) > 0


def test_the_comparison_itself_notices_faults(data: Path) -> None:
    database = data / "opencode" / "opencode-1.14.48.db"
    calls = list(open_store(database).reader.calls())
    wanted = json.loads(database.with_suffix(".truth.json").read_text(encoding="utf-8"))["calls"]
    assert faults(wanted, calls[1:]) != []
    assert faults(wanted[1:], calls) != []
    wanted[0]["flagged"] = None
    assert [kind for kind, *_ in faults(wanted, calls)] == ["flag"]


@pytest.mark.shared
@pytest.mark.parametrize("name", SHARED_OPENCODE)
def test_every_opencode_recording(shared: Path, name: str) -> None:
    folder = shared / "real_traces" / "opencode"
    assert check(folder / f"{name}.db", folder / f"{name}.truth.json") > 0


def generate(shared: Path, tmp_path: Path, *options: str) -> Path:
    path = tmp_path / "threads.db"
    script = shared / "make_traces" / "make_peri.py"
    subprocess.run(
        [sys.executable, str(script), *options, "--out", str(path), "--truth", str(path.with_suffix(".truth.json"))],
        check=True,
        capture_output=True,
    )
    return path


@pytest.mark.shared
@pytest.mark.parametrize(
    ("schema", "form"),
    [
        *((schema, "mixed") for schema in ("min", "0", "3", "11", "17")),
        *(("17", form) for form in ("dual", "calls", "envelope")),
    ],
)
def test_every_peri_layout(shared: Path, tmp_path: Path, schema: str, form: str) -> None:
    path = generate(shared, tmp_path, "--profile", "small", "--schema", schema, "--message-format", form, "--seed", "7")
    assert check(path, tmp_path / "threads.truth.json") > 300


@pytest.mark.shared
def test_the_retrospective(retrospective: tuple[Path, dict[str, Any]]) -> None:
    """32,764 calls; the same counts as the report that the project is seeded with."""
    path, _ = retrospective
    calls = checked(path, path.with_suffix(".truth.json"))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    own = {session.id for session in open_store(path).reader.sessions() if session.own_work}
    for call in calls:
        if call.session_id in own and call.result is not None:
            counts[call.tool][0] += 1
            counts[call.tool][1] += call.flagged is True
    assert counts["Agent"] == [1344, 0]
    assert counts["Edit"] == [6233, 0]


@pytest.mark.shared
def test_a_generated_opencode_store(shared: Path, tmp_path: Path) -> None:
    script, path, truth = shared / "make_traces" / "make_opencode_like.py", tmp_path / "o.db", tmp_path / "o.json"
    command = [
        sys.executable,
        str(script),
        "--sessions",
        "30",
        "--calls",
        "1500",
        "--out",
        str(path),
        "--truth",
        str(truth),
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert check(path, truth) == 1500

"""Tools that a person's rule files name are known to what reads, edits and writes files."""

from __future__ import annotations

from pathlib import Path

from reach_tui.detect.files import EDIT, READ, access, kind_of
from reach_tui.model import ToolCall
from reach_tui.workspace.rules import engine_with


def _rules(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _call(tool: str) -> ToolCall:
    return ToolCall(key="k", id="k", session_id="s", tool=tool, arguments={"path": "a/../notes.txt"})


def test_a_tool_added_to_a_shipped_family(tmp_path: Path) -> None:
    assert kind_of("peruse_scroll") is None
    engine_with([_rules(tmp_path, "mine", 'family = "read"\nnature = "content"\ntools = ["peruse_*"]\n')])
    assert kind_of("peruse_scroll") == READ
    assert access(_call("mcp__desk__peruse_scroll"), "/home") == (READ, ("/home/notes.txt",))


def test_a_family_of_ones_own_that_edits(tmp_path: Path) -> None:
    text = 'family = "chisels"\nnature = "edit"\ntools = ["chisel_stone"]\ninclude = ["harness"]\n'
    engine_with([_rules(tmp_path, "mine", text)])
    assert kind_of("chisel_stone") == EDIT
    assert kind_of("read_file") == READ


def test_other_families_add_nothing(tmp_path: Path) -> None:
    text = 'family = "parcels"\nnature = "answer"\ntools = ["weigh_parcel"]\ninclude = ["service"]\n'
    engine_with([_rules(tmp_path, "mine", text)])
    assert kind_of("weigh_parcel") is None

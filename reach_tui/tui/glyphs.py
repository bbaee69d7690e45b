"""The marks, in Unicode and in ASCII: glyph, word and colour always say the same thing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from reach_tui.model import ToolCall, Verdict, is_hidden


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of marks; every one is a single cell."""

    flagged: str
    hidden: str
    soft: str
    open: str
    ok: str
    check: str
    repeated: str
    label: str
    cursor: str
    child: str
    folded: str
    unfolded: str
    rule: str
    vertical: str
    bar: str
    bar_empty: str
    threshold: str
    dot: str
    dot_empty: str
    mark_left: str
    mark_right: str
    flip: str
    """Another decision under the settings of a replay."""
    guard: str
    killed: str
    blocked: str
    again: str


UNICODE = Glyphs(
    flagged="✗", hidden="◆", soft="~", open="?", ok="·", check="!", repeated="↻", label="✎", cursor="▌", child="└",
    folded="▸", unfolded="▾", rule="─", vertical="│", bar="█", bar_empty="░", threshold="┊", dot="●", dot_empty="○",
    mark_left="▐", mark_right="▌", flip="≠", guard="■", killed="†", blocked="⊘", again="⟲",
)  # fmt: skip
ASCII = Glyphs(
    flagged="x", hidden="H", soft="~", open="?", ok=".", check="!", repeated="r", label="L", cursor=">", child="`",
    folded="+", unfolded="-", rule="-", vertical="|", bar="#", bar_empty=".", threshold=":", dot="*", dot_empty="o",
    mark_left="[", mark_right="]", flip="%", guard="G", killed="K", blocked="B", again="R",
)  # fmt: skip


def choose_glyphs() -> Glyphs:
    """Unicode where the terminal's encoding has it; `REACH_TUI_ASCII=1` asks for ASCII."""
    encoding = (getattr(sys.__stdout__, "encoding", None) or "utf-8").lower().replace("-", "")
    wants_ascii = os.environ.get("REACH_TUI_ASCII", "") not in ("", "0")
    return ASCII if wants_ascii or not encoding.startswith("utf") else UNICODE


@dataclass(frozen=True, slots=True)
class Mark:
    """How a verdict is shown: a glyph, a word and the name of a style."""

    glyph: str
    word: str
    style: str


def mark_of(call: ToolCall, verdict: Verdict, glyphs: Glyphs) -> Mark:
    """The mark of a judged call."""
    if verdict.failed:
        if is_hidden(call, verdict):
            return Mark(glyphs.hidden, "HIDDEN", "hidden")
        return Mark(glyphs.flagged, "FLAGGED", "flagged")
    if verdict.failed is False:
        if verdict.check_reported:
            return Mark(glyphs.check, "CHECK", "soft")
        return Mark(glyphs.ok, "ok", "ok")
    if verdict.soft:
        return Mark(glyphs.soft, "SOFT", "soft")
    if call.result is None:
        return Mark(glyphs.open, "NO RESULT", "open")
    return Mark(glyphs.open, "UNDECIDED", "open")

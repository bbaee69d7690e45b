"""Calls of many sessions as lines of a list: what is kept of a call, without its result, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reach_tui.base.text import one_line, shown_name
from reach_tui.model import Step
from reach_tui.tui.glyphs import Glyphs, Mark, mark_of
from reach_tui.tui.lines import Line, fit, padded
from reach_tui.tui.rows import about_call, when
from reach_tui.workspace import JudgedCall, Source
from reach_tui.workspace.finding import Hit


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call in a list; small, whatever its result."""

    source: Source
    session_id: str
    key: str | int
    """Of the call; the number of a step that is none, 0 for the session itself."""
    at: int | None
    mark: Mark
    tool: str
    about: str
    said: str
    """The evidence; empty where there is none."""


def line_of(source: Source, judged: JudgedCall, glyphs: Glyphs) -> CallLine:
    """What a list keeps of a call."""
    call, verdict = judged.call, judged.verdict
    said = one_line(verdict.evidence.text[:400]) if verdict.evidence else ""
    mark = mark_of(call, verdict, glyphs)
    tool = shown_name(call.shown_tool[:200])
    about = about_call(call.arguments)[:400]
    return CallLine(source, call.session_id, call.key, call.started_at, mark, tool, about, said)


def line_of_step(hit: Hit, step: Step, title: str, glyphs: Glyphs) -> CallLine:
    """A step that is no call: what it is, what it says, and where it is."""
    mark = Mark(glyphs.open, step.kind.upper(), "open")
    said = one_line(step.text[:400])
    at = step.at if step.at is not None or hit.session is None else hit.session.started_at
    return CallLine(hit.source, hit.session_id, step.number, at, mark, step.kind, said, title)


def line_of_session(hit: Hit, title: str, glyphs: Glyphs) -> CallLine:
    """A session: its title, and what its own row says is missing."""
    session = hit.session
    mark = Mark(glyphs.folded, "SESSION", "text")
    said = one_line(", ".join(session.notes)[:400]) if session is not None else ""
    at = session.started_at if session is not None else None
    return CallLine(hit.source, hit.session_id, 0, at, mark, "session", title, said)


def draw(one: CallLine, width: int, glyphs: Glyphs, now: datetime, place: str, *, cursor: bool) -> Line:
    """Time, mark, tool, what it was about, evidence or place (where the call is)."""
    wide = width >= 100
    time_width, tool_width = (13, 18) if wide else (0, 14)
    rest = max(10, width - 2 - time_width - 3 - tool_width - 1)
    half = rest // 2
    return [
        (glyphs.cursor if cursor else " ", "key"),
        (" ", "text"),
        (fit(when(one.at, now), time_width) if wide else "", "dim"),
        (f"{one.mark.glyph}  ", one.mark.style),
        (f"{fit(one.tool, tool_width)} ", one.mark.style),
        (f"{fit(one.about, half - 1)} ", "text"),
        (fit(one.said or place, rest - half), "dim"),
    ]


@dataclass(frozen=True, slots=True)
class HitLine:
    """A call that holds the words searched for, with the line around them."""

    call: CallLine
    step: int
    place: str
    """The session's title."""
    where: str
    excerpt: str
    spans: tuple[tuple[int, int], ...]
    """Where the words stand in the excerpt."""


def draw_hit(one: HitLine, width: int, glyphs: Glyphs, now: datetime, *, cursor: bool) -> Line:
    """Mark, tool, session and step, then the excerpt with the words marked."""
    call = one.call
    tool_width, place_width = (18, 28) if width >= 140 else (14, 22) if width >= 100 else (10, 14)
    step = f"{one.step:>4}" if one.step else "   –"
    line: Line = [(glyphs.cursor if cursor else " ", "key"), (" ", "text")]
    if width >= 140:
        line.append((fit(when(call.at, now), 13), "dim"))
    line += [
        (f"{call.mark.glyph} ", call.mark.style),
        (f"{fit(call.tool, tool_width)} ", call.mark.style),
        (f"{fit(one.place, place_width)} ", "text"),
        (f"{step} ", "dim"),
        ("→ " if one.where == "result" else "← ", "dim") if not glyphs.rule.isascii() else (f"{one.where[0]} ", "dim"),
    ]
    return padded([*line, *marked(one.excerpt, one.spans)], width)


def marked(text: str, spans: Sequence[tuple[int, int]]) -> Line:
    """A text with some spans in the evidence's style."""
    line: Line = []
    done = 0
    for start, end in spans:
        line += [(text[done:start], "dim"), (text[start:end], "evidence")]
        done = end
    return [*line, (text[done:], "dim")]

"""The rows of the lists, as lines: what a session and a step look like at a given width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.base.text import clean, one_line, shown_name
from reach_tui.model import StepKind
from reach_tui.tui.glyphs import Glyphs, mark_of
from reach_tui.tui.lines import Line, fit
from reach_tui.workspace import JudgedSession, JudgedStep, Source

_DAY = 86_400
_MAIN_ARGUMENTS = (
    "file_path", "filePath", "path", "filename", "command", "cmd", "pattern", "query", "sql", "url",
    "subagent_type", "description", "prompt", "name", "id",
)  # fmt: skip
_PATHS = ("file_path", "filePath", "path", "filename")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A visible row of the session list."""

    source: Source
    judged: JudgedSession
    depth: int = 0
    children: int = 0
    unfolded: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the session list; `width` 0 takes what is left."""

    name: str
    head: str
    width: int
    right: bool = False


def session_columns(width: int, several_stores: bool) -> list[Column]:
    """The columns that fit: title always, the rest from the most to the least telling."""
    columns = [
        Column("hidden", "hidden", 8),
        Column("flagged", "flagged", 7),
        Column("calls", "calls", 6, right=True),
        Column("when", "when", 12),
    ]
    if width >= 96:
        columns.append(Column("project", "project", 12 if width < 140 else 22))
    columns.append(Column("title", "title", 0))
    if width >= 110:
        columns.append(Column("model", "model", 12 if width < 140 else 24))
    if width >= 140 or (several_stores and width >= 110):
        columns.append(Column("store", "store", 13 if width < 140 else 20))
    if width >= 140:
        columns.append(Column("open", "no result", 9, right=True))
    columns.append(Column("labels", "labels", 6, right=True))
    fixed = sum(column.width for column in columns) + len(columns) + 1
    left = max(width - fixed, 8)
    return [column if column.width else Column(column.name, column.head, left) for column in columns]


def session_head(columns: list[Column], sort: str, glyphs: Glyphs) -> Line:
    """The line of column heads; the sorted one is marked."""
    line: Line = [("  ", "dim")]
    for column in columns:
        chosen = column.name == sort
        text = f"{column.head}{glyphs.unfolded if chosen else ''}"
        line += [(fit(text, column.width, right=column.right), "title" if chosen else "dim"), (" ", "text")]
    return line


def session_line(row: SessionRow, columns: list[Column], glyphs: Glyphs, now: datetime, *, cursor: bool) -> Line:
    """One session."""
    line: Line = [(glyphs.cursor if cursor else " ", "key"), (" ", "text")]
    for column in columns:
        line += [*_cell(row, column, glyphs, now), (" ", "text")]
    return line


def _cell(row: SessionRow, column: Column, glyphs: Glyphs, now: datetime) -> Line:
    session, sums = row.judged.session, row.judged.counts
    counts, width = (sums.counts if sums else None), column.width
    match column.name:
        case "hidden" | "flagged" as name:
            indent = "  " * row.depth if name == "hidden" else ""
            if counts is None:
                return [(fit(f"{indent}…", width), "dim")]
            number = counts.hidden if name == "hidden" else counts.flagged
            glyph = (glyphs.hidden if name == "hidden" else glyphs.flagged) if number else glyphs.ok
            branch = f"{'  ' * (row.depth - 1)}{glyphs.child} " if row.depth and name == "hidden" else ""
            return [(branch, "dim"), (fit(f"{glyph} {number:>3}", width - len(branch)), name if number else "ok")]
        case "calls":
            return [(fit("…" if counts is None else f"{counts.calls:,}", width, right=True), "text")]
        case "open":
            number = counts.unfinished if counts else 0
            return [(fit(f"{glyphs.open} {number}" if number else "", width, right=True), "open")]
        case "when":
            return [(fit(when(session.started_at, now), width), "dim")]
        case "project":
            return [(fit(short_project(session.project), width), "dim")]
        case "model":
            return [(fit(session.model or "", width), "dim")]
        case "store":
            return [(fit(row.source.kind if width < 16 else f"{row.source.kind} · {row.source.name}", width), "dim")]
        case "labels":
            number = row.judged.labelled
            return [(fit(f"{glyphs.label} {number}" if number else "", width, right=True), "label")]
    fold = f"{glyphs.unfolded if row.unfolded else glyphs.folded}{row.children} " if row.children else ""
    title = title_of(row.judged)
    return [(fold, "key"), (fit(title, width - len(fold)), "text")]


def title_of(judged: JudgedSession) -> str:
    """The session's title; its id where it has none."""
    return " ".join(one_line(judged.session.title or "").split()) or f"(no title) {judged.session.id}"


def short_project(project: str | None) -> str:
    """The last folder of a working directory; `(none)` for an empty one."""
    if not project or not project.strip():
        return "(none)"
    return PurePath(one_line(project[:4096])).name or project[:64]


def when(ms: int | None, now: datetime) -> str:
    """A time as people say it: `today 10:42`, `Mon 16:20`, `3 Nov`, `3 Nov 2025`; a dash where unknown."""
    if ms is None:
        return "–"
    moment = datetime.fromtimestamp(ms / 1000, now.tzinfo)
    days = (now.date() - moment.date()).days
    if days == 0:
        return f"today {moment:%H:%M}"
    if days == 1:
        return f"yest. {moment:%H:%M}"
    if 1 < days < 7:
        return f"{moment:%a %H:%M}"
    day = f"{moment.day} {moment:%b}"
    return day if moment.year == now.year else f"{day} {moment.year}"


def span_of(ms: int | None) -> str:
    """A duration with its unit: `41ms`, `2.4s`, `18m`; empty where unknown."""
    if ms is None:
        return ""
    if ms < 1000:
        return f"{ms}ms"
    seconds = ms / 1000
    if seconds < 99.5:
        return f"{seconds:.1f}s"
    return f"{seconds / 60:.0f}m" if seconds < 5940 else f"{seconds / 3600:.1f}h"


@dataclass(frozen=True, slots=True)
class StepRow:
    """A visible row of the step list: an index into the session's steps, and how many repeats it stands for."""

    index: int
    repeats: int = 1
    unfolded: bool = False


def step_line(
    judged: JudgedStep, row: StepRow, width: int, glyphs: Glyphs, *, cursor: bool, digits: int, saved: Mapping[str, str]
) -> Line:
    """One step: number, mark, tool or speaker, what it was about, duration. `saved` maps call keys to label digits."""
    step = judged.step
    head: Line = [(glyphs.cursor if cursor else " ", "key"), (f"{step.number:>{digits}} ", "dim")]
    room = width - digits - 2
    if judged.judged is None:
        return head + _message_pieces(judged, room)
    call = judged.judged.call
    mark = mark_of(call, judged.judged.verdict, glyphs)
    digit = saved.get(call.key)
    label = f"{glyphs.label}{digit}" if digit is not None else "  "
    repeated = glyphs.repeated if row.repeats > 1 else " "
    duration = f"×{row.repeats}" if row.repeats > 1 else span_of(call.duration_ms)
    name_width = min(max(8, room // 4), 18)
    rest = room - 5 - name_width - 1 - 6
    name = shown_name(call.target or call.tool if room < 36 else call.shown_tool)
    about = "same again" if row.repeats > 1 else about_call(call.arguments)
    style = "text" if step.visible else "invisible"
    return [
        *head,
        (f"{mark.glyph}{repeated}", mark.style),
        (label, "label"),
        (" ", "text"),
        (fit(name, name_width), mark.style if mark.style != "ok" else style),
        (" ", "text"),
        (fit(about, rest), "dim"),
        (fit(duration, 6, right=True), "dim"),
    ]


_SPEAKERS = {
    StepKind.USER: ("user", "user"),
    StepKind.ASSISTANT: ("assistant", "assistant"),
    StepKind.REASONING: ("thinking", "invisible"),
    StepKind.SYSTEM: ("system", "dim"),
    StepKind.ERROR: ("error", "flagged"),
    StepKind.DECISION: ("decision", "soft"),
    StepKind.NOTE: ("note", "dim"),
    StepKind.RAW: ("unreadable", "soft"),
}


def _message_pieces(judged: JudgedStep, room: int) -> Line:
    word, style = _SPEAKERS.get(judged.step.kind, ("note", "dim"))
    text = one_line(judged.step.text[: room * 8])
    if judged.step.inherited:
        word += " (inherited)"
    return [(f"{word} ", style), (fit(text, room - len(word) - 1), style if word == "user" else "dim")]


def about_call(arguments: JsonValue) -> str:
    """The argument that says most about a call, on one line."""
    if isinstance(arguments, str):
        return one_line(arguments[:400])
    if not isinstance(arguments, dict) or not arguments:
        return ""
    lowered = {name.lower(): name for name in arguments}
    for wanted in _MAIN_ARGUMENTS:
        name = lowered.get(wanted.lower())
        value = arguments[name] if name is not None else None
        if isinstance(value, str) and value.strip():
            text = one_line(value[:400])
            return _tail_of_path(text) if wanted in _PATHS else text
    value = next(iter(arguments.values()))
    return one_line(value[:400] if isinstance(value, str) else dumps(value)[:400])


def _tail_of_path(path: str) -> str:
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 3 else path


def search_text(judged: JudgedStep) -> str:
    """Everything a search in a session looks at, folded to lower case."""
    parts = [judged.step.text]
    if judged.judged is not None:
        call = judged.judged.call
        parts += [call.shown_tool, call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)]
        if call.result is not None:
            parts.append(call.result.text)
    return clean("\n".join(parts)).casefold()

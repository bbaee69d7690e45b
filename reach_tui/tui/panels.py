"""What the inspector says about a step, as lines: verdict, route and slots side by side, diff, arguments, result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from reach_tui.base.clock import now_ms
from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.base.text import clean, one_line, shown_name
from reach_tui.model import Evidence, StepKind, ToolCall, store_says
from reach_tui.tui.glyphs import Glyphs, mark_of
from reach_tui.tui.lines import Line, cut, hard_wrap, heading, padded, spread, width_of, wrap
from reach_tui.tui.long_text import Joined, TextLines
from reach_tui.tui.route_panel import route_brief, route_lines
from reach_tui.tui.rows import span_of
from reach_tui.tui.slot_panel import belief_lines, slot_lines, slots_brief
from reach_tui.workspace import JudgedCall, JudgedStep

if TYPE_CHECKING:
    from reach_tui.infer.held import Belief

PREVIEW = 12_288
"""Characters of a result that the inspector shows; the full-screen view has the rest."""
SILENT_MS = 10 * 60 * 1000
"""A call that has had no answer for so long is taken for stopped, not for running."""
_PLACE = 8
"""Lines kept for route and slots while they are inferred: what stands below must not jump."""
_OLD = ("old_string", "oldString", "old_str", "old_text", "oldText")
_NEW = ("new_string", "newString", "new_str", "new_text", "newText")


@dataclass(frozen=True, slots=True)
class Style:
    """How the inspector is laid out."""

    glyphs: Glyphs
    brief: bool = False
    """Route and slots as one line each (small screens)."""
    limit: int = PREVIEW
    reading: bool = False
    """Route and slots are being inferred: they come a moment later."""


def inspect(judged: JudgedStep, width: int, style: Style, belief: Belief | None = None) -> Sequence[Line]:
    """The inspector's lines for a step; `belief`: what an edit believed its file to hold."""
    width = max(width, 20)
    if judged.judged is None:
        return _message(judged, width, style)
    one = judged.judged
    lines = verdict_lines(one, width, style)
    if style.brief:  # little room: the evidence before what the call was
        lines += [
            route_brief(one.call.route, width, reading=style.reading),
            slots_brief(one.call.slots, width, style.glyphs, reading=style.reading),
        ]
        after = belief_lines(belief, width, style.glyphs) + diff_lines(one.call, width, style.glyphs)
        return Joined(lines, result_lines(one, width, style), after, argument_lines(one.call, width, style))
    lines += _side_by_side(one.call, width, style)
    lines += belief_lines(belief, width, style.glyphs)
    lines += diff_lines(one.call, width, style.glyphs)
    lines += argument_lines(one.call, width, style)
    return Joined(lines, result_lines(one, width, style))


def _message(judged: JudgedStep, width: int, style: Style) -> Sequence[Line]:
    step = judged.step
    words = {StepKind.RAW: "a row that could not be read, as it stands", StepKind.REASONING: "the model's reasoning"}
    head = words.get(step.kind, str(step.kind))
    if step.route is not None:
        return [
            heading(f"step {step.number} · {head}, no call was made", width, style.glyphs),
            *([(row, "text")] for row in wrap(clean(step.text[: style.limit]), width)),
            *route_lines(step.route, width, style.glyphs),
        ]
    text = clean(step.text[: style.limit])
    lines: list[Line] = [heading(f"step {step.number} · {head}", width, style.glyphs)]
    if step.inherited:
        lines.append([("copied from the parent session, not counted", "soft")])
    if not step.visible:
        lines.append([("compacted away: the model no longer saw this", "soft")])
    lines += [[(row, "text")] for row in wrap(text, width)]
    if len(step.text) > style.limit:
        lines.append([(f"… {len(step.text) - style.limit:,} more characters: Enter shows all", "key")])
    return lines


def verdict_lines(judged: JudgedCall, width: int, style: Style) -> list[Line]:
    """What happened and why we say so: mark, tool, class, rule, confidence; one sentence; the label."""
    call, verdict = judged.call, judged.verdict
    mark = mark_of(call, verdict, style.glyphs)
    klass = " / ".join(part for part in (verdict.category, verdict.subcategory) if part)
    left: Line = [(f"{mark.glyph} {mark.word}", mark.style), ("  ", "text"), (shown_name(call.shown_tool), "title")]
    if klass:
        left += [(" · ", "dim"), (klass, mark.style)]
    right: Line = []
    if verdict.rule:
        right = [("rule ", "dim"), (one_line(verdict.rule), "text"), (f"  {verdict.confidence:.0%}", "title")]
    fits = width_of(left) + width_of(right) < width
    lines = [spread(left, right, width)] if fits else [padded(left, width), *([padded(right, width)] if right else [])]
    lines += [[(row, "text")] for row in wrap(sentence(judged), width)[:3]]
    if judged.label is not None:
        label = judged.label
        chosen = " / ".join(part for part in (label.category, label.subcategory) if part)
        note = f" “{one_line(label.note)}”" if label.note else ""
        chosen += " · first cause" if label.first_cause else ""
        lines.append(
            padded(
                [(f"{style.glyphs.label} {chosen}", "label"), (f" by {one_line(label.by)}{note}  ", "dim")],
                width,
            )
        )
    if call.problem:
        lines.append(padded([(one_line(call.problem), "soft")], width))
    return lines


def sentence(judged: JudgedCall) -> str:
    """What the store says, and what the result says: a sentence to read aloud."""
    call, verdict = judged.call, judged.verdict
    text = f"{store_says(call.flagged, one_line(call.status) if call.status else None)}."
    if verdict.explanation:
        text += f" {one_line(verdict.explanation)}"
    elif verdict.evidence is not None:
        text += f" The {verdict.evidence.where} says: {one_line(verdict.evidence.text)[:200]}"
    if call.result is None and not verdict.explanation:
        text += f" {_silence(call)}"
    if not call.visible:
        text += " Compacted away: the model no longer saw this step."
    if call.copy_of:
        text += f" A stored copy of {one_line(call.copy_of)}."
    return text


def _silence(call: ToolCall, now: int | None = None) -> str:
    """Whether a call without a result still runs: after `SILENT_MS` without an answer nobody waits for it any more."""
    if call.started_at is None:
        return "No result is recorded."
    waited = (now_ms() if now is None else now) - call.started_at
    if waited <= SILENT_MS:
        return "No result yet: it may still be running."
    return f"No result is recorded: stopped, there was no answer for {SILENT_MS // 60_000} minutes."


def _side_by_side(call: ToolCall, width: int, style: Style) -> list[Line]:
    left_width = (width - 1) // 2
    right_width = width - 1 - left_width
    glyphs, full = style.glyphs, style.limit > PREVIEW
    left = route_lines(call.route, left_width, glyphs, full=full, reading=style.reading)
    right = slot_lines(call.slots, right_width, glyphs, full=full, reading=style.reading)
    rows: list[Line] = []
    for index in range(max(len(left), len(right), _PLACE if style.reading else 0)):
        one = left[index] if index < len(left) else []
        two = right[index] if index < len(right) else []
        rows.append([*padded(one, left_width), (glyphs.vertical, "rule"), *padded(two, right_width)])
    return rows


def diff_lines(call: ToolCall, width: int, glyphs: Glyphs) -> list[Line]:
    """For edits: what the agent believed stood there, and what it wanted instead, side by side."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    old = next((arguments[name] for name in _OLD if isinstance(arguments.get(name), str)), None)
    new = next((arguments[name] for name in _NEW if isinstance(arguments.get(name), str)), None)
    if not isinstance(old, str) or not isinstance(new, str):
        return []
    from difflib import SequenceMatcher

    before, after = clean(old[:8000]).split("\n")[:60], clean(new[:8000]).split("\n")[:60]
    half = (width - 1) // 2
    rows: list[Line] = [
        [
            *heading("the agent believed", half, glyphs),
            (glyphs.rule, "rule"),
            *heading("and wanted", width - half - 1, glyphs),
        ]
    ]
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        left, right = before[a:b], after[c:d]
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else None
            two = right[index] if index < len(right) else None
            mark, other = (" ", " ") if tag == "equal" else ("-", "+")
            before_style, after_style = ("dim", "dim") if tag == "equal" else ("removed", "added")
            rows.append(
                [
                    (cut("" if one is None else f"{mark} {one}", half), before_style),
                    (glyphs.vertical, "rule"),
                    (cut("" if two is None else f"{other} {two}", width - half - 1), after_style),
                ]
            )
    return rows


def argument_lines(call: ToolCall, width: int, style: Style) -> list[Line]:
    """The arguments, one a line; long ones wrapped and cut."""
    duration = f" · {span_of(call.duration_ms)}" if call.duration_ms is not None else ""
    lines = [heading(f"arguments · step {call.step}{duration}", width, style.glyphs)]
    if isinstance(call.arguments, str):
        return lines + [[(row, "soft")] for row in hard_wrap(clean(call.arguments[:4000]), width)[:40]]
    if not isinstance(call.arguments, dict) or not call.arguments:
        return [*lines, [("none", "dim")]]
    skip = {*_OLD, *_NEW} if not style.limit > PREVIEW else set()
    for name, value in call.arguments.items():
        if name not in skip:
            lines += _argument(name, value, width, style)
    return lines


def _argument(name: str, value: JsonValue, width: int, style: Style) -> list[Line]:
    text = clean(value if isinstance(value, str) else dumps(value))
    most = 6 if style.limit <= PREVIEW else 4000
    head = f"{set_cell_size(one_line(name)[:40], min(cell_len(one_line(name)[:40]), width - 10))}: "
    indent = cell_len(head)
    rows = hard_wrap(text[: width * (most + 1)], width - indent)
    lines: list[Line] = [[(head, "dim"), (rows[0], "text")]]
    lines += [[(" " * indent, "dim"), (row, "text")] for row in rows[1:most]]
    if len(rows) > most or len(text) > width * (most + 1):
        lines.append([(f"… {len(text):,} characters in all: Enter shows more", "key")])
    return lines


def result_lines(judged: JudgedCall, width: int, style: Style) -> Sequence[Line]:
    """The result with the evidence marked; what is cut is said."""
    result = judged.call.result
    if result is None:
        return [heading("result", width, style.glyphs), [("none recorded", "dim")]]
    evidence = (
        judged.verdict.evidence if judged.verdict.evidence and judged.verdict.evidence.where == "result" else None
    )
    start, text = _window(result.text, evidence, style.limit)
    lines = [heading(f"result · {size_of(result.bytes)}", width, style.glyphs)]
    if start:
        lines.append([(f"… {start:,} characters before: Enter shows all", "key")])
    after: list[Line] = []
    rest = len(result.text) - start - len(text)
    if rest > 0:
        after.append([(f"… {rest:,} more characters: Enter shows all", "key")])
    if notice := judged.call.metadata.get("notice"):
        after += [
            heading("the program adds", width, style.glyphs),
            *([(row, "dim")] for row in wrap(clean(str(notice))[:2000], width)),
        ]
    return Joined(lines, marked_lines(text, evidence, start, width, style.glyphs), after)


def _window(text: str, evidence: Evidence | None, limit: int) -> tuple[int, str]:
    if evidence is None or evidence.end <= limit // 2:
        return 0, text[:limit]
    line_start = text.rfind("\n", max(0, evidence.start - 2000), max(0, evidence.start - 400))
    start = line_start + 1 if line_start > 0 else max(0, evidence.start - 400)
    return start, text[start : start + limit]


def marked_lines(text: str, evidence: Evidence | None, offset: int, width: int, glyphs: Glyphs) -> Sequence[Line]:
    """`text` (the part of a result that begins at `offset`) cut to width, the evidence marked, in its colours."""
    if evidence is None or not offset <= evidence.start < offset + len(text) or evidence.end <= evidence.start:
        return TextLines(clean(text), width)
    begin, end = evidence.start - offset, evidence.end - offset
    before, marked, after = clean(text[:begin]), clean(text[begin:end]), clean(text[end:])
    above, above_break, before = before.rpartition("\n")
    after, below_break, below = after.partition("\n")
    lines: list[Line] = [[]]
    for part, name in (
        (before, "text"),
        (glyphs.mark_left, "hidden"),
        (marked, "evidence"),
        (glyphs.mark_right, "hidden"),
        (after, "text"),
    ):
        rows = part.expandtabs(4).split("\n")
        for number, row in enumerate(rows):
            if number:
                lines.append([])
            _append_wrapped(lines, row, name, width)
    return Joined(TextLines(above, width) if above_break else (), lines, TextLines(below, width) if below_break else ())


def _append_wrapped(lines: list[Line], row: str, name: str, width: int) -> None:
    if not row:
        return
    used = width_of(lines[-1])
    if used >= width:
        lines.append([])
        used = 0
    first = hard_wrap(row, width - used)[0]
    lines[-1].append((first, name))
    lines.extend([(piece, name)] for piece in (hard_wrap(row[len(first) :], width) if len(first) < len(row) else ()))


def size_of(size: int) -> str:
    """Bytes with a unit: `812 bytes`, `12.3 kB`, `1.2 MB`."""
    if size < 1000:
        return f"{size} byte{'s' if size != 1 else ''}"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"

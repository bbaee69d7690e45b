"""What the inspector says about slots, and about what an edit believed and what the file held."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from rich.cells import cell_len

from reach_tui.analyze.confidence import mark_of
from reach_tui.base.jsonio import dumps
from reach_tui.base.text import clean, one_line
from reach_tui.model import Slot
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, cut, fit, heading, padded, spread, width_of, wrap

if TYPE_CHECKING:
    from reach_tui.infer.held import Belief

MOST = 12
"""Slots shown in the inspector; the full screen shows all."""
_TALLEST = 3
"""Lines of what is said of a slot in the inspector; the full screen shows all."""
_MOST_VALUE = 400  # characters of a value that can ever be shown on a line
_LEAST_VALUE = 6  # cells: less of a value says nothing
_STYLES = {"GAP": "bad", "SCHEMA": "bad", "STALE": "hidden", "INVENTED": "soft", "AMBIGUOUS": "fair"}


def slot_lines(
    slots: Sequence[Slot] | None, width: int, glyphs: Glyphs, *, full: bool = False, reading: bool = False
) -> list[Line]:
    """Name, source, origin, value, matches and confidence of each slot; what lowered it below, the mark first."""
    if slots is None:
        return [
            heading("slots", width, glyphs),
            [("being inferred …" if reading else "not recorded by this store", "dim")],
        ]
    basis = slots[0].basis if slots else "recorded"
    lines = [heading(f"slots · {basis}", width, glyphs)]
    if not slots:
        lines.append([("the call needs none", "dim")])
    shown = slots if full else slots[:MOST]
    longest = max((cell_len(one_line(slot.name)) for slot in shown), default=0)
    name_width = max(4, min(longest, 20, width // 3))
    for slot in shown:
        lines += _slot(slot, name_width, width, glyphs, full=full)
    if len(slots) > len(shown):
        lines.append([(cut(f"… {len(slots) - len(shown)} more: Enter shows all", width), "key")])
    return lines


def _slot(slot: Slot, name_width: int, width: int, glyphs: Glyphs, *, full: bool) -> list[Line]:
    mark = mark_of(slot)
    tail = [("   –", "dim")] if slot.confidence is None else _dots(slot.confidence, glyphs)
    value = "" if slot.value is None else slot.value if isinstance(slot.value, str) else dumps(slot.value)
    word: Line = [(f"{mark_glyph(mark, glyphs)} {mark} ", _STYLES[mark])] if mark else []
    left: Line = [(fit(slot.name, name_width), "title"), (" ", "text"), *word]
    room = width - width_of(left) - width_of(tail) - 1
    origin = _origin(slot, room)
    left.append((origin, "dim"))
    if room - cell_len(origin) >= _LEAST_VALUE:
        left.append((f" {one_line(value[:_MOST_VALUE])}", "text"))
    lines = [spread(left, tail, width)]
    for part in slot.note.split("; ") if slot.note else ():
        said = part[len(mark) + 1 :] if mark and part.upper().startswith(f"{mark}:") else part
        room = max(8, width - name_width - 1)
        rows = wrap(one_line(said), room)
        if not full and len(rows) > _TALLEST:
            rows = [*rows[: _TALLEST - 1], cut(" ".join(rows[_TALLEST - 1 :]), room)]
        lines += [[(" " * (name_width + 1), "text"), (row, "soft")] for row in rows]
    return lines


def _origin(slot: Slot, room: int) -> str:
    """Source, origin and matches; where that does not fit, the step alone, since that is what a key jumps to."""
    source, origin = one_line(slot.source), one_line(slot.origin or slot.source)
    middle = f"{source} {origin}" if slot.origin and not origin.startswith(source) else origin
    forms = [f"{middle} {slot.matches}×" if slot.matches else middle, middle]
    if slot.origin_step is not None:
        forms += [f"{source} step {slot.origin_step}", f"step {slot.origin_step}"]
    return next((form for form in forms if cell_len(form) <= room), forms[-1])


def mark_glyph(mark: str, glyphs: Glyphs) -> str:
    """The glyph beside the word: what stands out must not hang on colour alone."""
    return {"GAP": glyphs.flagged, "SCHEMA": glyphs.flagged, "STALE": glyphs.repeated}.get(mark, glyphs.open)


def _dots(confidence: float, glyphs: Glyphs) -> Line:
    full = round(max(0.0, min(1.0, confidence)) * 5)
    style = "good" if confidence >= 0.75 else "fair" if confidence >= 0.5 else "bad"
    return [(glyphs.dot * full, style), (glyphs.dot_empty * (5 - full), "bar-empty"), (f" {confidence:4.2f}", style)]


def slots_brief(slots: Sequence[Slot] | None, width: int, glyphs: Glyphs, *, reading: bool = False) -> Line:
    """The slots in one line: how many, and the weakest."""
    if slots is None:
        said = "being inferred …" if reading else "not recorded by this store"
        return padded([("slots  ", "dim"), (said, "dim")], width)
    known = [slot for slot in slots if slot.confidence is not None]
    if not known:
        return padded([("slots  ", "dim"), (f"{len(slots)} composed, none to fill", "text")], width)
    worst = min(known, key=lambda slot: slot.confidence or 0.0)
    mark = mark_of(worst)
    origin = one_line(worst.origin or worst.source)
    line: Line = [("slots  ", "dim"), (f"{len(slots)}, weakest {one_line(worst.name)} {worst.confidence:.2f} ", "text")]
    if mark:
        line.append((f"{mark_glyph(mark, glyphs)} {mark} ", _STYLES[mark]))
    line += [(f"from {origin}  {worst.basis}", "dim"), (f"  {one_line(worst.note)}" if worst.note else "", "soft")]
    return padded(line, width)


def belief_lines(belief: Belief | None, width: int, glyphs: Glyphs) -> list[Line]:
    """Side by side what the agent believed and what the file held, where the two differ; else one line that says so."""
    if belief is None:
        return []
    standing = belief.standing
    read = f", step {standing.step}" if standing.step is not None else ""
    if standing.word == "held":
        return []
    half = (width - 1) // 2
    where = f" · line {belief.line}" if belief.line is not None else ""
    rows: list[Line] = [
        [
            *heading(f"believed{read}" if standing.word in ("stale", "gone") else "believed", half, glyphs),
            (glyphs.rule, "rule"),
            *heading(f"held{where}", width - half - 1, glyphs),
        ]
    ]
    rows += _beside(belief.believed, belief.held, half, width, glyphs)
    if not belief.held:
        gone = standing.word in ("stale", "gone")
        said = "nothing stands there now" if gone else "nothing like it in what was seen of the file"
        rows += [[(row, "dim")] for row in wrap(said, width)]
    if standing.replaced_by is not None:
        by = "replaced by your own change" if standing.word == "stale" else "gone when the file was read again"
        said = f"{mark_glyph('STALE', glyphs)} STALE: {by}, step {standing.replaced_by}"
        rows += [[(row, "hidden")] for row in wrap(said, width)]
    return rows


def _beside(believed: Sequence[str], held: Sequence[str], half: int, width: int, glyphs: Glyphs) -> list[Line]:
    before, after = [clean(line) for line in believed], [clean(line) for line in held]
    rows: list[Line] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        left, right = before[a:b], after[c:d]
        style = ("dim", "dim") if tag == "equal" else ("removed", "added")
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else ""
            two = right[index] if index < len(right) else ""
            row: Line = [(cut(f"  {one}", half), style[0])]
            row += [(" " * max(0, half - width_of(row)), "text"), (glyphs.vertical, "rule")]
            rows.append([*row, (cut(f"  {two}", width - half - 1), style[1])])
    return rows

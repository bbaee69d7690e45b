"""The labelling queue as lines: its head, an item with the same layout every time, the codebook under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reach_tui.base.text import clean, one_line, shown_name
from reach_tui.model import Label, StepKind
from reach_tui.tui.glyphs import Glyphs, mark_of
from reach_tui.tui.lines import Line, fit, padded, spread, width_of, wrap
from reach_tui.tui.panels import Style, argument_lines, diff_lines, result_lines, verdict_lines
from reach_tui.tui.rows import about_call, short_project
from reach_tui.workspace import JudgedCall, JudgedStep

if TYPE_CHECKING:
    from reach_tui.taxonomy import Category, Taxonomy
    from reach_tui.workspace.queue_desk import Item

NARROW = 100
"""Columns below which the codebook's part takes a line more."""
_CONTEXT = 3  # lines
_LEAST_RESULT = 6
_MOST_ROWS = 3
"""Of the second level."""
_TALL = 36
_SMALL = 18
"""Lines of an item below which everything around the call is cut short."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the first line says."""

    name: str
    by: str
    done: int
    total: int
    minutes: int | None
    position: int | None
    """Of the item on screen; None when all is done."""
    blind: bool
    coding: bool
    """Open coding: notes now, classes later."""
    status: str
    style: str


def head_lines(head: Head, width: int, glyphs: Glyphs) -> list[Line]:
    """Name, who drew it, progress, time left; then blind, and what was saved last."""
    time = f" · {head.minutes} min left" if head.minutes else ""
    mark = f"{glyphs.label} " if head.style == "label" else ""
    right: Line = [("open coding  ", "soft")] if head.coding else []
    right += [("blind  ", "key")] if head.blind else []
    right += [(f"{mark}{head.status} ", head.style)] if head.status else [(" ", "text")]
    progress = f"{head.done:,} of {head.total:,}{time}"
    room = width - width_of(right) - 3
    name = one_line(head.name)
    left: Line = [(f" {name}", "title"), (f" · by {one_line(head.by)} · ", "dim"), (progress, "text")]
    if width_of(left) > room:  # the progress stays whole
        left = [
            (f" {fit(name, max(8, room - len(progress) - 4)).rstrip()}", "title"),
            (" · ", "dim"),
            (progress, "text"),
        ]
    return [spread(left, right, width), [(glyphs.rule * width, "rule")]]


@dataclass(frozen=True, slots=True)
class View:
    """How an item is shown now."""

    glyphs: Glyphs
    by: str
    height: int
    hides: bool = False
    """Verdict, rule, flag and others' labels wait for the answer."""
    together: bool = False
    """The next label goes to every identical failure of the session."""
    first_cause: bool = False
    disputed: bool = False
    """Others' labels are what it is about: side by side."""


def item_lines(item: Item, width: int, view: View) -> list[Line]:
    """Call, verdict (or that it is hidden), what came before, arguments, result around the evidence, what came next."""
    judged = item.judged
    if judged is None:
        return [
            [(f" {one_line(item.item.call_key)}", "title")],
            [],
            *([(f" {row}", "flagged")] for row in wrap(clean(item.problem), width - 2)),
            [],
            [(" s skips it for good, Space puts it off", "dim")],
        ]
    inner, style, small = width - 1, Style(view.glyphs), view.height < _SMALL
    lines = [_call_line(item, judged, width), *_opinions(item, judged, inner, view)]
    wanted = 2 if small else _CONTEXT if view.height < _TALL else 2 * _CONTEXT
    before = _context(item.before, width, view, wanted, last=True)
    before += [[] for _ in range(wanted - len(before))]
    after = [] if small else _context(item.after, width, view, 2, last=False)
    given = [*diff_lines(judged.call, inner, view.glyphs), *argument_lines(judged.call, inner, style)]
    room = view.height - len(lines) - len(before) - len(after) - _LEAST_RESULT
    lines += before + _indented(_cut(given, max(room, view.height // 4, 2), inner))
    left = max(_LEAST_RESULT, view.height - len(lines) - len(after))
    return lines + _indented(_around(list(result_lines(judged, inner, style)), left)) + after


def _indented(lines: list[Line]) -> list[Line]:
    return [[(" ", "text"), *line] for line in lines]


def _call_line(item: Item, judged: JudgedCall, width: int) -> Line:
    call = judged.call
    project = short_project(item.session.project) if item.session else ""
    right: Line = [
        (f"item {item.item.position} · step {call.step} of {item.steps:,}{f' · {project}' if project else ''} ", "dim")
    ]
    left: Line = [
        (f" {shown_name(call.shown_tool)}", "title"),
        (f"   {one_line(about_call(call.arguments)[:400])}", "text"),
    ]
    return spread(left, right, width)


def _opinions(item: Item, judged: JudgedCall, width: int, view: View) -> list[Line]:
    """The verdict, or that it waits; others' labels; a line of marks (in little room: beside what waits)."""
    own = item.own(view.by, "adjudicator" if view.disputed else "annotator")
    marks: Line = [(" ", "text")]
    if own is not None:
        marks.append((f"{view.glyphs.label} yours: {_label_text(own, named=False)}  ", "label"))
    if view.first_cause:
        marks.append(("first cause of the session  ", "key"))
    if item.alike:
        words = "m labels them together" if not view.together else "the next label goes to all of them, one undo"
        marks.append((f"{view.glyphs.repeated} {len(item.alike)} more of the same in this session: {words}", "key"))
    if view.hides and view.height < _SMALL:
        return [[(" verdict hidden until you answer ", "dim"), *marks]]
    if view.hides:
        return [[(" verdict and other people's labels: hidden until you answer (b shows them)", "dim")], marks]
    lines = _indented(verdict_lines(JudgedCall(judged.call, judged.verdict), width, Style(view.glyphs))[:2])
    others = [_label_text(label) for label in item.labels if label is not own]
    lines += _side_by_side(others, width, view.glyphs)
    return lines if len(marks) == 1 and view.height < _SMALL else [*lines, marks]


def _label_text(label: Label, *, named: bool = True) -> str:
    name = f"{one_line(label.by)}: " if named else ""
    chosen = " / ".join(part for part in (label.category, label.subcategory) if part)
    note = f" “{one_line(label.note)}”" if label.note else ""
    cause = " · first cause" if label.first_cause else ""
    return f"{name}{chosen}{note}{cause}"


def _side_by_side(texts: Sequence[str], width: int, glyphs: Glyphs) -> list[Line]:
    """Opinions in two columns."""
    half = (width - 3) // 2
    rows: list[Line] = []
    for index in range(0, min(len(texts), 6), 2):
        line: Line = [(f" {fit(texts[index], half)}", "label")]
        if index + 1 < len(texts):
            line += [(f"{glyphs.vertical} ", "rule"), (fit(texts[index + 1], half), "label")]
        rows.append(line)
    return rows


def _context(steps: Sequence[JudgedStep], width: int, view: View, most: int, *, last: bool) -> list[Line]:
    """The steps around, a line each: what the person asked, and the calls next to it."""
    chosen = list(steps)
    if last:
        asked = [one for one in chosen if one.step.kind is StepKind.USER][-1:]
        near = [one for one in chosen if one not in asked][-(most - len(asked)) :]
        chosen = [one for one in chosen if one in asked or one in near]
    word = "before" if last else "after"
    lines: list[Line] = []
    for one in chosen[:most]:
        head: Line = [(f" {word if not lines else '':<7}{one.step.number:>5} ", "dim")]
        if one.judged is not None:
            call = one.judged.call
            mark = None if view.hides else mark_of(call, one.judged.verdict, view.glyphs)
            shown: Line = [(f"{mark.glyph} ", mark.style)] if mark else [("  ", "text")]
            about = one_line(about_call(call.arguments)[:400])
            lines.append(padded([*head, *shown, (f"{shown_name(call.shown_tool)}  ", "text"), (about, "dim")], width))
        else:
            text = one_line(clean(one.step.text[:600]))
            lines.append(padded([*head, (f"  {one.step.kind.value}  ", "text"), (text, "dim")], width))
    return lines


def _cut(lines: list[Line], most: int, width: int) -> list[Line]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], padded([(f"… {len(lines) - most + 1} more lines: Enter opens the call", "key")], width)]


def _around(lines: list[Line], most: int) -> list[Line]:
    """The head of the result and the lines around its evidence, `most` of them."""
    if len(lines) <= most:
        return lines
    marked = next((number for number, line in enumerate(lines) if any(style == "evidence" for _, style in line)), 0)
    start = max(1, min(marked - (most - 3) // 3, len(lines) - (most - 2)))
    shown = lines[start : start + most - 2]
    skipped, rest = start - 1, len(lines) - start - len(shown)
    words = [f"{skipped} lines before" if skipped else "", f"{rest} after" if rest else ""]
    told = " · ".join(word for word in words if word)
    return [lines[0], *shown, [(f"… {told}: Enter opens the call", "key")]]


def done_lines(width: int, total: int, notes: int, glyphs: Glyphs) -> list[Line]:
    """What is shown when nothing is left."""
    lines: list[Line] = [
        [],
        [(f"  {glyphs.label} all {total:,} are done", "label")],
        [],
        [("  L chooses or draws another queue, u takes the last label back, p looks at the items again", "text")],
    ]
    if notes:
        lines.append([(f"  N groups the {notes:,} notes that have no class yet", "text")])
    return [padded(line, width) for line in lines]


# The codebook


def code_lines(taxonomy: Taxonomy, chosen: Category, width: int, glyphs: Glyphs) -> list[Line]:
    """The digits with the chosen class marked, its definition and contrast, its second level."""
    head = f"{chosen.key} {one_line(chosen.name)}  "
    rows = wrap(f"{head}{one_line(chosen.definition)} {one_line(chosen.contrast)}".rstrip(), width - 2)
    below = _second_level(chosen, width)
    most = (5 if width < NARROW else 4) - len(below)
    if len(rows) > most:
        rows = [*rows[: most - 1], fit(" ".join(rows[most - 1 :]), width - 2)]
    first: Line = [(glyphs.cursor, "key"), (head, "title"), (rows[0][len(head) :], "text")]
    rest: list[Line] = [[(f" {row}", "text")] for row in rows[1:]]
    return [
        [(glyphs.rule * width, "rule")],
        code_digits(taxonomy, chosen, width),
        *(padded(line, width) for line in [first, *rest, *([] for _ in range(most - len(rows)))]),
        *below,
    ]


def code_digits(taxonomy: Taxonomy, chosen: Category | None, width: int) -> Line:
    """The label keys with a word each; the chosen class stands out."""
    from reach_tui.tui.commands import LABEL_WORDS, SHORT_WORDS

    words = LABEL_WORDS if width >= 92 else SHORT_WORDS
    line: Line = [(" ", "text")]
    for category in taxonomy.categories:
        known = taxonomy.id == "reach-failure"
        word = words.get(category.key, "") if known else one_line(category.name).split(" ")[0][:9]
        style = "title" if category is chosen else "dim"
        line += [(category.key, "key"), (f" {word}", style), ("  " if width >= 92 else " ", "text")]
    return padded(line, width)


def _second_level(chosen: Category, width: int) -> list[Line]:
    head = chosen.key if width >= NARROW else ""  # in little room the digit that `;` takes is enough
    names = [f"{head}.{(number + 1) % 10} {one_line(one.id)}" for number, one in enumerate(chosen.subcategories[:10])]
    gap = "   " if width >= NARROW else " "
    rows: list[str] = [""]
    for name in names:
        piece = f"{name}{gap}"
        if len(rows[-1]) + len(piece) > width - 2 and rows[-1]:
            rows.append("")
        rows[-1] += piece
    if len(rows) > _MOST_ROWS:
        rows = [*rows[: _MOST_ROWS - 1], fit("".join(rows[_MOST_ROWS - 1 :]), width - 2)]
    return [padded([(f" {row}", "dim")], width) for row in rows]

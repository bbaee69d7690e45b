"""Symptoms as rows of a list: what was found, why, what to do, and the evidence with the step that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reach_tui.analyze.symptoms.model import Finding, Shown
from reach_tui.base.text import one_line
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, width_of, wrap

_MORE = 2  # further lines of one piece of evidence


@dataclass(frozen=True, slots=True)
class SymptomRow:
    """A line; evidence can be opened."""

    line: Line
    shown: Shown | None = None


def symptoms_brief(findings: Sequence[Finding], width: int) -> str:
    """`2 symptoms: a tool is called and fails again and again · a task stops in the middle`; empty without any."""
    found = [one for one in findings if one.found]
    if not found:
        return ""
    many = "symptom" if len(found) == 1 else "symptoms"
    titles = " · ".join(one.symptom.title[:1].lower() + one.symptom.title[1:] for one in found)
    return fit(f"{len(found)} {many}: {titles}", width).rstrip()


def symptom_rows(
    findings: Sequence[Finding], width: int, glyphs: Glyphs, title_of: Callable[[str], str] | None = None
) -> list[SymptomRow]:
    """The findings with their evidence, then what was looked for and not found.

    `title_of` names a session by its id where the evidence is of several.
    """
    found = [one for one in findings if one.found]
    width = max(width - 2, 20)
    rows: list[SymptomRow] = []
    if not found:
        rows += [
            SymptomRow([]),
            SymptomRow([(f"  {glyphs.ok} none of the ten symptoms was found", "good")]),
            SymptomRow([]),
        ]
    for finding in found:
        symptom = finding.symptom
        count = len(finding.evidence)
        rows.append(SymptomRow([(f"{glyphs.hidden} ", "hidden"), (symptom.title, "title"), (f"  {count}×", "dim")]))
        for word, text in (("cause", symptom.cause), ("do", symptom.action)):
            for number, row in enumerate(wrap(one_line(text), width - 9)):
                rows.append(SymptomRow([(f"  {word if not number else '':<7}", "dim"), (row, "text")]))
        rows += [row for one in finding.evidence for row in _evidence(one, width, title_of)]
        rows.append(SymptomRow([]))
    absent = [one.symptom for one in findings if not one.found]
    if absent:
        rows.append(SymptomRow([("looked for and not found", "dim")]))
        rows += [SymptomRow([("  ", "dim"), (one.title, "dim")]) for one in absent]
    return rows


def _evidence(shown: Shown, width: int, title_of: Callable[[str], str] | None) -> Iterator[SymptomRow]:
    where = f"step {shown.step}" if shown.step is not None else "the whole"
    line: Line = [("    ", "text"), (f"{where:<10} ", "key")]
    room = width - 15
    if title_of is not None and shown.session_id is not None:
        cells = min(28, room // 4)
        line += [(fit(title_of(shown.session_id), cells), "dim"), ("  ", "text")]
        room -= cells + 2
    first, *more = wrap(one_line(shown.words), max(8, room))
    yield SymptomRow([*line, (first, "text")], shown)
    yield from (SymptomRow([(" " * width_of(line), "text"), (row, "text")], shown) for row in more[:_MORE])

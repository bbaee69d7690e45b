"""Suggestions as rows of a list: what to change, why, and the calls that speak for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reach_tui.analyze.suggestions import Suggestion
from reach_tui.base.text import one_line
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, wrap
from reach_tui.workspace.suggesting import Example


@dataclass(frozen=True, slots=True)
class SuggestionRow:
    """A line; a suggestion and its examples can be opened."""

    line: Line
    suggestion: Suggestion | None = None
    example: Example | None = None


def suggestion_rows(
    found: Sequence[Suggestion],
    examples: Mapping[str, Example],
    width: int,
    glyphs: Glyphs,
    title_of: Callable[[Example], str],
) -> list[SuggestionRow]:
    """What most cases speak for first; without any, what to do for some."""
    width = max(width - 2, 20)
    if not found:
        said = (
            "Nothing to suggest yet. Suggestions come from labels (failures get 1 to 9, false alarms 0) and from "
            "recorded times. `reach-tui suggest PATH --registry DIR --cases CASES` adds pairs of tools to tell "
            "apart, and thresholds."
        )
        return [SuggestionRow([]), *(SuggestionRow([("  ", "text"), (row, "dim")]) for row in wrap(said, width - 4))]
    rows: list[SuggestionRow] = []
    for number, one in enumerate(found, 1):
        kind = fit(one.kind, 10)
        first, *more = wrap(one_line(one.what), width - 16)
        head: Line = [(f"{number:>3}  ", "dim"), (kind, "key"), (" ", "text")]
        rows.append(SuggestionRow([*head, (first, "title")], one))
        rows += [SuggestionRow([(" " * 16, "text"), (row, "title")], one) for row in more]
        rows += [SuggestionRow([(" " * 16, "text"), (row, "text")], one) for row in wrap(one_line(one.why), width - 16)]
        for key in one.examples:
            example = examples.get(key)
            shown = title_of(example) if example is not None else "no longer in the traces"
            line: Line = [(" " * 16, "text"), (f"{glyphs.label} ", "label"), (fit(key, min(30, width // 3)), "dim")]
            rows.append(SuggestionRow([*line, (f"  {one_line(shown)}", "dim")], one, example))
        rows.append(SuggestionRow([]))
    return rows

"""What the inspector says about a route: candidates with bars, thresholds on the same scale, gap and decision."""

from __future__ import annotations

from rich.cells import cell_len

from reach_tui.base.text import one_line
from reach_tui.infer.candidates import IN_WORDS
from reach_tui.model import Candidate, Route
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, heading, padded, width_of, wrap

SHOWN = 5
"""Candidates shown; the tool that was called always has a row of its own."""
_CHOSE = " chose"
_DECISIONS = {"execute": "good", "clarify": "fair", "no_capability": "bad"}


def route_lines(
    route: Route | None, width: int, glyphs: Glyphs, *, full: bool = False, reading: bool = False
) -> list[Line]:
    """The panel's lines. `full`: with the whole intent, and the reason of each score and of each tool that left."""
    if route is None:
        return [heading("route", width, glyphs), [(_absent(reading), "dim")]]
    lines = [heading(f"route · {route.basis} · {route.intent}"[: width - 4], width, glyphs)]
    if full and route.intent:
        lines += [[(row, "dim")] for row in wrap(f"intent: {one_line(route.intent)}", width)]
    shown = [one for one in route.candidates[:SHOWN] if one.name]
    apart = [route.chosen] if route.chosen and all(one.name != route.chosen.name for one in shown) else []
    layout = _Layout([*shown, *apart], route, width, glyphs)
    for place, one in enumerate(shown):
        lines += layout.rows(one, first=place == 0, full=full)
    if not shown:
        lines.append([("no candidate: no tool has a word of it", "dim")])
    for one in apart:
        lines += layout.rows(one, first=False, full=full)
    lines.append(_decision(route, width, glyphs))
    if route.candidates_from:
        words = IN_WORDS.get(route.candidates_from) or one_line(route.candidates_from)
        ranked = f"place {route.rank}, " if route.rank is not None else ""
        unknown = "" if route.chosen is not None else "; the tool called is none of them"
        lines += [[(row, "dim")] for row in wrap(f"{ranked}among the {words}{unknown}", width)]
    for one in route.dropped if full else ():
        lines += [[(row, "dim")] for row in wrap(f"{one_line(one.name)} left: {one_line(one.reason)}", width)]
    return lines


class _Layout:
    """Widths that all rows share."""

    def __init__(self, candidates: list[Candidate], route: Route, width: int, glyphs: Glyphs) -> None:
        longest = max((cell_len(one_line(one.name)) for one in candidates), default=0)
        self._chosen = route.chosen.name if route.chosen else None
        self._limits = route.thresholds
        self._glyphs = glyphs
        self._width = width
        self._name = max(6, min(longest, 24, width // 3))
        tail = len(_CHOSE) if self._chosen is not None else 0
        self._bar = max(8, width - self._name - 6 - tail)

    def rows(self, one: Candidate, *, first: bool, full: bool) -> list[Line]:
        """A candidate: name, bar with the thresholds drawn on it, score; and the reason where all is shown."""
        glyphs, bar = self._glyphs, self._bar
        cells = [glyphs.bar if (cell + 0.5) / bar <= one.score else glyphs.bar_empty for cell in range(bar)]
        styles = ["bar" if cell == glyphs.bar else "bar-empty" for cell in cells]
        for limit in (self._limits.floor, self._limits.t1):
            position = min(bar - 1, max(0, round(limit * bar)))
            cells[position], styles[position] = glyphs.threshold, "threshold"
        line: Line = [(fit(one.name, self._name), "title" if first else "text"), (" ", "text")]
        line += list(zip(cells, styles, strict=True))
        line.append((f" {one.score:4.2f}", "title" if first else "text"))
        if one.name == self._chosen:
            line.append((_CHOSE, "key"))
        reason = wrap(one_line(one.reason), max(8, self._width - 2)) if full and one.reason else []
        return [line, *([("  " + row, "dim")] for row in reason)]


def _decision(route: Route, width: int, glyphs: Glyphs) -> Line:
    limits, gap = route.thresholds, route.gap
    compare = "–" if gap is None else f"{gap:.2f} {'≥' if gap >= limits.gap else '<'} {limits.gap:.2f}"
    decision = _DECISIONS.get(route.decision, "text")
    legend = f"  {glyphs.threshold}{limits.floor:.2f} {glyphs.threshold}{limits.t1:.2f}"
    name, best = "gap ", max((one.score for one in route.candidates), default=None)
    if route.decision == "no_capability" and best is not None and best < limits.floor:  # the gap did not decide
        name, compare = "best ", f"{best:.2f} < {limits.floor:.2f}"
    line: Line = [(name, "dim"), (compare, "text"), (" → ", "dim"), (one_line(route.decision), decision)]
    return [*line, (legend, "threshold")] if width_of(line) + len(legend) <= width else line


def _absent(reading: bool) -> str:
    return "being inferred …" if reading else "not recorded by this store"


def route_brief(route: Route | None, width: int, *, reading: bool = False) -> Line:
    """The route as one line."""
    if route is None:
        return padded([("route  ", "dim"), (_absent(reading), "dim")], width)
    shown = "  ".join(f"{one_line(one.name)} {one.score:.2f}" for one in route.candidates[:3]) or "no candidate"
    other = route.chosen if route.rank != 1 else None
    chosen = f"  chose {one_line(other.name)} {other.score:.2f}" if other else ""
    return padded(
        [
            ("route  ", "dim"),
            (shown, "text"),
            ("  → ", "dim"),
            (one_line(route.decision), "title"),
            (f"  {route.basis}", "dim"),
            (chosen, "key"),
        ],
        width,
    )

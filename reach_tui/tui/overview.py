"""The lines above and below the session list: what is open, how far counting is, what the numbers say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reach_tui.model import Counts
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, spread
from reach_tui.tui.tree import Entry
from reach_tui.workspace import Source


@dataclass(frozen=True, slots=True)
class Overview:
    """What the session list as a whole looks like at a moment."""

    sources: Sequence[Source]
    problems: int
    listed: bool
    """Every source has been asked for its sessions."""
    filled: bool
    """Every session has been counted."""
    counted: int
    sessions: int
    seconds: float
    """Time since the start, for the time left."""
    total: Counts
    hiding: int
    """Sessions that hide errors."""
    shown: int
    filter: str | None = None
    """The filter in words, None without one."""
    following: bool = False


def add_up(entries: Iterable[Entry]) -> tuple[Counts, int]:
    """The sums over all counted sessions, and how many of them hide errors."""
    total, hiding = Counts(), 0
    for entry in entries:
        if entry.judged.counts is not None:
            total += entry.judged.counts.counts
            hiding += entry.judged.counts.counts.hidden > 0
    return total, hiding


def top_lines(state: Overview, width: int, glyphs: Glyphs) -> list[Line]:
    """Name, open files, progress; and a rule."""
    left: Line = [(" reach-tui", "title"), ("   ", "text")]
    for source in state.sources[:3]:
        left += [(fit(source.name, 24).rstrip(), "text"), (f" {source.kind}   ", "dim")]
    if len(state.sources) > 3:
        left.append((f"+{len(state.sources) - 3}", "dim"))
    if state.problems:
        left.append((f" {state.problems} unreadable", "flagged"))
    return [spread(left, _progress(state, glyphs), width), [(glyphs.rule * width, "rule")]]


def _progress(state: Overview, glyphs: Glyphs) -> Line:
    if not state.listed:
        return [("reading … ", "dim")]
    live: Line = [(f"{glyphs.dot} live  ", "good")] if state.following else []
    if state.filled:
        return [*live, (f"{state.total.calls:,} calls ", "dim")]
    share = state.counted / max(1, state.sessions)
    left = f" {state.seconds * (1 - share) / share:.0f} s" if share > 0.02 else ""
    full = round(share * 7)
    return [
        *live,
        (f"{state.total.calls:,} calls · scanning ", "dim"),
        (glyphs.bar * full, "bar"),
        (glyphs.bar_empty * (7 - full), "bar-empty"),
        (f" {share:.0%}{left} ", "dim"),
    ]


def summary(state: Overview) -> str:
    """One sentence below the list."""
    if not state.listed:
        return "reading the sessions …"
    if not state.sessions:
        return "no sessions"
    if state.filter is not None:
        return f"{state.shown} of {state.sessions:,} · {state.filter}"
    text = f"{state.hiding:,} of {state.sessions:,} sessions hide errors"
    judged = state.total.calls - state.total.unfinished
    if judged:
        text += f" · {state.total.failed / judged:.1%} of calls failed, {state.total.flagged / judged:.1%} by flag"
    return text


def advice(state: Overview) -> list[str]:
    """What an empty list says: what to do next."""
    if not state.listed:
        return ["reading the sessions …"]
    if state.sessions:
        return ["no session matches the filter", "Escape clears it"]
    return [
        "no sessions here",
        "name a database or folder of your agent:  reach-tui PATH",
        "or look at the samples:                   reach-tui demo",
        *(["! lists what could not be read"] if state.problems else []),
    ]

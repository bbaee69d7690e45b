"""The lines above and below the session list: what is open, how far counting is, what the numbers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from reach_tui.model import Counts
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, spread, width_of
from reach_tui.workspace import Source


class State(Enum):
    """What is going on behind the list."""

    READING = "reading"
    SCANNING = "scanning"
    PAUSED = "paused"
    COUNTED = "counted"
    INDEXING = "indexing words"
    """The same, and for some time."""
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far counting is. `rate`: calls a second; `left`: seconds; None where not known yet."""

    state: State
    counted: int
    sessions: int
    rate: float | None = None
    left: float | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """What the session list as a whole looks like at a moment."""

    sources: Sequence[Source]
    problems: int
    listed: bool
    """Every source has been asked for its sessions."""
    progress: Progress
    total: Counts
    hiding: int
    """Sessions that hide errors."""
    shown: int
    filter: str | None = None
    """The filter in words, None without one."""
    following: bool = False

    @property
    def sessions(self) -> int:
        """How many there are."""
        return self.progress.sessions


def top_lines(state: Overview, width: int, glyphs: Glyphs) -> list[Line]:
    """Name, open files, progress; and a rule."""
    right = _progress(state, width, glyphs)
    left: Line = [(" reach-tui", "title"), ("   ", "text")]
    for number, source in enumerate(state.sources[:3]):
        piece: Line = [(fit(source.name, 24).rstrip(), "text"), (f" {source.kind}   ", "dim")]
        if number and width_of(left) + width_of(piece) + width_of(right) + 4 > width:
            left.append((f"+{len(state.sources) - number} ", "dim"))
            break
        left += piece
    else:
        if len(state.sources) > 3:
            left.append((f"+{len(state.sources) - 3}", "dim"))
    if state.problems:
        left.append((f" {state.problems} unreadable", "flagged"))
    return [spread(left, right, width), [(glyphs.rule * width, "rule")]]


def _progress(state: Overview, width: int, glyphs: Glyphs) -> Line:
    progress = state.progress
    if not state.listed:
        return [("reading … ", "dim")]
    line: Line = [(f"{glyphs.dot} live  ", "good")] if state.following else []
    line.append((f"{state.total.calls:,} calls ", "dim"))
    if progress.state in (State.COUNTED, State.DONE):
        return line
    if progress.state is State.INDEXING:
        return [*line, ("· indexing words " if width >= 100 else "", "dim")]
    share = progress.counted / max(1, progress.sessions)
    full = min(7, round(share * 7))
    bar: Line = [(glyphs.bar * full, "bar"), (glyphs.bar_empty * (7 - full), "bar-empty"), (f" {share:.0%} ", "dim")]
    if progress.state is State.PAUSED:
        return [*line, ("· ", "dim"), ("stopped ", "soft"), *bar]
    rate = f"{progress.rate:,.0f}/s · " if progress.rate is not None and width >= 100 else ""
    left = f"{seconds_left(progress.left)} " if progress.left is not None else ""
    return [*line, (f"· {rate}scanning ", "dim"), *bar, (left, "dim")]


def seconds_left(seconds: float) -> str:
    """`4 s`, `2 min`."""
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def summary(state: Overview, room: int = 1_000) -> str:
    """One sentence below the list, in fewer words where there is little room (cells); both rates are always in it."""
    if not state.listed:
        return "reading the sessions …"
    if not state.sessions:
        return "no sessions"
    if state.filter is not None:
        return f"{state.shown} of {state.sessions:,} · {state.filter}"
    count = f"{state.hiding:,} of {state.sessions:,}"
    judged = state.total.calls - state.total.unfinished
    if not judged:
        return f"{count} sessions hide errors"
    failed, flagged = f"{state.total.failed / judged:.1%}", f"{state.total.flagged / judged:.1%}"
    said = (
        f"{count} sessions hide errors · {failed} of calls failed, {flagged} by flag",
        f"{count} hide errors · {failed} failed, {flagged} by flag",
        f"{state.hiding:,} hide errors · {failed} failed, {flagged} by flag",
        f"{failed} failed, {flagged} by flag",
    )
    return next((one for one in said if len(one) <= room), said[-1])


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

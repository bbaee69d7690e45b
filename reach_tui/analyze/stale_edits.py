"""Stale edits (seed A6): edits that miss because the same session had changed the file before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reach_tui.analyze.intervals import share
from reach_tui.analyze.pairs import Pairs, Wanted, has_result, originals
from reach_tui.analyze.sums import Sum, add_up
from reach_tui.detect.files import EDIT, READ, WRITE, access
from reach_tui.model import Glance, Verdict

_CHANGED = "edit.changed_since_read"  # the tool noticed by itself, before it looked for the text


@dataclass(slots=True)
class StaleEdits(Sum):
    """Edits whose text was not found, by tool."""

    not_found: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    """An edit of the same session had changed the file successfully before: by verdict, not by flag."""
    re_read: Counter[str] = field(default_factory=Counter)
    """Of the stale ones: the file was read again after its last change, so the quote was careless rather than old."""
    written_only: Counter[str] = field(default_factory=Counter)
    """Not stale: the session had written the file whole before, and not edited it."""

    def include(self, other: StaleEdits) -> None:
        """Add another one to this."""
        add_up(self.not_found, other.not_found)
        add_up(self.stale, other.stale)
        add_up(self.re_read, other.re_read)
        add_up(self.written_only, other.written_only)

    @property
    def share(self) -> float | None:
        """Stale of all not-found edits, 0..1; None without any."""
        return share(self.stale.total(), self.not_found.total())


class Miss(NamedTuple):
    """An edit whose text was not found, and what the session had done to the file before."""

    call: Glance
    stale: bool = False
    re_read: bool = False
    written_only: bool = False


def of_session(pairs: Pairs, folder: str | None = None, wanted: Wanted = originals) -> StaleEdits:
    """The stale edits of one session; relative paths are taken from `folder`."""
    found = StaleEdits()
    for miss in misses(pairs, folder, wanted):
        tool = miss.call.tool
        found.not_found[tool] += 1
        found.stale[tool] += miss.stale
        found.re_read[tool] += miss.re_read
        found.written_only[tool] += miss.written_only
    return found


def misses(pairs: Pairs, folder: str | None = None, wanted: Wanted = originals) -> Iterator[Miss]:
    """The wanted edits of one session whose text was not found. Calls not wanted still change files."""
    edited: dict[str, int] = {}
    written: dict[str, int] = {}
    read: dict[str, int] = {}
    by_kind = {EDIT: edited, WRITE: written, READ: read}
    for place, (call, verdict) in enumerate(pairs):
        kind, paths = access(call, folder)
        if kind is None:
            continue
        if _succeeded(call, verdict):
            by_kind[kind].update(dict.fromkeys(paths, place))
        elif kind == EDIT and missed(verdict) and wanted(call):
            if stale := [path for path in paths if path in edited]:
                again = all(read.get(path, -1) > max(edited[path], written.get(path, -1)) for path in stale)
                yield Miss(call, stale=True, re_read=again)
            else:
                yield Miss(call, written_only=any(path in written for path in paths))


def missed(verdict: Verdict) -> bool:
    """True for an edit whose text to replace was not in the file."""
    return verdict.failed is True and verdict.subcategory == "stale_edit" and verdict.rule != _CHANGED


def _succeeded(call: Glance, verdict: Verdict) -> bool:
    return verdict.failed is False and has_result(call)

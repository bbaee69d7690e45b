"""The visible rows of the session list: filtered, sorted by families, sub-agents folded under their callers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reach_tui.tui.rows import SessionRow
from reach_tui.workspace import JudgedSession, Source

SORTS = ("hidden", "when", "flagged", "calls")
Key = tuple[int, str]
"""Which source, which session."""


@dataclass(slots=True)
class Entry:
    """A session in the list; `judged` is replaced as counts arrive."""

    key: Key
    source: Source
    judged: JudgedSession


def visible_rows(
    entries: Sequence[Entry],
    sort: str,
    keep: Callable[[Entry], bool] | None,
    folds: dict[Key, bool],
) -> list[tuple[Key, SessionRow]]:
    """Rows in the order shown. `keep` filters; `folds` holds what the person unfolded (True) or folded (False)."""
    shown = {entry.key: entry for entry in entries if keep is None or keep(entry)}
    children: dict[Key, list[Entry]] = {}
    roots: list[Entry] = []
    for entry in shown.values():
        parent = (entry.key[0], entry.judged.session.parent_id or "")
        if parent in shown and parent != entry.key:
            children.setdefault(parent, []).append(entry)
        else:
            roots.append(entry)
    families = [_family(root, children) for root in roots]
    reached = {entry.key for family in families for entry, _ in family}
    # parents that form a ring are reached from no root: cut it, each member stands alone
    families += [[(entry, 0)] for entry in shown.values() if entry.key not in reached]
    families.sort(key=lambda family: max(_rank(entry, sort) for entry, _ in family), reverse=True)
    rows: list[tuple[Key, SessionRow]] = []
    for family in families:
        rows += _rows_of(family, folds, unfold_all=keep is not None)
    return rows


def _family(root: Entry, children: dict[Key, list[Entry]]) -> list[tuple[Entry, int]]:
    family: list[tuple[Entry, int]] = []
    waiting = [(root, 0)]
    while waiting:
        entry, depth = waiting.pop()
        family.append((entry, depth))
        below = sorted(children.get(entry.key, ()), key=lambda one: one.judged.session.started_at or 0, reverse=True)
        waiting += [(one, depth + 1) for one in below]
    return family


def _rank(entry: Entry, sort: str) -> tuple[int, int, int]:
    session, sums = entry.judged.session, entry.judged.counts
    counts, started = (sums.counts if sums else None), session.started_at or 0
    if sort == "when" or counts is None:
        return (started if sort == "when" else -1, 0, started)
    if sort == "hidden":
        return (counts.hidden, counts.failed, started)
    return (counts.flagged if sort == "flagged" else counts.calls, counts.hidden, started)


def _rows_of(
    family: list[tuple[Entry, int]], folds: dict[Key, bool], *, unfold_all: bool
) -> Iterable[tuple[Key, SessionRow]]:
    root, below = family[0][0], family[1:]
    wish = folds.get(root.key, True if unfold_all else None)
    if wish is None:  # until the person says otherwise: only the sub-agents that hide errors
        shown = [(entry, depth) for entry, depth in below if entry.judged.counts and entry.judged.counts.counts.hidden]
    else:
        shown = below if wish else []
    yield (
        root.key,
        SessionRow(root.source, root.judged, 0, len(below), unfolded=bool(below) and len(shown) == len(below)),
    )
    for entry, depth in shown:
        yield entry.key, SessionRow(entry.source, entry.judged, min(depth, 3))

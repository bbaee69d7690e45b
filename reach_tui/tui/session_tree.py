"""The rows of the session list: filtered, sorted by families, sub-agents folded under their callers.

Made for tens of thousands of sessions: families, what sorts them and their rows are kept, and made again only for those
with a member that changed; what is sorted anew is nearly sorted already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter, itemgetter
from sys import intern
from typing import TYPE_CHECKING

from reach_tui.tui.rows import SessionRow
from reach_tui.workspace import JudgedSession, Source

if TYPE_CHECKING:
    from reach_tui.workspace.filters import Filter

SORTS = ("hidden", "when", "flagged", "calls")
Key = tuple[int, str]
"""Which source, which session."""
Row = tuple[Key, SessionRow]
Weight = int  # what sorts, packed: compared in a quarter of a tuple's time
_STARTED, _FIRST = 48, 80
"""Bits below the second figure of a weight (milliseconds until the year 10889), and below the first."""
_Family = list[tuple["Entry", int]]
_weight, _rows = attrgetter("weight"), attrgetter("rows")


class Entry:
    """A session in the list; as the root of a family it has the family's rows and weight."""

    __slots__ = (
        "_searched",
        "_store",
        "family",
        "judged",
        "key",
        "parent",
        "root",
        "rows",
        "source",
        "unfolded",
        "weight",
    )

    def __init__(self, key: Key, source: Source, judged: JudgedSession) -> None:
        self.key = key
        self.source = source
        self.judged = judged
        parent = judged.session.parent_id
        self.parent: Key | None = (key[0], parent) if parent and parent != key[1] else None
        self.root: Entry = self
        self.family: _Family | None = None
        """As the root of one: its members; None for most, which stand alone."""
        self.rows: Sequence[Row] = ()
        self.unfolded: Sequence[Row] | None = None
        self.weight: Weight = 0
        self._store = intern(f"{source.kind} {source.name}")
        self._searched: str | None = None

    @property
    def searched(self) -> str:
        """What the words of a filter are looked for in; made on first use, best in the thread that reads."""
        if self._searched is None:
            from reach_tui.workspace.filters import haystack

            self._searched = haystack(self.judged.session, self._store)
        return self._searched

    def forget_searched(self) -> None:
        """The session's title or project may be another by now."""
        self._searched = None

    def passes(self, terms: Filter) -> bool:
        """True if every term of a filter holds."""
        return terms.holds(self.judged, self.searched, self._store)


class SessionTree:
    """All sessions, in families, in an order."""

    def __init__(self, entries: Iterable[Entry] = (), sort: str = SORTS[0]) -> None:
        self.entries: dict[Key, Entry] = {}
        self.folds: dict[Key, bool] = {}
        """What the person unfolded (True) or folded (False); without a word only sub-agents that hide errors show."""
        self._sort = sort
        self._roots: list[Entry] = []
        self._pairs: dict[tuple[int, int], tuple[int, int]] = {}
        self._settled = True
        """False while entries wait to be put into families."""
        self._changed: set[Entry] = set()
        """Roots whose rows and weight are no longer true."""
        self._resorted = False
        """True while no weight is."""
        self.add(entries)

    @property
    def sort(self) -> str:
        """The column that sorts, one of `SORTS`."""
        return self._sort

    def sort_by(self, column: str) -> None:
        """Sort by another column."""
        self._sort = column
        self._resorted = True

    def add(self, entries: Iterable[Entry]) -> None:
        """Add sessions, or replace those of the same key."""
        self.entries.update((entry.key, entry) for entry in entries)
        self._settled = False

    def put(self, entry: Entry, judged: JudgedSession) -> None:
        """A session's new counts or labels."""
        entry.judged = self._compact(judged)
        self._changed.add(entry.root)

    def _compact(self, judged: JudgedSession) -> JudgedSession:
        """The same with names and pairs that are kept once: tens of thousands of sessions use the same tools."""
        sums = judged.counts
        if sums is None:
            return judged
        tools = {intern(tool): self._pairs.setdefault(pair, pair) for tool, pair in sums.tools.items()}
        return replace(judged, counts=replace(sums, session_id=judged.session.id, tools=tools))

    def fold(self, key: Key, *, unfolded: bool) -> None:
        """Fold a family, or unfold it."""
        self.folds[key] = unfolded
        self._changed.add(self.entries[key].root)

    def rows(self, terms: Filter | None = None) -> list[Row]:
        """The rows in the order shown; with a filter every sub-agent that passes is shown."""
        self._settle()
        if terms is None:
            return list(chain.from_iterable(map(_rows, self._roots)))
        found: list[tuple[Weight, Sequence[Row]]] = []
        word = terms.words[0] if len(terms.words) == 1 and not terms.tests else None  # as one types: asked at each key
        sorted_anew = False
        for root in self._roots:
            if root.family is not None:
                members = [entry for entry, _ in root.family if entry.passes(terms)]
                if len(members) == len(root.family):
                    found.append((root.weight, self._unfolded(root)))
                else:
                    found += [self._filtered(family) for family in _families(members)]
                    sorted_anew = True
            elif word in root.searched if word is not None else root.passes(terms):
                found.append((root.weight, root.rows))
        if sorted_anew:
            found.sort(key=itemgetter(0), reverse=True)
        return list(chain.from_iterable(map(itemgetter(1), found)))

    def _unfolded(self, root: Entry) -> Sequence[Row]:
        if root.unfolded is None:
            root.unfolded = list(_rows_of(_family_of(root), self.folds.get(root.key, True)))
        return root.unfolded

    def _filtered(self, family: _Family) -> tuple[Weight, Sequence[Row]]:
        wish = self.folds.get(family[0][0].key, True)
        return _weight_of(family, self._sort), list(_rows_of(family, wish))

    def _settle(self) -> None:
        if not self._settled:
            self._settled = True
            self._roots = _grouped(list(self.entries.values()))
            self._changed.update(self._roots)
        if self._changed or self._resorted:
            column = self._sort
            for root in self._roots if self._resorted else self._changed:
                alone = root.family is None
                root.weight = weigh(root.judged, column) if alone else _weight_of(_family_of(root), column)
            for root in self._changed:
                root.rows, root.unfolded = tuple(_rows_of(_family_of(root), self.folds.get(root.key))), None
            self._changed.clear()
            self._resorted = False
            self._roots.sort(key=_weight, reverse=True)


def visible_rows(entries: Iterable[Entry], sort: str = SORTS[0], terms: Filter | None = None) -> list[Row]:
    """The rows of some sessions, nothing folded or unfolded by hand."""
    return SessionTree(entries, sort).rows(terms)


def _grouped(entries: list[Entry]) -> list[Entry]:
    """The roots of the families, each member knowing its root."""
    kin = {entry.parent for entry in entries if entry.parent is not None}
    roots = [entry for entry in entries if entry.parent is None and entry.key not in kin]
    families = _families([entry for entry in entries if entry.parent is not None or entry.key in kin]) if kin else []
    for root in roots:
        root.root, root.family = root, None
    for family in families:
        root = family[0][0]
        for entry, _ in family:
            entry.root, entry.family = root, None
        root.family = family if len(family) > 1 else None
        roots.append(root)
    return roots


def _family_of(root: Entry) -> _Family:
    return root.family or [(root, 0)]


def _families(shown: Sequence[Entry]) -> list[_Family]:
    """Who stands under whom, parents first; the younger sub-agent above the older."""
    if len(shown) == 1:
        return [[(shown[0], 0)]]
    keys = {entry.key for entry in shown}
    children: dict[Key, list[Entry]] = {}
    roots: list[Entry] = []
    for entry in shown:
        if entry.parent is not None and entry.parent in keys:
            children.setdefault(entry.parent, []).append(entry)
        else:
            roots.append(entry)
    families = [_family(root, children) for root in roots]
    if len(roots) + sum(map(len, children.values())) > sum(map(len, families)):
        reached = {entry.key for family in families for entry, _ in family}
        # parents that form a ring are reached from no root: cut it, each member stands alone
        families += [[(entry, 0)] for entry in shown if entry.key not in reached]
    return families


def _family(root: Entry, children: dict[Key, list[Entry]]) -> _Family:
    family: _Family = []
    waiting = [(root, 0)]
    while waiting:
        entry, depth = waiting.pop()
        family.append((entry, depth))
        if below := children.get(entry.key):
            below.sort(key=lambda one: one.judged.session.started_at or 0, reverse=True)
            waiting += [(one, depth + 1) for one in below]
    return family


def _weight_of(family: _Family, sort: str) -> Weight:
    if len(family) == 1:
        return weigh(family[0][0].judged, sort)
    return max(weigh(entry.judged, sort) for entry, _ in family)


def weigh(judged: JudgedSession, sort: str) -> Weight:
    """What sorts a session, the greatest first; what is not counted yet comes last."""
    sums, started = judged.counts, judged.session.started_at or 0
    if sort == "when":
        return started
    if not 0 <= started < 1 << _STARTED:
        started = 0
    if sums is None:
        return started
    counts = sums.counts
    if sort == "hidden":
        return (counts.hidden + 1 << _FIRST) + (counts.failed << _STARTED) + started
    first = counts.flagged if sort == "flagged" else counts.calls
    return (first + 1 << _FIRST) + (counts.hidden << _STARTED) + started


def _rows_of(family: _Family, wish: bool | None) -> Iterable[Row]:
    root, below = family[0][0], family[1:]
    if not below:
        yield root.key, SessionRow(root.source, root.judged)
        return
    if wish is None:  # until the person says otherwise: only the sub-agents that hide errors
        below_shown = [one for one in below if one[0].judged.counts and one[0].judged.counts.counts.hidden]
    else:
        below_shown = below if wish else []
    unfolded = len(below_shown) == len(below)
    yield root.key, SessionRow(root.source, root.judged, 0, len(below), unfolded=unfolded)
    for entry, depth in below_shown:
        yield entry.key, SessionRow(entry.source, entry.judged, min(depth, 3))

"""Which calls to label: suspects by doubt, spread over tools or rules, and random controls to see what was missed.

A recipe and its seed give the same list again over the same calls; both are kept with the labels. The method follows
labelling practice: hidden suspects nearest to doubt first, one stratum never crowding out the others, and controls from
among the calls that no rule speaks of, since without them recall cannot be measured.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KINDS = ("hidden", "failed", "soft", "flagged", "all")
STRATA = ("tool", "rule", "category", "none")
ORDERS = ("doubt", "random", "newest")
CONTROL = "control"
"""Stratum of the random controls."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call that may be drawn."""

    store: str
    source: str
    """Base name of its file."""
    session_id: str
    key: str
    tool: str
    failed: bool | None
    hidden: bool
    flagged: bool | None
    confidence: float
    """Of the verdict, 0..1."""
    rule: str | None
    category: str | None
    at: int | None = None
    """Milliseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a work list is drawn."""

    size: int = 100
    kind: str = "hidden"
    """hidden, failed, soft, flagged, or all (whatever the verdict)."""
    stratify: str = "tool"
    """Every tool, rule or category gets its turn; `none`: only the order counts."""
    order: str = "doubt"
    """`doubt` (confidence nearest one half first), `random` or `newest`; controls stand among the others."""
    controls: float = 0.2
    """Share of the list that is drawn at random from calls which no rule calls failed."""
    tools: tuple[str, ...] = ()
    """Only these; empty: all."""
    rules: tuple[str, ...] = ()
    """Only failures that one of these rules found (a new rule, for example); empty: all."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("kind", self.kind, KINDS),
            ("stratify", self.stratify, STRATA),
            ("order", self.order, ORDERS),
        ):
            if value not in allowed:
                raise ValueError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
        if self.size < 1 or not 0 <= self.controls <= 1:
            raise ValueError("size must be at least 1, controls a share from 0 to 1")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call on the list, and the stratum it was drawn for."""

    candidate: Candidate
    stratum: str


class Drawing:
    """A list being drawn from calls that come one by one; of possible controls only the few needed are kept."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._suspects: dict[tuple[str, str, str], Candidate] = {}
        self._quiet: dict[tuple[str, str, str], Candidate] = {}
        self._most = round(recipe.size * recipe.controls)

    def add(self, one: Candidate) -> None:
        """A call that may be drawn; one that comes again counts once."""
        if self._recipe.tools and one.tool not in self._recipe.tools:
            return
        target = one.store, one.session_id, one.key
        if _wanted(one, self._recipe):
            self._suspects.setdefault(target, one)
        elif one.failed is False and self._most:
            self._quiet.setdefault(target, one)
            if len(self._quiet) > 4 * self._most + 1000:
                self._thin_out()

    def _thin_out(self) -> None:
        lots = sorted(self._quiet, key=lambda target: _lot(self._quiet[target], self._recipe.seed, CONTROL))
        self._quiet = {target: self._quiet[target] for target in lots[: self._most]}

    def drawn(self) -> list[Drawn]:
        """The list in the order of work; the same for the same calls in any order."""
        self._thin_out()
        controls = list(self._quiet.values())
        chosen = _in_turn(list(self._suspects.values()), self._recipe, self._recipe.size - len(controls))
        return _mixed(chosen, [Drawn(one, CONTROL) for one in controls], self._recipe)


def draw(candidates: Iterable[Candidate], recipe: Recipe) -> list[Drawn]:
    """The list in the order of work; the same for the same calls in any order. Never a call twice."""
    drawing = Drawing(recipe)
    for one in candidates:
        drawing.add(one)
    return drawing.drawn()


def _wanted(one: Candidate, recipe: Recipe) -> bool:
    if recipe.rules and one.rule not in recipe.rules:
        return False
    return {
        "hidden": one.hidden,
        "failed": one.failed is True,
        "soft": one.failed is None and one.rule is not None,
        "flagged": one.flagged is True,
        "all": True,
    }[recipe.kind]


def _in_turn(suspects: Sequence[Candidate], recipe: Recipe, count: int) -> list[Drawn]:
    """The first of every stratum, then the second of every stratum, until there are enough; then in the order asked."""
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for one in suspects:
        groups[_stratum(one, recipe)].append(one)
    for group in groups.values():
        group.sort(key=lambda one: _rank(one, recipe))
    picked: list[Drawn] = []
    turn = 0
    while len(picked) < count and (able := [name for name in sorted(groups) if len(groups[name]) > turn]):
        picked += [Drawn(groups[name][turn], name) for name in able[: count - len(picked)]]
        turn += 1
    return sorted(picked, key=lambda drawn: _rank(drawn.candidate, recipe))


def _stratum(one: Candidate, recipe: Recipe) -> str:
    names = {"tool": one.tool, "rule": one.rule, "category": one.category, "none": "all"}
    return names[recipe.stratify] or "-"


def _rank(one: Candidate, recipe: Recipe) -> tuple[float, str]:
    """Smaller is earlier; equals are told apart by lot."""
    lot = _lot(one, recipe.seed, "order")
    if recipe.order == "doubt":
        return abs(one.confidence - 0.5), lot
    return (-(one.at or 0) if recipe.order == "newest" else 0), lot


def _mixed(chosen: list[Drawn], controls: list[Drawn], recipe: Recipe) -> list[Drawn]:
    """Controls at even distances, so that nobody can tell them by their place; their offset is drawn by lot."""
    if not controls:
        return chosen
    total = len(chosen) + len(controls)
    offset = int(hashlib.sha256(f"{recipe.seed}".encode()).hexdigest(), 16) % max(1, total // len(controls))
    places = {min(total - 1, offset + index * total // len(controls)) for index in range(len(controls))}
    mixed: list[Drawn] = []
    rest, drawn = iter(chosen), iter(controls)
    for place in range(total):
        one = next(drawn if place in places else rest, None)
        if one is not None:
            mixed.append(one)
    return [*mixed, *rest, *drawn]


def _lot(one: Candidate, seed: int, purpose: str) -> str:
    """A lot that depends on the call and the seed alone, not on the order in which calls come."""
    name = "\x00".join((str(seed), purpose, one.store, one.session_id, one.key))
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()

"""A codebook: the categories a person labels with, and what became of those of its earlier versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reach_tui.base.errors import UsageError

FAILURE = "reach-failure"
"""Id of the codebook that the detectors' verdicts are given in."""
NOT_A_FAILURE = "not_a_failure"
"""The category of key 0 in every codebook: looks like a failure and is none."""
UNCODED = "uncoded"
"""Category of a note that has no class yet (open coding): a label in force, and no judgement of failed or not."""


@dataclass(frozen=True, slots=True)
class Subcategory:
    """A class of failure on the second level."""

    id: str
    name: str
    definition: str
    example: str = ""
    fix: str = ""
    """What usually makes it go away."""
    avoidable_by: str = ""
    """What change avoids it: description, registry, context, permission, config, model, infra, guard, user …"""
    retryable: bool = False
    error_type: str = ""
    """The closed enumeration of events: invalid_param, not_found, timeout …"""
    codes: str = ""
    """Protocol codes that are a first guess at this class."""
    contrast: str = ""
    """The contrast with its neighbours: when it is another class."""
    maps_to: tuple[str, ...] = ()
    """The detectors' classes it corresponds to, as `level1` or `level1/level2`."""


@dataclass(frozen=True, slots=True)
class Category:
    """A class of failure on the first level; one digit key each."""

    key: str
    id: str
    name: str
    reach: str
    """Whose reach ended: tool, context, execution, model, or none; empty if the codebook does not say."""
    definition: str
    fix: str
    subcategories: tuple[Subcategory, ...] = ()
    example: str = ""
    contrast: str = ""
    """The contrast with its neighbours: when it is another class."""
    group: str = ""
    """What the codebook counts it under, where it groups its categories (the Peri seed: misuse or system)."""
    maps_to: tuple[str, ...] = ()
    """The detectors' classes it corresponds to, as `level1` or `level1/level2`."""

    def subcategory(self, subcategory_id: str) -> Subcategory | None:
        """The subcategory of that id, None if there is none."""
        return next((item for item in self.subcategories if item.id == subcategory_id), None)


@dataclass(frozen=True, slots=True)
class Retired:
    """A class of an earlier version that nobody is offered any more; labels that have it stay as they are."""

    path: str
    """`level1` or `level1/level2`."""
    how: str
    """merged, split or deprecated."""
    into: tuple[str, ...] = ()
    """The classes that took its place: one for merged, several for split, none or one for deprecated."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What a label's class is in the codebook of today."""

    category: str
    subcategory: str | None
    state: str
    """current, renamed, merged, split, deprecated or unknown; the last three want a person to label again."""
    into: tuple[str, ...] = ()
    """For split: the classes to choose from."""

    @property
    def path(self) -> str:
        """`level1` or `level1/level2`."""
        return f"{self.category}/{self.subcategory}" if self.subcategory else self.category

    @property
    def wants_relabelling(self) -> bool:
        """No class of today takes its place by itself."""
        return self.state in ("split", "deprecated", "unknown")


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Categories in the order of their keys, 1 to 9 and then 0."""

    id: str
    version: int
    categories: tuple[Category, ...]
    name: str = ""
    about: str = ""
    """Where it comes from, and what one label is for."""
    retired: tuple[Retired, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Former path and present path of what was renamed or moved."""

    def by_key(self, digit: str) -> Category | None:
        """The category of a digit key, None if there is none."""
        return next((item for item in self.categories if item.key == digit), None)

    def find(self, category_id: str) -> Category | None:
        """The category of that id, None if there is none."""
        return next((item for item in self.categories if item.id == category_id), None)

    def category(self, category_id: str) -> Category:
        """The category of that id. Raises `UsageError` that names the nearest."""
        if found := self.find(category_id):
            return found
        allowed = [item.id for item in self.categories]
        raise UsageError(f"unknown category {category_id!r}", hint=self._advice(category_id, "", allowed))

    def subcategory(self, level1: str, level2: str) -> Subcategory:
        """The subcategory `level1/level2`. Raises `UsageError` that names the nearest."""
        category = self.category(level1)
        if found := category.subcategory(level2):
            return found
        allowed = [item.id for item in category.subcategories]
        hint = self._advice(level2, f"{category.id}/", allowed)
        raise UsageError(f"unknown subcategory {level2!r} of {category.id}", hint=hint)

    def parse(self, text: str) -> tuple[Category, Subcategory | None]:
        """`level1` or `level1/level2` as its parts. Raises `UsageError` that says what is allowed."""
        level1, slash, level2 = text.strip().partition("/")
        category = self.category(level1.strip())
        return category, self.subcategory(category.id, level2.strip()) if slash else None

    def paths(self) -> Iterator[tuple[str, Category | Subcategory]]:
        """Every class as (`level1` or `level1/level2`, class), each level 1 before its level 2."""
        for category in self.categories:
            yield category.id, category
            for entry in category.subcategories:
                yield f"{category.id}/{entry.id}", entry

    def has(self, path: str) -> bool:
        """Whether a class of today has that path."""
        level1, _, level2 = path.partition("/")
        category = self.find(level1)
        return category is not None and (not level2 or category.subcategory(level2) is not None)

    def fold(self, category: str, subcategory: str | None = None) -> Folded:
        """A label's class as it is called in this version; what is split or gone stays as it was given."""
        path = f"{category}/{subcategory}" if subcategory else category
        if category == UNCODED:
            return Folded(category, subcategory, "current")
        state = "current"
        seen: set[str] = set()
        while path not in seen:
            seen.add(path)
            if self.has(path):
                return _folded(path, state)
            moved = self._moved(path)
            if moved is None:
                return _folded(path, "unknown")
            path, how, into = moved
            if not path:
                return Folded(category, subcategory, how, into)
            state = how
        return _folded(path, "unknown")

    def _moved(self, path: str) -> tuple[str, str, tuple[str, ...]] | None:
        """Where a former path went and how; an empty path where a person has to choose."""
        now = dict(self.renamed).get(path)
        if now is not None:
            return now, "renamed", ()
        gone = next((one for one in self.retired if one.path == path), None)
        if gone is not None:
            settled = gone.how != "split" and len(gone.into) == 1
            return (gone.into[0], "merged", ()) if settled else ("", gone.how, gone.into)
        level1, _, level2 = path.partition("/")
        if not level2 or self.find(level1) is not None:
            return None
        above = self._moved(level1)
        if above is None or not above[0]:
            return above
        below = f"{above[0].partition('/')[0]}/{level2}"
        known = self.has(below) or self._moved(below) is not None
        return (below if known else above[0]), above[1], ()

    def of_failure(self, category: str | None, subcategory: str | None) -> tuple[str, ...]:
        """The classes here that a verdict's class corresponds to, the nearest first; none where nothing was mapped."""
        if category is None:
            return ()
        whole = f"{category}/{subcategory}" if subcategory else category
        if self.id == FAILURE or category == NOT_A_FAILURE:
            return (whole,)
        exact = [path for path, one in self.paths() if whole in one.maps_to]
        wider = [path for path, one in self.paths() if category in one.maps_to]
        below = [path for path, one in self.paths() if any(to.startswith(f"{whole}/") for to in one.maps_to)]
        return tuple(dict.fromkeys((*exact, *wider, *below)))

    def to_failure(self, category: str, subcategory: str | None) -> tuple[str, ...]:
        """The detectors' classes that a class here corresponds to, as `level1` or `level1/level2`; none if unknown."""
        if self.id == FAILURE or category == NOT_A_FAILURE:
            return (f"{category}/{subcategory}" if subcategory else category,)
        above = self.find(category)
        below = above.subcategory(subcategory) if above and subcategory else None
        return (below.maps_to if below else ()) or (above.maps_to if above else ())

    def _advice(self, given: str, above: str, allowed: list[str]) -> str:
        former = self.fold(*_parts(above + given))
        listed = "one of " + ", ".join(allowed) if allowed else "it has none"
        if former.state in ("renamed", "merged"):
            return f"it was {former.state}: {former.path}"
        if former.state == "split":
            return f"it was split: {', '.join(former.into)}"
        import difflib

        near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.5)
        return f"did you mean {near[0]}? {listed}" if near else listed


def _parts(path: str) -> tuple[str, str | None]:
    level1, _, level2 = path.partition("/")
    return level1, level2 or None


def _folded(path: str, state: str) -> Folded:
    return Folded(*_parts(path), state)

"""Reads the failure taxonomy from its data file."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ConfigError, UsageError

_FILE = Path(__file__).with_name("failure.toml")


@dataclass(frozen=True, slots=True)
class Subcategory:
    """A class of failure on the second level."""

    id: str
    name: str
    definition: str
    example: str
    fix: str
    """What usually makes it go away."""
    avoidable_by: str
    """What change avoids it: description, registry, context, permission, config, model, infra, guard, user …"""
    retryable: bool
    error_type: str
    """The closed enumeration of events: invalid_param, not_found, timeout …"""
    codes: str = ""
    """Protocol codes that are a first guess at this class."""


@dataclass(frozen=True, slots=True)
class Category:
    """A class of failure on the first level; one digit key each."""

    key: str
    id: str
    name: str
    reach: str
    """Whose reach ended: tool, context, execution, model, or none."""
    definition: str
    fix: str
    subcategories: tuple[Subcategory, ...]

    def subcategory(self, subcategory_id: str) -> Subcategory | None:
        """The subcategory of that id, None if there is none."""
        return next((item for item in self.subcategories if item.id == subcategory_id), None)


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Categories in the order of their keys, 1 to 9 and then 0."""

    id: str
    version: int
    categories: tuple[Category, ...]

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
        raise UsageError(f"unknown category {category_id!r}", hint=_advice(category_id, allowed))

    def subcategory(self, level1: str, level2: str) -> Subcategory:
        """The subcategory `level1/level2`. Raises `UsageError` that names the nearest."""
        category = self.category(level1)
        if found := category.subcategory(level2):
            return found
        allowed = [item.id for item in category.subcategories]
        raise UsageError(f"unknown subcategory {level2!r} of {category.id}", hint=_advice(level2, allowed))

    def parse(self, text: str) -> tuple[Category, Subcategory | None]:
        """`level1` or `level1/level2` as its parts. Raises `UsageError` that says what is allowed."""
        level1, slash, level2 = text.strip().partition("/")
        category = self.category(level1.strip())
        return category, self.subcategory(category.id, level2.strip()) if slash else None


def _advice(given: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.5)
    listed = "one of " + ", ".join(allowed)
    return f"did you mean {near[0]}? {listed}" if near else listed


def load(path: Path) -> Taxonomy:
    """The taxonomy in a TOML file. Raises `ConfigError` naming the file and what is wrong with it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        categories = tuple(_category(item) for item in document["category"])
        taxonomy = Taxonomy(str(document["id"]), int(document["version"]), categories)
    except (OSError, UnicodeError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"not a taxonomy: {type(error).__name__}: {error}", path) from error
    _check_unique(taxonomy, path)
    return taxonomy


def _category(item: Mapping[str, Any]) -> Category:
    fields = {name: str(item[name]) for name in ("key", "id", "name", "reach", "definition", "fix")}
    return Category(**fields, subcategories=tuple(Subcategory(**entry) for entry in item["subcategory"]))


def _check_unique(taxonomy: Taxonomy, path: Path) -> None:
    groups = [[item.id for item in taxonomy.categories], [item.key for item in taxonomy.categories]]
    groups += [[entry.id for entry in item.subcategories] for item in taxonomy.categories]
    for names in groups:
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"not a taxonomy: given twice: {', '.join(sorted(twice))}", path)


@cache
def default() -> Taxonomy:
    """The failure taxonomy shipped with the package."""
    return load(_FILE)

"""Reads codebooks: the shipped ones from their files, and any document of that shape with its mistakes named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ConfigError
from reach_tui.taxonomy.codebook import (
    FAILURE,
    NOT_A_FAILURE,
    UNCODED,
    Category,
    Retired,
    Subcategory,
    Taxonomy,
)
from reach_tui.taxonomy.keys import KEYS, TAKEN

Place = tuple[str | int, ...]
"""Where in a document: field names, and positions from 0."""
_FILE = Path(__file__).with_name("failure.toml")
_PRESETS = Path(__file__).with_name("presets")
_ID = re.compile(r"[^\W_][\w.\-]{0,63}")
_HISTORY = frozenset(["renamed_from", "split_into", "merged_into", "deprecated", "replaced_by"])
_SHARED = frozenset(["id", "name", "definition", "example", "contrast", "fix", "maps_to"]) | _HISTORY
_FIRST = _SHARED | {"key", "reach", "group", "subcategory", "subcategories"}
_SECOND = _SHARED | {"avoidable_by", "retryable", "error_type", "codes"}
_TOP = frozenset(["id", "version", "name", "about", "category", "categories"])
_LONG = 2_000  # characters of a definition; a longer one is a mistake of the file, not a definition
_SECOND_LEVEL = 10  # digit keys


@dataclass(slots=True)
class Checked:
    """A document after checking: its codebook if it can be used, and everything that is wrong with it."""

    taxonomy: Taxonomy | None = None
    mistakes: list[ConfigError] = field(default_factory=list)


def load(path: Path) -> Taxonomy:
    """The taxonomy in a TOML file. Raises `ConfigError` naming the file and what is wrong with it."""
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, ValueError) as error:
        raise ConfigError(f"not a taxonomy: {type(error).__name__}: {error}", path) from error
    checked = check(document, lambda _: str(path))
    if checked.taxonomy is None:
        first = checked.mistakes[0]
        raise ConfigError(f"not a taxonomy: {first.what}", first.where, first.hint)
    return checked.taxonomy


@cache
def default() -> Taxonomy:
    """The failure taxonomy shipped with the package: the one that verdicts are given in."""
    return load(_FILE)


def preset_ids() -> tuple[str, ...]:
    """The ids of the shipped codebooks, ours first."""
    return (FAILURE, *sorted(path.stem for path in _PRESETS.glob("*.toml")))


@cache
def preset(preset_id: str) -> Taxonomy | None:
    """The shipped codebook of that id, None if there is none."""
    if preset_id == FAILURE:
        return default()
    return load(_PRESETS / f"{preset_id}.toml") if preset_id in preset_ids() else None


def check(document: object, where: Callable[[Place], str]) -> Checked:
    """A codebook from a document of mappings, lists and scalars; `where` names file and line of a place in it."""
    reading = _Reading(where)
    return reading.codebook(document)


class _Reading:
    """One document being read: collects mistakes and goes on."""

    def __init__(self, where: Callable[[Place], str]) -> None:
        self.where = where
        self.mistakes: list[ConfigError] = []
        self.retired: list[Retired] = []
        self.renamed: list[tuple[str, str]] = []
        self.links: list[tuple[Place, str]] = []
        """Paths that must be classes of this codebook."""
        self.paths: dict[str, Place] = {}

    def wrong(self, place: Place, what: str, hint: str | None = None) -> None:
        """Note a mistake in a field."""
        self.mistakes.append(ConfigError(f"{_field(place)}: {what}" if place else what, self.where(place), hint))

    def codebook(self, document: object) -> Checked:
        if not isinstance(document, Mapping):
            self.wrong((), "not a codebook: it needs id, version and categories")
            return Checked(None, self.mistakes)
        self._known((), document, _TOP)
        name = self._id((), document)
        version = self._version(document)
        title, about = self._text((), document, "name"), self._text((), document, "about")
        key = "category" if "category" in document else "categories"
        entries = self._list((), document, key)
        if not entries:
            self.wrong((key,), "missing: a codebook needs at least one category")
        found = [self._category((key, number), entry) for number, entry in enumerate(entries)]
        categories = [one for one in found if one is not None]
        self._keys(key, found)
        if categories and not any(one.id == NOT_A_FAILURE for one in categories) and name != FAILURE:
            categories.append(default().category(NOT_A_FAILURE))
        order = sorted(categories, key=lambda one: KEYS.find(one.key))
        taxonomy = Taxonomy(name, version, tuple(order), title, about, tuple(self.retired), tuple(self.renamed))
        self._links(taxonomy)
        return Checked(None if self.mistakes else taxonomy, self.mistakes)

    # Entries

    def _category(self, place: Place, entry: object) -> Category | None:
        fields = self._entry(place, entry, _FIRST, "")
        if fields is None or not isinstance(entry, Mapping):
            return None
        below = "subcategory" if "subcategory" in entry else "subcategories"
        above = str(fields["id"])
        gone = _is_retired(entry)
        found = [
            self._subcategory((*place, below, number), one, above)
            for number, one in enumerate(self._list(place, entry, below))
        ]
        subcategories = tuple(one for one in found if one is not None)
        if len(subcategories) > _SECOND_LEVEL:
            self.wrong((*place, below), f"{len(subcategories)} classes, but there are ten digit keys")
        if gone:
            return None
        return Category(
            key=self._key(place, entry, above),
            reach=self._text(place, entry, "reach"),
            group=self._text(place, entry, "group"),
            subcategories=subcategories,
            **fields,
        )

    def _subcategory(self, place: Place, entry: object, above: str) -> Subcategory | None:
        fields = self._entry(place, entry, _SECOND, f"{above}/")
        if fields is None or not isinstance(entry, Mapping) or _is_retired(entry):
            return None
        more = {name: self._text(place, entry, name) for name in ("avoidable_by", "error_type", "codes")}
        return Subcategory(**fields | more, retryable=_truth(entry.get("retryable")))

    def _entry(self, place: Place, entry: object, known: frozenset[str], above: str) -> dict[str, Any] | None:
        """What both levels share; None where the entry cannot be used at all."""
        if not isinstance(entry, Mapping):
            self.wrong(place, "not a mapping of fields")
            return None
        self._known(place, entry, known)
        own = self._id(place, entry)
        path = f"{above}{own}"
        if own and path in self.paths:
            self.wrong((*place, "id"), f"{path!r} is given twice", f"first in {_field(self.paths[path])}")
        self.paths.setdefault(path, place)
        if not above and own == UNCODED:
            self.wrong((*place, "id"), f"{UNCODED!r} is the program's own, for notes without a class")
        gone = self._history(place, entry, path, above)
        name, definition = self._text(place, entry, "name"), self._text(place, entry, "definition")
        if not gone:
            for field_, value in (("name", name), ("definition", definition)):
                if not value.strip():
                    self.wrong((*place, field_), "missing")
        more = {field_: self._text(place, entry, field_) for field_ in ("example", "contrast", "fix")}
        maps = self._many(place, entry, "maps_to")
        for one in maps:
            if not default().has(one):
                self.wrong((*place, "maps_to"), f"{one!r} is no class of {FAILURE}", "`labels codebook` prints them")
        return {"id": own, "name": name, "definition": definition, "maps_to": maps, **more}

    def _history(self, place: Place, entry: Mapping[str, object], path: str, above: str) -> bool:
        """Note what the entry says about earlier versions; whether it is a class of an earlier version itself."""
        for former in self._many(place, entry, "renamed_from"):
            self.renamed.append((former if "/" in former or not above else f"{above}{former}", path))
        split = self._into(place, entry, "split_into", above)
        merged = self._into(place, entry, "merged_into", above)
        replaced = self._into(place, entry, "replaced_by", above)
        if sum(map(bool, (split, merged, replaced))) > 1:
            self.wrong(place, "split_into, merged_into and replaced_by exclude each other")
        if split:
            if len(split) < 2:
                self.wrong((*place, "split_into"), "a split has two classes at least", "for one: merged_into")
            self.retired.append(Retired(path, "split", split))
        elif merged:
            if len(merged) > 1:
                self.wrong((*place, "merged_into"), "one class", "for several: split_into")
            self.retired.append(Retired(path, "merged", merged))
        elif replaced or _truth(entry.get("deprecated")):
            self.retired.append(Retired(path, "deprecated", replaced))
        return _is_retired(entry)

    def _into(self, place: Place, entry: Mapping[str, object], name: str, above: str) -> tuple[str, ...]:
        paths = tuple(one if "/" in one or not above else f"{above}{one}" for one in self._many(place, entry, name))
        self.links += [((*place, name), path) for path in paths]
        return paths

    # Checks over the whole

    def _keys(self, name: str, found: Sequence[Category | None]) -> None:
        taken: dict[str, str] = {}
        for number, one in enumerate(found):
            if one is None or one.key not in KEYS or not one.key:
                continue
            other = taken.setdefault(one.key, one.id)
            if other != one.id:
                what = f"{one.key!r} is given twice: to {other!r} and to {one.id!r}"
                self.wrong((name, number, "key"), what, "give one of them another digit")

    def _links(self, taxonomy: Taxonomy) -> None:
        """What is named must be there, and no chain of renames may come back to itself."""
        gone = {one.path for one in self.retired}
        former = {old for old, _ in self.renamed}
        for place, path in self.links:
            if not taxonomy.has(path) and path not in gone and path not in former:
                self.wrong(place, f"{path!r} is no class of this codebook")
        for old, new in self.renamed:
            if taxonomy.has(old):
                self.wrong(self.paths.get(new, ()), f"renamed_from: {old!r} is still a class of this codebook")
        for one in self.retired:
            if len(one.into) == 1 and taxonomy.fold(*_pair(one.path)).state == "unknown":
                self.wrong(self.paths.get(one.path, ()), f"{one.path!r} leads back to itself or to nothing")

    # Fields

    def _known(self, place: Place, entry: Mapping[str, object], known: frozenset[str]) -> None:
        for name in entry:
            if name not in known:
                import difflib

                near = difflib.get_close_matches(str(name), sorted(known), n=1)
                self.wrong((*place, str(name)), "unknown field", f"did you mean {near[0]}?" if near else None)

    def _id(self, place: Place, entry: Mapping[str, object]) -> str:
        text = self._text(place, entry, "id")
        if not text:
            self.wrong((*place, "id"), "missing")
        elif not _ID.fullmatch(text):
            self.wrong((*place, "id"), f"{text[:40]!r}: letters, digits, _ . - and no spaces or slashes")
        return text

    def _version(self, document: Mapping[str, object]) -> int:
        text = self._text((), document, "version")
        if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
            self.wrong(("version",), "missing" if not text else f"{text[:40]!r} is no whole number from 1")
            return 0
        return int(text)

    def _key(self, place: Place, entry: Mapping[str, object], own: str) -> str:
        key = self._text(place, entry, "key")
        free = "categories have the digits 1 to 9"
        if own == NOT_A_FAILURE:
            if key not in ("", "0"):
                self.wrong((*place, "key"), f"{NOT_A_FAILURE} has the key 0 in every codebook")
            return "0"
        if not key:
            self.wrong((*place, "key"), f"missing: {free}")
        elif key == "0":
            self.wrong((*place, "key"), f"0 is {NOT_A_FAILURE} in every codebook, not {own!r}", free)
        elif (other := _taken(key)) is not None:
            self.wrong((*place, "key"), f"{key!r} of {own!r} is a key of the screens already: {other}", free)
        elif key not in KEYS or len(key) != 1:
            self.wrong(
                (*place, "key"), f"{key[:40]!r} is no key for a category", f"{free}; other keys are the screens'"
            )
        return key

    def _text(self, place: Place, entry: Mapping[str, object], name: str) -> str:
        value = entry.get(name)
        if value is None:
            return ""
        if isinstance(value, Mapping | list):
            self.wrong((*place, name), "text is expected here")
            return ""
        text = str(value)
        if len(text) > _LONG:
            self.wrong((*place, name), f"longer than {_LONG:,} characters")
        return text[:_LONG]

    def _list(self, place: Place, entry: Mapping[str, object], name: str) -> list[object]:
        value = entry.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong((*place, name), "a list is expected here")
            return []
        return value

    def _many(self, place: Place, entry: Mapping[str, object], name: str) -> tuple[str, ...]:
        value = entry.get(name)
        given = value if isinstance(value, list) else [] if value in (None, "") else [value]
        if any(isinstance(one, Mapping | list) or one is None for one in given):
            self.wrong((*place, name), "a class, or a list of classes, is expected here")
            return ()
        return tuple(str(one).strip() for one in given)


def _is_retired(entry: Mapping[str, object]) -> bool:
    return bool(entry.get("split_into") or entry.get("merged_into") or entry.get("replaced_by")) or _truth(
        entry.get("deprecated")
    )


def _truth(value: object) -> bool:
    return str(value).lower() in ("true", "yes", "1")


def _taken(key: str) -> str | None:
    named = {shown.lower(): does for shown, does in TAKEN.items() if len(shown) > 1}
    return TAKEN.get(key) or named.get(key.lower())


def _pair(path: str) -> tuple[str, str | None]:
    level1, _, level2 = path.partition("/")
    return level1, level2 or None


def _field(place: Place) -> str:
    """A place as a person reads it: `categories 3, key`."""
    shown = ""
    for part in place:
        shown += f" {part + 1}" if isinstance(part, int) else f", {part}" if shown else part
    return shown

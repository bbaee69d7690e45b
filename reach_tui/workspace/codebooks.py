"""Codebooks at hand: the shipped ones, the person's own and the project's; which is chosen, and what labels need."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reach_tui.base.errors import ConfigError
from reach_tui.base.jsonio import JsonValue
from reach_tui.labels.codebook_files import SUFFIXES, check_file, load_file
from reach_tui.model import Label
from reach_tui.taxonomy import FAILURE, Category, Folded, Subcategory, Taxonomy, default, preset, preset_ids
from reach_tui.workspace.own_files import Stamped, own_folders, stamped
from reach_tui.workspace.records import Record

FOLDER = "taxonomies"


@dataclass(frozen=True, slots=True)
class Codebooks:
    """The person's own codebooks that can be used, and what is wrong with the others."""

    own: tuple[tuple[Path, Taxonomy], ...] = ()
    mistakes: tuple[ConfigError, ...] = ()

    def find(self, codebook_id: str) -> Taxonomy | None:
        """The codebook of that id, shipped or own; None if there is none."""
        return preset(codebook_id) or next((one for _, one in self.own if one.id == codebook_id), None)

    def ids(self) -> list[str]:
        """The ids of all, shipped ones first."""
        return [*preset_ids(), *(one.id for _, one in self.own)]


def own_files(start: Path | None = None) -> list[Path]:
    """The person's codebook files, then the project's: the nearest `.reach-tui/taxonomies` from here upwards."""
    return [
        path
        for folder in own_folders(FOLDER, start)
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    ]


def codebooks(start: Path | None = None) -> Codebooks:
    """The codebooks of this person in a folder (default: the current one)."""
    return _read(stamped(own_files(start)))


@lru_cache(maxsize=4)
def _read(files: Stamped) -> Codebooks:
    own: list[tuple[Path, Taxonomy]] = []
    mistakes: list[ConfigError] = []
    for path, _, _ in files:
        checked = check_file(path)
        mistakes += checked.mistakes
        if checked.taxonomy is None:
            continue
        name = checked.taxonomy.id
        other = (
            "a shipped codebook" if name in preset_ids() else next((f"{at}" for at, one in own if one.id == name), "")
        )
        if other:
            mistakes.append(ConfigError(f"id: {name!r} is the id of {other}", path, "give it an id of its own"))
        else:
            own.append((path, checked.taxonomy))
    return Codebooks(tuple(own), tuple(mistakes))


def is_file(named: str) -> bool:
    """A file of a codebook, not the id of one."""
    return named.lower().endswith(SUFFIXES) or os.sep in named


def choose(named: str, books: Codebooks | None = None) -> Taxonomy:
    """The codebook of an id or a file; ours for an empty name. Raises `ConfigError` that says what is wrong."""
    if not named or named == FAILURE:
        return default()
    if is_file(named):
        taxonomy = load_file(Path(named).expanduser()).taxonomy
        assert taxonomy is not None
        if taxonomy.id in preset_ids():
            what = f"id: {taxonomy.id!r} is the id of a shipped codebook"
            raise ConfigError(what, named, "give it an id of its own")
        return taxonomy
    if (shipped := preset(named)) is not None:
        return shipped
    books = books or codebooks()
    if (found := books.find(named)) is not None:
        return found
    for path in own_files():
        if path.stem == named:  # most likely meant: what is wrong with it says more than that there is none
            load_file(path)
    known = ", ".join(books.ids())
    raise ConfigError(f"there is no codebook {named!r}", None, f"known: {known}; or name a file of YAML or TOML")


class Folding:
    """What labels' classes are called in the codebooks of today, whichever codebook each was given in."""

    def __init__(self, chosen: Taxonomy, books: Codebooks | None = None) -> None:
        self.chosen = chosen
        self._books = books
        self._known: dict[str, Taxonomy | None] = {chosen.id: chosen}

    def codebook(self, codebook_id: str) -> Taxonomy | None:
        """The codebook of that id: the chosen one, a shipped or an own one; None where there is none any more."""
        if codebook_id not in self._known:
            self._known[codebook_id] = (self._books or codebooks()).find(codebook_id)
        return self._known[codebook_id]

    def fold(self, label: Label) -> Folded:
        """The label's class of today; as it was given where its codebook is not at hand."""
        book = self.codebook(label.taxonomy)
        if book is None:
            return Folded(str(label.category), label.subcategory, "unknown")
        return book.fold(str(label.category), label.subcategory)


def open_labels(labels: Iterable[Label], folding: Folding) -> list[tuple[Label, Folded]]:
    """The labels of the chosen codebook that want a person to label again, in the order given."""
    mine = (label for label in labels if label.taxonomy == folding.chosen.id and label.category is not None)
    return [(label, folded) for label in mine if (folded := folding.fold(label)).wants_relabelling]


def usage(labels: Iterable[Label], folding: Folding) -> Counter[str]:
    """How many labels each class of the chosen codebook has, by its path of today."""
    return Counter(
        folding.fold(label).path
        for label in labels
        if label.taxonomy == folding.chosen.id and label.category is not None
    )


def codebook_record(taxonomy: Taxonomy) -> Record:
    """A codebook as JSON, with everything it says."""
    return {
        "id": taxonomy.id,
        "version": taxonomy.version,
        "name": taxonomy.name or None,
        "about": taxonomy.about or None,
        "categories": [
            {"key": one.key, **_entry(one), "reach": one.reach or None, "group": one.group or None,
             "subcategories": [_entry(sub) for sub in one.subcategories]}
            for one in taxonomy.categories
        ],
        "renamed": [{"from": old, "to": new} for old, new in taxonomy.renamed],
        "retired": [{"id": one.path, "how": one.how, "into": list(one.into)} for one in taxonomy.retired],
    }  # fmt: skip


def _entry(one: Category | Subcategory) -> Record:
    maps: list[JsonValue] = list(one.maps_to)
    return {
        "id": one.id,
        "name": one.name,
        "definition": one.definition,
        "contrast": one.contrast or None,
        "example": one.example or None,
        "fix": one.fix or None,
        "maps_to": maps,
    }

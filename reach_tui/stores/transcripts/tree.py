"""Transcripts whose lines name their parents: which of them the model could still see at the end."""

from __future__ import annotations

from pathlib import Path

from reach_tui.base.jsonio import JsonValue, as_text
from reach_tui.stores.transcripts.lines import JsonObject, read_lines


class Tree:
    """The lines of one file by id, with their parents."""

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._first_kept: dict[str, str] = {}
        self._leaf: str | None = None
        self._seen: frozenset[str] | None = None

    def add(self, name: str, parent: str | None, first_kept: str | None = None) -> None:
        """The next line; with `first_kept` a compaction that hides what came before the line of that name."""
        self._parents.setdefault(name, parent)
        self._leaf = name
        if first_kept is not None:
            self._first_kept[name] = first_kept

    def visible(self, name: JsonValue) -> bool:
        """False for a line on a branch that was left, or before the last compaction."""
        if self._seen is None:
            self._seen = self._path()
        return not isinstance(name, str) or name not in self._parents or name in self._seen

    def _path(self) -> frozenset[str]:
        seen: set[str] = set()
        stop: str | None = None
        name = self._leaf
        while name is not None and name in self._parents and name not in seen:
            seen.add(name)
            if name == stop:
                break
            if stop is None:
                stop = self._first_kept.get(name)
            name = self._parents[name]
        return frozenset(seen)


def tree_of(path: Path, name_key: str, parent_key: str) -> Tree:
    """The tree of a file. Raises `StoreError`."""
    tree = Tree()
    for line in read_lines(path):
        value: JsonObject = line.value
        if (name := as_text(value.get(name_key))) is not None:
            tree.add(name, as_text(value.get(parent_key)), as_text(value.get("firstKeptEntryId")))
    return tree

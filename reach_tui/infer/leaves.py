"""An argument object as leaves: `edits[0].old_string`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue

MOST_LEAVES = 200
"""Leaves of one call that are looked at; the rest of a huge or deep object is one leaf more, as it is."""
_DEEPEST = 12
_PLAIN = re.compile(r"[^\W\d][\w-]*")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value in the arguments."""

    name: str
    """Its path, as in `edits[0].old_string`."""
    key: str
    """The last name in the path: what kind of value it is (`old_string`)."""
    value: JsonValue
    """A scalar; a container only where it is empty or nested too deep."""
    root: str
    """The parameter that it belongs to (`edits`)."""


def flatten(arguments: JsonValue) -> list[Leaf]:
    """The leaves of an argument object in order; of anything else none."""
    if not isinstance(arguments, dict):
        return []
    leaves: list[Leaf] = []
    for name, value in arguments.items():
        for leaf in _walk(_joined("", name), name, value, name, _DEEPEST):
            if len(leaves) == MOST_LEAVES:
                return leaves
            leaves.append(leaf)
    return leaves


def _walk(path: str, key: str, value: JsonValue, root: str, levels: int) -> Iterator[Leaf]:
    if levels and isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _walk(_joined(path, name), name, one, root, levels - 1)
    elif levels and isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from _walk(f"{path}[{number}]", key, one, root, levels - 1)
    else:
        yield Leaf(path, key, value, root)


def _joined(path: str, name: str) -> str:
    """Names that are no plain words are quoted, so that a path reads one way only."""
    if not _PLAIN.fullmatch(name):
        name = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{path}.{name}" if path else name

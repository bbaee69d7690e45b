"""A person's own codebooks: YAML or TOML files, checked with messages that name file, line and field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui.base.errors import ConfigError
from reach_tui.taxonomy import Checked, Place, check

if TYPE_CHECKING:
    from yaml.nodes import Node

SUFFIXES = (".yaml", ".yml", ".toml")
_LARGEST = 1_000_000  # bytes; a codebook is a page or two, not an archive
_NODES = 20_000  # aliases of aliases can name more nodes than a machine can visit
_BRACKETS = 2_000
_HEAD = re.compile(r"^\s*\[\[\s*([\w.\"' ]+?)\s*\]\]")
_NAME = re.compile(r"^\s*[\"']?([\w.\-]+)[\"']?\s*=")


def check_file(path: Path) -> Checked:
    """A codebook file: what it holds if it can be used, and every mistake with file, line and field."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        return _unreadable(path, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return _unreadable(path, "not a codebook: not UTF-8 text")
    if len(data) > _LARGEST:
        return _unreadable(path, f"not a codebook: larger than {_LARGEST:,} bytes")
    try:
        document, line_of = (_toml if path.suffix.lower() == ".toml" else _yaml)(text)
    except _Broken as error:
        where = f"{path}:{error.line}" if error.line else path
        return Checked(None, [ConfigError(f"not a codebook: {error}", where)])

    def where_is(place: Place) -> str:
        line = line_of(place)
        return f"{path}:{line}" if line else str(path)

    return check(document, where_is)


def load_file(path: Path) -> Checked:
    """The same. Raises `ConfigError`, the first mistake, where the codebook cannot be used."""
    checked = check_file(path)
    if checked.taxonomy is None:
        raise checked.mistakes[0]
    return checked


class _Broken(Exception):
    """Text that is no document at all."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


def _unreadable(path: Path, what: str) -> Checked:
    return Checked(None, [ConfigError(what, path, "name a codebook of YAML or TOML, or a shipped one")])


# YAML


def _yaml(text: str) -> tuple[object, Callable[[Place], int | None]]:
    import yaml

    lines: dict[Place, int] = {}
    if text.count("[") + text.count("{") > _BRACKETS or "- " * 50 in text:
        raise _Broken("more than a codebook can hold")  # the parser's time grows with the square of the depth
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _Broken(f"not YAML: {what}", mark.line + 1 if mark else None) from None
    except RecursionError:
        raise _Broken("not YAML: nested too deeply") from None
    count = [0]
    document = None if node is None else _plain(node, (), lines, count)

    def line_of(place: Place) -> int | None:
        while place and place not in lines:
            place = place[:-1]
        return lines.get(place)

    return document, line_of


def _plain(node: Node, place: Place, lines: dict[Place, int], count: list[int]) -> object:
    """Mappings, lists and text: every scalar as it is written, so that `no` is an id and not a truth value."""
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    count[0] += 1
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if count[0] > _NODES or len(place) > 20:
        raise _Broken("more than a codebook can hold", line)
    if isinstance(node, ScalarNode):
        empty = node.tag == "tag:yaml.org,2002:null" and node.style is None
        return None if empty else str(node.value)
    if isinstance(node, SequenceNode):
        return [_plain(one, (*place, number), lines, count) for number, one in enumerate(node.value)]
    found: dict[str, object] = {}
    for key, value in node.value if isinstance(node, MappingNode) else ():
        name = str(key.value) if isinstance(key, ScalarNode) else ""
        at = key.start_mark.line + 1
        if not name:
            raise _Broken("a field's name is no text", at)
        if name in found:
            raise _Broken(f"field {name!r} is given twice", at)
        lines.setdefault((*place, name), at)
        found[name] = _plain(value, (*place, name), lines, count)
    return found


# TOML


def _toml(text: str) -> tuple[object, Callable[[Place], int | None]]:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise _Broken(f"not TOML: {error}", int(found[1]) if found else None) from None
    except RecursionError:
        raise _Broken("not TOML: nested too deeply") from None
    return document, lambda place: _toml_line(text, place)


def _toml_line(text: str, wanted: Place) -> int | None:
    """The line of a place: of the field, else of the `[[…]]` above it. tomllib keeps none, so they are counted."""
    here: Place = ()
    nearest: int | None = None
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if head := _HEAD.match(line):
            name = re.sub(r"[\"' ]", "", head[1])
            counts[name] = counts.get(name, -1) + 1
            first, _, below = name.partition(".")
            for other in [one for one in counts if one.startswith(f"{name}.")]:
                del counts[other]
            here = (first, counts.get(first, 0), *((below, counts[name]) if below else ()))
            if here == wanted[: len(here)]:
                nearest = number
        elif (field := _NAME.match(line)) and (*here, field[1]) == wanted[: len(here) + 1]:
            return number
    return nearest

"""YAML as people write registries in: JSON's values, the line of every node, and nothing that could hurt.

Read from libyaml's events, not from PyYAML's objects: anchors, tags and several documents are refused, depth and size
are bounded, a key that stands twice is a mistake, and plain scalars follow YAML 1.2 (`yes` and `2026-06-01` are text),
so that what is read is what a JSON Schema can check.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite
from typing import NoReturn, TypeAlias

import yaml

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.problems import Problem, RegistryError, field_name

LARGEST = 256 * 1024
"""Bytes a tool's file may have: a hundred times a well described tool."""
DEEPEST = 40
MOST_NODES = 20_000
_LONGEST_NUMBER = 64

Path: TypeAlias = "tuple[str | int, ...]"

_WORDS: dict[str, bool | None] = {"": None, "~": None}
for _word, _meaning in (("null", None), ("true", True), ("false", False)):
    _WORDS |= dict.fromkeys((_word, _word.capitalize(), _word.upper()), _meaning)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]+|\.(?=[eE]|$))?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DIGIT = re.compile(r"[0-9]", re.ASCII)
_Parser: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value, and the line where each node of it stands (a mapping's entry: the line of its key)."""

    value: JsonValue
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int | None:
        """The line of the node, or of the nearest node around it that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come."""

    path: Path
    value: dict[str, JsonValue] | list[JsonValue]
    key: str | None = None
    """The key whose value comes next."""
    skipped: bool = False
    """The next value belongs to a key that stands twice."""


@dataclass(slots=True)
class _Builder:
    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    root: JsonValue = None
    documents: int = 0
    nodes: int = 0

    def take(self, event: yaml.Event) -> None:
        """Add one event. Raises `RegistryError` for what cannot be read on from."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.fail(event, "a second document: one file holds one tool")
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)

    def _node(self, event: yaml.NodeEvent) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            self.fail(event, f"more than {MOST_NODES} values")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self.fail(event, "anchors and aliases (& and *) are not read here: write the value out")
        if getattr(event, "tag", None) is not None:
            self.fail(event, f"the tag {event.tag} is not read here: values are JSON's")  # type: ignore[attr-defined]
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            self._key(parent, event)
            return
        path = self._path(parent, event)
        if isinstance(event, yaml.ScalarEvent):
            self._put(parent, self._scalar(event, path))
            return
        value: dict[str, JsonValue] | list[JsonValue] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._put(parent, value)
        self.stack.append(_Open(path, value))
        if len(self.stack) > DEEPEST:
            self.fail(event, f"nested deeper than {DEEPEST} levels")

    def _key(self, parent: _Open, event: yaml.NodeEvent) -> None:
        if not isinstance(event, yaml.ScalarEvent):
            self.fail(event, "a key must be a word, not a list or mapping")
        parent.key = str(event.value)
        path = (*parent.path, parent.key)
        assert isinstance(parent.value, dict)
        parent.skipped = parent.key in parent.value
        if parent.skipped:
            what = f"stands twice, first in line {self.lines.get(path)}"
            self.problems.append(Problem(self.file, what, _line(event), field_name(path)))
        else:
            self.lines[path] = _line(event)

    def _path(self, parent: _Open | None, event: yaml.NodeEvent) -> Path:
        if parent is None:
            path: Path = ()
        elif isinstance(parent.value, list):
            path = (*parent.path, len(parent.value))
        else:
            assert parent.key is not None
            path = (*parent.path, parent.key)
        self.lines.setdefault(path, _line(event))
        return path

    def _put(self, parent: _Open | None, value: JsonValue) -> None:
        if parent is None:
            self.root = value
        elif isinstance(parent.value, list):
            parent.value.append(value)
        else:
            assert parent.key is not None
            if not parent.skipped:
                parent.value[parent.key] = value
            parent.key = None

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> JsonValue:
        text = str(event.value)
        if not event.implicit[0]:  # quoted or a block
            return text
        if text in _WORDS:
            return _WORDS[text]
        number = _number(text)
        if number is None or isfinite(number):
            return text if number is None else number
        self.problems.append(Problem(self.file, "not a number JSON can hold: quote it", _line(event), field_name(path)))
        return text

    def fail(self, event: yaml.Event, what: str) -> NoReturn:
        """Raise what was found so far and this."""
        path = self.stack[-1].path if self.stack else ()
        raise RegistryError([*self.problems, Problem(self.file, what, _line(event), field_name(path))])


def read_document(raw: bytes, file: str) -> tuple[Document, list[Problem]]:
    """The document in `raw`, and mistakes that do not keep it from being read (keys that stand twice, odd numbers).

    Raises `RegistryError` where it is not UTF-8, not YAML, empty, too large or too deep, or uses anchors or tags.
    """
    if len(raw) > LARGEST:
        raise RegistryError([Problem(file, f"larger than {LARGEST // 1024} KiB: a tool's file is a page or two")])
    builder = _Builder(file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RegistryError([Problem(file, f"not UTF-8 (byte 0x{raw[error.start]:02x})", line)]) from error
    try:
        for event in yaml.parse(text, _Parser):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise RegistryError(
            [*builder.problems, Problem(file, f"not YAML: {error.problem}", _error_line(error))]
        ) from error
    except yaml.YAMLError as error:  # a control character: named by position, without a line
        position = getattr(error, "position", None)
        at = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise RegistryError([Problem(file, f"not YAML: {getattr(error, 'reason', error)}", at)]) from error
    if not builder.documents:
        raise RegistryError([Problem(file, "empty", 1)])
    return Document(builder.root, builder.lines), builder.problems


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST_NUMBER or not _DIGIT.search(text):
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else None


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _error_line(error: yaml.MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return None if mark is None else int(mark.line) + 1

"""What kind of value an argument is, by its name, its value and its schema: filled from somewhere, or composed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.changes import OLD
from reach_tui.infer.leaves import Leaf
from reach_tui.reach.entities import Shape, shape_of


class Kind(StrEnum):
    """How a value is looked for."""

    OLD_TEXT = "old text"
    """The text an edit replaces: held against the file."""
    COMMAND = "command"
    """Composed, but the paths and ids inside it are not."""
    PATH = "path"
    ID = "id"
    """Ids, addresses, URLs, long numbers, what a pattern describes: known, or invented."""
    DATE = "date"
    PHRASE = "phrase"
    """Text that may be quoted from somewhere; composed where it stands nowhere."""
    COMPOSED = "composed"
    """New text, prompts, descriptions, switches: the agent's own words and choices."""


_COMPOSED = frozenset(
    (
        "newstring", "newstr", "newtext", "content", "contents", "filetext", "text", "prompt", "description", "message",
        "messages", "body", "comment", "reason", "thought", "thoughts", "title", "summary", "explanation", "status",
        "priority", "instruction", "instructions", "question", "questions", "answer", "task", "note", "plan", "code",
        "activeform", "replacement", "chars", "todos", "label", "header", "justification", "subject", "result", "goal",
    )
)  # fmt: skip
_COMMANDS = frozenset(("command", "cmd", "script", "commands", "shell", "bash"))
_SEARCHES = frozenset(("pattern", "regex", "glob", "query", "include", "exclude", "search", "q", "keywords", "filter"))
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+(?=[^a-zA-Z]*$)|[A-Z]+(?=[^a-zA-Z]*$)")
_PATHS = frozenset(
    ("path", "paths", "file", "files", "filename", "dir", "directory", "folder", "cwd", "workdir", "uri", "filepath")
)
_IDS = frozenset(
    (
        "id", "ids", "uuid", "key", "number", "no", "code", "sku", "token", "ref", "email", "phone", "account",
        "target", "targets",
    )
)  # fmt: skip
"""What the last word of a name says: `order_id`, `shellId`, `targetFile`."""
_DATED = re.compile(r"(?:^|_)(?:date|day|since|until|from|to|start|end|begin|before|after)(?:$|_)", re.IGNORECASE)
_LARGE = 100_000_000  # a number that is no count, size or wait
_WORD = re.compile(r"[^\W\d_]{1,32}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def plain_name(key: str) -> str:
    """A name without case and marks: `oldString`, `old_string` -> `oldstring`."""
    return "".join(char for char in key.lower() if char.isalnum())


def _last_word(key: str) -> str:
    found = _LAST_WORD.search(key)
    return found[0].lower() if found else ""


def kind_of(leaf: Leaf, schema: Mapping[str, JsonValue], *, is_edit: bool, is_file: bool) -> Kind:
    """The kind of a leaf. `is_edit`: the call edits files; `is_file`: the parameter names the file."""
    value, name = leaf.value, plain_name(leaf.key)
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return Kind.COMPOSED
    if isinstance(value, int | float):
        return _number(value, leaf.key, schema)
    if is_edit and leaf.key in OLD:
        return Kind.OLD_TEXT
    if name in _COMMANDS:
        return Kind.COMMAND
    if isinstance(schema.get("pattern"), str):
        return Kind.ID
    if name in _COMPOSED and not is_file:
        return Kind.COMPOSED
    if name in _SEARCHES:
        return Kind.PHRASE
    return _text(value, leaf.key, schema, is_file)


def _number(value: float, key: str, schema: Mapping[str, JsonValue]) -> Kind:
    if "enum" in schema:
        return Kind.COMPOSED
    return Kind.ID if _last_word(key) in _IDS or abs(value) >= _LARGE else Kind.COMPOSED


def _text(value: str, key: str, schema: Mapping[str, JsonValue], is_file: bool) -> Kind:
    if "enum" in schema or "const" in schema or not value.strip():
        return Kind.COMPOSED
    shape = shape_of(value)
    if shape is Shape.DATE or (_DATED.search(key) and any(char.isdigit() for char in value)):
        return Kind.DATE
    if shape in (Shape.UUID, Shape.EMAIL, Shape.URL, Shape.ORDER_ID):
        return Kind.ID
    if is_file or (_last_word(key) in _PATHS and "\n" not in value):
        return Kind.PATH
    if _last_word(key) in _IDS and " " not in value.strip():
        return Kind.ID
    if shape is Shape.PATH:
        return Kind.PATH
    if shape is Shape.NUMBER:
        return Kind.ID if len(value) >= 5 else Kind.PHRASE
    return Kind.PHRASE


def is_free(value: str) -> bool:
    """True for words, sentences, code: what an agent may well compose; False for what looks like a name."""
    text = value.strip()
    return bool(
        len(text) > 80
        or " " in text
        or "\n" in text
        or _WORD.fullmatch(text)
        or _CJK.search(text)
        or not text.isascii()
    )

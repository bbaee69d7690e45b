"""What a call would change in files: replaced and inserted texts, whole contents, patches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.detect.files import EDIT, WRITE, access, resolved
from reach_tui.model import ToolCall

OLD = ("old_string", "oldString", "old_str", "old_text", "oldText", "search")
"""Arguments that hold the text an edit replaces, by the agents of the known stores."""
NEW = ("new_string", "newString", "new_str", "new_text", "newText", "replace", "replacement")
CONTENT = ("content", "contents", "file_text", "text", "code", "body")
_ALL = ("replace_all", "replaceAll", "allow_multiple", "expected_replacements")
_PATCH = ("input", "patch", "patchText", "diff", "command", "cmd")
_FILE = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$")


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement in one file. `old` None: `new` is put in somewhere, or is the whole file."""

    path: str
    old: str | None
    new: str
    every: bool = False
    """Every place of `old` is replaced; more than one is then no mistake."""
    whole: bool = False
    """`new` is the file from now on."""
    leaf: str = ""
    """The argument that holds `old`."""


def changes(call: ToolCall, folder: str | None = None) -> list[Change]:
    """The changes that a call asks for, in order; none for a call that changes no file as far as its name tells."""
    patch = patch_of(call)
    if patch is not None:
        return list(_patched(patch[1], patch[0], folder))
    kind, paths = access(call, folder)
    if kind not in (EDIT, WRITE) or not paths:
        return []
    arguments = as_object(call.arguments)
    found = list(_replacements(paths[0], arguments, "", arguments))
    listed = arguments.get("edits") or arguments.get("replacements") or arguments.get("changes")
    for number, one in enumerate(listed if isinstance(listed, list) else []):
        found += _replacements(paths[0], as_object(one), f"edits[{number}].", arguments)
    if found or kind == EDIT:
        return found
    text = next((arguments[name] for name in CONTENT if isinstance(arguments.get(name), str)), None)
    return [Change(paths[0], None, text, whole=True)] if isinstance(text, str) else []


def _replacements(
    path: str, given: Mapping[str, JsonValue], prefix: str, whole: Mapping[str, JsonValue]
) -> Iterator[Change]:
    new = next((text for name in NEW if (text := as_text(given.get(name))) is not None), None)
    for name in OLD:
        old = as_text(given.get(name))
        if old is not None:
            every = any(_several(one.get(key)) for key in _ALL for one in (given, whole))
            yield Change(path, old or None, new or "", every, False, f"{prefix}{name}")
            return
    if new is not None:
        yield Change(path, None, new)


def _several(value: JsonValue) -> bool:
    return value is True or (isinstance(value, int) and not isinstance(value, bool) and value > 1)


def patch_of(call: ToolCall) -> tuple[str, str] | None:
    """Argument and text of a patch (`*** Begin Patch`), also where a shell command holds it; None without one."""
    if isinstance(call.arguments, str):
        return ("input", call.arguments) if "*** Begin Patch" in call.arguments else None
    arguments = as_object(call.arguments)
    for name in _PATCH:
        value = arguments.get(name)
        if isinstance(value, list):
            value = "\n".join(one for one in value if isinstance(one, str))
        if isinstance(value, str) and "*** Begin Patch" in value:
            return name, value
    return None


def _patched(text: str, leaf: str, folder: str | None) -> Iterator[Change]:
    path, adding = "", False
    old: list[str] = []
    new: list[str] = []
    seen = False

    def hunk() -> Iterator[Change]:
        nonlocal seen
        if path and adding:
            yield Change(path, None, "\n".join(new), whole=True)
        elif path and seen:
            yield Change(path, "\n".join(old) or None, "\n".join(new), leaf=leaf)
        old.clear()
        new.clear()
        seen = False

    for line in text.split("\n"):
        found = _FILE.match(line)
        if found or line.startswith(("@@", "*** End Patch", "*** Move to")):
            if not (adding and line.startswith("@@")):
                yield from hunk()
            if found:
                path, adding = resolved(found[2], folder), found[1] == "Add"
            if line.startswith("*** End Patch"):
                return
        elif line.startswith("-"):
            old.append(line[1:])
            seen = True
        elif line.startswith("+"):
            new.append(line[1:])
            seen = True
        elif path and not line.startswith("*** "):
            old.append(line[1:])
            new.append(line[1:])
    yield from hunk()

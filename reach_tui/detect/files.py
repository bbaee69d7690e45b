"""Which files a call reads, edits or writes, whatever its agent calls tool and argument."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import join, normpath

from reach_tui.base.jsonio import as_object
from reach_tui.detect.checks import tool_names
from reach_tui.detect.engine import default_engine
from reach_tui.detect.rules import Family
from reach_tui.model import Glance

READ, EDIT, WRITE = "read", "edit", "write"
_PATHS = (
    "file_path", "filePath", "path", "filename", "file_name", "file", "target_file", "notebook_path", "absolute_path",
    "relative_path", "TargetFile", "name",
)  # fmt: skip
"""Arguments that name the file, the telling ones first."""
_PATCHES = ("input", "patch", "patchText", "diff", "content")
_PATCHED = re.compile(r"(?m)^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$")
_COMMANDS = {"view": READ, "create": WRITE, "str_replace": EDIT, "insert": EDIT}
"""The `command` argument of editors that are several tools in one."""


_OWN: dict[str, str] = {}
"""Names and patterns that a person's own rule files give tools for files, with what these tools do."""


def know(families: Iterable[Family]) -> None:
    """Learn the tools that a person's rule files add to reading, editing and writing; known from then on."""
    shipped = {name for family in default_engine().rules.families for name in family.tools}
    for family in families:
        kind = family.id if family.id in (READ, EDIT, WRITE) else EDIT if family.nature == EDIT else None
        added = {name: kind for name in family.tools if kind and name not in shipped}
        if added.keys() - _OWN.keys():
            _OWN.update({name: value for name, value in added.items() if value})
            kind_of.cache_clear()


@lru_cache(maxsize=4096)
def kind_of(tool: str) -> str | None:
    """read, edit or write for a tool that works on files by its name; None for any other."""
    families = default_engine().rules.families
    names = tool_names(tool)
    for name in names:
        if name in _OWN:
            return _OWN[name]
        for family in families:
            if name in family.tools:
                return family.id if family.id in (READ, EDIT, WRITE) else None
    for name in names:
        if own := next((kind for pattern, kind in _OWN.items() if fnmatchcase(name, pattern)), None):
            return own
        for family in families:
            if any(fnmatchcase(name, pattern) for pattern in family.tools):
                return family.id if family.id in (READ, EDIT, WRITE) else None
    return None


def access(call: Glance, folder: str | None = None) -> tuple[str | None, tuple[str, ...]]:
    """What the call does to which files: (read, edit, write or None; the paths, resolved against `folder`)."""
    kind = kind_of(call.target or call.tool)
    if kind is None:
        return None, ()
    arguments = as_object(call.arguments)
    command = arguments.get("command")
    if isinstance(command, str):
        kind = _COMMANDS.get(command, kind)
    for name in _PATHS:
        if isinstance(path := arguments.get(name), str) and path:
            return kind, (resolved(path, folder),)
    patch = call.arguments if isinstance(call.arguments, str) else None
    texts = [patch] if patch else [arguments.get(name) for name in _PATCHES]
    found = [path for text in texts if isinstance(text, str) for path in _PATCHED.findall(text)]
    return kind, tuple(dict.fromkeys(resolved(path, folder) for path in found))


@lru_cache(maxsize=4096)
def resolved(path: str, folder: str | None) -> str:
    """An absolute path without `.` and `..`, as far as the folder is known."""
    return normpath(join(folder or "", path.strip()))

"""The registry a command names: a folder of YAML files, or one that ships with the program."""

from __future__ import annotations

import os
from pathlib import Path

from reach_tui.base.errors import ConfigError
from reach_tui.reach.registry import ToolList, load_tools

BUNDLED = Path(__file__).resolve().parents[1] / "registries"


def registry_folder(given: str | os.PathLike[str]) -> Path:
    """The folder of that path, or the bundled registry of that name. Raises `ConfigError` if there is neither."""
    path = Path(given)
    try:
        if path.is_dir():
            return path
        if path == Path(path.name) and (BUNDLED / path.name).is_dir():
            return BUNDLED / path.name
    except OSError:  # a name that is too long for the file system
        pass
    names = ", ".join(bundled_names())
    raise ConfigError("no such folder of tools", path, f"name a folder of YAML files, or one that ships here: {names}")


def bundled_names() -> list[str]:
    """The registries that ship with the program."""
    return sorted(one.name for one in BUNDLED.iterdir() if one.is_dir() and not one.name.startswith("_"))


def registry_of(given: str | os.PathLike[str]) -> ToolList:
    """Its tools, all or nothing. Raises `ConfigError`: `RegistryError` with every mistake in every file."""
    return load_tools(registry_folder(given))

"""The tools that come with an agent, from the registries shipped with the program (`reach_tui/registries/<agent>`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reach_tui.reach.spec import ToolSpec

FOLDER = Path(__file__).parents[1] / "registries"
SHARED: Mapping[str, tuple[str, ...]] = {
    "agentsview": ("claude_code", "opencode", "codex", "gemini_cli"),  # an archive of other programs' sessions
}
"""Kinds of store whose agents have the tools of other folders than their own; the first folder wins."""

_EXAMPLES = ("shop",)  # a folder to try the layer with, of no agent


def agents() -> tuple[str, ...]:
    """The agents that have a registry, by name."""
    return tuple(sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir() and folder.name not in _EXAMPLES))


@cache
def bundled(kind: str) -> Mapping[str, ToolSpec]:
    """The built-in tools of a kind of store by name; empty for frameworks, whose tools are their users' own.

    Read on first use (some milliseconds) and kept.
    """
    from reach_tui.reach.registry import FolderRegistry

    found: dict[str, ToolSpec] = {}
    known = agents()
    for agent in SHARED.get(kind, (kind,)):
        if agent in known:
            for tool in FolderRegistry(FOLDER / agent).tools():
                found.setdefault(tool.name, tool)
    return MappingProxyType(found)

"""The only façade the command line and the screens use. Its names are loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reach_tui.workspace.judged import JudgedCall, JudgedSession, JudgedStep, SessionCounts
    from reach_tui.workspace.settings import Settings, load_settings
    from reach_tui.workspace.sources import Found, Source, open_paths
    from reach_tui.workspace.workspace import Workspace

__all__ = [
    "Found",
    "JudgedCall",
    "JudgedSession",
    "JudgedStep",
    "SessionCounts",
    "Settings",
    "Source",
    "Workspace",
    "load_settings",
    "open_paths",
]

_MODULES = {
    "judged": ("JudgedCall", "JudgedSession", "JudgedStep", "SessionCounts"),
    "settings": ("Settings", "load_settings"),
    "sources": ("Found", "Source", "open_paths"),
    "workspace": ("Workspace",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Whoever needs one module of the package (the count of what one sees first) does not wait for all."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value

"""The only façade the command line and the screens use."""

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

"""Where our own files live: labels (data), settings and rules (config), cache. Overridable for tests and for teams."""

from __future__ import annotations

import os
from pathlib import Path

_APP = "reach-tui"


def _folder(variable: str, kind: str) -> Path:
    if chosen := os.environ.get(variable):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")(_APP, appauthor=False))


def data_dir() -> Path:
    """The person's data folder (labels.db). `REACH_TUI_DATA` overrides it."""
    return _folder("REACH_TUI_DATA", "data")


def labels_file() -> Path:
    """The person's label database, over all stores."""
    return data_dir() / "labels.db"


def config_dir() -> Path:
    """The person's settings folder (config.toml, rules/, themes/). `REACH_TUI_CONFIG` overrides it."""
    return _folder("REACH_TUI_CONFIG", "config")


def cache_dir() -> Path:
    """The person's cache folder; everything in it may be deleted. `REACH_TUI_CACHE` overrides it."""
    return _folder("REACH_TUI_CACHE", "cache")


def bundled(name: str) -> Path:
    """A folder shipped with the package (`themes`, `sample_traces`): inside the wheel, or the checkout's own."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_bundled" / name
    return inside if inside.is_dir() else package.parent / name

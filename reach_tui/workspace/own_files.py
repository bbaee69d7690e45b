"""Files that a person writes for the program: in their configuration folder, and in a project's `.reach-tui`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reach_tui.base.paths import config_dir

Stamped = tuple[tuple[Path, int, int], ...]
"""Files, each with the time and size that change when it does."""


def own_folders(name: str, start: Path | None = None) -> list[Path]:
    """The person's folder of that name, then the nearest `.reach-tui/<name>` from `start` (or here) upwards."""
    here = (start or Path.cwd()).absolute()
    places = (base / ".reach-tui" / name for base in (here, *here.parents))
    project = next((place for place in places if place.is_dir()), None)
    own = config_dir() / name
    return [*([own] if own.is_dir() else []), *([project] if project else [])]


def stamped(files: Iterable[Path]) -> Stamped:
    """What to remember the reading of these files by."""
    return tuple((path, *_stamp(path)) for path in files)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:  # said when it is read
        return 0, 0
    return state.st_mtime_ns, state.st_size

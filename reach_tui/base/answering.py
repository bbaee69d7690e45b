"""Paths that never answer: a dead network mount lets every system call wait for ever."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from reach_tui.base.errors import StoreUnreadable

PATIENCE = 5.0
"""Seconds that a path has to say what it is."""
_silent: set[Path] = set()


def is_silent(path: Path) -> bool:
    """True for a path that did not answer: nothing more must be asked of it."""
    return path in _silent


def await_answer(path: Path, seconds: float | None = None) -> None:
    """Return once the operating system says anything about the path, also that it is not there.

    Asked in a thread that is left behind where it hangs. Raises `StoreUnreadable` after the patience.
    """
    answered = threading.Event()

    def ask() -> None:
        try:
            if os.path.isdir(path):
                with os.scandir(path) as entries:
                    next(entries, None)
        except (OSError, ValueError):  # said again, in words, by who opens it
            pass
        finally:
            answered.set()

    threading.Thread(target=ask, name="answering", daemon=True).start()
    patience = PATIENCE if seconds is None else seconds
    if answered.wait(patience):
        _silent.discard(path)
    else:
        _silent.add(path)
        what = f"does not answer ({patience:.0f} s)"
        raise StoreUnreadable(what, path, "a dead network mount? mount it anew, or copy the file")

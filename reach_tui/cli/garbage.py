"""Python's collector while modules are imported: it would look through them again and again, and find nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ours = False
"""True where the process is a command of ours, not one that calls us."""


def begin() -> None:
    """Collect nothing until the command's modules are imported."""
    global _ours
    _ours = True
    gc.disable()


@contextmanager
def importing() -> Iterator[None]:
    """Collect nothing while something is imported, nor look at it later: it stays to the end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _ours:
            gc.freeze()
        if was_enabled or _ours:
            gc.enable()

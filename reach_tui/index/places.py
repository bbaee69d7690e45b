"""Where the index of a source lies, and its end."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from reach_tui.base.paths import cache_dir
from reach_tui.index.schema import IndexBroken
from reach_tui.stores.reader import Reader

_OLD_SECONDS = 180 * 86_400


def index_path(reader: Reader) -> Path:
    """Where the index of a source is: named after its real path, inode and kind."""
    path = os.path.realpath(reader.path)
    try:
        inode = os.stat(path).st_ino
    except (OSError, ValueError):
        inode = 0
    name = hashlib.sha256(f"{path}\0{inode}\0{reader.kind}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_dir() / "index" / f"{name}.db"


def remove(path: Path) -> None:
    """Delete an index; who has it open goes on with what no longer has a name."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(f"{path}{suffix}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise IndexBroken(str(error), rebuild=False) from error


def remove_old(folder: Path) -> None:
    """Delete the indexes of stores that nobody has opened for long."""
    for path in folder.glob("*.db"):
        if path.stat().st_mtime < time.time() - _OLD_SECONDS:
            remove(path)

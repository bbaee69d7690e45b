"""Which files are transcripts, and of which program: told by their first lines, and remembered."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reach_tui.base.errors import StoreUnreadable
from reach_tui.base.text import one_line
from reach_tui.stores.catalog import transcript_targets
from reach_tui.stores.discover import transcript_candidates
from reach_tui.stores.transcripts.format import Format
from reach_tui.stores.transcripts.lines import first_objects, stamp_of


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file of a known program."""

    path: Path
    kind: str
    version: str
    unsupported: str | None = None


_known: dict[Path, tuple[int, int, Transcript | None]] = {}


@cache
def formats() -> dict[str, Format]:
    """Every format by kind; one that cannot be imported is named on stderr and left out."""
    from importlib import import_module

    found: dict[str, Format] = {}
    for kind, target in transcript_targets().items():
        module, _, attribute = target.partition(":")
        try:
            found[kind] = getattr(import_module(module), attribute)()
        except Exception as error:  # noqa: BLE001 - somebody else's package: named and passed over
            fault = f"{type(error).__name__}: {error}"
            print(one_line(f"reach-tui: transcript plugin {kind} ({target}) failed: {fault}"), file=sys.stderr)
    return found


def recognise(path: Path) -> Transcript | None:
    """The program that wrote a file; None for anything else. Never raises."""
    inode, size, _ = stamp_of(path)
    known = _known.get(path)
    if known is not None and known[0] == inode and (size == known[1] or (size > known[1] and known[2] is not None)):
        return known[2]
    found = _recognised(path)
    _known[path] = (inode, size, found)
    return found


def _recognised(path: Path) -> Transcript | None:
    first = first_objects(path)
    if not first:
        return None
    for kind, one in formats().items():
        try:
            answer = one.recognise(first, path)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not hide the other formats
            print(one_line(f"reach-tui: {kind} cannot judge {path}: {type(error).__name__}: {error}"), file=sys.stderr)
            continue
        if answer is not None:
            return Transcript(path, kind, answer.version, answer.unsupported)
    return None


def transcripts_in(folder: Path) -> Iterator[Transcript | StoreUnreadable]:
    """Every transcript in a folder and below it, sorted by path, and what may be one and cannot be read."""
    for path in transcript_candidates(folder):
        if (found := recognise(path)) is not None:
            yield found
        elif path.is_file() and not os.access(path, os.R_OK):
            yield StoreUnreadable("no permission to read it", path, "check owner and mode")


def of_kind(kind: str, paths: Iterable[Path]) -> list[Path]:
    """The files among `paths` that are transcripts of that kind, in the same order."""
    found = [known for path in paths if (known := recognise(path)) is not None]
    return [known.path for known in found if known.kind == kind and known.unsupported is None]

"""Opening transcripts: a named file, all of a folder, or those that a database accompanies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reach_tui.base.errors import SchemaUnknown, StoreError, StoreUnreadable
from reach_tui.stores.catalog import Opened
from reach_tui.stores.transcripts.reader import TranscriptReader
from reach_tui.stores.transcripts.recognition import Transcript, formats, recognise, transcripts_in


def open_file(path: Path) -> Opened | None:
    """The reader of one transcript; None if the file is none. Raises `SchemaUnknown` for a layout nobody can read."""
    found = recognise(path)
    if found is None:
        return None
    if found.unsupported is not None:
        raise _unknown(found)
    return Opened(TranscriptReader(formats()[found.kind], path), found.version)


def open_folder(folder: Path) -> Iterator[Opened | StoreError]:
    """One reader a kind of transcript in a folder, and what is wrong with those that cannot be read."""
    kinds: dict[str, list[str]] = {}
    for found in transcripts_in(folder):
        if isinstance(found, StoreUnreadable):
            yield found
        elif found.unsupported is None:
            kinds.setdefault(found.kind, []).append(found.version)
        else:
            yield _unknown(found)
    for kind, versions in kinds.items():
        reader = TranscriptReader(formats()[kind], folder)
        try:
            next(reader.sessions(), None)
        except StoreError as error:
            yield error
            continue
        yield from reader.problems
        yield Opened(reader, _span(versions))


def beside(kind: str, path: Path) -> TranscriptReader:
    """The reader of the transcripts that a database accompanies. Raises `StoreUnreadable` where there are none."""
    reader = TranscriptReader(formats()[kind], path)
    if not reader.files():
        what = f"an index of {reader.title} without its transcripts, which hold the calls"
        raise StoreUnreadable(what, path, "name the folder that has both")
    return reader


def _unknown(found: Transcript) -> SchemaUnknown:
    title = formats()[found.kind].title
    what = f"a transcript of {title} in a layout this version cannot read ({found.version}): {found.unsupported}"
    return SchemaUnknown(what, found.path, "update reach-tui, or report the layout")


def _span(versions: list[str]) -> str:
    known = sorted(set(versions), key=_numbers)
    return known[0] if len(known) == 1 else f"{known[0]} … {known[-1]}"


def _numbers(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part) if part.isdecimal() else -1, part) for part in version.split("."))

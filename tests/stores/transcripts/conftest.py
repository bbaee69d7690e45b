"""Transcripts written line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.stores.transcripts.reader import TranscriptReader
from reach_tui.workspace.sources import open_source

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a transcript below the test's folder: objects as JSON, bytes as they are."""

    def take(name: str, lines: Iterable[Any]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line if isinstance(line, bytes) else dumped(line) for line in lines))
        return path

    return take


def dumped(line: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def opened(path: Path, kind: str | None = None) -> TranscriptReader:
    """The reader of a path that holds transcripts."""
    reader = open_source(path, kind).reader
    assert isinstance(reader, TranscriptReader)
    return reader

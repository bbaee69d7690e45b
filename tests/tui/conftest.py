"""Screens count in the test's own process: a process a store costs more than most of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.errors import ReachError
from reach_tui.tui.screens import counted
from reach_tui.workspace.scan import index_source, scan_source
from reach_tui.workspace.sources import open_source

IN_PROCESSES = frozenset(["test_live", "test_hostile", "test_counting"])
"""Modules whose screens count as they do for people."""


class ScanHere:
    """`ScanProcess` in the worker thread that asks."""

    def __init__(self, path: Path, kind: str | None = None, *, words: bool = False) -> None:
        self.error: str | None = None
        self._path, self._kind, self._words = path, kind, words
        self._cancelled = False

    def __iter__(self) -> Iterator[SessionCounts]:
        try:
            source = open_source(self._path, *([self._kind] if self._kind else []))
            for sums in scan_source(source):
                if self._cancelled:
                    return
                yield sums
        except ReachError as error:
            self.error = error.line()

    def wait(self) -> None:
        """Until the words are indexed."""
        if self._words and not self._cancelled:
            try:
                index_source(open_source(self._path, *([self._kind] if self._kind else [])))
            except ReachError as error:
                self.error = error.line()

    def cancel(self) -> None:
        """End it at the next session."""
        self._cancelled = True


@pytest.fixture(autouse=True)
def _counting_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.module.__name__.rpartition(".")[2] not in IN_PROCESSES:
        monkeypatch.setattr(counted, "ScanProcess", ScanHere)

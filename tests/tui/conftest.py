"""Screens count in the test's own process, and the stores that ship have been counted: both cost more than a test."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.errors import ReachError
from reach_tui.tui.screens import counted
from reach_tui.workspace.scan import index_source, scan_source
from reach_tui.workspace.sources import open_paths, open_source
from tests.tui.kit import DATA, SAMPLES

IN_PROCESSES = frozenset(["test_live", "test_hostile", "test_counting"])
"""Modules whose screens count as they do for people, from the start."""
PERI, OPENCODE = DATA / "peri", DATA / "opencode" / "opencode-1.2.20.db"
COUNTED = (PERI / "schema_3.db", PERI / "schema_17.db", OPENCODE, *(path.parent for path in SAMPLES.glob("*/*.db")))
"""What most tests open: as somebody left it who had it open before."""


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


@pytest.fixture(scope="session")
def counted_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that knows the figures and words of `COUNTED`."""
    folder = tmp_path_factory.mktemp("counted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REACH_TUI_CACHE", str(folder))
        patch.setenv("REACH_TUI_CONFIG", str(folder / "none"))
        patch.setenv("REACH_TUI_PLUGINS", "off")
        for source in open_paths(COUNTED).sources:
            assert list(scan_source(source))
            index_source(source)
    return folder


@pytest.fixture(autouse=True)
def _counting_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _own_folders: None) -> None:
    if request.module.__name__.rpartition(".")[2] in IN_PROCESSES:
        return
    monkeypatch.setattr(counted, "ScanProcess", ScanHere)
    if inspect.iscoroutinefunction(request.function):  # it starts the program
        known: Path = request.getfixturevalue("counted_before")
        shutil.copytree(known, os.environ["REACH_TUI_CACHE"], dirs_exist_ok=True)

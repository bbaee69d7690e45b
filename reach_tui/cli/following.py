"""`calls --follow`: calls as the program writes them, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from reach_tui.cli.output import Record
from reach_tui.cli.streams import say
from reach_tui.model import ToolCall
from reach_tui.workspace import JudgedCall, Source, Workspace, open_paths
from reach_tui.workspace.follow import CallFollower, pause
from reach_tui.workspace.records import call_record

_RESCAN = 5.0  # seconds until a folder, or a path where nothing was, is looked through again


class Following:
    """Watches every trace in the paths. What cannot be read is said once, and tried again."""

    def __init__(
        self,
        paths: Sequence[Path],
        workspace: Workspace,
        session_ids: Collection[str],
        wants: Callable[[JudgedCall], bool],
    ) -> None:
        self._paths = paths
        self._workspace = workspace
        self._session_ids = session_ids or None
        self._wants = wants
        self._followers: dict[tuple[Path, str], tuple[Source, CallFollower]] = {}
        self._said: dict[Path, str | None] = {}
        self._next_scan = 0.0

    def looks(self) -> Iterator[list[Record]]:
        """The records of each look that found some, for ever."""
        self._scan(began_now=False)
        while True:
            begun = time.monotonic()
            if begun >= self._next_scan:
                self._scan(began_now=True)
            for source, calls in self._followers.values():
                found = calls.poll()
                shared = source.path.is_dir()  # the folder may hold transcripts of several programs
                self._say_once(source.path / source.kind if shared else source.path, calls.notice)
                if found and (records := self._records(source, found)):
                    yield records
            pause(begun)

    def _scan(self, *, began_now: bool) -> None:
        """Open what is new in the paths; with `began_now` all its calls are news."""
        if not began_now or not self._followers or any(path.is_dir() for path in self._paths):
            found = open_paths(self._paths)
            for problem in found.problems:
                self._say_once(Path(problem.where or ""), f"{problem.line()} — waiting for it")
            for source in found.sources:
                place = source.path, source.kind
                if place not in self._followers:
                    self._followers[place] = (source, CallFollower(source, self._session_ids, new=began_now))
        self._next_scan = time.monotonic() + (_RESCAN if self._followers else 0.0)

    def _say_once(self, path: Path, notice: str | None) -> None:
        """Say what holds about a path when it begins to hold, and when it is over."""
        if notice != self._said.get(path):
            self._said[path] = notice
            say(f"{path.name}: live" if notice is None else notice)

    def _records(self, source: Source, calls: Sequence[ToolCall]) -> list[Record]:
        judged = self._workspace.judge(source, calls)
        return [call_record(source, one) for one in judged if self._wants(one)]

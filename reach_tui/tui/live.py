"""Live follow: one thread asks every open store whether something has changed, and tells the screens which sessions."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from reach_tui.workspace import Source

if TYPE_CHECKING:
    from reach_tui.tui.app import ReachApp

INTERVAL = 0.5
"""Seconds between two questions; what is new is on screen within two seconds."""


@dataclass
class StoreChanged(Message):
    """Sessions of a source have changed, or are new."""

    source: Source
    session_ids: frozenset[str]


class Live:
    """Follows the sources until it is stopped; what stands still, or cannot be read for a while, is told once."""

    def __init__(self, app: ReachApp) -> None:
        self._app = app
        self._stop = threading.Event()
        threading.Thread(target=self._run, name="live", daemon=True).start()

    def stop(self) -> None:
        """Stop asking."""
        self._stop.set()

    def _run(self) -> None:
        # asked here, not on the UI's thread: a source that is still being opened is waited for
        sources = self._app.workspace.found.sources
        followers = [(source, self._app.workspace.follower(source)) for source in sources]
        told: dict[tuple[Path, str], str | None] = {}
        while not self._stop.is_set():
            for source, follower in followers:
                if self._stop.is_set():
                    return
                follower.watch(self._app.open_sessions(source))
                changed = follower.poll()
                if changed:
                    self._tell(StoreChanged(source, frozenset(changed)))
                place = source.path, source.kind
                if follower.notice != told.get(place):
                    told[place] = follower.notice
                    self._tell_notice(source, follower.notice)
            self._stop.wait(INTERVAL)

    def _tell(self, message: StoreChanged) -> None:
        if self._app.is_running:
            self._app.call_from_thread(self._app.store_changed, message)

    def _tell_notice(self, source: Source, notice: str | None) -> None:
        if self._app.is_running:
            text = f"{source.name}: {notice or 'can be read again'}"
            self._app.call_from_thread(self._app.say, text, severity="warning" if notice else "information")

"""Following a store while its program writes: which sessions changed, and which calls are new or have changed."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import ReachError
from reach_tui.base.sqlite import Access, access_of
from reach_tui.model import Session, ToolCall
from reach_tui.stores.reader import Followed
from reach_tui.workspace.sources import Source

INTERVAL = 0.5
"""Seconds between two looks."""
_ACTIVE = 32  # sessions that are held against edits in place: the last ones to change
_NEWEST = 8  # of them at the start
_SHARE = 4  # a look that took long is followed by a pause this many times as long
_BASELINE = 1.0  # seconds spent on what was there before
_GRACE_MS = 2_000


class Follower:
    """Watches one source. Not shared between threads."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.fault: ReachError | None = None
        """Why the last look found nothing out: the file is gone, locked or damaged; the next look tries again."""
        self._active: OrderedDict[str, None] = OrderedDict()
        self._watched: frozenset[str] = frozenset()
        self._version: object = None
        self._mark: object = None
        self._settled = True
        self._begin()

    def _begin(self) -> None:
        version = self._look()
        try:
            for number, session in enumerate(self.source.reader.sessions()):
                if number == _NEWEST:
                    break
                self._active[session.id] = None
            _, self._mark = self._compare()
        except ReachError as error:
            self.fault = error
        else:
            self._version = version

    @property
    def notice(self) -> str | None:
        """What a person must know: that what they see stands still, and since when nothing could be read."""
        if self.fault is not None:
            return f"frozen: {self.fault.line()}"
        try:
            frozen = self.source.access is None or not self.source.path.is_file()
            access = self.source.access if frozen else access_of(self.source.path)
        except ReachError as error:
            return f"frozen: {error.line()}"
        return "frozen between changes: read from private copies" if access is Access.PRIVATE else None

    def watch(self, session_ids: Iterable[str]) -> None:
        """Hold these sessions (instead of those named before) against rows that are updated in place."""
        self._watched = frozenset(session_ids)

    def poll(self) -> set[str]:
        """Ids of the sessions that changed, came or went since the last look; well under 1 ms where nothing did.

        Never raises for what is wrong with the store: `fault` says it, and the next look tries again.
        """
        version = self._look()
        if version == self._version and self._settled:
            return set()
        # a write within one tick of the file system's clock would leave the same times: look once more
        self._settled = version == self._version
        try:
            changed, self._mark = self._compare()
        except ReachError as error:
            self.fault = error
            return set()
        self.fault = None
        self._version = version
        for session_id in changed:
            self._active[session_id] = None
            self._active.move_to_end(session_id)
        while len(self._active) > _ACTIVE:
            self._active.popitem(last=False)
        return changed

    def _look(self) -> object:
        try:
            info = os.stat(self.source.path)
            place = (info.st_dev, info.st_ino)
        except (OSError, ValueError):
            place = (0, 0)
        try:
            return place, self.source.reader.data_version()
        except ReachError as error:
            self.fault = error
            return place, None

    def _compare(self) -> tuple[set[str], object]:
        reader = self.source.reader
        active = {*self._active, *self._watched}
        if isinstance(reader, Followed):
            return reader.changed_since(self._mark, active)
        known: dict[str, Session] = self._mark if isinstance(self._mark, dict) else {}
        now = {session.id: session for session in reader.sessions()}
        changed = {name for name in known.keys() | now.keys() if known.get(name) != now.get(name)}
        # a list may not show that a session grew: what is watched is named with every change, and all that is
        # active where the list shows no change at all
        return (changed | (self._watched & now.keys())) or active & now.keys(), now


class CallFollower:
    """New and changed calls of one source."""

    def __init__(self, source: Source, session_ids: Collection[str] | None = None, *, new: bool = False) -> None:
        """With `new` the store has appeared just now: the first look gives all that is in it."""
        self.follower = Follower(source)
        self._reader = source.reader
        self._wanted = None if session_ids is None else frozenset(session_ids)
        self._seen: dict[str, dict[str, tuple[object, ...]]] = {}
        self._open: dict[str, None] = {}
        self._fault: ReachError | None = None
        self._unread: set[str] = set()
        self._since = now_ms() - _GRACE_MS
        try:
            if new or self.follower.fault is not None:  # nothing was there before: all that comes is news
                self._since = 0
                self._unread = {session.id for session in self._reader.sessions()}
            else:
                self._remember()
        except ReachError as error:
            self._fault = error

    def _remember(self) -> None:
        """Note the calls that are there already, newest sessions first, for about a second."""
        until = time.monotonic() + _BASELINE
        for session in list(self._reader.sessions()):
            if time.monotonic() > until:
                return
            if self._wanted is None or session.id in self._wanted:
                self._fresh(session.id, silent=True)

    @property
    def notice(self) -> str | None:
        """What a person must know: that what they see stands still, and why."""
        return f"frozen: {self._fault.line()}" if self._fault else self.follower.notice

    def poll(self) -> list[ToolCall]:
        """Calls that came or changed since the last look, session by session, each in order."""
        self.follower.watch([*self._open, *(self._wanted or ())])
        found: list[ToolCall] = []
        changed = self._unread | self.follower.poll()
        self._unread = changed if self._wanted is None else changed & self._wanted
        try:
            for session_id in sorted(self._unread):
                found += self._fresh(session_id)
                self._unread.discard(session_id)
            self._fault = None
        except ReachError as error:  # what could not be read is read with the next look
            self._fault = error
        return found

    def _fresh(self, session_id: str, *, silent: bool = False) -> list[ToolCall]:
        known = self._seen.get(session_id)
        now: dict[str, tuple[object, ...]] = {}
        found: list[ToolCall] = []
        self._open.pop(session_id, None)
        for call in self._reader.calls([session_id]):
            state = now[call.key] = _state(call)
            if call.result is None:
                self._open[session_id] = None
            if known is None:
                # a session from before that was not read then: only its times tell what is new
                is_new = call.started_at is None or call.started_at >= self._since
            else:
                is_new = known.get(call.key) != state
            if is_new and not silent:
                found.append(call)
        self._seen[session_id] = now
        while len(self._open) > _ACTIVE:
            del self._open[next(iter(self._open))]
        return found


def _state(call: ToolCall) -> tuple[object, ...]:
    text = call.result.text if call.result else None
    return call.status, call.flagged, hash(text), call.duration_ms, call.visible, call.problem


def follow(
    source: Source, session_ids: Collection[str] | None = None, interval: float = INTERVAL
) -> Iterator[ToolCall | None]:
    """New and changed calls as the program writes them, for ever; None at the end of each look, for who must do more.

    At most a fifth of a processor core: the pause grows with the time a look takes.
    """
    calls = CallFollower(source, session_ids)
    while True:
        begun = time.monotonic()
        yield from calls.poll()
        yield None
        pause(begun, interval)


def pause(begun: float, interval: float = INTERVAL) -> None:
    """Wait until the next look, after one that began at `begun` (`time.monotonic`)."""
    time.sleep(max(interval, _SHARE * (time.monotonic() - begun)))

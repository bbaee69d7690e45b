"""Scanning a source into its index: what is fresh is told at once, what is stale is judged, newest sessions first.

Plain functions over one reader, so that any process may run them. A scan that is killed has lost what it judged since
its last commit, about a second's work; the next one goes on from there and comes to the same figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeVar

from reach_tui.analyze.counts import SessionCounts
from reach_tui.index.digest import Digest, Judge, counts_of, digests, judged
from reach_tui.index.freshness import Look, Whole, fingerprint, look, row_states, rows_of, whole_of
from reach_tui.index.places import index_path, remove
from reach_tui.index.schema import IndexBroken
from reach_tui.index.store import Index, Known, about
from reach_tui.model import Session
from reach_tui.stores.reader import Reader, Scanned

FIRST_CHUNK, CHUNK, MOST = 40, 200, 1000
"""Sessions read at a time: the visible ones first; `MOST` are asked of several processes."""
_COMMIT_SECONDS = 0.25

T = TypeVar("T")


Digester: TypeAlias = Callable[[Reader, Judge, Sequence[Session]], Iterator[Digest]]
"""What makes digests of sessions, with the states of their rows: here, or in several processes."""


def stated(reader: Reader, engine: Judge, sessions: Sequence[Session]) -> Iterator[Digest]:
    """The digests of these sessions with their rows' states. Raises `StoreError`."""
    if isinstance(reader, Scanned):  # which tells the state of what it reads
        yield from digests(reader, engine, sessions)
        return
    for start in range(0, len(sessions), CHUNK):
        some = sessions[start : start + CHUNK]
        states = rows_of(reader, [one.id for one in some])  # before the calls: what comes between makes it stale
        for one in digests(reader, engine, some):
            yield one._replace(rows=states.get(one.session_id, ()))


def scan(reader: Reader, engine: Judge, digester: Digester = stated) -> Iterator[SessionCounts]:
    """The sums of every session: the fresh ones from the index, then the stale ones as they are judged.

    A session that changes meanwhile comes again. Raises `StoreError`; what is wrong with the index only costs time: it
    is built anew, and where it cannot be written the scan does without.
    """

    def with_index(index: Index) -> Iterator[SessionCounts]:
        yield from _scan(reader, engine, index, digester)

    if not (yield from attempts(reader, engine, with_index)):
        yield from scan_without_index(reader, engine)


def attempts(reader: Reader, engine: Judge, work: Callable[[Index], Iterator[T]]) -> Generator[T, None, bool]:
    """What `work` yields with the index, twice if the first time finds it broken; False: it cannot be used."""
    for _ in range(2):
        try:
            with Index.opened(reader, engine.version, replace=True) as index:
                yield from work(index)
            return True
        except IndexBroken as error:
            if not error.rebuild:
                return False
            try:
                remove(index_path(reader))
            except IndexBroken:
                return False
    return False


def scan_without_index(reader: Reader, engine: Judge) -> Iterator[SessionCounts]:
    """The sums of every session, newest first, from the store alone."""
    for chunk in chunks(reader.sessions()):
        for one in judged(reader, engine, chunk):
            yield counts_of(one)


def chunks(sessions: Iterable[T], most: int = CHUNK) -> Iterator[list[T]]:
    """Sessions as they are read at a time: few first, then more."""
    waiting, size = iter(sessions), FIRST_CHUNK
    while chunk := list(islice(waiting, size)):
        size = CHUNK if size < CHUNK else most
        yield chunk


def _scan(reader: Reader, engine: Judge, index: Index, digester: Digester) -> Iterator[SessionCounts]:
    with index.guarded():
        complete = index.meta("complete")
    if complete is not None and complete == fingerprint(reader):
        yield from index.sums()
        return
    state = State.of(reader, index, lambda: list(reader.sessions()))
    yield from index.sums()
    yield from state.refreshed(engine, list(state.sessions.values()), digester)


@dataclass(slots=True)
class State:
    """What of an index is fresh, as of a look at the store."""

    reader: Reader
    index: Index
    sessions: dict[str, Session]
    seen: Look | None
    """None: the store is as it was when all doubts were settled."""
    whole: Whole
    fresh: dict[str, Known]
    told: dict[str, int]
    """Of each session its `about`."""

    @classmethod
    def of(cls, reader: Reader, index: Index, listed: Callable[[], Sequence[Session]]) -> State:
        """Look at the store, unless its files are as they were; `listed` gives all its sessions, as they are now."""
        with index.guarded():
            checked, mark, before = index.meta("checked"), index.meta("mark"), index.meta("whole")
        now = fingerprint(reader)
        quiet = checked is not None and checked == now
        whole = Whole(reader, None if quiet else before)  # first, so that it is done when it is needed
        seen = None if quiet else look(reader, mark, now)
        if seen is not None:
            index.invalidate(seen)
            whole.see(reader, seen.highest)
        by_id = {session.id: session for session in listed()}
        known = index.known()
        if seen is not None:
            index.forget(known.keys() - by_id.keys())
        fresh = {name: one for name, one in known.items() if one.fresh and name in by_id}
        told = {name: about(session) for name, session in by_id.items()}
        state = cls(reader, index, by_id, seen, whole, fresh, told)
        state.drop([name for name, one in fresh.items() if one.about != told[name]])
        return state

    def refreshed(
        self, engine: Judge, sessions: Sequence[Session], digester: Digester = stated
    ) -> Iterator[SessionCounts]:
        """Judge those of these sessions that are stale: what the look tells first, then what was edited in place."""
        self.doubt([name for name, one in self.fresh.items() if one.unfinished])
        stale = self.stale(sessions)
        yield from judge_sessions(self.reader, engine, self.index, stale, digester)
        self.settle_doubts()
        done = {session.id for session in stale}
        again = [session for session in self.stale(sessions) if session.id not in done]
        yield from judge_sessions(self.reader, engine, self.index, again, digester)
        self.note()

    def settle_doubts(self) -> None:
        """Take out of `fresh` what the look could not tell."""
        if self.seen is not None and self.fresh and not self.whole.unchanged():
            self.doubt(list(self.fresh))

    def doubt(self, names: Sequence[str]) -> None:
        """Take those sessions out of `fresh` whose rows are not what they were."""
        if self.seen is not None:
            states = row_states(self.reader, names)
            self.drop([name for name, state in states.items() if self.fresh[name].state != state])

    def drop(self, names: Sequence[str]) -> None:
        """These sessions are not fresh."""
        self.index.doubt(names)
        for name in names:
            del self.fresh[name]

    def stale(self, sessions: Iterable[Session]) -> list[Session]:
        """Those that must be judged."""
        return [session for session in sessions if session.id not in self.fresh]

    def note(self) -> None:
        """Every doubt is settled: note what the store was like."""
        known = self.index.known()
        states = {name: one.state for name, one in known.items() if one.fresh}
        missing = [name for name in self.sessions if name not in states]
        if self.seen is None:
            if not missing:
                self.index.completed()
            return
        whole = self.whole.advanced()
        if whole is None and len(missing) <= len(states):  # children that no report counts; else it is not worth it
            states.update(row_states(self.reader, missing))
            whole = whole_of(self.reader, self.seen.highest, states.values())
        self.index.checked(self.seen.fingerprint if self.seen.settled else None, not missing, whole)


def judge_sessions(
    reader: Reader, engine: Judge, index: Index, sessions: Sequence[Session], digester: Digester = stated
) -> Iterator[SessionCounts]:
    """Judge these sessions and keep the outcome; sums are given once they are kept."""
    for chunk in chunks(sessions, MOST):
        told = {one.id: about(one) for one in chunk}
        done: list[Digest] = []
        begun = time.monotonic()
        for one in digester(reader, engine, chunk):
            done.append(one)
            if time.monotonic() - begun > _COMMIT_SECONDS:
                index.keep(done, told)
                yield from (one.sums for one in done)
                done, begun = [], time.monotonic()
        index.keep(done, told)
        yield from (one.sums for one in done)

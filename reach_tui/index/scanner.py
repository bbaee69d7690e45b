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
from reach_tui.index.freshness import Look, fingerprint, look, row_state, row_states
from reach_tui.index.schema import IndexBroken
from reach_tui.index.store import Index, Known, about, index_path, remove
from reach_tui.model import Session
from reach_tui.stores.reader import Reader

FIRST_CHUNK, CHUNK = 40, 200
"""Sessions read at a time: the visible ones first."""
_COMMIT_SECONDS = 0.25

T = TypeVar("T")
Digester: TypeAlias = Callable[[Reader, Judge, Sequence[Session]], Iterator[Digest]]
"""What makes digests of sessions: here, or in several processes."""


def scan(reader: Reader, engine: Judge, digester: Digester = digests) -> Iterator[SessionCounts]:
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


def chunks(sessions: Iterable[T]) -> Iterator[list[T]]:
    """Sessions as they are read at a time: few first, then more."""
    waiting, size = iter(sessions), FIRST_CHUNK
    while chunk := list(islice(waiting, size)):
        size = CHUNK
        yield chunk


def _scan(reader: Reader, engine: Judge, index: Index, digester: Digester) -> Iterator[SessionCounts]:
    with index.guarded():
        complete = index.meta("complete")
    if complete is not None and complete == fingerprint(reader):
        yield from index.sums()
        return
    state = State.of(reader, index)
    yield from index.sums()
    listed = state.listed()
    state.doubt([name for name, one in state.fresh.items() if one.unfinished])
    stale = state.stale(listed)
    yield from judge_sessions(reader, engine, index, stale, digester)
    # what the mark cannot tell: rows edited in place. Every session that was fresh is summed up once a start
    state.doubt(list(state.fresh))
    done = {session.id for session in stale}
    again = [session for session in state.stale(listed) if session.id not in done]
    yield from judge_sessions(reader, engine, index, again, digester)
    state.settle()


@dataclass(slots=True)
class State:
    """What of an index is fresh, as of a look at the store."""

    reader: Reader
    index: Index
    seen: Look | None
    """None: the store is as it was when all doubts were settled."""
    fresh: dict[str, Known]
    _listed: set[str] | None = None

    @classmethod
    def of(cls, reader: Reader, index: Index) -> State:
        """Look at the store, unless its files are as they were."""
        with index.guarded():
            checked, mark = index.meta("checked"), index.meta("mark")
        seen = None
        if checked is None or checked != fingerprint(reader):
            seen = look(reader, mark)
            index.invalidate(seen)
        return cls(reader, index, seen, {name: one for name, one in index.known().items() if one.fresh})

    def listed(self, sessions: Sequence[Session] | None = None) -> Sequence[Session]:
        """The sessions there are (of a quiet store: those given); what else the index knows is forgotten."""
        if sessions is None or self.seen is not None:
            everything = list(self.reader.sessions())
            self._listed = {session.id for session in everything}
            self.index.forget(self.index.known().keys() - self._listed)
            sessions = everything
        told = {session.id: about(session) for session in sessions}
        if self._listed is not None:
            self.fresh = {name: one for name, one in self.fresh.items() if name in self._listed}
        self._drop([name for name, one in self.fresh.items() if told.get(name, one.about) != one.about])
        return sessions

    def doubt(self, names: Sequence[str]) -> None:
        """Take those sessions out of `fresh` whose rows are not what they were."""
        if self.seen is not None:
            for states in row_states(self.reader, names):
                self._drop([name for name, state in states.items() if self.fresh[name].state != state])

    def _drop(self, names: Sequence[str]) -> None:
        self.index.doubt(names)
        for name in names:
            del self.fresh[name]

    def stale(self, sessions: Sequence[Session]) -> list[Session]:
        """Those that must be judged."""
        return [session for session in sessions if session.id not in self.fresh]

    def settled(self, sessions: Sequence[Session]) -> list[Session]:
        """The sessions that must be judged, once every doubt is settled; the others are fresh."""
        self.listed(sessions)
        self.doubt(list(self.fresh))
        return self.stale(sessions)

    def settle(self) -> None:
        """Every doubt is settled: note what the store was like."""
        if self.seen is not None and self.seen.settled:
            self.index.checked(self.seen.fingerprint, complete=self.index.holds(self._listed or ()))


def judge_sessions(
    reader: Reader, engine: Judge, index: Index, sessions: Sequence[Session], digester: Digester = digests
) -> Iterator[SessionCounts]:
    """Judge these sessions and keep the outcome; sums are given once they are kept."""
    for chunk in chunks(sessions):
        states = row_state(reader, [one.id for one in chunk])  # before the calls: what comes between makes it stale
        told = {one.id: about(one) for one in chunk}
        done: list[Digest] = []
        begun = time.monotonic()
        for one in digester(reader, engine, chunk):
            done.append(one)
            if time.monotonic() - begun > _COMMIT_SECONDS:
                index.keep(done, states, told)
                yield from (one.sums for one in done)
                done, begun = [], time.monotonic()
        index.keep(done, states, told)
        yield from (one.sums for one in done)

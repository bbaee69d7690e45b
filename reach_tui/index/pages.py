"""Every call of a store with its verdict, by key: from the index where it is fresh, else judged now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reach_tui.index.digest import Judge, Kind, judged, kind_of, whole_key
from reach_tui.index.scanner import Digester, State, attempts, chunks, stated
from reach_tui.index.store import Index
from reach_tui.model import Session
from reach_tui.stores.reader import Reader


class SessionKinds(NamedTuple):
    """The calls of a session in order."""

    session: Session
    calls: Sequence[tuple[str, Kind]]


def listed(
    reader: Reader, engine: Judge, sessions: Sequence[Session], digester: Digester = stated
) -> Iterator[SessionKinds | None]:
    """The calls of every session once; None for each session that had to be judged on the way. Raises `StoreError`."""
    waiting = {session.id: session for session in sessions}

    def with_index(index: Index) -> Iterator[SessionKinds | None]:
        state = State.of(reader, index, lambda: sessions)
        for _ in state.refreshed(engine, sessions, digester):
            yield None
        for name, page in index.pages():
            if name in waiting:
                calls = [(whole_key(name, key), page.kinds[n]) for n, key in zip(page.numbers, page.keys, strict=True)]
                yield SessionKinds(waiting[name], calls)

    for one in attempts(reader, engine, with_index):
        if one is not None:
            del waiting[one.session.id]
        yield one
    for chunk in chunks(list(waiting.values())):
        for told in judged(reader, engine, chunk):
            yield SessionKinds(told.session, [(call.key, kind_of(call, verdict)) for call, verdict in told.pairs])

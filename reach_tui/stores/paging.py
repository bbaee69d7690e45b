"""Readers whose sessions come from one query: a screenful first, then the others."""

from __future__ import annotations

from collections.abc import Iterator

from reach_tui.base.sqlite import Connection, reading
from reach_tui.model import Session
from reach_tui.stores.reader import FIRST_PAGE
from reach_tui.stores.telling import TellingReader, newest_first


class PagingReader(TellingReader):
    """What such readers share; a subclass has `_sessions` and `_tell`."""

    def _sessions(self, connection: Connection, session_id: str | None = None, limit: int = -1) -> list[Session]:
        """One session, or so many of the newest (-1: all), in any order."""
        raise NotImplementedError

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first."""
        with reading(self.path) as connection:
            first = newest_first(self._sessions(connection, limit=FIRST_PAGE))[:FIRST_PAGE]
        yield from first
        if len(first) == FIRST_PAGE:
            seen = {session.id for session in first}
            with reading(self.path) as connection:
                rest = newest_first(self._sessions(connection))
            yield from (session for session in rest if session.id not in seen)

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        with reading(self.path) as connection:
            return next(iter(self._sessions(connection, session_id)), None)

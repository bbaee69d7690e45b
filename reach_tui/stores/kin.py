"""Who started whom: sessions whose parents lead back to themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reach_tui.base.sqlite import Connection, text_of
from reach_tui.model import Session

NOTE = "its parents lead back to itself: cut"


def rings(connection: Connection, table: str, key: str, parent: str) -> frozenset[str]:
    """Ids of the sessions that are among their own ancestors, from the two columns of a table that has them."""
    query = f'SELECT "{key}", "{parent}" FROM {table} WHERE "{parent}" IS NOT NULL'
    return in_rings({text_of(row[0]): text_of(row[1]) for row in connection.execute(query).fetchall()})


def in_rings(parents: Mapping[str, str]) -> frozenset[str]:
    """The keys that are reached again from themselves; each is walked once, however long the chains are."""
    found: set[str] = set()
    done: set[str] = set()
    for start in parents:
        path: dict[str, int] = {}
        name: str | None = start
        while name is not None and name not in done and name not in path:
            path[name] = len(path)
            name = parents.get(name)
        if name is not None and name in path:
            found.update(one for one, place in path.items() if place >= path[name])
        done.update(path)
    return frozenset(found)


def cut(session: Session, ringed: frozenset[str]) -> Session:
    """The session without a parent, and a note that says so, if it is in a ring."""
    if session.id not in ringed:
        return session
    return replace(session, parent_id=None, own_work=True, notes=(*session.notes, NOTE))

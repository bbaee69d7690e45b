"""Who started whom: sessions whose parents lead back to themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reach_tui.base.sqlite import Connection, text_of
from reach_tui.model import Session

_AT_ONCE = 500  # parameters of one query; SQLite allowed 999 until 2020
NOTE = "its parents lead back to itself: cut"


def rings(connection: Connection, table: str, key: str, parent: str) -> frozenset[str]:
    """Ids of the sessions that are among their own ancestors, from the two columns of a table that has them."""
    query = f'SELECT "{key}", "{parent}" FROM {table} WHERE "{parent}" IS NOT NULL'
    return in_rings({text_of(row[0]): text_of(row[1]) for row in connection.execute(query).fetchall()})


def rings_of(connection: Connection, table: str, key: str, parent: str, ids: Iterable[object]) -> frozenset[str]:
    """As `rings`, but for these sessions and their ancestors alone: of a large table a few rows are looked up."""
    parents: dict[str, str] = {}
    asked: set[object] = set()
    wanted = set(ids)
    while wanted:
        some = [wanted.pop() for _ in range(min(len(wanted), _AT_ONCE))]
        asked.update(some)
        marks = ",".join("?" * len(some))
        query = f'SELECT "{key}", "{parent}" FROM {table} WHERE "{parent}" IS NOT NULL AND "{key}" IN ({marks})'
        for row in connection.execute(query, some).fetchall():
            parents[text_of(row[0])] = text_of(row[1])
            if row[1] not in asked:
                wanted.add(row[1])
    return in_rings(parents)


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

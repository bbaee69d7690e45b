"""Labelling queues: work lists that are kept with the labels, and where a person stands in one.

A queue is written once, with the recipe it was drawn by, and never changed. What is done follows from the labels in
force; only what was put off or skipped is kept beside it, append-only. So a queue resumes where it stopped, on another
machine too, and each person has their own place in it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import LabelError
from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads
from reach_tui.base.sqlite import Connection, columns_of
from reach_tui.base.text import scrub_surrogates
from reach_tui.labels.store import LabelStore

Target = tuple[str, str, str]
"""Store kind, session id, call key."""
ACTIONS = ("defer", "skip", "return")


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One call to label."""

    position: int
    """From 1."""
    store: str
    session_id: str
    call_key: str
    stratum: str
    """What it was drawn for: a tool, a rule, `control`."""
    source: str
    """Base name of its trace."""

    @property
    def target(self) -> Target:
        """What a label for it hangs on."""
        return self.store, self.session_id, self.call_key


@dataclass(frozen=True, slots=True)
class Queue:
    """A work list as it was drawn."""

    id: str
    name: str
    by: str
    """Who drew it; anybody may work on it."""
    at: int
    recipe: Mapping[str, JsonValue]
    items: tuple[QueueItem, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one person stands in a queue."""

    done: int
    skipped: int
    deferred: int
    """Put off: they come last."""
    left: tuple[QueueItem, ...]
    """What is to do, in order: the untouched ones, then those put off, oldest first."""

    @property
    def total(self) -> int:
        """Items that are not skipped."""
        return self.done + len(self.left)


def standing(queue: Queue, labelled: Set[Target], put_off: Sequence[tuple[int, str]]) -> Standing:
    """A person's place: `labelled` are their labels' targets, `put_off` their (position, action), oldest first."""
    now: dict[int, str] = {}
    for position, action in put_off:
        now.pop(position, None)  # the newest counts, also for the order in which they come back
        now[position] = action
    by_position = {item.position: item for item in queue.items}
    open_items = {place: item for place, item in by_position.items() if item.target not in labelled}
    skipped = {place for place, action in now.items() if action == "skip" and place in open_items}
    deferred = [place for place, action in now.items() if action == "defer" and place in open_items]
    fresh = [item for place, item in open_items.items() if place not in skipped and place not in set(deferred)]
    left = (*fresh, *(open_items[place] for place in deferred))
    return Standing(len(by_position) - len(open_items), len(skipped), len(deferred), left)


def save_queue(
    store: LabelStore, name: str, by: str, recipe: Mapping[str, JsonValue], items: Sequence[QueueItem]
) -> Queue:
    """Keep a work list; it is on disk when this returns. Raises `LabelError`."""
    queue = Queue(uuid.uuid4().hex[:12], scrub_surrogates(name), scrub_surrogates(by), now_ms(), recipe, tuple(items))

    def write(connection: Connection) -> Queue:
        _need_queues(connection, store)
        values = (queue.id, queue.name, queue.by, queue.at, dumps(dict(recipe)))
        connection.execute("INSERT INTO queue VALUES (?, ?, ?, ?, ?)", values)
        connection.executemany(
            "INSERT INTO queue_item VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(queue.id, one.position, *map(scrub_surrogates, (*one.target, one.stratum, one.source))) for one in items],
        )
        return queue

    return store.transaction(write)


def queues(store: LabelStore) -> list[Queue]:
    """Every queue, newest first, without its items. Raises `LabelError`."""
    if not _has_queues(store):
        return []
    rows = store.rows('SELECT id, name, "by", at, recipe FROM queue ORDER BY at DESC, rowid DESC', ())
    return [_queue(row, ()) for row in rows]


def load_queue(store: LabelStore, queue_id: str) -> Queue:
    """A queue with its items; its id may be shortened to what is unique. Raises `LabelError` if there is none."""
    query = 'SELECT id, name, "by", at, recipe FROM queue WHERE id = ? OR substr(id, 1, ?) = ?'
    rows = store.rows(query, (queue_id, len(queue_id), queue_id)) if queue_id and _has_queues(store) else []
    exact = [row for row in rows if row[0] == queue_id] or rows
    if len(exact) != 1:
        what = f"{len(exact)} queues begin with {queue_id!r}" if exact else f"there is no queue {queue_id!r}"
        raise LabelError(what, store.path, "`reach-tui labels queues` lists them")
    columns = "position, store, session_id, call_key, stratum, source"
    items = store.rows(f"SELECT {columns} FROM queue_item WHERE queue = ? ORDER BY position", (exact[0][0],))
    return _queue(exact[0], tuple(QueueItem(int(row[0]), *map(str, row[1:])) for row in items))


def put_off(store: LabelStore, queue_id: str, position: int, by: str, action: str) -> None:
    """Defer an item (it comes back last), skip it (it does not), or return it to its place. Raises `LabelError`."""
    if action not in ACTIONS:
        raise ValueError(action)

    def write(connection: Connection) -> None:
        _need_queues(connection, store)
        connection.execute(
            'INSERT INTO deferral (queue, position, "by", action, at) VALUES (?, ?, ?, ?, ?)',
            (queue_id, position, scrub_surrogates(by), action, now_ms()),
        )

    store.transaction(write)


def put_off_by(store: LabelStore, queue_id: str, by: str) -> list[tuple[int, str]]:
    """What a person put off or skipped in a queue, oldest first. Raises `LabelError`."""
    if not _has_queues(store):
        return []
    query = 'SELECT position, action FROM deferral WHERE queue = ? AND "by" = ? ORDER BY id'
    return [(int(position), str(action)) for position, action in store.rows(query, (queue_id, by))]


def _queue(row: Sequence[Any], items: tuple[QueueItem, ...]) -> Queue:
    try:
        recipe = loads(row[4])
    except BadJson:
        recipe = None
    return Queue(str(row[0]), str(row[1]), str(row[2]), int(row[3]), recipe if isinstance(recipe, dict) else {}, items)


def _has_queues(store: LabelStore) -> bool:
    return bool(store.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'queue'", ()))


def _need_queues(connection: Connection, store: LabelStore) -> None:
    if not columns_of(connection, "queue"):
        hint = "name another file with --labels, or none for your own"
        raise LabelError("queues are kept in a label database, not in a trace", store.path, hint)

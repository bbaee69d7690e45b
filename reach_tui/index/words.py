"""The full text part of an index: filled after the verdicts, session by session, and asked for what may hold words."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from itertools import islice

from reach_tui.index.scanner import EXACT, Judge, by_session, exact_facts
from reach_tui.index.schema import IndexBroken, checksum
from reach_tui.index.store import CALL, FRESH, Index, whole_key
from reach_tui.index.text import indexed_text, text_mark
from reach_tui.model import ToolCall
from reach_tui.stores.reader import Reader

_KEY = CALL.index("key")
_AT_ONCE = 40  # sessions read at a time
_COMMIT_SECONDS = 0.25
_WASTE = 50_000  # entries of calls that are gone, over twice those that are there, before all is indexed anew
_BATCH = 20
"""Candidates looked at first; then twice as many each time."""
_LARGEST_BATCH = 640


def index_words(reader: Reader, engine: Judge) -> Iterator[tuple[int, int]]:
    """Put the words of every fresh session into the index; gives (sessions done, sessions to do).

    Sessions that no scan has judged are left out. Raises `StoreError`; a broken index is left to the next scan.
    """
    try:
        with Index.opened(reader, engine.version) as index:
            with index.guarded(), index.writing():
                _drop_waste(index)
            waiting = _waiting(index)
            done, total = 0, len(waiting)
            todo = iter(waiting)
            while chunk := list(islice(todo, _AT_ONCE)):
                _fill(reader, index, chunk)
                done += len(chunk)
                yield done, total
    except IndexBroken:
        return


def _waiting(index: Index) -> list[str]:
    query = f"SELECT id FROM session WHERE {FRESH} AND last_id > coalesce(words_to, 0) ORDER BY no"
    with index.guarded():
        return [row[0] for row in index.connection.execute(query, (index.floor,))]


def _drop_waste(index: Index) -> None:
    live, highest = index.connection.execute("SELECT count(*), coalesce(max(id), 0) FROM call").fetchone()
    if highest > 3 * live + _WASTE:
        index.connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        index.connection.execute("UPDATE session SET words_to = NULL")


def _fill(reader: Reader, index: Index, names: list[str]) -> None:
    """Index the calls of some sessions that are not yet; each session in the transaction that says so."""
    waiting: dict[str, tuple[object, ...]] = {}
    begun = time.monotonic()
    for session_id, calls in by_session(reader.calls(names), names):
        index.begin()
        waiting = _open(index, session_id)
        for call in calls:
            row = waiting.pop(call.key, None)
            if row is not None:
                _add(index, call, row)
        _close(index, session_id)
        if time.monotonic() - begun > _COMMIT_SECONDS:
            index.commit()
            begun = time.monotonic()
    index.commit()


def _open(index: Index, session_id: str) -> dict[str, tuple[object, ...]]:
    """The rows of a session's calls that are not indexed yet, by key: number, then the columns in order."""
    query = (
        f"SELECT c.id, {', '.join(f'c.{name}' for name in CALL)} FROM session s JOIN call c ON c.session = s.no "
        "WHERE s.id = ? AND c.id > coalesce(s.words_to, 0)"
    )
    with index.guarded():
        rows = index.connection.execute(query, (session_id,)).fetchall()
    return {whole_key(session_id, row[1 + _KEY]): row for row in rows}


def _add(index: Index, call: ToolCall, row: tuple[object, ...]) -> None:
    """A call's words, and what counting it the faster way left out; nothing if its text is another by now."""
    values = dict(zip(CALL, row[1:], strict=True))
    if values["text"] != text_mark(call):
        return
    with index.guarded():
        index.connection.execute(
            "INSERT INTO words (rowid, body) VALUES (?, ?)", (row[0], indexed_text(call).replace("\0", " "))
        )
        if values["step"] is None:
            values.update(zip(EXACT, exact_facts(call), strict=True))
            changed = (*(values[name] for name in EXACT), checksum(*values.values()), row[0])
            index.connection.execute(
                f"UPDATE call SET {', '.join(f'{n} = ?' for n in EXACT)}, crc = ? WHERE id = ?", changed
            )


def _close(index: Index, session_id: str) -> None:
    with index.guarded():
        index.connection.execute("UPDATE session SET words_to = last_id WHERE id = ?", (session_id,))


def ready_sessions(index: Index) -> set[str]:
    """The fresh sessions whose words are in the index."""
    query = f"SELECT id FROM session WHERE {FRESH} AND coalesce(last_id, 0) <= coalesce(words_to, 0)"
    with index.guarded():
        return {row[0] for row in index.connection.execute(query, (index.floor,))}


def candidates(
    index: Index, query: str, tools: Collection[str] = (), failed: bool = False
) -> Iterator[dict[str, set[str]]]:
    """Calls that may hold what an FTS5 query looks for, newest sessions first, as sets of keys by session.

    `tools` and `failed` narrow by what the index knows. Raises `IndexBroken`, also for a query FTS5 refuses.
    """
    where, values = "words MATCH ?", [query]
    if failed:
        where += " AND c.failed = 1"
    if tools:
        with index.guarded():
            numbers = ",".join(str(no) for no, text in index.all_names().items() if text in tools) or "NULL"
        where += f" AND (c.tool IN ({numbers}) OR c.target IN ({numbers}))"
    with index.guarded():
        first = index.meta("first") or str(2**62)
    picked = (
        "SELECT s.id, c.key FROM words w JOIN call c ON c.id = w.rowid JOIN session s ON s.no = c.session "
        f"WHERE {where} AND w.rowid"
    )
    size = _BATCH
    for sql in (f"{picked} > {int(first)} ORDER BY w.rowid DESC", f"{picked} <= {int(first)} ORDER BY w.rowid"):
        with index.guarded():
            cursor = index.connection.execute(sql, values)
        while True:
            with index.guarded():
                rows = cursor.fetchmany(size)
            if not rows:
                break
            size = min(2 * size, _LARGEST_BATCH)
            found: dict[str, set[str]] = {}
            for session_id, key in rows:
                found.setdefault(session_id, set()).add(whole_key(session_id, key))
            yield found

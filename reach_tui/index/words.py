"""The full text part of an index: filled after the verdicts, session by session, and asked for what may hold words.

Each call gets a number on its first time, which is its row in `words`; numbers of a session are given in spans. A call
whose text changed gets a new one: `words` forgets nothing, what it finds under old numbers is left out.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from zlib import crc32

import msgspec

from reach_tui.index.digest import Judge, Page, short_key, whole_key
from reach_tui.index.schema import IndexBroken
from reach_tui.index.store import FRESH, Index
from reach_tui.index.text import full_text_query, indexed_text, text_mark
from reach_tui.model import Glance
from reach_tui.stores.reader import Reader, Scanned, told

_AT_ONCE = 40  # sessions read at a time
_COMMIT_SECONDS = 0.25
_WASTE = 50_000  # entries of calls that are gone, over twice those that are there, before all is indexed anew
_BATCH = 20
"""Candidates looked at first; then twice as many each time."""
_LARGEST_BATCH = 640
_PAGES = 256  # sessions kept in mind while candidates are told


class Worded(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The calls of a session whose words are in the index: short key, number, mark of the text."""

    keys: list[str]
    numbers: list[int]
    marks: list[int]


_worded = msgspec.msgpack.Decoder(Worded)


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
            with index.guarded(), index.writing():
                if index.meta("first") is None:  # up to here newest sessions have the lowest numbers
                    index.set_meta("first", str(index.next_number() - 1))
    except IndexBroken:
        return


def _waiting(index: Index) -> list[str]:
    query = (
        f"SELECT s.id FROM session s LEFT JOIN worded w ON w.no = s.no WHERE {FRESH} "
        "AND coalesce(w.as_of, -1) < s.fresh_as_of ORDER BY s.no"
    )
    with index.guarded():
        return [row[0] for row in index.connection.execute(query, (index.floor,))]


def _drop_waste(index: Index) -> None:
    if index.next_number() <= _WASTE:
        return
    live = sum(len(_read(row).numbers) for row in index.connection.execute("SELECT no, calls, crc FROM worded"))
    if index.next_number() > 3 * live + _WASTE:
        index.connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        index.connection.execute("DELETE FROM worded")
        index.connection.execute("DELETE FROM span")
        index.connection.execute("DELETE FROM meta WHERE key IN ('first', 'next')")


def _fill(reader: Reader, index: Index, names: list[str]) -> None:
    """Index the calls of some sessions that are not yet; each session in the transaction that says so."""
    with index.guarded():
        marks = ",".join("?" * len(names))
        rows = index.connection.execute(f"SELECT id, no, fresh_as_of FROM session WHERE id IN ({marks})", names)
        places = {name: (no, as_of) for name, no, as_of in rows.fetchall()}  # before the calls are read
    begun = time.monotonic()
    for session_id, calls in _calls(reader, names):
        if session_id in places:
            index.begin()
            _word(index, session_id, *places[session_id], calls)
            if time.monotonic() - begun > _COMMIT_SECONDS:
                index.commit()
                begun = time.monotonic()
    index.commit()


def _calls(reader: Reader, names: list[str]) -> Iterator[tuple[str, Sequence[Glance]]]:
    found = reader.scan(names) if isinstance(reader, Scanned) else (told(name, reader.steps(name)) for name in names)
    return ((one.session_id, one.calls) for one in found)


def _word(index: Index, session_id: str, no: int, as_of: int, calls: Sequence[Glance]) -> None:
    """A session's words: those of new calls and of changed ones."""
    execute = index.connection.execute
    with index.guarded():
        row = execute("SELECT no, calls, crc FROM worded WHERE no = ?", (no,)).fetchone()
        before = Worded([], [], []) if row is None else _read(row)
        known = {
            key: (number, mark) for key, number, mark in zip(before.keys, before.numbers, before.marks, strict=True)
        }
        keys = [short_key(session_id, call.key) for call in calls]
        marks = [text_mark(call) for call in calls]
        old = [known.get(key, (0, -1)) for key in keys]
        new = [place for place, (_, mark) in enumerate(old) if mark != marks[place]]
        numbers = [number for number, _ in old]
        if new:
            first = index.take_numbers(len(new), no)
            for number, place in enumerate(new, first):
                numbers[place] = number
            bodies = ((numbers[place], indexed_text(calls[place]).replace("\0", " ")) for place in new)
            index.connection.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", bodies)
        try:
            packed = msgspec.msgpack.encode((keys, numbers, marks))
        except UnicodeError:  # keys that cannot be kept: found by reading
            return
        execute("INSERT OR REPLACE INTO worded VALUES (?, ?, ?, ?)", (no, as_of, packed, crc32(packed)))


def _read(row: tuple[int, bytes, int]) -> Worded:
    if crc32(row[1]) != row[2]:
        raise IndexBroken("changed bytes")
    found: Worded = _worded.decode(row[1])
    return found


def ready_sessions(index: Index) -> set[str]:
    """The fresh sessions whose words are in the index."""
    query = f"SELECT s.id FROM session s JOIN worded w ON w.no = s.no WHERE {FRESH} AND w.as_of >= s.fresh_as_of"
    with index.guarded():
        return {row[0] for row in index.connection.execute(query, (index.floor,))}


def unready_sessions(index: Index) -> set[str]:
    """All the others that the index knows."""
    query = (
        "SELECT s.id FROM session s LEFT JOIN worded w ON w.no = s.no "
        f"WHERE NOT coalesce({FRESH} AND w.as_of >= s.fresh_as_of, 0)"
    )
    with index.guarded():
        return {row[0] for row in index.connection.execute(query, (index.floor,))}


def candidates(
    index: Index, words: Sequence[str], tools: Collection[str] = (), failed: bool = False
) -> Iterator[tuple[dict[str, set[str]], int, int]]:
    """Calls that may hold the words, newest sessions first: sets of keys by session, about how far that is in sessions,
    and how many there are.

    `tools` and `failed` narrow by what the index knows; the first may come again. Raises `IndexBroken`.
    """
    if (query := full_text_query(words)) is None:
        return
    found = _Found(index, frozenset(tools), failed)
    with index.guarded():
        first = int(index.meta("first") or 2**62)
        last = max(1, min(first, index.next_number()))
        of = int(index.connection.execute("SELECT count(*) FROM session").fetchone()[0])
    picked = (
        "SELECT rowid, (SELECT session FROM span WHERE first <= words.rowid ORDER BY first DESC LIMIT 1) FROM words "
        "WHERE words MATCH ? AND rowid"
    )
    newer, older = f"{picked} > {first} ORDER BY rowid DESC", f"{picked} <= {first} ORDER BY rowid"
    if (whole := full_text_query(words, to_the_end=True)) != query:
        # for beginnings of words FTS5 puts together all rows of all such words before it gives one
        with index.guarded():
            rows = index.connection.execute(f"{older} LIMIT {_BATCH}", (whole,)).fetchall()
        yield found.keys(rows), 0, of
    size = _BATCH
    for sql in (newer, older):
        with index.guarded():
            cursor = index.connection.execute(sql, (query,))
        while True:
            with index.guarded():
                rows = cursor.fetchmany(size)
            if not rows:
                break
            size = min(2 * size, _LARGEST_BATCH)
            yield found.keys(rows), of * rows[-1][0] // last if sql is older else 0, of


class _Found:
    """From numbers of calls to their keys."""

    def __init__(self, index: Index, tools: frozenset[str], failed: bool) -> None:
        self.index = index
        self.tools = tools
        self.failed = failed
        self._sessions: OrderedDict[int, tuple[str, dict[int, str]]] = OrderedDict()

    def keys(self, rows: Sequence[tuple[int, int | None]]) -> dict[str, set[str]]:
        """The calls still there that may be wanted, by session."""
        found: dict[str, set[str]] = {}
        for number, session in rows:
            if session is None:
                continue
            name, by_number = self._session(session)
            if (key := by_number.get(number)) is not None:
                found.setdefault(name, set()).add(key)
        return found

    def _session(self, no: int) -> tuple[str, dict[int, str]]:
        if no not in self._sessions:
            if len(self._sessions) >= _PAGES:
                self._sessions.popitem(last=False)
            self._sessions[no] = self._load(no)
        return self._sessions[no]

    def _load(self, no: int) -> tuple[str, dict[int, str]]:
        query = "SELECT s.id, w.no, w.calls, w.crc FROM session s JOIN worded w ON w.no = s.no WHERE s.no = ?"
        with self.index.guarded():
            row = self.index.connection.execute(query, (no,)).fetchone()
            if row is None:
                return "", {}
            worded = _read(row[1:])
            wanted = self._wanted(self.index.page(no)) if self.tools or self.failed else None
        pairs = zip(worded.numbers, worded.keys, strict=True)
        return row[0], {number: whole_key(row[0], key) for number, key in pairs if wanted is None or key in wanted}

    def _wanted(self, page: Page) -> set[str]:
        """Short keys of the calls that the index knows to be of these tools, and failed."""
        kinds = [
            (not self.failed or kind.failed is True) and (not self.tools or bool(self.tools & {kind.tool, kind.target}))
            for kind in page.kinds
        ]
        return {key for key, number in zip(page.keys, page.numbers, strict=True) if kinds[number]}

"""One index file a source: what was judged, session by session, and since when it may be stale.

A session is fresh while no look at the store found it changed after the look before it was read: `fresh_as_of >=
stale_since`, both numbers of looks. So scans may run side by side, and one that is killed loses its last chunk only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

import msgspec

from reach_tui import __version__
from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.sqlite import Connection, DatabaseError, open_owned
from reach_tui.base.text import scrub_surrogates
from reach_tui.index.digest import Digest, Kind, Page, decode_kinds, decode_page, whole_key
from reach_tui.index.freshness import Look, state_of
from reach_tui.index.places import index_path, remove, remove_old
from reach_tui.index.schema import FORMAT, IndexBroken, broken, checksum, create, mark_of
from reach_tui.model import Counts, Session
from reach_tui.stores.reader import Reader

_AT_ONCE = 500  # names in one query
_TOTALS = 4_000  # sums kept: those of a few selections from twenty thousand sessions
FRESH = "fresh_as_of >= max(stale_since, ?)"
"""Condition for sessions that are fresh; its value is the number of the look that found everything stale."""


class Known(NamedTuple):
    """What the index knows about one session."""

    no: int
    fresh: bool
    unfinished: int
    state: str | None
    about: int | None
    mark: bytes | None
    """A hash of its figures; None where there are none."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as the index keeps it."""

    session_id: str
    key: str
    kind: Kind


class _Sums(msgspec.Struct, array_like=True, frozen=True, gc=False):
    counts: Counts
    tools: dict[str, tuple[int, int]]
    first_pass: bool | None


_sums = msgspec.msgpack.Decoder(_Sums)


def about(session: Session) -> int:
    """A checksum of what the figures take from a session's own row."""
    return checksum(session.project, session.started_at, session.copy_of)


class Index:
    """An open index. Not shared between threads. Its methods raise `IndexBroken`."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self.path = path
        self.connection = connection
        self.epoch = 0
        """The number of the look that this run judges by."""
        self.floor = 0
        self._known: dict[str, Known] = {}
        self._known_at: int | None = None
        self._touched: set[str] = set()
        """Sessions whose row was written since `_known` was read."""

    @classmethod
    @contextmanager
    def opened(cls, reader: Reader, rules: str, *, replace: bool = False) -> Iterator[Self]:
        """The index of a source under these rules; with `replace` an empty one instead of one made under others."""
        path = index_path(reader)
        index = cls._connect(path)
        try:
            with index.guarded():
                wanted = {"path": os.path.realpath(reader.path), "kind": reader.kind, "reader": __version__}
                wanted["rules"] = rules
                wanted = {key: scrub_surrogates(value) for key, value in wanted.items()}
                if any(index.meta(key) not in (None, value) for key, value in wanted.items()):
                    if not replace:
                        raise IndexBroken("made under other rules", rebuild=False)
                    index.connection.close()
                    remove(path)
                    index = cls._connect(path)
                if index.meta("rules") is None:
                    remove_old(path.parent)
                    with index.writing():
                        for key, value in wanted.items():
                            index.set_meta(key, value)
                index.epoch = int(index.meta("epoch") or 0)
                index.floor = int(index.meta("floor") or 0)
            yield index
        finally:
            index.connection.close()

    @classmethod
    def _connect(cls, path: Path) -> Self:
        try:
            connection = open_owned(path)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")  # it may be lost, never be wrong
                if (version := connection.execute("PRAGMA user_version").fetchone()[0]) != FORMAT:
                    if version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise IndexBroken("an index of another version")
                    create(connection)
            except BaseException:
                connection.close()
                raise
        except (DatabaseError, OSError, UnicodeError) as error:
            raise broken(error) from error
        return cls(path, connection)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Whatever SQLite, the disk or changed bytes do comes as `IndexBroken`."""
        try:
            yield
        except (DatabaseError, OSError, ValueError, TypeError, OverflowError) as error:  # changed bytes may be anything
            raise broken(error) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; joins the one that is open."""
        if self.connection.in_transaction:
            yield
            return
        with self.guarded():
            self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.commit()
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def begin(self) -> None:
        """Open a transaction, if none is."""
        with self.guarded():
            if not self.connection.in_transaction:
                self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make what was written since `begin` stay."""
        with self.guarded():
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")

    # What it is about

    def meta(self, key: str) -> str | None:
        """A fact about the index; None if it is not known."""
        row = self.connection.execute("SELECT value, crc FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] != checksum(key, row[0]):
            raise IndexBroken("changed bytes")
        return str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Keep a fact."""
        values = (key, value, checksum(key, value))
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", values)

    def invalidate(self, look: Look) -> None:
        """Note what a look found, before anything of it is read; from then on those sessions are stale."""
        with self.guarded(), self.writing():
            self.epoch = int(self.meta("epoch") or 0) + 1
            self.set_meta("epoch", str(self.epoch))
            self.connection.execute("DELETE FROM meta WHERE key IN ('complete', 'checked')")
            if look.changed is None:
                self.floor, self._known_at = self.epoch, None
                self.set_meta("floor", str(self.floor))
            self._mark_stale(look.changed or ())
            if look.mark is None:
                self.connection.execute("DELETE FROM meta WHERE key = 'mark'")
            else:
                self.set_meta("mark", look.mark)

    def doubt(self, session_ids: Collection[str]) -> None:
        """These sessions turned out to be stale."""
        if not session_ids:
            return
        with self.guarded(), self.writing():
            self.epoch = int(self.meta("epoch") or 0) + 1
            self.set_meta("epoch", str(self.epoch))
            self._mark_stale(session_ids)

    def _mark_stale(self, session_ids: Collection[str]) -> None:
        names = [scrub_surrogates(name) for name in session_ids]
        self._touched.update(names)
        self.connection.executemany(
            "INSERT INTO session (id, stale_since, fresh_as_of) VALUES (?, ?, -1) "
            "ON CONFLICT (id) DO UPDATE SET stale_since = excluded.stale_since",
            [(name, self.epoch) for name in names],
        )

    def checked(self, fingerprint: str | None, complete: bool, whole: str | None) -> None:
        """What is marked fresh is so, as of the look with this fingerprint; `complete`: and that is every session.

        `whole`: what the sum over all rows is to be then, if it is known.
        """
        with self.guarded(), self.writing():
            if self.meta("epoch") != str(self.epoch):
                return
            for key, value in (
                ("checked", fingerprint),
                ("complete", fingerprint if complete else None),
                ("whole", whole),
            ):
                if value is None:
                    self.connection.execute("DELETE FROM meta WHERE key = ?", (key,))
                else:
                    self.set_meta(key, value)

    def completed(self) -> None:
        """What was noted last as fresh is every session by now, in a store that has not changed since."""
        with self.guarded(), self.writing():
            if (fingerprint := self.meta("checked")) is not None:
                self.set_meta("complete", fingerprint)

    # Sessions

    def known(self) -> Mapping[str, Known]:
        """Every session of the index; read anew as far as it changed since it was asked before."""
        with self.guarded():
            version = self.connection.execute("PRAGMA data_version").fetchone()[0]  # moves when others write
            if version != self._known_at or len(self._touched) > len(self._known):
                self._known = self._read_known("")
            elif touched := list(self._touched):
                known = {name: one for name, one in self._known.items() if name not in self._touched}
                for start in range(0, len(touched), _AT_ONCE):
                    some = touched[start : start + _AT_ONCE]
                    known |= self._read_known(f"WHERE id IN ({','.join('?' * len(some))})", some)
                self._known = known
            self._known_at = version
            self._touched.clear()
        return self._known

    def _read_known(self, which: str, names: Sequence[str] = ()) -> dict[str, Known]:
        query = f"SELECT id, no, {FRESH}, unfinished, state, about, mark, sums, fresh_as_of, crc FROM session {which}"
        found: dict[str, Known] = {}
        for row in self.connection.execute(query, (self.floor, *names)).fetchall():
            name, no, fresh, unfinished, state, told, mark, sums, as_of, crc = row
            if fresh and crc != _row_sum(name, as_of, unfinished, told, state, sums, mark):
                raise IndexBroken("changed bytes")
            found[name] = Known(no, bool(fresh), unfinished or 0, state, told, mark)
        return found

    def sums(self) -> Iterator[SessionCounts]:
        """The sums of the sessions that are fresh, those judged first before the others."""
        picked = "id, fresh_as_of, unfinished, about, state, sums, mark, crc"
        query = f"SELECT {picked} FROM session WHERE {FRESH} ORDER BY no"
        with self.guarded():
            for *row, crc in self.connection.execute(query, (self.floor,)).fetchall():
                if crc != _row_sum(*row):
                    raise IndexBroken("changed bytes")
                one = _sums.decode(row[5])
                yield SessionCounts(row[0], one.counts, one.tools, one.first_pass)

    def forget(self, session_ids: Collection[str]) -> None:
        """Drop sessions that the store no longer has."""
        self._touched.update(session_ids)
        with self.guarded(), self.writing():
            for name in session_ids:
                row = self.connection.execute("SELECT no FROM session WHERE id = ?", (name,)).fetchone()
                if row is not None:
                    for table in ("session", "page", "worded"):
                        self.connection.execute(f"DELETE FROM {table} WHERE no = ?", row)
                    self.connection.execute("DELETE FROM span WHERE session = ?", row)

    def keep(self, digests: Sequence[Digest], told: Mapping[str, int]) -> None:
        """Keep what some sessions came to; `told`: their `about`.

        Left out are those of which a later look's outcome is there, and those whose id cannot be kept as it is.
        """
        with self.guarded(), self.writing():
            execute = self.connection.execute
            for one in digests:
                name = one.session_id
                if scrub_surrogates(name) != name or one.page is None:
                    continue
                row = execute("SELECT no, fresh_as_of FROM session WHERE id = ?", (name,)).fetchone()
                if row is None:
                    values = (name, self.epoch)
                    insert = "INSERT INTO session (id, stale_since, fresh_as_of) VALUES (?, ?, -1)"
                    row = (int(execute(insert, values).lastrowid or 0), -1)
                if row[1] <= self.epoch:
                    self._touched.add(name)
                    self._keep(row[0], one, told[name])

    def _keep(self, no: int, one: Digest, told: int) -> None:
        counts, page, figures = one.sums, one.page or b"", one.figures
        state = state_of(one.rows) if one.rows else None
        try:
            sums = msgspec.msgpack.encode(_Sums(counts.counts, counts.tools, counts.first_pass))
        except (UnicodeError, OverflowError):
            return
        mark = None if figures is None else mark_of(figures)
        unfinished = counts.counts.unfinished
        crc = _row_sum(one.session_id, self.epoch, unfinished, told, state, sums, mark)
        self.connection.execute(
            "UPDATE session SET fresh_as_of = ?, unfinished = ?, about = ?, state = ?, sums = ?, mark = ?, crc = ? "
            "WHERE no = ?",
            (self.epoch, unfinished, told, state, sums, mark, crc, no),
        )
        self.connection.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?)", (no, figures, page, crc32(page)))

    def figures(self, numbers: Sequence[tuple[int, bytes]]) -> list[bytes]:
        """The packed figures of sessions, each given by number and mark, in their order."""
        with self.guarded():
            marks = ",".join("?" * len(numbers))
            query = f"SELECT no, figures FROM page WHERE no IN ({marks})"
            found = dict(self.connection.execute(query, [no for no, _ in numbers]).fetchall())
            packed = [found.get(no, b"") for no, _ in numbers]
            if any(mark_of(one) != mark for one, (_, mark) in zip(packed, numbers, strict=True)):
                raise IndexBroken("changed bytes")
            return packed

    def total(self, mark: bytes) -> bytes | None:
        """The packed sum kept under the marks of what it is the sum of."""
        with self.guarded():
            row = self.connection.execute("SELECT figures, crc FROM total WHERE mark = ?", (mark,)).fetchone()
            if row is not None and crc32(row[0], crc32(mark)) != row[1]:
                raise IndexBroken("changed bytes")
            return None if row is None else bytes(row[0])

    def keep_total(self, mark: bytes, packed: bytes) -> None:
        """Keep a sum; joins the open transaction."""
        self.begin()
        with self.guarded():
            values = (mark, int(time.time()), packed, crc32(packed, crc32(mark)))
            self.connection.execute("INSERT OR REPLACE INTO total VALUES (?, ?, ?, ?)", values)

    def drop_old_totals(self) -> None:
        """Keep the newest few thousand sums, and commit."""
        with self.guarded():
            if self.connection.in_transaction:
                oldest = "SELECT mark FROM total ORDER BY used DESC LIMIT -1 OFFSET ?"
                self.connection.execute(f"DELETE FROM total WHERE mark IN ({oldest})", (_TOTALS,))
        self.commit()

    # Calls

    def page(self, no: int) -> Page:
        """The calls of a session."""
        with self.guarded():
            return decode_page(self._packed_page(no))

    def kinds(self, no: int) -> list[Kind]:
        """The kinds of the calls of a session."""
        with self.guarded():
            return decode_kinds(self._packed_page(no))

    def _packed_page(self, no: int) -> bytes:
        row = self.connection.execute("SELECT calls, crc FROM page WHERE no = ?", (no,)).fetchone()
        if row is None or crc32(row[0]) != row[1]:
            raise IndexBroken("changed bytes")
        return bytes(row[0])

    def pages(self, session_ids: Iterable[str] | None = None) -> Iterator[tuple[str, Page]]:
        """The fresh sessions (or those of these) with their calls."""
        wanted = None if session_ids is None else frozenset(session_ids)
        for name, one in self.known().items():
            if one.fresh and (wanted is None or name in wanted):
                yield name, self.page(one.no)

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[CallRow]:
        """The calls of the fresh sessions (or of these), session by session in order."""
        for name, page in self.pages(session_ids):
            for number, key in zip(page.numbers, page.keys, strict=True):
                yield CallRow(name, whole_key(name, key), page.kinds[number])

    # Numbers of calls in the full text

    def next_number(self) -> int:
        """The number that the next call gets."""
        return int(self.meta("next") or 1)

    def take_numbers(self, count: int, session_no: int) -> int:
        """The first of some numbers for calls of a session, one after another; joins the open transaction."""
        first = self.next_number()
        self.connection.execute("INSERT INTO span VALUES (?, ?)", (first, session_no))
        self.set_meta("next", str(first + count))
        return first


def _row_sum(
    name: str, as_of: int, unfinished: int, told: int, state: str | None, sums: bytes, mark: bytes | None
) -> int:
    """The checksum of a row of `session`."""
    return crc32(sums, checksum(name, as_of, unfinished, told, state, mark))

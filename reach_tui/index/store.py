"""One index file a source: what was judged, session by session, and since when it may be stale.

A session is fresh while no look at the store found it changed after the look before it was read: `fresh_as_of >=
stale_since`, both numbers of looks. So scans may run side by side, and one that is killed loses its last chunk only.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from reach_tui import __version__
from reach_tui.analyze.counts import SessionCounts
from reach_tui.base.jsonio import as_int, as_object, dumps, loads
from reach_tui.base.paths import cache_dir
from reach_tui.base.sqlite import Connection, DatabaseError, open_owned
from reach_tui.base.text import scrub_surrogates
from reach_tui.index.freshness import Look
from reach_tui.index.schema import COUNTS, FORMAT, IndexBroken, broken, checksum, create
from reach_tui.model import Counts
from reach_tui.stores.reader import Reader

_SESSION = (*COUNTS, "first_pass", "tools", "state")
_OLD_SECONDS = 180 * 86_400
FRESH = "fresh_as_of >= max(stale_since, ?)"
"""Condition for sessions that are fresh; its value is the number of the look that found everything stale."""
CALL = (
    "session", "key", "call_id", "step", "turn", "tool", "target", "flagged", "failed", "soft", "copied", "category",
    "subcategory", "rule", "started_at", "duration_ms", "result_bytes", "text",
)  # fmt: skip
"""The columns of `call` that its checksum covers, in order."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the index knows about one session."""

    no: int
    fresh: bool
    unfinished: int
    state: str | None


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as the index keeps it."""

    session_id: str
    key: str
    call_id: str
    step: int | None
    """Like times and `copied` None until the words are indexed, where a store is counted the faster way."""
    turn: int
    tool: str
    target: str | None
    flagged: bool | None
    failed: bool | None
    soft: bool
    copied: bool | None
    """A stored copy of another call."""
    category: str | None
    subcategory: str | None
    rule: str | None
    started_at: int | None
    duration_ms: int | None
    result_bytes: int | None
    """None while there is no result."""

    @property
    def hidden(self) -> bool:
        """Failed, and the store does not say so."""
        return self.failed is True and self.flagged is not True


def index_path(reader: Reader) -> Path:
    """Where the index of a source is: named after its real path, inode and kind."""
    path = os.path.realpath(reader.path)
    try:
        inode = os.stat(path).st_ino
    except (OSError, ValueError):
        inode = 0
    name = hashlib.sha256(f"{path}\0{inode}\0{reader.kind}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_dir() / "index" / f"{name}.db"


def remove(path: Path) -> None:
    """Delete an index; who has it open goes on with what no longer has a name."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(f"{path}{suffix}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise IndexBroken(str(error), rebuild=False) from error


def _remove_old(folder: Path) -> None:
    """Delete the indexes of stores that nobody has opened for long."""
    for path in folder.glob("*.db"):
        if path.stat().st_mtime < time.time() - _OLD_SECONDS:
            remove(path)


class Index:
    """An open index. Not shared between threads. Its methods raise `IndexBroken`."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self.path = path
        self.connection = connection
        self.epoch = 0
        """The number of the look that this run judges by."""
        self.floor = 0
        self.names: dict[str, int] = {}

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
                    _remove_old(path.parent)
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
            self.names.clear()
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
            self.connection.execute("DELETE FROM meta WHERE key = 'complete'")
            if look.changed is None:
                self.floor = self.epoch
                self.set_meta("floor", str(self.floor))
            self._mark_stale(look.changed or ())
            if look.mark is None:
                self.connection.execute("DELETE FROM meta WHERE key = 'mark'")
            else:
                self.set_meta("mark", look.mark)

    def doubt(self, session_ids: Iterable[str]) -> None:
        """These sessions turned out to be stale."""
        with self.guarded(), self.writing():
            self.epoch = int(self.meta("epoch") or 0) + 1
            self.set_meta("epoch", str(self.epoch))
            self._mark_stale(session_ids)

    def _mark_stale(self, session_ids: Iterable[str]) -> None:
        self.connection.executemany(
            "INSERT INTO session (id, stale_since, fresh_as_of) VALUES (?, ?, -1) "
            "ON CONFLICT (id) DO UPDATE SET stale_since = excluded.stale_since",
            [(scrub_surrogates(name), self.epoch) for name in session_ids],
        )

    def complete(self, fingerprint: str) -> None:
        """Every session is fresh, as of the look with this fingerprint."""
        with self.guarded(), self.writing():
            if self.meta("epoch") == str(self.epoch):
                self.set_meta("complete", fingerprint)
                if self.meta("first") is None:  # up to here newest sessions have the lowest numbers
                    highest = self.connection.execute("SELECT coalesce(max(id), 0) FROM call").fetchone()[0]
                    self.set_meta("first", str(highest))

    # Sessions

    def known(self) -> dict[str, Known]:
        """Every session of the index."""
        with self.guarded():
            rows = self.connection.execute(
                f"SELECT id, no, {FRESH}, unfinished, state FROM session", (self.floor,)
            ).fetchall()
        return {row[0]: Known(row[1], bool(row[2]), row[3] or 0, row[4]) for row in rows}

    def sums(self) -> Iterator[SessionCounts]:
        """The sums of the sessions that are fresh, those judged first before the others."""
        with self.guarded():
            query = f"SELECT id, {', '.join(_SESSION)}, fresh_as_of, crc FROM session WHERE {FRESH} ORDER BY no"
            for row in self.connection.execute(query, (self.floor,)).fetchall():
                if row[-1] != checksum(*row[:-1]):
                    raise IndexBroken("changed bytes")
                *counts, first_pass, tools, _, _ = row[1:-1]
                pairs = {name: (pair[0], pair[1]) for name, pair in _tools(tools).items()}
                yield SessionCounts(row[0], Counts(*counts), pairs, None if first_pass is None else bool(first_pass))

    def forget(self, session_ids: Collection[str]) -> None:
        """Drop sessions that the store no longer has."""
        with self.guarded(), self.writing():
            for name in session_ids:
                row = self.connection.execute("SELECT no FROM session WHERE id = ?", (name,)).fetchone()
                if row is not None:
                    self.connection.execute("DELETE FROM call WHERE session = ?", row)
                    self.connection.execute("DELETE FROM session WHERE no = ?", row)

    def finish(self, session_no: int, sums: SessionCounts, state: str | None) -> None:
        """Keep a session's sums; its calls are written."""
        counts = [int(getattr(sums.counts, name)) for name in COUNTS]
        first_pass = None if sums.first_pass is None else int(sums.first_pass)
        values = [*counts, first_pass, dumps({name: list(pair) for name, pair in sums.tools.items()}), state]
        with self.guarded():
            self.connection.execute(
                f"UPDATE session SET {', '.join(f'{name} = ?' for name in _SESSION)}, crc = ?, fresh_as_of = ?, "
                "last_id = (SELECT max(id) FROM call WHERE session = no) WHERE no = ?",
                [*values, checksum(sums.session_id, *values, self.epoch), self.epoch, session_no],
            )

    # Calls

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[CallRow]:
        """The calls of the fresh sessions (or of these), session by session in order of their steps."""
        with self.guarded():
            names = self.all_names()
            query = f"SELECT id, no FROM session WHERE {FRESH} ORDER BY no"
            sessions = self.connection.execute(query, (self.floor,)).fetchall()
            wanted = None if session_ids is None else frozenset(session_ids)
            picked = f"SELECT {', '.join(CALL)}, crc FROM call WHERE session = ? ORDER BY step, id"
            for session_id, no in sessions:
                if wanted is None or session_id in wanted:
                    for row in self.connection.execute(picked, (no,)).fetchall():
                        yield _call_row(session_id, row, names)

    def name(self, text: str | None) -> int | None:
        """The number of a tool's, class's or rule's name; given on first use, inside a transaction."""
        if text is None:
            return None
        if (number := self.names.get(text)) is None:
            clean = scrub_surrogates(text)
            self.connection.execute("INSERT OR IGNORE INTO name (text, crc) VALUES (?, ?)", (clean, checksum(clean)))
            number = int(self.connection.execute("SELECT no FROM name WHERE text = ?", (clean,)).fetchone()[0])
            self.names[text] = number
        return number

    def all_names(self) -> dict[int, str]:
        """The names by number."""
        found: dict[int, str] = {}
        for number, text, crc in self.connection.execute("SELECT no, text, crc FROM name"):
            if crc != checksum(text):
                raise IndexBroken("changed bytes")
            found[number] = text
        return found


def _tools(text: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for name, pair in as_object(loads(text)).items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise IndexBroken("changed bytes")
        found[name] = (as_int(pair[0]) or 0, as_int(pair[1]) or 0)
    return found


def _call_row(session_id: str, row: tuple[Any, ...], names: dict[int, str]) -> CallRow:
    if row[-1] != checksum(*row[:-1]):
        raise IndexBroken("changed bytes")
    one = dict(zip(CALL, row, strict=False))

    def name(column: str) -> str | None:
        number = one[column]
        if number is not None and number not in names:
            raise IndexBroken("a name is missing")
        return None if number is None else names[number]

    def truth(column: str) -> bool | None:
        return None if one[column] is None else bool(one[column])

    return CallRow(
        session_id, whole_key(session_id, one["key"]), one["call_id"], one["step"], one["turn"], name("tool") or "",
        name("target"), truth("flagged"), truth("failed"), bool(one["soft"]), truth("copied"), name("category"),
        name("subcategory"), name("rule"), one["started_at"], one["duration_ms"], one["result_bytes"],
    )  # fmt: skip


def short_key(session_id: str, key: str) -> str:
    """A call's key without the session's id that most begin with."""
    return key[len(session_id) :] if key.startswith(f"{session_id}/") else f"={key}"


def whole_key(session_id: str, short: str) -> str:
    """The key behind a `short_key`."""
    return short[1:] if short.startswith("=") else session_id + short

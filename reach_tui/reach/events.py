"""What the layer did, in the native Reach database (spec B12): queued at once, written by one thread in batches.

Nothing that was acknowledged is lost when the process dies, and nothing is written twice: how far a segment of the
queue has been written stands in the database, table `reach_queue`, and changes in the same transaction as the rows.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from reach_tui.base.clock import now_ms
from reach_tui.base.errors import ReachError, StoreError, UsageError
from reach_tui.base.sqlite import reading
from reach_tui.model import Session, StepKind, ToolCall
from reach_tui.native.event import Event
from reach_tui.native.writer import check_event
from reach_tui.reach.event_writer import EventWriter
from reach_tui.reach.journal import Journal, Record, leftovers, line_of, records

INTERVAL_S = 0.2
"""The writer waits so long at most before it writes what has come."""
BATCH = 500
"""Records of one transaction at most."""
_AT_EXIT_S = 5.0
"""A program that ends without closing waits so long at most for what is still in the queue."""
_PATIENCE_S = 5.0
"""Wait before the next try where the database is locked or its disk full."""
_UNWRITABLE = (StoreError, UsageError, TypeError, ValueError, KeyError)
_log = logging.getLogger("reach_tui.reach")


class Recorder(Protocol):
    """Where the layer records what it does. Every method returns when the record is safe from the process's death."""

    def session(self, session: Session) -> None:
        """A session begins, or its row is renewed."""
        ...

    def message(self, session_id: str, kind: StepKind, text: str, *, turn: int = 0, at: int | None = None) -> int:
        """A step that is no call; returns its place in the session."""
        ...

    def place(self, session_id: str) -> int:
        """The next free place in the session, taken from now on."""
        ...

    def record(self, call: ToolCall | None, events: Iterable[Event]) -> None:
        """A call's row as it stands now (none for a decision without a call), and events, all together."""
        ...


class EventLog:
    """A `Recorder` into a native database, which is created where it is not. Several processes may write to one.

    Opening first writes what dead processes left behind. A session belongs to one process at a time. `redact` is
    applied to all that is kept. Raises `StoreError` where the database cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        redact: Callable[[str], str] | None = None,
        power_safe: bool = False,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self.path = Path(path)
        self.redact = redact
        self.rejected = 0
        """Records that no database takes, such as a call under another's key; kept beside it in `NAME-rejected`."""
        self._journal = Journal(self.path, power_safe=power_safe)
        self._interval_s = interval_s
        self._places: dict[str, int] = {}
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self._state = threading.Condition()
        self._appended = 0
        self._written = 0
        self._closing = False
        self._urgent = False
        self._trouble: ReachError | None = None
        self._opened = False
        self._thread = threading.Thread(target=self._run, name="reach-events", daemon=True)
        self._thread.start()
        with self._state:
            self._state.wait_for(lambda: self._opened or self._trouble is not None)
        if self._trouble is not None:
            raise self._trouble
        self._process = os.getpid()
        atexit.register(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def session(self, session: Session) -> None:
        """A session begins, or its row is renewed."""
        with self._lock:
            self._known.add(session.id)
        self._append([("session", session)])

    def message(self, session_id: str, kind: StepKind, text: str, *, turn: int = 0, at: int | None = None) -> int:
        """A step that is no call; returns its place in the session."""
        seq = self.place(session_id)
        facts = {"session_id": session_id, "kind": kind.value, "text": text, "seq": seq, "turn": turn, "at": at}
        self._append([("message", facts)])
        return seq

    def place(self, session_id: str) -> int:
        """The next free place in the session, taken from now on."""
        with self._lock:
            seq = self._places.get(session_id) or self._first_place(session_id)
            self._places[session_id] = seq + 1
            new = session_id not in self._known
        if new:  # its row must be there before anything that belongs to it
            self.session(Session(store="reach", id=session_id, started_at=now_ms()))
        return seq

    def _first_place(self, session_id: str) -> int:
        query = " UNION ALL ".join(
            f"SELECT max(seq) FROM {table} WHERE session_id = ?1" for table in ("message", "tool_call", "event")
        )
        with reading(self.path) as connection:
            if connection.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone():
                self._known.add(session_id)
            return max(int(row[0] or 0) for row in connection.execute(query, (session_id,))) + 1

    def record(self, call: ToolCall | None, events: Iterable[Event]) -> None:
        """A call's row as it stands now (none for a decision without a call), and events, all together."""
        listed = list(events)
        for event in listed:
            check_event(event)
        found: list[tuple[str, object]] = [] if call is None else [("call", call)]
        self._append(found + [("event", event) for event in listed])

    def _append(self, values: list[tuple[str, object]]) -> None:
        text = "".join(line_of(kind, value) for kind, value in values)
        if self.redact is not None:
            text = self.redact(text)
        raw = text.encode("utf-8", "replace")
        with self._lock:
            if self._closing:
                raise StoreError("the event log is closed", self.path)
            self._journal.append(raw)
            self._appended += len(values)

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until all that was recorded stands in the database; False where it did not come about in time."""
        upto = self._appended
        with self._state:
            self._urgent = True
            self._state.notify_all()
            return self._state.wait_for(lambda: self._written >= upto or not self._thread.is_alive(), timeout_s) and (
                self._written >= upto
            )

    def _at_exit(self) -> None:
        if os.getpid() == self._process:  # a forked child has neither the thread nor the queue
            self.close(_AT_EXIT_S)

    def close(self, timeout_s: float = 30.0) -> bool:
        """Write what is left and end; False where some is left in the queue for the next start.

        Done at the end of a program that forgot it, which waits 5 s at most.
        """
        atexit.unregister(self._at_exit)
        done = self.flush(timeout_s)
        with self._lock:
            self._closing = True
            self._journal.close()
        with self._state:
            self._state.notify_all()
        self._thread.join(timeout_s)
        self._journal.release()
        if not done:
            _log.warning("%s: events are left in the queue, they are written at the next start", self.path)
        return done

    # What follows runs in the writer's thread.

    def _run(self) -> None:
        with ExitStack() as stack:
            try:
                writer = stack.enter_context(EventWriter(self.path))
                self._recover(writer)
            except Exception as error:  # noqa: BLE001 - handed to the opener, who waits for it
                with self._state:
                    self._trouble = (
                        error if isinstance(error, ReachError) else StoreError(f"cannot be opened ({error})", self.path)
                    )
                    self._state.notify_all()
                return
            with self._state:
                self._opened = True
                self._state.notify_all()
            while True:
                closing = self._closing
                patience = self._interval_s
                try:
                    self._write_all(writer)
                except Exception as error:  # noqa: BLE001 - told, and tried again: the thread must not end with a queue
                    what = error.line() if isinstance(error, ReachError) else f"{self.path}: {error!r}"
                    _log.warning("%s; the events stay in the queue", what)
                    patience = _PATIENCE_S
                if closing:
                    return
                with self._state:
                    self._urgent = False
                    self._state.notify_all()
                    self._state.wait_for(lambda: self._urgent or self._closing, patience)

    def _recover(self, writer: EventWriter) -> None:
        """Write what dead processes left, each record once."""
        for path, unlock in leftovers(self.path):
            try:
                self._write_segment(writer, path, count=False)
            finally:
                unlock()
            path.unlink(missing_ok=True)
        writer.forget_marks(lambda name: not (self._journal.folder / name).exists())

    def _write_all(self, writer: EventWriter) -> None:
        for path in list(self._journal.segments):
            finished = self._journal.finished(path)  # asked first: what came before is then all there
            self._write_segment(writer, path, count=True)
            if finished:
                self._journal.remove(path)
        if self._closing:
            writer.forget_marks(lambda name: not (self._journal.folder / name).exists())

    def _write_segment(self, writer: EventWriter, path: Path, *, count: bool) -> None:
        at = writer.mark_of(path.name)
        while found := list(records(path, at, BATCH)):
            end = found[-1].end if isinstance(found[-1], Record) else found[-1]
            try:
                writer.write(found, path.name, end)
            except _UNWRITABLE as error:
                _raise_if_passing(error)
                self._write_singly(writer, found, path)
            at = end
            if count:
                with self._state:
                    self._written += len(found)
                    self._state.notify_all()

    def _write_singly(self, writer: EventWriter, found: list[Record | int], path: Path) -> None:
        """Something in the batch cannot be written: find it, set it aside, write the rest."""
        for one in found:
            end = one.end if isinstance(one, Record) else one
            try:
                writer.write([one], path.name, end)
            except _UNWRITABLE as error:
                _raise_if_passing(error)
                self._reject(one, error)
                writer.write([], path.name, end)

    def _reject(self, one: Record | int, error: Exception) -> None:
        self.rejected += 1
        kind, value = (one.kind, one.value) if isinstance(one, Record) else ("unreadable", {})
        _log.warning("%s: a %s could not be written: %s", self.path, kind, error)
        with self.path.with_name(f"{self.path.name}-rejected").open("a", encoding="utf-8") as file:
            file.write(line_of(kind, {**value, "why": str(error)}))


def _raise_if_passing(error: Exception) -> None:
    """Locked, full or unreadable is the database's fault, not the records': they wait."""
    if isinstance(error, StoreError) and type(error) is not StoreError:
        raise error

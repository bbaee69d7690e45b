"""Writes native Reach databases: for the Agent-Reach layer, for imports and for the sample traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reach_tui.base.errors import StoreError, StoreUnreadable, UsageError
from reach_tui.base.jsonio import dumps
from reach_tui.base.sqlite import Connection, DatabaseError, IntegrityError, open_owned, translate
from reach_tui.base.text import scrub_surrogates
from reach_tui.model import Candidate, Session, Slot, StepKind, ToolCall
from reach_tui.native import migrations
from reach_tui.native.error_types import ERROR_TYPES
from reach_tui.native.event import Event
from reach_tui.native.schema import DECISIONS, EVENT_STEPS, MESSAGE_KINDS, SLOT_SOURCES, create

BATCH = 2000
"""Rows kept back for one transaction."""
_ORDER = ("session", "message", "tool_call", "slot", "event")
_KEYS: dict[str, str | tuple[str, ...]] = {
    "session": "id",
    "message": ("session_id", "seq"),
    "tool_call": "key",
    "slot": ("call_key", "position"),
}
_LARGEST = 2**63 - 1


class NativeWriter:
    """Adds sessions to a native database, which is created, or migrated after a backup, where needed.

    Rows are written in transactions of some thousand and on leaving; on an exception those not yet written are dropped.
    Adding a session, message or call again replaces it. Not to be shared between threads. Raises `StoreError` for what
    SQLite refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _ORDER}
        self._next: dict[str, int] = {}
        self._open: Connection | None = None
        self._as_one = False

    def __enter__(self) -> Self:
        if self.path.exists() and self.path.stat().st_size:
            migrations.migrate(self.path)
        else:
            create(self.path)
        try:
            self._open = open_owned(self.path)
        except DatabaseError as error:
            raise translate(error, self.path) from error
        except OSError as error:
            raise StoreUnreadable(
                f"cannot be written ({error.strerror})", self.path, "check the permissions"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            if self._open is not None:
                self._open.close()
                self._open = None

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Everything within the block is one transaction: all of it is on disk after it, or nothing where it fails."""
        self.flush()
        connection = self._connection()
        with self._faults():
            connection.execute("BEGIN IMMEDIATE")
            self._as_one = True
            try:
                yield
                self.flush()
                connection.execute("COMMIT")
            except BaseException:
                self._rows = {name: [] for name in _ORDER}
                self._next.clear()
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._as_one = False

    def origin_of(self, session_id: str) -> tuple[str | None, str | None] | None:
        """Origin and digest of a session that is written; None if there is none of that id."""
        row = self._connection().execute(
            "SELECT origin, digest FROM session WHERE id = ?", (scrub_surrogates(session_id),)
        )
        found: tuple[str | None, str | None] | None = row.fetchone()
        return found

    def taken(self, keys: Iterable[str], session_id: str) -> bool:
        """True if one of the keys is a call's of another session."""
        query = "SELECT 1 FROM tool_call WHERE key = ? AND session_id <> ?"
        own = scrub_surrogates(session_id)
        connection = self._connection()
        return any(connection.execute(query, (scrub_surrogates(key), own)).fetchone() for key in keys)

    def add_session(self, session: Session, *, origin: str | None = None, digest: str | None = None) -> None:
        """Add a session, or renew its row; its messages and calls stay. `origin` and `digest` are an import's."""
        self._add(
            "session",
            id=session.id,
            parent_id=session.parent_id,
            title=session.title,
            project=session.project,
            model=session.model,
            started_at=session.started_at,
            ended_at=session.ended_at,
            turns=session.turns,
            tokens_input=session.tokens.input,
            tokens_output=session.tokens.output,
            outcome=session.outcome,
            own_work=session.own_work,
            copy_of=session.copy_of,
            notes=dumps(list(session.notes)) if session.notes else None,
            origin=origin,
            digest=digest,
        )

    def add_message(
        self,
        session_id: str,
        kind: StepKind,
        text: str,
        *,
        seq: int | None = None,
        turn: int | None = None,
        at: int | None = None,
        visible: bool = True,
        inherited: bool = False,
    ) -> int:
        """Add a step that is no call; returns its place in the session, the next free one unless given."""
        _check(kind.value, MESSAGE_KINDS, "message kind")
        place = self._place(session_id, seq)
        self._add(
            "message",
            session_id=session_id,
            seq=place,
            turn=turn,
            kind=kind.value,
            text=text,
            at=at,
            visible=visible,
            inherited=inherited,
        )
        return place

    def add_call(self, call: ToolCall, *, trace_id: str | None = None) -> int:
        """Add a call with its slots and, as a `route` event, its route; returns its place in the session.

        `call.step` is the place, 0 the next free one. Only what was recorded is written: inferred routes and slots are
        recomputed when read, never kept as if an agent had recorded them. Without `trace_id` a turn is a trace.
        """
        place = self._place(call.session_id, call.step or None)
        problem = call.problem
        arguments, fault = _json(call.arguments)
        metadata, _ = _json({name: value for name, value in call.metadata.items() if name != "event"} or None)
        self._add(
            "tool_call",
            key=call.key,
            call_id=call.id,
            session_id=call.session_id,
            seq=place,
            turn=call.turn,
            tool=call.tool,
            target=call.target,
            arguments=arguments,
            result=call.result.text if call.result else None,
            flagged=call.flagged,
            status=call.status,
            metadata=metadata,
            started_at=call.started_at,
            duration_ms=_natural(call.duration_ms),
            copy_of=call.copy_of,
            visible=call.visible,
            problem="; ".join(part for part in (problem, fault) if part) or None,
        )
        for position, slot in enumerate(call.slots or ()):
            if slot.basis == "recorded":
                self._add_slot(call.key, position, slot)
        if call.route is not None and call.route.basis == "recorded":
            self.add_event(
                Event(
                    trace_id=trace_id or f"{call.session_id}/{call.turn}",
                    step="route",
                    session_id=call.session_id,
                    call_key=call.key,
                    intent=call.route.intent,
                    candidates=call.route.candidates,
                    decision=call.route.decision,
                    thresholds=call.route.thresholds,
                    at=call.started_at,
                )
            )
        return place

    def add_event(self, event: Event) -> None:
        """Add an event. Raises `UsageError` for a word outside the closed enumerations."""
        check_event(event)
        if event.call_key is None and event.seq is not None:
            self._place(event.session_id, event.seq)
        self._add(
            "event",
            trace_id=event.trace_id,
            step=event.step,
            session_id=event.session_id,
            call_key=event.call_key,
            seq=event.seq,
            intent=event.intent,
            candidates=None if event.candidates is None else dumps([_candidate(one) for one in event.candidates]),
            decision=event.decision,
            t1=event.thresholds.t1 if event.thresholds else None,
            gap=event.thresholds.gap if event.thresholds else None,
            floor=event.thresholds.floor if event.thresholds else None,
            param_valid=event.param_valid,
            error_type=event.error_type,
            retryable=event.retryable,
            duration_ms=_natural(event.duration_ms),
            at=event.at,
            detail=event.detail,
        )

    def forget_session(self, session_id: str) -> None:
        """Remove a session with all its rows but the labels, so that an import can bring it anew."""
        self.flush()
        self._next.pop(session_id, None)
        own = (scrub_surrogates(session_id),)
        calls = "SELECT key FROM tool_call WHERE session_id = ?"
        self._transaction(
            [
                ("DELETE FROM event WHERE session_id = ?", own),
                (f"DELETE FROM event WHERE call_key IN ({calls})", own),
                (f"DELETE FROM slot WHERE call_key IN ({calls})", own),
                ("DELETE FROM tool_call WHERE session_id = ?", own),
                ("DELETE FROM message WHERE session_id = ?", own),
                ("DELETE FROM session WHERE id = ?", own),
            ]
        )

    def flush(self) -> None:
        """Write what was added, in one transaction; on disk when this returns."""
        if any(self._rows.values()):
            self._transaction([])
            self._rows = {name: [] for name in _ORDER}

    def _transaction(self, statements: list[tuple[str, tuple[str, ...]]]) -> None:
        connection = self._connection()
        with self._faults():
            if self._as_one:
                self._write(connection, statements)
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._write(connection, statements)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _write(self, connection: Connection, statements: list[tuple[str, tuple[str, ...]]]) -> None:
        import sqlite_utils

        database = sqlite_utils.Database(connection)
        for sql, values in statements:
            connection.execute(sql, values)
        self._check_keys(connection)
        for name in _ORDER:
            if not (rows := self._rows[name]):
                continue
            if name in _KEYS:
                database.table(name).upsert_all(rows, pk=_KEYS[name])
            else:
                database.table(name).insert_all(rows)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            hint = "add the session first, then its calls and events"
            raise StoreError(f"not written: {error}", self.path, hint) from error
        except DatabaseError as error:
            raise translate(error, self.path) from error

    def _check_keys(self, connection: Connection) -> None:
        """Raise `StoreError` rather than let a call take the place of another session's call of the same key."""
        owners: dict[str, str] = {}
        for row in self._rows["tool_call"]:
            key, session_id = row["key"], row["session_id"]
            if key not in owners:
                stored = connection.execute("SELECT session_id FROM tool_call WHERE key = ?", (key,)).fetchone()
                owners[key] = stored[0] if stored else session_id
            if owners[key] != session_id:
                what = f"call key {key!r} of session {session_id!r} is used by session {owners[key]!r}"
                raise StoreError(f"not written: {what}", self.path, "give the calls keys of their own")

    def _connection(self) -> Connection:
        if self._open is None:
            raise StoreError("the writer is not open", self.path, "use it in a `with` block")
        return self._open

    def _add(self, table: str, **columns: Any) -> None:
        self._rows[table].append({name: _storable(value) for name, value in columns.items()})
        if sum(map(len, self._rows.values())) >= BATCH:
            self.flush()

    def _add_slot(self, call_key: str, position: int, slot: Slot) -> None:
        _check(slot.source, SLOT_SOURCES, "slot source")
        value, fault = _json(slot.value)
        self._add(
            "slot",
            call_key=call_key,
            position=position,
            name=slot.name,
            value=value,
            source=slot.source,
            origin=slot.origin,
            origin_step=slot.origin_step,
            matches=_natural(slot.matches),
            confidence=None if slot.confidence is None else min(1.0, max(0.0, slot.confidence)),
            note="; ".join(part for part in (slot.note, fault) if part),
        )

    def _place(self, session_id: str, seq: int | None) -> int:
        if session_id not in self._next:
            highest = "SELECT max(seq) FROM (SELECT seq FROM {0} WHERE session_id = ?1)"
            values = [
                self._connection().execute(highest.format(table), (scrub_surrogates(session_id),)).fetchone()[0] or 0
                for table in ("message", "tool_call", "event")
            ]
            self._next[session_id] = max(values) + 1
        place = self._next[session_id] if seq is None else seq
        self._next[session_id] = max(self._next[session_id], place + 1)
        return place


def check_event(event: Event) -> None:
    """Raise `UsageError` for a word outside the closed enumerations."""
    _check(event.step, EVENT_STEPS, "event step")
    _check(event.decision, DECISIONS, "decision")
    _check(event.error_type, ERROR_TYPES, "error_type")


def _check(word: str | None, allowed: tuple[str, ...], what: str) -> None:
    if word is not None and word not in allowed:
        raise UsageError(f"unknown {what} {word!r}", hint=f"one of {', '.join(allowed)}")


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {"name": candidate.name, "score": candidate.score, "reason": candidate.reason}


def _natural(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= _LARGEST else None


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return scrub_surrogates(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and abs(value) > _LARGEST:
        return None
    return value


def _json(value: object) -> tuple[str | None, str | None]:
    """JSON text (None for None), and what was wrong where the value cannot be written as JSON."""
    if value is None:
        return None, None
    try:
        return dumps(value), None
    except (RecursionError, ValueError, TypeError) as error:
        return None, f"not kept, no JSON: {type(error).__name__}"

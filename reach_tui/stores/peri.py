"""Peri Code's `threads.db` (store notes on Peri): every layout, from the first columns to the payload table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, stamp, text_of
from reach_tui.model import Session, Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, json_text, result_of
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.kin import cut, rings
from reach_tui.stores.peri_messages import Answer, Call, Message, decode, uuid_time
from reach_tui.stores.reader import FIRST_PAGE, Recognition, Trouble

_ROWS_AT_ONCE = 2_000
_WRAPPER = "ExecuteExtraTool"
_STATUS_LINE = re.compile(r"\n?(\[Execution status: [^\n]*\])\s*\Z")
_CHILD = re.compile(r"\Achild_thread_id: (\S+)|\ABackground task \S+ started \(thread: ([^)\s]+)\)")
_THREAD_COLUMNS = (
    "id", "title", "cwd", "created_at", "updated_at", "message_count", "parent_thread_id", "hidden", "agent_status",
    "archived",
)  # fmt: skip
_GROWTH = Growth(
    "threads",
    "id",
    ("updated_at", "message_count", "title", "agent_status"),
    (Growing("messages", "thread_id", "excluded"),),
)


class PeriReader:
    """Reads one `threads.db`."""

    kind: ClassVar[str] = "peri"
    title: ClassVar[str] = "Peri Code"
    flag_meaning: ClassVar[str] = "`is_error` of the tool message is true; a message without the field is unknown."
    versions_tried: ClassVar[tuple[str, ...]] = ()
    not_recorded: ClassVar[str] = (
        "Durations and times of calls (a message's own time stands for them); the tools that were offered."
    )
    verified: ClassVar[bool] = False
    growth = _GROWTH

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """Peri has `threads` (id, message_count, updated_at) and `messages` (message_id, thread_id, role)."""
        if not schema.has("threads", "id", "message_count", "updated_at"):
            return None
        version = f"user_version {schema.user_version}"
        if not schema.has("messages", "message_id", "thread_id", "role"):
            return Recognition(version, "no table messages with message_id, thread_id and role")
        if schema.has("messages", "content"):
            return Recognition(version)
        if schema.has("messages", "content_ref") and schema.has("session_payloads", "payload_id", "bytes"):
            return Recognition(f"{version}, payload table")
        return Recognition(version, "the message text is neither in messages.content nor in session_payloads")

    def data_version(self) -> object:
        """Sizes and times of the file and its `-wal`."""
        return stamp(self.path)

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Sessions with new rows, moved columns or, among the active ones, rows updated in place."""
        return _GROWTH.changed_since(self.path, mark, active)

    def sessions(self) -> Iterator[Session]:
        """Every thread, newest first; hidden threads and children are not own work."""
        first = self._page(FIRST_PAGE)
        yield from first
        if len(first) == FIRST_PAGE:
            seen = {session.id for session in first}
            yield from (session for session in self._page() if session.id not in seen)

    def _page(self, limit: int = -1) -> list[Session]:
        """Threads, newest first; -1: all of them."""
        with reading(self.path) as connection:
            ringed = self._rings(connection)
            found = [cut(_session(row), ringed) for row in self._threads(connection, limit=limit)]
        return sorted(found, key=lambda session: (session.started_at or 0, session.id), reverse=True)

    def session(self, session_id: str) -> Session | None:
        """One thread by its id."""
        with reading(self.path) as connection:
            for row in self._threads(connection, session_id):
                return cut(_session(row), self._rings(connection))
        return None

    @staticmethod
    def _rings(connection: Connection) -> frozenset[str]:
        has_parents = "parent_thread_id" in columns_of(connection, "threads")
        return rings(connection, "threads", "id", "parent_thread_id") if has_parents else frozenset()

    def _threads(self, connection: Connection, session_id: str | None = None, limit: int = -1) -> list[Any]:
        columns = columns_of(connection, "threads")
        query = (
            f"SELECT {selection(columns, *_THREAD_COLUMNS)}, EXISTS "
            "(SELECT 1 FROM messages m WHERE m.thread_id = t.id) FROM threads t"
        )
        if session_id is not None:
            return connection.execute(f"{query} WHERE t.id = ?", (session_id,)).fetchall()
        order = "ORDER BY created_at DESC" if "created_at" in columns else ""
        return connection.execute(f"{query} {order} LIMIT ?", (limit,)).fetchall()

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one thread; calls stand where the model made them, with their results."""
        for _, narrator, messages, inherited in self._threads_read([session_id]):
            yield from _tell(narrator, messages, inherited)

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls thread by thread, newest thread first."""
        ids = [session.id for session in self.sessions()] if session_ids is None else session_ids
        for _, narrator, messages, inherited in self._threads_read(ids):
            for step in _tell(narrator, messages, inherited):
                if step.call is not None:
                    yield step.call

    def troubles(self, session_id: str) -> list[Trouble]:
        """Unreadable messages, orphan results, malformed calls, conflicting double writes of one thread."""
        for _, narrator, messages, inherited in self._threads_read([session_id]):
            for _step in _tell(narrator, messages, inherited):
                pass
            return narrator.troubles
        return []

    def _threads_read(self, ids: Iterable[str]) -> Iterator[tuple[str, Narrator, list[Message], list[Message]]]:
        """Threads with their rows decoded; the file is open for a few thousand rows at a time, never while yielding."""
        waiting = iter(ids)
        done = False
        while not done:
            ready: list[tuple[str, Narrator, list[Message], list[Message]]] = []
            with reading(self.path) as connection:
                fetch = _Rows(connection)
                rows = 0
                while rows < _ROWS_AT_ONCE:
                    thread = next(waiting, None)
                    if thread is None:
                        done = True
                        break
                    messages = fetch.messages(thread)
                    rows += len(messages) + 1
                    ready.append((thread, Narrator(thread), messages, fetch.inherited(thread)))
            yield from ready


class _Rows:
    """Reads the rows of threads in whichever layout the file has."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        columns = columns_of(connection, "messages")
        self.payloads = "content" not in columns
        body = "content_ref" if self.payloads else "CAST(content AS BLOB)"
        order = "transcript_seq, rowid" if "transcript_seq" in columns else "rowid"
        picked = selection(columns, "message_id", "role", "excluded", "truncated", "projection")
        self.query = f"SELECT rowid, {picked}, {body} FROM messages WHERE thread_id = ? ORDER BY {order}"
        self.has_inherited = "inherited_context" in columns_of(connection, "threads")

    def messages(self, thread: str) -> list[Message]:
        """The decoded messages of a thread, in the order they were written."""
        decoded = []
        references = []
        rows = self.connection.execute(self.query, (thread,)).fetchall()  # decoded when the file is no longer held
        for row, identifier, role, excluded, truncated, projection, body in rows:
            name = text_of(identifier)
            message = Message(name or f"row {row}", text_of(role), uuid_time(name))
            message.excluded, message.shortened = bool(excluded), bool(truncated or projection)
            if self.payloads:
                references.append((message, text_of(body)))
            else:
                decode(message, body)
            decoded.append(message)
        if references:
            self._fill_from_payloads(thread, references)
        return decoded

    def _fill_from_payloads(self, thread: str, references: Sequence[tuple[Message, str]]) -> None:
        columns = columns_of(self.connection, "session_payloads")
        picked = f"{selection(columns, 'payload_id', 'byte_length', 'sha256')}, CAST(bytes AS BLOB)"
        found: dict[str, tuple[bytes | None, str | None]] = {}
        if "storage_scope" in columns:  # seen with the thread's id as scope; the primary key starts with it
            query = f"SELECT {picked} FROM session_payloads WHERE storage_scope = ?"
            for payload, length, digest, body in self.connection.execute(query, (thread,)):
                found[text_of(payload)] = (body, _payload_fault(body, length, digest))
        missing = list({reference for _, reference in references if reference not in found})
        for start in range(0, len(missing), 500):
            some = missing[start : start + 500]
            marks = ",".join("?" * len(some))
            query = f"SELECT {picked} FROM session_payloads WHERE payload_id IN ({marks})"
            for payload, length, digest, body in self.connection.execute(query, some):
                found[text_of(payload)] = (body, _payload_fault(body, length, digest))
        for message, reference in references:
            body, fault = found.get(reference, (None, f"its text is not stored (payload {reference})"))
            if fault is None:
                decode(message, body)
            else:
                message.fault, message.raw = fault, "" if body is None else body.decode("utf-8", "replace")

    def inherited(self, thread: str) -> list[Message]:
        """Messages that a forked child got from its parent as a copy: shown, never counted."""
        if not self.has_inherited:
            return []
        row = self.connection.execute(
            "SELECT CAST(inherited_context AS BLOB) FROM threads WHERE id = ?", (thread,)
        ).fetchone()
        if row is None or not row[0]:
            return []
        try:
            payloads = as_object(loads(row[0])).get("payloads")
        except BadJson:
            payloads = None
        if not isinstance(payloads, list):
            return [Message("inherited_context", "", None, raw=row[0].decode("utf-8", "replace"), fault="unknown form")]
        return [_inherited_message(number, payload) for number, payload in enumerate(payloads, 1)]


def _inherited_message(number: int, payload: JsonValue) -> Message:
    return decode(Message(f"inherited {number}", "", None), json_text(payload).encode("utf-8", "replace"))


def _payload_fault(body: bytes | None, length: object, digest: object) -> str | None:
    if body is None:
        return "its payload is empty"
    if isinstance(length, int) and length != len(body):
        return f"its payload has {len(body)} bytes instead of {length}"
    if isinstance(digest, str) and digest and hashlib.sha256(body).hexdigest() != digest.lower():
        return "its payload does not match its checksum"
    return None


def _session(row: Sequence[Any]) -> Session:
    identifier, title, cwd, created, updated, count, parent, hidden, status, archived, recorded = row
    notes = []
    if not recorded:
        notes.append("messages not recorded" if count or parent else "no messages yet")
    if archived:
        notes.append("archived")
    return Session(
        store="peri",
        id=text_of(identifier),
        parent_id=text_of(parent) or None,
        title=text_of(title) or None,
        project=text_of(cwd) or None,
        started_at=parse_time(created),
        ended_at=parse_time(updated),
        outcome=text_of(status) or None,
        own_work=not hidden and not parent,
        notes=tuple(notes),
    )


def _tell(narrator: Narrator, messages: Sequence[Message], inherited: Sequence[Message]) -> Iterator[Step]:
    for message in inherited:
        yield from _inherited_steps(narrator, message)
    answers = _pair(messages)
    for message in messages:
        if message.raw is not None:
            narrator.trouble("unreadable message", f"{message.id}: {message.fault}")
            text = message.raw or f"({message.fault})"
            yield narrator.step(StepKind.RAW, text, message.at, visible=not message.excluded)
            continue
        yield from _text_steps(narrator, message)
        yield from _call_steps(narrator, message, answers)
        yield from _unpaired_steps(narrator, message)


def _pair(messages: Sequence[Message]) -> dict[int, Answer]:
    """Answers by `id()` of their call: first call with that id and no result yet wins, in the order of rows."""
    open_calls: dict[str, list[Call]] = {}
    paired: dict[int, Answer] = {}
    for message in messages:
        for call in message.calls:
            if call.id and call.name:
                open_calls.setdefault(call.id, []).append(call)
        for answer in message.answers:
            if answer.call_id and (waiting := open_calls.get(answer.call_id)):
                paired[id(waiting.pop(0))] = answer
                answer.paired = True
    return paired


def _text_steps(narrator: Narrator, message: Message) -> Iterator[Step]:
    visible = not message.excluded
    if message.reasoning:
        yield narrator.step(StepKind.REASONING, message.reasoning, message.at, visible=visible)
    if message.text.strip():
        kind = _kind(message)
        if kind is StepKind.USER:
            narrator.turn += 1
        yield narrator.step(kind, message.text, message.at, visible=visible)


def _kind(message: Message) -> StepKind:
    if message.role == "user":
        return StepKind.SYSTEM if message.text.lstrip().startswith("<system-reminder>") else StepKind.USER
    return StepKind.ASSISTANT if message.role == "assistant" else StepKind.SYSTEM


def _call_steps(narrator: Narrator, message: Message, answers: dict[int, Answer]) -> Iterator[Step]:
    seen: dict[str, int] = {}
    for call in message.calls:
        if not call.id or not call.name:
            lacks = "without an id" if call.name else "without a name"
            narrator.trouble("malformed call", f"{message.id}: {lacks}")
            text = f"malformed call {lacks}: {call.name or call.id} {json_text(call.arguments)}"
            yield narrator.step(StepKind.NOTE, text, message.at, visible=not message.excluded)
            continue
        seen[call.id] = seen.get(call.id, 0) + 1
        suffix = f"#{seen[call.id]}" if seen[call.id] > 1 else ""
        if call.problem and call.problem.startswith("conflicting"):
            narrator.trouble("conflicting double write", f"{message.id}/{call.id}")
        answer = answers.get(id(call))
        built = ToolCall(
            key=f"{narrator.session_id}/{message.id}/{call.id}{suffix}",
            id=call.id,
            session_id=narrator.session_id,
            tool=call.name,
            arguments=call.arguments,
            step=narrator.number + 1,
            turn=narrator.turn,
            started_at=message.at,
            target=as_text(as_object(call.arguments).get("tool_name")) if call.name == _WRAPPER else None,
            visible=not message.excluded,
            problem=call.problem,
        )
        yield narrator.call(built if answer is None else _answered(built, answer, alone=len(message.calls) == 1))


def _answered(call: ToolCall, answer: Answer, *, alone: bool) -> ToolCall:
    ended = answer.row.at
    took = None
    if alone and call.started_at is not None and ended is not None and ended >= call.started_at:
        took = ended - call.started_at  # results of a batch are written together: only a lone call has a duration
    return replace(
        call,
        flagged=answer.is_error,
        result=result_of(answer.text),
        duration_ms=took,
        status=as_text(answer.execution.get("status")),
        metadata=_metadata(call, answer),
        visible=call.visible and not answer.row.excluded,
    )


def _metadata(call: ToolCall, answer: Answer) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {}
    execution = answer.execution
    if (code := as_int(execution.get("exit_code"))) is not None:
        facts["exit_code"] = code
    status = execution.get("status")
    if status in ("timed_out", "running_after_timeout"):
        facts["timed_out"] = True
    if status == "cancelled":
        facts["interrupted"] = True
    if execution.get("output_truncated") is True:
        facts["truncated"] = True
    for name in ("output_ref", "task_id"):
        if name in execution:
            facts[name] = execution[name]
    if execution and (line := _STATUS_LINE.search(answer.text)):
        facts["notice"] = line[1]
    if answer.row.shortened:
        facts["shortened_for_model"] = True
    if call.tool.lower() in ("agent", "task") and (child := _CHILD.match(answer.text)):
        facts["child_session_id"] = child[1] or child[2]
    return facts


def _unpaired_steps(narrator: Narrator, message: Message) -> Iterator[Step]:
    for answer in message.answers:
        if answer.paired:
            continue
        what, name = ("orphan result", answer.call_id) if answer.call_id else ("malformed result", "empty id")
        narrator.trouble(what, f"{message.id}: {name}")
        yield narrator.step(StepKind.NOTE, f"{what} ({name}): {answer.text}", message.at, visible=not message.excluded)


def _inherited_steps(narrator: Narrator, message: Message) -> Iterator[Step]:
    if message.raw is not None:
        yield narrator.step(StepKind.RAW, message.raw, inherited=True)
        return
    if message.text.strip():
        yield narrator.step(_kind(message), message.text, message.at, inherited=True)
    for call in message.calls:
        yield narrator.step(StepKind.NOTE, f"call {call.name}: {json_text(call.arguments)}", message.at, inherited=True)
    for answer in message.answers:
        yield narrator.step(StepKind.NOTE, f"result: {answer.text}", message.at, inherited=True)

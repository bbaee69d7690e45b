"""LangGraph checkpoints in SQLite (store notes on langgraph): a thread is a session, a sub-graph a child of it.

Each checkpoint holds the whole list of messages: a message is told where it first appears, once, whatever branches and
replays hold it too. What failed half way is only in `writes`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, StepKind
from reach_tui.stores.content import Narrator, content_text, json_text
from reach_tui.stores.langgraph_state import Decoder, Message, Unreadable, plain, sends
from reach_tui.stores.reader import Recognition
from reach_tui.stores.telling import Asked, Remembered, Said, TellingReader, narrate, newest_first, object_arguments

_NOT_STATE = ("__start__", "__pregel_tasks")
_PUSHED = re.compile(r"__pregel_push\W+(\d+)")
_UUID_EPOCH = 12_219_292_800_000  # milliseconds from 1582-10-15 to 1970
_LIST = """
SELECT thread_id, checkpoint_ns, min(checkpoint_id), max(checkpoint_id), min(rowid) FROM checkpoints
"""
_AT_ONCE = 16
"""Checkpoints fetched in one go; each holds the whole conversation."""


@dataclass(slots=True)
class _Told:
    """A session on its way: what was told, and what waits for an answer."""

    items: list[Said | Asked] = field(default_factory=list)
    by_message: dict[object, list[Said | Asked]] = field(default_factory=dict)
    open: dict[str, list[Asked]] = field(default_factory=dict)
    answers: set[object] = field(default_factory=set)
    errors: list[tuple[Said, str, list[str], list[str]]] = field(default_factory=list)
    """An `__error__` write with its task path, the calls sent in its checkpoint, and the last round's open calls."""
    late: list[tuple[Message, int | None]] = field(default_factory=list)
    """Tool messages in `writes`, with their time."""
    last_state: object = None


class LanggraphReader(TellingReader):
    """Reads one checkpoint database."""

    kind: ClassVar[str] = "langgraph"
    title: ClassVar[str] = "LangGraph"
    flag_meaning: ClassVar[str] = (
        "The tool message's `status` is `error`, an `__error__` write belongs to the call, or it is one of the "
        "`invalid_tool_calls`; no flag for other calls that were never answered."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("3.1.2",)
    not_recorded: ClassVar[str] = (
        "Times and durations of calls (only the checkpoints' times); the tools that were offered."
    )
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """LangGraph's saver has `checkpoints` (thread_id, checkpoint_ns, checkpoint) and `writes`."""
        if not schema.has("checkpoints", "thread_id", "checkpoint_id"):
            return None
        lacking = {"checkpoint_ns", "parent_checkpoint_id", "type", "checkpoint"} - schema.tables["checkpoints"]
        if lacking:
            return Recognition("early saver", f"columns missing: {', '.join(sorted(lacking))}")
        return Recognition("saver 3" if schema.has("writes", "task_path") else "saver without task_path")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._index = Remembered(path, _index)

    def sessions(self) -> Iterator[Session]:
        """Every thread and sub-graph run, newest first."""
        yield from newest_first(one.session for one in self._index().values())

    def session(self, session_id: str) -> Session | None:
        """One thread by its id, or a sub-graph run by `thread/namespace`."""
        found = self._index().get(session_id)
        return found.session if found else None

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        found = self._index().get(narrator.session_id)
        if found is None:
            return
        place = found.place
        with reading(self.path) as connection:
            heads = connection.execute(
                "SELECT rowid, checkpoint_id FROM checkpoints WHERE thread_id IS ? AND checkpoint_ns IS ? "
                "ORDER BY checkpoint_id, rowid",
                place,
            ).fetchall()
            copied = _copied_checkpoints(connection, found)
        decoder, told = Decoder(), _Told()
        newest: set[object] = set()
        for start in range(0, len(heads), _AT_ONCE):
            with reading(self.path) as connection:
                batch = _fetch(connection, place, heads[start : start + _AT_ONCE])
            for head, row, writes in batch:
                newest = _take_checkpoint(told, decoder, head, row, writes, copied) or newest
        _settle(told)
        for key, items in told.by_message.items():
            for one in items:
                one.visible = key in newest
        if not told.by_message and told.last_state not in (None, {}):
            told.items.append(Said(StepKind.NOTE, f"state without messages: {json_text(plain(told.last_state))}"))
        yield from narrate(narrator, told.items)


def _uuid_time(text: str) -> int | None:
    """Milliseconds since 1970 of a version 6 UUID (RFC 9562), None for anything else."""
    try:
        value = uuid.UUID(text)
    except ValueError:
        return None
    if value.version != 6:
        return None
    ticks = (value.int >> 80 << 12) | (value.int >> 64 & 0xFFF)
    return parse_time(ticks // 10_000 - _UUID_EPOCH)


def _session_id(thread: str, space: str) -> str:
    return f"{thread}/{space}" if space else thread


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A session, and the columns thread_id and checkpoint_ns of its rows, and of those it was copied from."""

    session: Session
    place: tuple[Any, Any]
    origin: tuple[Any, Any] | None


def _index(connection: Connection) -> dict[str, _Indexed]:
    """Sessions by id. One that begins with the checkpoint of a thread written earlier is a copy of that."""
    rows = connection.execute(f"{_LIST} GROUP BY thread_id, checkpoint_ns").fetchall()
    spaces = {(text_of(row[0]), text_of(row[1])) for row in rows}
    first: dict[tuple[str, str], Any] = {}
    found = {}
    for row in sorted(rows, key=lambda row: row[4]):
        origin = first.setdefault((text_of(row[2]), text_of(row[1])), row)
        copied = None if origin is row else (origin[0], origin[1])
        session = _session(row, spaces, copied)
        found[session.id] = _Indexed(session, (row[0], row[1]), copied)
    return found


def _session(row: Any, spaces: set[tuple[str, str]], origin: tuple[Any, Any] | None) -> Session:
    thread, space, begin, end = (text_of(value) for value in row[:4])
    parent = None
    if space:
        outer = space.rpartition("|")[0]
        while outer and (thread, outer) not in spaces:
            outer = outer.rpartition("|")[0]
        parent = _session_id(thread, outer)
    return Session(
        store="langgraph",
        id=_session_id(thread, space),
        parent_id=parent,
        title=space.rpartition("|")[2].partition(":")[0] or None,
        started_at=_uuid_time(begin),
        ended_at=_uuid_time(end),
        own_work=not space,
        copy_of=_session_id(text_of(origin[0]), space) if origin is not None else None,
    )


def _copied_checkpoints(connection: Connection, found: _Indexed) -> tuple[str, set[str]]:
    """The session this one was copied from, and the ids of the checkpoints they share."""
    if found.origin is None or found.session.copy_of is None:
        return "", set()
    mine = "SELECT checkpoint_id FROM checkpoints WHERE thread_id IS ? AND checkpoint_ns IS ?"
    query = f"{mine} AND checkpoint_id IN ({mine})"
    shared = connection.execute(query, (*found.place, *found.origin)).fetchall()
    return found.session.copy_of, {text_of(one[0]) for one in shared}


_Head = tuple[int, str]


def _fetch(
    connection: Connection, place: tuple[Any, Any], heads: Sequence[Any]
) -> list[tuple[_Head, tuple[Any, Any], list[tuple[Any, ...]]]]:
    columns = columns_of(connection, "writes")
    picked = selection(columns, "task_path", "channel", "type")
    query = (
        f"SELECT {picked}, CAST(value AS BLOB) FROM writes WHERE thread_id IS ? AND checkpoint_ns IS ? "
        "AND checkpoint_id IS ? ORDER BY task_id, idx"
    )
    found = []
    for rowid, identifier in heads:
        row = connection.execute(
            "SELECT type, CAST(checkpoint AS BLOB) FROM checkpoints WHERE rowid = ?", (rowid,)
        ).fetchone()
        if row is None:  # deleted since the list was read
            continue
        usable = {"channel", "value", "checkpoint_id", "task_id", "idx"} <= columns
        writes = connection.execute(query, (*place, identifier)).fetchall() if usable else []
        found.append(((rowid, text_of(identifier)), (row[0], row[1]), writes))
    return found


def _take_checkpoint(
    told: _Told,
    decoder: Decoder,
    head: _Head,
    row: tuple[Any, Any],
    writes: list[tuple[Any, ...]],
    copied: tuple[str, set[str]],
) -> set[object]:
    """Tells what is new in a checkpoint; the keys of the messages it holds, empty where it holds none."""
    identifier = head[1]
    at = _uuid_time(identifier)
    state: object = None
    try:
        state = decoder.decode(row[0], row[1])
    except Unreadable as fault:
        _unreadable(told, f"checkpoint {identifier}", fault, row[1], at)
    checkpoint = state if isinstance(state, dict) else {}
    at = parse_time(checkpoint.get("ts")) or at
    values = checkpoint.get("channel_values")
    values = values if isinstance(values, dict) else {}
    told.last_state = {name: value for name, value in values.items() if name not in _NOT_STATE}
    keys: list[object] = []
    round_open: list[str] = []
    for channel, value in values.items():
        if channel in _NOT_STATE:
            continue
        for place, message in enumerate(decoder.messages_in(value)):
            key = message.id or (text_of(channel), place, message.role, content_text(message.fields["content"]))
            keys.append(key)
            _take_message(told, key, message, identifier, at, copied)
            if message.role == "ai":
                round_open = _ids_of(message)
            elif message.role == "human":
                round_open = []
            elif message.role == "tool" and (answered := as_text(message.fields.get("tool_call_id"))) in round_open:
                round_open.remove(answered)
    _take_writes(told, decoder, identifier, at, writes, sends(values.get("__pregel_tasks")), round_open)
    return set(keys)


def _ids_of(message: Message) -> list[str]:
    calls = message.fields.get("tool_calls")
    found = (as_text(as_object(call).get("id")) for call in (calls if isinstance(calls, list) else []))
    return [one for one in found if one]


def _unreadable(told: _Told, where: str, fault: Unreadable, raw: bytes | None, at: int | None) -> None:
    text = f"{where}: {fault}" if raw is None else f"{where}: {fault} ({len(raw)} bytes)"
    told.items.append(Said(StepKind.RAW, text, at, trouble="unreadable state", where=where))


def _take_message(
    told: _Told, key: object, message: Message, checkpoint: str, at: int | None, copied: tuple[str, set[str]]
) -> None:
    if message.role == "tool":
        if key not in told.answers:
            told.answers.add(key)
            _answer(told, key, message, at)
        return
    if key in told.by_message:
        return
    fields = message.fields
    items: list[Said | Asked] = []
    told.by_message[key] = items
    if thought := _reasoning(fields):
        items.append(Said(StepKind.REASONING, thought, at))
    text = content_text(fields["content"])
    if text.strip() or message.role == "remove":
        items.append(Said(_kind(message.role), text or f"message removed: {message.id}", at))
    if message.role == "ai":
        origin = copied[0] if checkpoint in copied[1] else ""
        for call in _calls(fields, message.id or checkpoint, at):
            call.metadata["checkpoint_id"] = checkpoint
            if origin:
                call.copy_of = "/".join((origin, *filter(None, (call.place, call.id))))
            items.append(call)
            told.open.setdefault(call.id, []).append(call)
    told.items += items


def _kind(role: str) -> StepKind:
    return {"human": StepKind.USER, "ai": StepKind.ASSISTANT, "system": StepKind.SYSTEM}.get(role, StepKind.NOTE)


def _reasoning(fields: dict[str, JsonValue]) -> str:
    found = [as_text(as_object(fields.get("additional_kwargs")).get("reasoning_content")) or ""]
    content = fields["content"]
    for block in content if isinstance(content, list) else []:
        block = as_object(block)
        if block.get("type") in ("thinking", "reasoning"):
            found.append(content_text(block.get("thinking") or block.get("reasoning") or block.get("text")))
    return "\n".join(filter(None, found))


def _calls(fields: dict[str, JsonValue], place: str, at: int | None) -> Iterator[Asked]:
    metadata = as_object(fields.get("response_metadata"))
    model = as_text(metadata.get("model_name"))
    for name in ("tool_calls", "invalid_tool_calls"):
        calls = fields.get(name)
        for call in calls if isinstance(calls, list) else []:
            call = as_object(call)
            arguments, problem = object_arguments(call.get("args"))
            asked = Asked(place, as_text(call.get("id")) or "", as_text(call.get("name")) or "", arguments, at)
            if name == "invalid_tool_calls":
                problem = problem or "the arguments are not valid JSON"
                asked.status, asked.flagged, asked.text = "invalid", True, as_text(call.get("error")) or problem
            asked.problem = problem if asked.tool else "the call has no name"
            if model:
                asked.metadata["model"] = model
            yield asked


def _answer(told: _Told, key: object, message: Message, at: int | None) -> bool:
    """Gives a tool message to the first open call of its id; a message that answers nothing is told as it is."""
    fields = message.fields
    identifier = as_text(fields.get("tool_call_id")) or ""
    waiting = told.open.get(identifier)
    text = content_text(fields["content"])
    if not waiting:
        said = Said(StepKind.NOTE, f"result without a call ({identifier}): {text}", at)
        said.trouble, said.where = "orphan result", message.id or identifier
        told.items.append(said)
        return False
    asked = waiting.pop(0)
    status = as_text(fields.get("status"))
    if asked.status != "invalid":
        asked.flagged = None if status is None else status == "error"
    asked.text, asked.ended, asked.status = text, at, status or asked.status
    return True


def _take_writes(
    told: _Told,
    decoder: Decoder,
    identifier: str,
    at: int | None,
    writes: list[tuple[Any, ...]],
    sent: list[str],
    round_open: list[str],
) -> None:
    """Errors, interrupts, and results that reached no checkpoint: those of open calls, by the call's id."""
    for path, channel, kind, raw in writes:
        name = text_of(channel)
        if name.startswith("branch:") or name == "__pregel_tasks":
            continue
        try:
            value = decoder.decode(kind, raw)
        except Unreadable as fault:
            _unreadable(told, f"write to {name} of {identifier}", fault, raw, at)
            continue
        if name == "__error__":
            said = Said(StepKind.ERROR, json_text(plain(value)), at)
            told.items.append(said)
            told.errors.append((said, text_of(path), sent, list(round_open)))
        elif name == "__interrupt__":
            told.items.append(Said(StepKind.NOTE, f"interrupted: {json_text(plain(value))}", at))
        else:
            told.late += [(one, at) for one in decoder.messages_in(value) if one.role == "tool"]


def _settle(told: _Told) -> None:
    """Late results and errors go to the calls that nothing else has answered."""
    for message, at in told.late:
        if told.open.get(as_text(message.fields.get("tool_call_id")) or ""):
            _answer(told, None, message, at)
    for said, path, sent, round_open in told.errors:
        pushed = _PUSHED.search(path)
        if pushed:
            place = int(pushed[1])
            identifier = sent[place] if place < len(sent) else ""
        else:  # one task for the whole round (or a saver without paths): certain only where one call was open
            identifier = round_open[0] if len(round_open) == 1 else ""
        waiting = told.open.get(identifier) if identifier else None
        if waiting:
            asked = waiting.pop(0)
            asked.text, asked.ended, asked.flagged, asked.status = said.text, said.at, True, "error"
            told.items = [one for one in told.items if one is not said]

"""What Codex records about calls beside their output: items in the rollout, the same in `thread_history_N.sqlite`.

The rollout says what the model saw; only an item has a status and an exit code. A call that is turned down before it
runs has no item at all (store notes on Codex).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads, shallow
from reach_tui.base.sqlite import reading, schema_of, selection, text_of
from reach_tui.stores.transcripts.lines import JsonObject, read_lines

_STATUS = {"failed": True, "declined": False, "completed": False}
_CALLS = frozenset({"commandexecution", "filechange", "mcptoolcall", "collabagenttoolcall", "dynamictoolcall"})


@dataclass(frozen=True, slots=True)
class Item:
    """What was recorded about one call."""

    status: str | None
    flagged: bool | None
    duration_ms: int | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)


class Items:
    """The items of one thread by call id, in the order of the file."""

    def __init__(self) -> None:
        self._by_call: dict[str, deque[Item]] = {}
        self.compacted = 0
        """Number of the line of the last compaction, 0 without one."""

    def add(self, call_id: str, item: Item) -> None:
        """The next item of a call."""
        self._by_call.setdefault(call_id, deque()).append(item)

    def take(self, call_id: str) -> Item | None:
        """The item of the next call with that id; the same id again has the next one, if there are several."""
        waiting = self._by_call.get(call_id)
        return waiting.popleft() if waiting else None

    def knows(self, call_id: str) -> bool:
        """True if there is an item for that call."""
        return call_id in self._by_call


def items_of(rollout: Path, thread_id: str, history: Path | None) -> Items:
    """The items of a thread: those in its rollout, and from the database those that it lacks. Raises `StoreError`."""
    items = Items()
    for line in read_lines(rollout):
        payload = as_object(line.value.get("payload"))
        if line.value.get("type") == "event_msg":
            found = _from_event(payload)
            if found is not None:
                items.add(*found)
        elif line.value.get("type") == "compacted":
            items.compacted = line.number
    if history is not None:
        for call_id, item in list(_from_history(history, thread_id)):
            if not items.knows(call_id):
                items.add(call_id, item)
    return items


def _from_event(event: JsonObject) -> tuple[str, Item] | None:
    kind, call_id = event.get("type"), as_text(event.get("call_id"))
    if kind == "item_completed":
        return _item(as_object(event.get("item")))
    if call_id is None:
        return None
    if kind == "exec_command_end":  # before items were recorded
        code = as_int(event.get("exit_code"))
        facts: dict[str, JsonValue] = {} if code is None else {"exit_code": code}
        flagged = None if code is None else code != 0
        return call_id, Item(as_text(event.get("status")), flagged, _duration(event), facts)
    if kind == "mcp_tool_call_end":
        result = as_object(event.get("result"))
        good = as_object(result.get("Ok"))
        failed = "Err" in result or good.get("is_error", good.get("isError")) is True
        return call_id, Item(None, failed, _duration(event))
    if kind == "patch_apply_end":
        success = event.get("success")
        return call_id, Item(as_text(event.get("status")), success is False if isinstance(success, bool) else None)
    return None


def _item(item: JsonObject) -> tuple[str, Item] | None:
    call_id = as_text(item.get("id"))
    kind = (as_text(item.get("type")) or "").lower()
    if call_id is None or kind not in _CALLS:
        return None
    status = as_text(item.get("status"))
    metadata: dict[str, JsonValue] = {}
    code = as_int(item.get("exit_code", item.get("exitCode")))
    if code is not None:
        metadata["exit_code"] = code
    result = as_object(item.get("result"))
    structured = result.get("structuredContent", result.get("structured_content"))
    if structured is not None:
        metadata["structured_content"] = shallow(structured)
    if (error := item.get("error")) is not None:
        metadata["item_error"] = shallow(error)
    return call_id, Item(status, _STATUS.get(status or ""), _duration(item), metadata)


def facts_in(text: str) -> dict[str, JsonValue]:
    """The exit code in outputs of early versions: JSON text of `output` and `metadata`."""
    if not text.startswith('{"output"'):
        return {}
    try:
        metadata = as_object(as_object(loads(text)).get("metadata"))
    except BadJson:
        return {}
    code = as_int(metadata.get("exit_code"))
    return {} if code is None else {"exit_code": code}


def _duration(item: JsonObject) -> int | None:
    if (told := as_int(item.get("durationMs", item.get("duration_ms")))) is not None:
        return told
    parts = as_object(item.get("duration"))
    seconds, nanos = as_int(parts.get("secs")), as_int(parts.get("nanos"))
    return None if seconds is None else seconds * 1000 + (nanos or 0) // 1_000_000


def _from_history(database: Path, thread_id: str) -> Iterator[tuple[str, Item]]:
    with reading(database) as connection:
        if not schema_of(connection).has("thread_items", "thread_id", "item_json"):
            return
        rows = connection.execute(
            "SELECT item_json FROM thread_items WHERE thread_id = ? ORDER BY rowid", (thread_id,)
        ).fetchall()
    for (raw,) in rows:
        try:
            found = _item(as_object(loads(text_of(raw))))
        except BadJson:
            continue
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class Thread:
    """What the state database says of a thread."""

    title: str | None
    model: str | None
    archived: bool
    parent_id: str | None
    project: str | None
    started_at: int | None
    ended_at: int | None


_TIMES = ("created_at_ms", "created_at", "updated_at_ms", "updated_at")
_COLUMNS = ("id", "name", "title", "model", "archived", "cwd", *_TIMES)


def threads_of(state: Path) -> dict[str, Thread]:
    """Every thread of a state database by id; empty where its layout is unknown. Raises `StoreError`."""
    with reading(state) as connection:
        schema = schema_of(connection)
        if not schema.has("threads", "id"):
            return {}
        rows = connection.execute(f"SELECT {selection(schema.tables['threads'], *_COLUMNS)} FROM threads").fetchall()
        edges: list[tuple[object, object]] = []
        if schema.has("thread_spawn_edges", "parent_thread_id", "child_thread_id"):
            edges = connection.execute("SELECT child_thread_id, parent_thread_id FROM thread_spawn_edges").fetchall()
    parents = {text_of(child): text_of(parent) for child, parent in edges}
    threads = {}
    for values in rows:
        row = dict(zip(_COLUMNS, values, strict=True))
        thread_id = text_of(row["id"])
        threads[thread_id] = Thread(
            title=text_of(row["name"]) or text_of(row["title"]) or None,
            model=text_of(row["model"]) or None,
            archived=row["archived"] == 1,
            parent_id=parents.get(thread_id),
            project=text_of(row["cwd"]) or None,
            started_at=parse_time(row["created_at_ms"]) or parse_time(row["created_at"]),
            ended_at=parse_time(row["updated_at_ms"]) or parse_time(row["updated_at"]),
        )
    return threads

"""Sessions of Google ADK for Python in SQLite (store notes on google_adk): both services, schema 1 and schema 0.

The pickle column `actions` of schema 0 is never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, StepKind
from reach_tui.stores.content import Narrator, attachment_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.telling import (
    Asked,
    Remembered,
    Said,
    TellingReader,
    decoded,
    narrate,
    newest_first,
    object_arguments,
)

_SESSION = ("app_name", "user_id", "id", "create_time", "update_time")
_JSON_COLUMNS = ("content", "long_running_tool_ids_json")
_PLAIN_COLUMNS = ("author", "branch", "partial", "error_code", "error_message", "interrupted")
_SHOWN_PARTS = ("executable_code", "code_execution_result", "inline_data", "file_data")
_NOTHING: tuple[JsonValue, ...] = (None, "", False, [], {})


@dataclass(slots=True)
class _Event:
    """One event with its body as an object, whichever layout it came from."""

    id: str
    invocation: str
    at: int | None
    body: dict[str, JsonValue]
    raw: str | None = None
    """The text of a body that cannot be read."""
    visible: bool = True


@dataclass(slots=True)
class _Story:
    """What pairing needs while a session is read."""

    items: list[Said | Asked] = field(default_factory=list)
    open: dict[str, list[Asked]] = field(default_factory=dict)
    """Calls without a response by id (or, without one, by name)."""
    answered: dict[str, Asked] = field(default_factory=dict)
    unanswered: dict[str, list[Asked]] = field(default_factory=dict)
    """Calls without a response by invocation."""
    long_running: set[str] = field(default_factory=set)


class GoogleAdkReader(TellingReader):
    """Reads one session database of ADK."""

    kind: ClassVar[str] = "google_adk"
    title: ClassVar[str] = "Google ADK"
    flag_meaning: ClassVar[str] = (
        "The response has `error` or `error_type` at its top level, or the call is unanswered and a later event of the "
        "invocation has an `error_code`; no flag for other unanswered calls."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("2.13.0",)
    not_recorded: ClassVar[str] = "Durations (only the events' times); the tools that were offered."
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """ADK has `sessions` (app_name, user_id, id) and `events` (invocation_id) with the body in JSON or columns."""
        if not schema.has("sessions", "app_name", "user_id", "id") or not schema.has("events", "invocation_id"):
            return None
        events = schema.tables["events"]
        lacking = {"app_name", "user_id", "session_id"} - events
        if lacking:
            return Recognition("events unknown", f"columns missing in events: {', '.join(sorted(lacking))}")
        if "event_data" in events:
            return Recognition("schema 1" if "adk_internal_metadata" in schema.tables else "SQLite service")
        if "content" in events:
            return Recognition("schema 0")
        return Recognition("events unknown", "events have neither event_data nor content")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._index = Remembered(path, _index)

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first; one id under several apps or users is told apart by their names."""
        yield from newest_first(session for session, _ in self._index().values())

    def session(self, session_id: str) -> Session | None:
        """One session by its id, or by `app/user/id` where the id alone is not enough."""
        found = self._index().get(session_id)
        return found[0] if found else None

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        found = self._index().get(narrator.session_id)
        if found is None:
            return
        with reading(self.path) as connection:
            rows = _event_rows(connection, found[1])
        events = [_event(row) for row in rows]
        del rows
        events.sort(key=lambda event: event.at or 0)  # stable: rows without a time stay first, in their order
        _hide_rewound(events)
        story = _Story()
        for event in events:
            _take(story, event)
        yield from narrate(narrator, story.items)


def _index(connection: Connection) -> dict[str, tuple[Session, tuple[Any, ...]]]:
    """Sessions by their id, each with its key in the tables."""
    columns = columns_of(connection, "sessions")
    rows = connection.execute(f"SELECT {selection(columns, *_SESSION)} FROM sessions").fetchall()
    often = Counter(text_of(row[2]) for row in rows)
    made = ((_session(row, alone=often[text_of(row[2])] == 1), row[:3]) for row in rows)
    return {session.id: (session, key) for session, key in made}


def _session(row: Any, alone: bool) -> Session:
    app, user, identifier, created, updated = row
    return Session(
        store="google_adk",
        id=text_of(identifier) if alone else "/".join(map(text_of, (app, user, identifier))),
        project=text_of(app) or None,
        started_at=parse_time(created),
        ended_at=parse_time(updated),
        notes=() if alone else (f"user {text_of(user)}",),
    )


def _event_rows(connection: Connection, key: tuple[Any, ...]) -> list[dict[str, Any]]:
    columns = columns_of(connection, "events")
    names = ["id", "invocation_id", "timestamp"]
    picked = selection(columns, *names)
    if "event_data" in columns:
        names.append("event_data")
        picked += ", CAST(event_data AS BLOB)"
    else:
        names += [*_PLAIN_COLUMNS, *_JSON_COLUMNS]
        picked += f", {selection(columns, *_PLAIN_COLUMNS, *_JSON_COLUMNS)}"
    where = "app_name IS ? AND user_id IS ? AND session_id IS ?"
    query = f"SELECT {picked} FROM events WHERE {where} ORDER BY timestamp, rowid"
    return [dict(zip(names, row, strict=True)) for row in connection.execute(query, key)]


def _event(row: dict[str, Any]) -> _Event:
    event = _Event(text_of(row["id"]), text_of(row["invocation_id"]), parse_time(row["timestamp"]), {})
    if "event_data" in row:
        body = decoded(row["event_data"])
        if isinstance(body, dict):
            event.body = body
            event.at = parse_time(body.get("timestamp")) or event.at  # finer than a column may be
        else:
            event.raw = text_of(row["event_data"])
        return event
    for name in _PLAIN_COLUMNS:
        value = row[name]
        event.body[name] = value if isinstance(value, int | float | str) else text_of(value) if value else None
    for name in _JSON_COLUMNS:
        value = decoded(row[name] if isinstance(row[name], bytes | str) else text_of(row[name]))
        if isinstance(value, BadJson):
            event.raw = text_of(row[name])
        else:
            event.body[name.removesuffix("_json")] = value
    return event


def _hide_rewound(events: list[_Event]) -> None:
    """Marks what a rewind took back: everything from the named invocation up to the rewind."""
    for place, event in enumerate(events):
        target = as_text(as_object(event.body.get("actions")).get("rewind_before_invocation_id"))
        if not target:
            continue
        start = next((n for n, one in enumerate(events[:place]) if one.invocation == target), place)
        for one in events[start:place]:
            one.visible = False


def _take(story: _Story, event: _Event) -> None:
    if event.raw is not None:
        said = Said(StepKind.RAW, event.raw or "(empty event)", event.at, event.visible)
        said.trouble, said.where = "unreadable event", event.id
        story.items.append(said)
        return
    body = event.body
    ids = body.get("long_running_tool_ids")
    story.long_running.update(one for one in (ids if isinstance(ids, list) else []) if isinstance(one, str))
    content = as_object(body.get("content"))
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        _take_part(story, event, part)
    if isinstance(parts, dict | str | int):
        _malformed(story, event, parts)
    if body.get("error_code") not in _NOTHING:
        _take_error(story, event)
    actions = as_object(body.get("actions"))
    if target := as_text(actions.get("rewind_before_invocation_id")):
        story.items.append(Said(StepKind.NOTE, f"rewound to before invocation {target}", event.at))
    if actions.get("compaction") not in _NOTHING:
        story.items.append(Said(StepKind.NOTE, f"compacted: {json_text(actions['compaction'])}", event.at))
    if agent := as_text(actions.get("transfer_to_agent")):
        story.items.append(Said(StepKind.NOTE, f"transfer to agent {agent}", event.at, event.visible))


def _malformed(story: _Story, event: _Event, value: JsonValue) -> None:
    said = Said(StepKind.RAW, json_text(value), event.at, event.visible, trouble="unreadable part", where=event.id)
    story.items.append(said)


def _take_part(story: _Story, event: _Event, part: JsonValue) -> None:
    if not isinstance(part, dict):
        _malformed(story, event, part)
        return
    known = False
    if (text := as_text(part.get("text"))) is not None:
        known = True
        if text.strip():
            story.items.append(Said(_kind(event, part), text, event.at, event.visible))
    if isinstance(call := part.get("function_call"), dict):
        known = True
        _take_call(story, event, call)
    if isinstance(answer := part.get("function_response"), dict):
        known = True
        _take_response(story, event, answer)
    for name in _SHOWN_PARTS:
        if isinstance(value := part.get(name), dict):
            known = True
            shown = attachment_text({"type": as_text(value.get("mime_type")) or "file", **value})
            text = f"[{name}] {json_text(value)}" if name.startswith(("exec", "code")) else shown
            story.items.append(Said(StepKind.NOTE, text, event.at, event.visible))
    if not known:
        _malformed(story, event, part)


def _kind(event: _Event, part: dict[str, JsonValue]) -> StepKind:
    if part.get("thought") is True:
        return StepKind.REASONING
    return StepKind.USER if event.body.get("author") == "user" else StepKind.ASSISTANT


def _take_call(story: _Story, event: _Event, call: dict[str, JsonValue]) -> None:
    identifier, name = as_text(call.get("id")) or "", as_text(call.get("name")) or ""
    if event.body.get("partial") is True:  # streamed piece: the whole call follows in an event of its own
        text = f"partial call {name}: {json_text(call.get('args'))}"
        story.items.append(Said(StepKind.NOTE, text, event.at, event.visible))
        return
    arguments, problem = object_arguments(call.get("args", {}))
    asked = Asked(event.id, identifier, name, arguments, event.at, visible=event.visible)
    asked.problem = problem if name else "the call has no name"
    for fact in ("author", "branch"):
        if value := as_text(event.body.get(fact)):
            asked.metadata["agent" if fact == "author" else fact] = value
    story.items.append(asked)
    story.open.setdefault(identifier or f"name {name}", []).append(asked)
    story.unanswered.setdefault(event.invocation, []).append(asked)


def _take_response(story: _Story, event: _Event, answer: dict[str, JsonValue]) -> None:
    identifier, name = as_text(answer.get("id")) or "", as_text(answer.get("name")) or ""
    slot = identifier or f"name {name}"
    waiting = story.open.get(slot)
    asked = waiting.pop(0) if waiting else None
    if asked is None and identifier in story.long_running:
        asked = story.answered.get(slot)  # a long-running tool's later answer takes the place of its ticket
    response = answer.get("response")
    if asked is None:
        text = f"result without a call ({name or identifier}): {json_text(response)}"
        said = Said(StepKind.NOTE, text, event.at, event.visible, trouble="orphan result", where=event.id)
        story.items.append(said)
        return
    story.answered[slot] = asked
    for calls in story.unanswered.values():
        if any(one is asked for one in calls):
            calls[:] = [one for one in calls if one is not asked]
            break
    asked.text, asked.ended = json_text(response), event.at
    fields = as_object(response)
    asked.flagged = any(fields.get(field) not in _NOTHING for field in ("error", "error_type"))
    asked.status = as_text(fields.get("status"))
    asked.visible = asked.visible and event.visible


def _take_error(story: _Story, event: _Event) -> None:
    """An event with `error_code` ends its invocation: calls still open got this error instead of a result."""
    code, message = json_text(event.body.get("error_code")), json_text(event.body.get("error_message"))
    text = f"{code}: {message}" if message else code
    waiting = story.unanswered.pop(event.invocation, [])
    for asked in waiting:
        asked.text, asked.ended, asked.flagged, asked.status = text, event.at, True, "error"
        asked.metadata["error_code"] = code
        for calls in story.open.values():
            calls[:] = [one for one in calls if one is not asked]
    story.items.append(Said(StepKind.ERROR, text, event.at, event.visible))

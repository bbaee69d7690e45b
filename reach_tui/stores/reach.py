"""Reader for native Reach databases: sessions with recorded routes, slots and events (`docs/native.md`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_object, dumps, loads
from reach_tui.base.sqlite import Connection, Row, Schema, reading, stamp, text_of
from reach_tui.model import Route, Session, Slot, Step, StepKind, Tokens, ToolCall
from reach_tui.native.event import Event
from reach_tui.native.migrations import migrated_copy
from reach_tui.native.schema import EVENT, MESSAGE, SESSION, SLOT, TOOL_CALL, VERSION, Table, is_native, missing_columns
from reach_tui.stores.growth import Growing, Growth
from reach_tui.stores.kin import cut, rings
from reach_tui.stores.reach_rows import (
    decision_text,
    event_of,
    execution_of,
    flag,
    natural,
    place_of,
    real,
    result_of,
    route_of,
    words,
)
from reach_tui.stores.reader import Recognition, Trouble

_KINDS = {kind.value: kind for kind in StepKind}
_GROWTH = Growth(
    "session",
    "id",
    ("ended_at", "outcome", "title", "turns"),
    (
        Growing("tool_call", "session_id", "result"),
        Growing("message", "session_id", "text"),
        Growing("event", "session_id"),
    ),
)


class ReachReader:
    """One native Reach database; an older one is read through a migrated private copy."""

    kind: ClassVar[str] = "reach"
    title: ClassVar[str] = "Agent-Reach"
    flag_meaning: ClassVar[str] = "`tool_call.flagged` is 1; NULL where the runtime recorded nothing."
    versions_tried: ClassVar[tuple[str, ...]] = ("schema 1 to 3",)
    not_recorded: ClassVar[str] = "What the runtime did not say; unknown stays unknown."
    verified: ClassVar[bool] = True
    growth = _GROWTH

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """A native database by its tables and `user_version`."""
        if not is_native(schema):
            return None
        version = f"user_version {schema.user_version}"
        if schema.user_version > VERSION:
            return Recognition(version, f"made by a newer reach-tui; this one reads up to {VERSION}")
        if schema.user_version == VERSION and (missing := missing_columns(schema)):
            return Recognition(version, f"without {', '.join(missing[:4])}")
        return Recognition(version)

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first."""
        with self._reading() as connection:
            order = "coalesce(started_at, ended_at) DESC, id"
            rows = connection.execute(f"SELECT {_names(SESSION)} FROM session ORDER BY {order}").fetchall()
            ringed = rings(connection, "session", "id", "parent_id")
        for row in rows:
            yield cut(_session(row), ringed)

    def session(self, session_id: str) -> Session | None:
        """One session, None if there is none of that id."""
        with self._reading() as connection:
            row = connection.execute(
                f"SELECT {_names(SESSION)} FROM session WHERE {_IS_ID}", _ids(session_id)
            ).fetchone()
            return cut(_session(row), rings(connection, "session", "id", "parent_id")) if row else None

    def steps(self, session_id: str) -> Iterator[Step]:
        """Messages, calls and decisions without a call, in the order of `seq`, numbered without gaps."""
        yield from self._story(session_id).tell()

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls of the given sessions, or of all, newest session first."""
        chosen = [session.id for session in self.sessions()] if session_ids is None else session_ids
        for session_id in chosen:
            yield from (step.call for step in self._story(session_id).tell() if step.call is not None)

    def troubles(self, session_id: str) -> list[Trouble]:
        """Broken JSON, unknown words and events without their call."""
        story = self._story(session_id)
        story.tell()
        return story.troubles

    def events(self, session_id: str) -> list[Event]:
        """The recorded events of a session in the order they were written."""
        with self._reading() as connection:
            return [event_of(row, []) for row in _rows(connection, EVENT, session_id, "id")]

    def told_events(self, session_id: str) -> tuple[list[Step], dict[int, Event], list[Event]]:
        """The steps of a session, the events that are steps of their own by their number, and those of calls."""
        story = self._story(session_id)
        return story.tell(), story.events, story.call_events

    def data_version(self) -> object:
        """Sizes and times of the file, its `-wal` and `-journal`."""
        return stamp(self.path)

    def changed_since(self, mark: object, active: Collection[str]) -> tuple[set[str], object]:
        """Sessions with new rows, moved columns or, among the active ones, rows updated in place."""
        return _GROWTH.changed_since(self.path, mark, active)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with reading(self.path) as connection:
            older = int(connection.execute("PRAGMA user_version").fetchone()[0]) < VERSION
            if not older:
                connection.row_factory = Row
                yield connection
        if older:
            with reading(migrated_copy(self.path)) as connection:
                connection.row_factory = Row
                yield connection

    def _story(self, session_id: str) -> _Story:
        with self._reading() as connection:
            messages = _rows(connection, MESSAGE, session_id, "seq")
            calls = _rows(connection, TOOL_CALL, session_id, "seq")
            events = _rows(connection, EVENT, session_id, "id")
            slots: dict[str, list[Row]] = defaultdict(list)
            query = f"SELECT {_names(SLOT, 'slot')} FROM tool_call CROSS JOIN slot ON slot.call_key = tool_call.key"
            for row in connection.execute(f"{query} WHERE tool_call.{_IS_SESSION} ORDER BY position", _ids(session_id)):
                slots[text_of(row["call_key"])].append(row)
        return _Story(session_id, messages, calls, events, slots)


_IS_ID = "id IN (?, CAST(? AS BLOB))"
_IS_SESSION = "session_id IN (?, CAST(? AS BLOB))"


def _ids(session_id: str) -> tuple[str, str]:
    """An id as text and as bytes: other writers may have stored either."""
    return session_id, session_id


def _names(table: Table, prefix: str | None = None) -> str:
    return ", ".join(f'{prefix}."{name}"' if prefix else f'"{name}"' for name in table.names)


def _rows(connection: Connection, table: Table, session_id: str, order: str) -> list[Row]:
    query = f"SELECT {_names(table)} FROM {table.name} WHERE {_IS_SESSION} ORDER BY {order}"
    return connection.execute(query, _ids(session_id)).fetchall()


def _session(row: Row) -> Session:
    try:
        notes = loads(text_of(row["notes"])) if row["notes"] is not None else []
    except BadJson:
        notes = [text_of(row["notes"])]
    return Session(
        store=ReachReader.kind,
        id=text_of(row["id"]),
        parent_id=words(row["parent_id"]),
        title=words(row["title"]),
        project=words(row["project"]),
        model=words(row["model"]),
        started_at=parse_time(row["started_at"]),
        ended_at=parse_time(row["ended_at"]),
        tokens=Tokens(natural(row["tokens_input"]), natural(row["tokens_output"])),
        outcome=words(row["outcome"]),
        own_work=row["own_work"] != 0,
        copy_of=words(row["copy_of"]),
        notes=tuple(text_of(note) for note in notes) if isinstance(notes, list) else (dumps(notes),),
        turns=natural(row["turns"]),
    )


class _Story:
    """Puts the rows of one session in order."""

    def __init__(
        self,
        session_id: str,
        messages: list[Row],
        calls: list[Row],
        events: list[Row],
        slots: Mapping[str, list[Row]],
    ) -> None:
        self._session_id = session_id
        self._messages = messages
        self._calls = calls
        self._slots = slots
        self.troubles: list[Trouble] = []
        self.events: dict[int, Event] = {}
        self.call_events: list[Event] = []
        self._keys = {text_of(row["key"]) for row in calls}
        self._routes: dict[str, Route] = {}
        self._executions: dict[str, dict[str, JsonValue]] = {}
        self._loose: list[Event] = []
        for row in events:
            self._sort_event(row)

    def tell(self) -> list[Step]:
        """Steps numbered from 1; afterwards `troubles` is complete."""
        rows: list[tuple[float, int, Row | Event]] = [(place_of(row["seq"]), 1, row) for row in self._messages]
        rows += [(place_of(row["seq"]), 2, row) for row in self._calls]
        rows += [(place_of(event.seq), 0, event) for event in self._loose]
        rows.sort(key=lambda item: item[:2])
        numbers: dict[float, int] = {}
        for number, (place, _, _) in enumerate(rows, start=1):
            numbers.setdefault(place, number)
        steps: list[Step] = []
        turn = 0
        for number, (_, rank, row) in enumerate(rows, start=1):
            if isinstance(row, Event):
                route = route_of(row)
                kind = StepKind.DECISION if route else StepKind.NOTE
                step = Step(number, turn, kind, decision_text(row), row.at, route=route)
                self.events[number] = row
            elif rank == 1:
                step = self._message(number, turn, row)
            else:
                step = self._call(number, turn, row, numbers)
            turn = max(turn, step.turn)
            steps.append(step)
        return steps

    def _trouble(self, what: str, where: str) -> None:
        self.troubles.append(Trouble(what, where, self._session_id))

    def _sort_event(self, row: Row) -> None:
        problems: list[str] = []
        event = event_of(row, problems)
        where = f"event {text_of(row['id'])}"
        for problem in problems:
            self._trouble(problem, where)
        if event.call_key is None or event.call_key not in self._keys:
            if event.call_key is not None:
                self._trouble("orphan event", where)
            self._loose.append(event)
            return
        self.call_events.append(event)
        if event.step == "execute":
            self._executions[event.call_key] = execution_of(event)
        elif route := route_of(event):
            self._routes[event.call_key] = route

    def _message(self, number: int, turn: int, row: Row) -> Step:
        kind = _KINDS.get(text_of(row["kind"]))
        if kind is None or kind is StepKind.CALL:
            self._trouble("unknown message kind", f"message {text_of(row['seq'])}: {text_of(row['kind'])}")
            kind = StepKind.RAW
        recorded = natural(row["turn"])
        inherited = row["inherited"] == 1
        counted = turn + 1 if kind is StepKind.USER and not inherited else turn
        return Step(
            number,
            counted if recorded is None else recorded,
            kind,
            text_of(row["text"]),
            parse_time(row["at"]),
            visible=row["visible"] != 0,
            inherited=inherited,
        )

    def _call(self, number: int, turn: int, row: Row, numbers: Mapping[float, int]) -> Step:
        key = text_of(row["key"])
        problems = [text_of(row["problem"])] if row["problem"] is not None else []
        arguments = self._json(row["arguments"], key, "arguments", problems)
        metadata = dict(as_object(self._json(row["metadata"], key, "metadata", problems)))
        if key in self._executions:
            metadata["event"] = self._executions[key]
        recorded = natural(row["turn"])
        call = ToolCall(
            key=key,
            id=text_of(row["call_id"]),
            session_id=self._session_id,
            tool=text_of(row["tool"]),
            arguments=arguments,
            flagged=flag(row["flagged"]),
            result=result_of(row["result"]),
            step=number,
            turn=turn if recorded is None else recorded,
            started_at=parse_time(row["started_at"]),
            duration_ms=natural(row["duration_ms"]),
            status=words(row["status"]),
            target=words(row["target"]),
            metadata=metadata,
            route=self._routes.get(key),
            slots=self._slots_of(key, numbers),
            copy_of=words(row["copy_of"]),
            visible=row["visible"] != 0,
            problem="; ".join(problems) or None,
        )
        return Step(number, call.turn, StepKind.CALL, at=call.started_at, call=call, visible=call.visible)

    def _json(self, raw: object, key: str, column: str, problems: list[str]) -> JsonValue:
        if raw is None:
            return None
        try:
            return loads(text_of(raw))
        except BadJson:
            problems.append(f"{column}: not valid JSON")
            self._trouble(f"malformed {column}", key)
            return text_of(raw)

    def _slots_of(self, key: str, numbers: Mapping[float, int]) -> tuple[Slot, ...] | None:
        rows = self._slots.get(key)
        return tuple(self._slot(key, row, numbers) for row in rows) if rows else None

    def _slot(self, key: str, row: Row, numbers: Mapping[float, int]) -> Slot:
        confidence = real(row["confidence"])
        origin_step = natural(row["origin_step"])
        return Slot(
            name=text_of(row["name"]),
            value=self._json(row["value"], key, "slot value", []),
            source=text_of(row["source"]),
            basis="recorded",
            origin=words(row["origin"]),
            origin_step=None if origin_step is None else numbers.get(float(origin_step), origin_step),
            matches=natural(row["matches"]),
            confidence=None if confidence is None else min(1.0, max(0.0, confidence)),
            note=text_of(row["note"]),
        )

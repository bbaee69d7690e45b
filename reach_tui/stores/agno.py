"""Agno's SqliteDb (store notes on agno): runs in a table of their own (3.x), or as JSON inside JSON in a column (2.x).

Calls are built from the messages: the list `tools` lacks calls of unknown tools and with broken arguments. From it come
durations, and the calls of runs whose messages were not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text
from reach_tui.base.sqlite import Connection, Schema, reading, schema_of, selection, text_of
from reach_tui.model import Session, Step, StepKind, Tokens
from reach_tui.stores.content import Narrator, content_text, json_text
from reach_tui.stores.openai_messages import Answer, Entry, Request, arguments_of, message_entry, tell, unreadable
from reach_tui.stores.reader import Recognition
from reach_tui.stores.telling import TellingReader, decoded, newest_first

_SESSION = ("session_id", "agent_id", "team_id", "workflow_id", "created_at", "updated_at")
_SESSION_JSON = ("session_data", "agent_data", "team_data", "workflow_data")
_WHERE = " WHERE session_id IN (?, CAST(? AS BLOB))"
_NESTED = ("member_responses", "step_executor_runs")
"""Runs of team members and workflow steps inside the run that started them (2.x)."""


@dataclass(frozen=True, slots=True)
class _Tables:
    """The names of the tables, which the program may choose, and their columns."""

    sessions: str
    session_columns: frozenset[str]
    runs: str | None
    run_columns: frozenset[str]


@dataclass(slots=True)
class _Run:
    """One run on its way to entries."""

    id: str
    body: dict[str, JsonValue]
    agent: str = ""


class AgnoReader(TellingReader):
    """Reads one database of Agno."""

    kind: ClassVar[str] = "agno"
    title: ClassVar[str] = "Agno"
    flag_meaning: ClassVar[str] = (
        "The tool message's `tool_call_error`; unknown tools and arguments that are not JSON have no such field."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("2.9.0", "3.1.10")
    not_recorded: ClassVar[str] = (
        "A flag for unknown tools and for arguments that were cut off; the tools that were offered."
    )
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """Agno has a table with session_id, session_type, session_data, whatever its name, and runs somewhere."""
        tables = _tables(schema)
        if tables is None:
            if "agno_sessions" in schema.tables:
                return Recognition("1.x", "agno_sessions has no session_type")
            return None
        if tables.runs is not None:
            return Recognition("3.x")
        if "runs" in tables.session_columns:
            return Recognition("2.x")
        return Recognition("runs unknown", "neither a table of runs nor a column of them")

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first."""
        yield from newest_first(self._sessions(None))

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        return next(iter(self._sessions(session_id)), None)

    def _sessions(self, session_id: str | None) -> list[Session]:
        with reading(self.path) as connection:
            tables = _tables(schema_of(connection))
            if tables is None:
                return []
            query = (
                f"SELECT {selection(tables.session_columns, *_SESSION, *_SESSION_JSON)} FROM {_quoted(tables.sessions)}"
            )
            where, values = (_WHERE, (session_id, session_id)) if session_id is not None else ("", ())
            rows = connection.execute(query + where, values).fetchall()
            outcomes = _outcomes(connection, tables, where, values)
        return [_session(row, outcomes) for row in rows]

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        with reading(self.path) as connection:
            tables = _tables(schema_of(connection))
            rows = [] if tables is None else _run_rows(connection, tables, narrator.session_id)
        entries: list[Entry] = []
        facts: dict[str, dict[str, JsonValue]] = {}
        told = _Told(entries, facts)
        for place, (name, raw) in enumerate(rows, 1):
            told.run_of(raw, name or f"run {place}")
        for step in tell(narrator, entries, timed=False):
            yield step if step.call is None else _timed(step, facts)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables(schema: Schema) -> _Tables | None:
    def find(usual: str, *columns: str) -> str | None:
        found = sorted(name for name in schema.tables if schema.has(name, *columns))
        return usual if usual in found else found[0] if found else None

    sessions = find("agno_sessions", "session_id", "session_type", "session_data", "created_at")
    if sessions is None:
        return None
    runs = find("agno_runs", "run_id", "session_id", "run_type", "run_data")
    return _Tables(sessions, schema.tables[sessions], runs, schema.tables[runs] if runs else frozenset())


def _json(value: object) -> JsonValue:
    """A JSON column, which 2.x encodes twice; None where it is no JSON."""
    found: object = value
    for _ in range(3):
        if not isinstance(found, str | bytes):
            break
        found = decoded(found)
    return found if isinstance(found, dict | list) else None


def _outcomes(connection: Connection, tables: _Tables, where: str, values: tuple[str, ...]) -> dict[str, str]:
    """The status of each session's last run (3.x)."""
    if tables.runs is None or not {"status", "run_index"} <= tables.run_columns:
        return {}
    query = f"SELECT session_id, status, max(run_index) FROM {_quoted(tables.runs)}{where} GROUP BY session_id"
    with closing(connection.execute(query, values)) as rows:
        return {text_of(session): text_of(status) for session, status, _ in rows if status}


def _session(row: Any, outcomes: dict[str, str]) -> Session:
    identifier = text_of(row[0])
    data, *owners = (as_object(_json(value)) for value in row[6:])
    metrics = as_object(data.get("session_metrics"))
    model = next((name for owner in owners if (name := as_text(as_object(owner.get("model")).get("id")))), None)
    return Session(
        store="agno",
        id=identifier,
        title=as_text(data.get("session_name")),
        project=next((text_of(value) for value in row[1:4] if value), None),
        model=model,
        started_at=parse_time(row[4]),
        ended_at=parse_time(row[5]),
        tokens=Tokens(as_int(metrics.get("input_tokens")), as_int(metrics.get("output_tokens"))),
        outcome=outcomes.get(identifier),
    )


def _run_rows(connection: Connection, tables: _Tables, session_id: str) -> list[tuple[str, object]]:
    """Ids and bodies of a session's runs in order; a body that cannot be read stays text."""
    if tables.runs is not None:
        order = ", ".join(name for name in ("run_index", "created_at") if name in tables.run_columns)
        query = (
            f"SELECT run_id, CAST(run_data AS BLOB) FROM {_quoted(tables.runs)}{_WHERE} "
            f"ORDER BY {order + ', ' if order else ''}rowid"
        )
        return [(text_of(name), raw) for name, raw in connection.execute(query, (session_id, session_id))]
    query = f"SELECT CAST(runs AS BLOB) FROM {_quoted(tables.sessions)}{_WHERE}"
    row = connection.execute(query, (session_id, session_id)).fetchone()
    if row is None or not row[0] or row[0] == b"null":
        return []
    runs = _json(row[0])
    return [("", run) for run in runs] if isinstance(runs, list) else [("", row[0])]


class _Told:
    """Turns runs into entries, parents before the runs they started."""

    def __init__(self, entries: list[Entry], facts: dict[str, dict[str, JsonValue]]) -> None:
        self.entries = entries
        self.facts = facts
        """What `tools` says of a call, by `run/call id`."""
        self.runs: set[str] = set()
        self.system = ""

    def run_of(self, raw: object, name: str, depth: int = 0) -> None:
        """Adds the entries of a run, given as JSON text or object."""
        body = _json(raw) if isinstance(raw, str | bytes) else raw
        if not isinstance(body, dict):
            shown = text_of(raw) if isinstance(raw, str | bytes | None) else json_text(_json_value(raw))
            self.entries.append(unreadable(name, None, "a run that is no JSON object", shown))
            return
        run = _Run(as_text(body.get("run_id")) or name, body)
        if run.id in self.runs:
            return  # a member's run stored both beside its team's and inside it
        self.runs.add(run.id)
        run.agent = as_text(body.get("agent_name")) or as_text(body.get("agent_id")) or ""
        self._run(run)
        for field in _NESTED if depth < 20 else ():
            members = body.get(field)
            for place, member in enumerate(members if isinstance(members, list) else [], 1):
                self.run_of(member, f"{run.id}.{place}", depth + 1)

    def _run(self, run: _Run) -> None:
        at = parse_time(run.body.get("created_at"))
        messages = run.body.get("messages")
        messages = messages if isinstance(messages, list) else []
        start = len(self.entries)
        for place, message in enumerate(messages, 1):
            self._message(run, message, place)
        own = self.entries[start:]
        last = self.entries.pop() if own and not own[-1].requests and not own[-1].answers else None
        self._tools(run, {request.id for entry in own for request in entry.requests}, at)
        self.entries += [last] if last else []
        asked, answer = as_object(run.body.get("input")).get("input_content"), run.body.get("content")
        status = as_text(run.body.get("status")) or ""
        if not messages and asked:
            self.entries.insert(start, Entry(f"{run.id}/input", at, [(StepKind.USER, content_text(asked))]))
        if status.upper() in ("ERROR", "CANCELLED"):
            kind = StepKind.ERROR if status.upper() == "ERROR" else StepKind.NOTE
            self.entries.append(Entry(f"{run.id}/end", at, [(kind, f"run {status}: {json_text(answer)}")]))
        elif not messages and answer:
            self.entries.append(Entry(f"{run.id}/content", at, [(StepKind.ASSISTANT, content_text(answer))]))

    def _message(self, run: _Run, value: JsonValue, place: int) -> None:
        message = as_object(value)
        if message.get("from_history") is True:  # a copy of an earlier run's message
            return
        key = f"{run.id}/{as_text(message.get('id')) or place}"
        at = parse_time(message.get("created_at"))
        if message.get("role") == "system":
            text = content_text(message.get("content"))
            if text == self.system:
                return  # the same instructions again
            self.system = text
        combined = message.get("tool_calls")
        if message.get("role") == "tool" and not message.get("tool_call_id") and isinstance(combined, list):
            answers = [_answer(as_object(one)) for one in combined]  # one message for a round, as for Gemini
            self.entries.append(Entry(key, at, answers=answers))
            return
        entry = message_entry(key, value, at)
        for answer in entry.answers:
            answer.flagged = _flag(message)
        for request in entry.requests:
            if run.agent:
                request.metadata["agent"] = run.agent
            if parent := as_text(run.body.get("parent_run_id")):
                request.metadata["parent_run_id"] = parent
        self.entries.append(entry)

    def _tools(self, run: _Run, known: set[str], at: int | None) -> None:
        tools = run.body.get("tools")
        for place, value in enumerate(tools if isinstance(tools, list) else [], 1):
            tool = as_object(value)
            identifier = as_text(tool.get("tool_call_id")) or ""
            if identifier:
                self.facts[f"{run.id}/{identifier}"] = tool
            if identifier in known:
                continue
            arguments, problem = arguments_of(tool.get("tool_args"))
            request = Request(identifier, as_text(tool.get("tool_name")) or "", arguments, problem)
            entry = Entry(f"{run.id}/tool {place}", parse_time(tool.get("created_at")) or at, requests=[request])
            if tool.get("result") is not None or _flag(tool) is not None:
                entry.answers.append(_answer({**tool, "content": tool.get("result")}))
            self.entries.append(entry)


def _json_value(value: object) -> JsonValue:
    return value if isinstance(value, bool | int | float | str | list | dict) else str(value)


def _flag(message: dict[str, JsonValue]) -> bool | None:
    flag = message.get("tool_call_error")
    return flag if isinstance(flag, bool) else None


def _answer(message: dict[str, JsonValue]) -> Answer:
    identifier, name = as_text(message.get("tool_call_id")) or "", as_text(message.get("tool_name")) or ""
    return Answer(identifier, content_text(message.get("content")), name, _flag(message))


def _timed(step: Step, facts: dict[str, dict[str, JsonValue]]) -> Step:
    """A call with what `tools` says of it: start, duration, the run it started, a confirmation that it waits for."""
    call = step.call
    assert call is not None
    run = call.key[len(call.session_id) + 1 :].split("/", 1)[0]
    tool = facts.get(f"{run}/{call.id}")
    if tool is None:
        return step
    metrics = as_object(tool.get("metrics"))
    took = metrics.get("duration")
    metadata = dict(call.metadata)
    for name in ("child_run_id", "requires_confirmation", "confirmed", "parent_tool_call_id"):
        if tool.get(name) is not None:
            metadata[name] = tool[name]
    call = replace(
        call,
        started_at=parse_time(metrics.get("start_time")) or call.started_at,
        duration_ms=_milliseconds(took),
        metadata=metadata,
    )
    return replace(step, call=call, at=call.started_at)


def _milliseconds(seconds: JsonValue) -> int | None:
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 1e9
    return round(seconds * 1000) if usable and isinstance(seconds, int | float) else None

"""Arize Phoenix's `phoenix.db`: OpenInference spans (store notes on Phoenix). Users, keys and secrets are not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_object, as_text, shallow
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.openai_messages import Entry, Request
from reach_tui.stores.reader import Recognition
from reach_tui.stores.span_messages import answer_entries, decoded_text, fingerprint, request_entries
from reach_tui.stores.span_routes import documents_route, query_text, recorded_route
from reach_tui.stores.spans import OTHER_KINDS, Span, SpanReader, offered_tool
from reach_tui.stores.telling import decoded, newest_first

_SPAN = ("span_id", "parent_id", "name", "span_kind", "start_time", "end_time", "status_code", "status_message")
_WITHOUT_PAYLOAD = ", ".join(f"'{kind}'" for kind in OTHER_KINDS)
_GEN_AI = {"execute_tool": "TOOL", "chat": "LLM", "text_completion": "LLM", "generate_content": "LLM"}
"""`gen_ai.operation.name` of spans that follow OpenTelemetry's conventions instead of OpenInference's."""


class PhoenixReader(SpanReader):
    """Reads one `phoenix.db`."""

    kind: ClassVar[str] = "phoenix"
    title: ClassVar[str] = "Arize Phoenix"
    flag_meaning: ClassVar[str] = (
        "The TOOL span's `status_code` is `ERROR`; calls that only the model span names have no flag."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("20.26.1",)
    not_recorded: ClassVar[str] = (
        "Spans of unknown tools; what a cancelled call of the OpenAI Agents came to (it looks like a success)."
    )
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """Phoenix has `projects`, `traces` (project_rowid) and `spans` (trace_rowid, attributes)."""
        if not schema.has("traces", "project_rowid", "trace_id") or "projects" not in schema.tables:
            return None
        lacking = {"trace_rowid", "span_id", "span_kind", "attributes"} - schema.tables.get("spans", frozenset())
        if lacking:
            return Recognition("spans unknown", f"columns missing in spans: {', '.join(sorted(lacking))}")
        return Recognition("with sessions" if "project_sessions" in schema.tables else "traces only")

    def sessions(self) -> Iterator[Session]:
        """Every session that a program named, and every trace outside of one, newest first."""
        yield from newest_first(self._sessions(None))

    def session(self, session_id: str) -> Session | None:
        """One session by its id, or one trace outside of any."""
        return next(iter(self._sessions(session_id)), None)

    def _sessions(self, wanted: str | None) -> list[Session]:
        found = []
        with reading(self.path) as connection:
            for source in _sources(connection):
                where = "" if wanted is None else f" AND {source[0]} IN (?, CAST(? AS BLOB))"
                query = source[1] + where
                for row in connection.execute(query, () if wanted is None else (wanted, wanted)):
                    name, project, start, end = row
                    session = Session(
                        store="phoenix",
                        id=text_of(name),
                        project=text_of(project) or None,
                        started_at=parse_time(start),
                        ended_at=parse_time(end),
                    )
                    found.append(session)
        return found

    def _traces(self, session_id: str) -> Iterator[list[Span]]:
        with reading(self.path) as connection:
            traces = _trace_rows(connection, session_id)
        for (trace,) in traces:
            with reading(self.path) as connection:
                rows = _span_rows(connection, trace)
            yield [_span(row) for row in rows]


def _sources(connection: Connection) -> list[tuple[str, str]]:
    """The id's expression and a query, for named sessions and for traces outside of one."""
    named = columns_of(connection, "project_sessions")
    traces = columns_of(connection, "traces")
    found = []
    linked = {"id", "session_id"} <= named and "project_session_rowid" in traces
    if linked:
        times = ", ".join(f"s.{name}" if name in named else "NULL" for name in ("start_time", "end_time"))
        project = "(SELECT p.name FROM projects p WHERE p.id = s.project_id)" if "project_id" in named else "NULL"
        query = f"SELECT s.session_id, {project}, {times} FROM project_sessions s WHERE s.session_id IS NOT NULL"
        found.append(("s.session_id", query))
    times = ", ".join(f"t.{name}" if name in traces else "NULL" for name in ("start_time", "end_time"))
    project = "(SELECT p.name FROM projects p WHERE p.id = t.project_rowid)"
    outside = "t.project_session_rowid IS NULL" if linked else "1"
    found.append(("t.trace_id", f"SELECT t.trace_id, {project}, {times} FROM traces t WHERE {outside}"))
    return found


def _trace_rows(connection: Connection, session_id: str) -> list[Any]:
    columns = columns_of(connection, "traces")
    order = "start_time, id" if "start_time" in columns else "id"
    if "project_session_rowid" in columns and "session_id" in columns_of(connection, "project_sessions"):
        session = "(SELECT id FROM project_sessions WHERE session_id IN (?, CAST(? AS BLOB)))"
        query = f"SELECT id FROM traces WHERE project_session_rowid = {session} ORDER BY {order}"
        if found := connection.execute(query, (session_id, session_id)).fetchall():
            return found
    query = f"SELECT id FROM traces WHERE trace_id IN (?, CAST(? AS BLOB)) ORDER BY {order}"
    return connection.execute(query, (session_id, session_id)).fetchall()


def _span_rows(connection: Connection, trace: object) -> list[Any]:
    """Spans in the order of their start; payloads that repeat those of others stay in the file."""
    columns = columns_of(connection, "spans")
    events = "CAST(events AS BLOB)" if "events" in columns else "NULL"
    query = (
        f"SELECT {selection(columns, *_SPAN)}, CASE WHEN upper(span_kind) NOT IN ({_WITHOUT_PAYLOAD}) "
        "OR parent_id IS NULL OR attributes LIKE '%\"candidates%' THEN CAST(attributes AS BLOB) END, "
        f"{events} "
        "FROM spans WHERE trace_rowid = ? ORDER BY start_time, rowid"
    )
    return connection.execute(query, (trace,)).fetchall()


def _span(row: Any) -> Span:
    identifier, parent, name, kind, start, end, status, message, raw, events = row
    span = Span(
        text_of(identifier),
        text_of(parent),
        text_of(name),
        text_of(kind).upper(),
        parse_time(start),
        parse_time(end),
        text_of(status).upper() or "UNSET",
        text_of(message),
    )
    _take_exception(span, events)
    attributes = decoded(raw)
    if raw is not None and not isinstance(attributes, dict):
        span.raw = text_of(raw)
    elif isinstance(attributes, dict):
        _take(span, shallow(attributes))
    return span


def _take_exception(span: Span, raw: bytes | None) -> None:
    events = decoded(raw)
    for event in events if isinstance(events, list) else []:
        fields = as_object(as_object(event).get("attributes"))
        fields = as_object(fields.get("exception")) or {
            key.removeprefix("exception."): value for key, value in fields.items() if key.startswith("exception.")
        }
        if fields:
            span.exception = as_text(fields.get("type")) or ""
            span.message = span.message or json_text(fields.get("message"))


def _take(span: Span, value: JsonValue) -> None:
    attributes = as_object(value)
    span.input = as_object(attributes.get("input")).get("value")
    output = as_object(attributes.get("output")).get("value")
    span.output = output
    gen_ai = as_object(attributes.get("gen_ai"))
    operation = as_text(as_object(gen_ai.get("operation")).get("name")) or ""
    if span.kind in ("UNKNOWN", "") and operation in _GEN_AI:
        span.kind = _GEN_AI[operation]
    if span.kind == "TOOL":
        _take_tool(span, attributes, as_object(gen_ai.get("tool")))
    elif span.kind == "LLM":
        _take_model(span, as_object(attributes.get("llm")))
    elif span.kind == "RETRIEVER":
        documents = as_object(attributes.get("retrieval")).get("documents")
        span.route = documents_route(
            query_text(span.input), documents if documents is not None else decoded_text(output)
        )
    elif span.kind == "RERANKER":
        reranker = as_object(attributes.get("reranker"))
        span.route = documents_route(
            json_text(reranker.get("query")) or query_text(span.input), reranker.get("output_documents")
        )
    else:
        span.route = recorded_route([attributes.get("metadata"), attributes.get("routing"), output])


def _take_tool(span: Span, attributes: dict[str, JsonValue], gen_ai: dict[str, JsonValue]) -> None:
    tool = as_object(attributes.get("tool"))
    if not tool and not gen_ai and span.name.startswith("handoff to "):  # OpenAI Agents: its call is the model's own
        span.kind = "HANDOFF"
        return
    span.tool = as_text(tool.get("name")) or as_text(gen_ai.get("name")) or span.name
    span.schema = decoded_text(tool.get("parameters"))
    call = as_object(attributes.get("tool_call"))
    ids = (call.get("id"), tool.get("id"), tool.get("call_id"), as_object(gen_ai.get("call")).get("id"))
    span.call_id = next(filter(None, map(as_text, ids)), "")
    message = as_object(decoded_text(span.output))
    inner = as_object(message.get("data")) or as_object(message.get("kwargs")) or message
    if "tool_call_id" in inner and "content" in inner:  # LangChain's tracer dumps the tool message
        span.call_id = as_text(inner.get("tool_call_id")) or span.call_id
        span.output = content_text(inner.get("content"))


def _take_model(span: Span, model: dict[str, JsonValue]) -> None:
    span.model = as_text(model.get("model_name")) or ""
    tools = model.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        schema = as_object(as_object(tool).get("tool")).get("json_schema")
        if (offered := offered_tool(decoded_text(schema))) is not None:
            span.offered.append(offered)
    said, answered = model.get("input_messages"), model.get("output_messages")
    span.said = request_entries(said if said else span.input)
    span.answered = answer_entries(answered)
    written = answer_entries(span.output)
    if not any(any(fingerprint(entry)) for entry in span.answered):
        span.answered = written
    elif missing := _unlisted(span.answered, written):
        span.answered.append(Entry("", requests=missing))


def _unlisted(listed: list[Entry], written: list[Entry]) -> list[Request]:
    """Calls of the raw output that the listed messages lack: LangChain's tracer leaves out broken arguments."""
    known = [request for entry in listed for request in entry.requests]
    ids, names = {one.id for one in known}, {one.name for one in known if not one.id}
    return [one for entry in written for one in entry.requests if one.id not in ids and one.name not in names]

"""MLflow's tracing store, `mlflow.db` (store notes on MLflow). The table `secrets` is not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads, shallow
from reach_tui.base.sqlite import Connection, Schema, columns_of, reading, selection, text_of
from reach_tui.model import Session, Step, StepKind, Tokens
from reach_tui.stores.content import Narrator, content_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.span_messages import answer_entries, decoded_text, request_entries
from reach_tui.stores.span_routes import documents_route, query_text, recorded_route
from reach_tui.stores.spans import OTHER_KINDS, Span, SpanReader, Story, offered_tool
from reach_tui.stores.telling import Remembered, Said, decoded, newest_first

_TRACE = (
    "request_id", "experiment_id", "timestamp_ms", "execution_time_ms", "status", "session_id", "input_tokens",
    "output_tokens", "trace_name",
)  # fmt: skip
_SPAN = ("span_id", "parent_span_id", "name", "type", "status", "start_time_unix_nano", "end_time_unix_nano")
_WITHOUT_PAYLOAD = ", ".join(f"'{kind}'" for kind in OTHER_KINDS)
_KINDS = {"CHAT_MODEL": "LLM", "LLM": "LLM", "COMPLETION": "LLM"}
_STATUS = {"STATUS_CODE_OK": "OK", "STATUS_CODE_ERROR": "ERROR"}


@dataclass(slots=True)
class _Traces:
    """The traces of one session, oldest first."""

    id: str
    project: str | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)


class MlflowReader(SpanReader):
    """Reads one `mlflow.db`."""

    kind: ClassVar[str] = "mlflow"
    title: ClassVar[str] = "MLflow"
    flag_meaning: ClassVar[str] = (
        "The TOOL span's status is `ERROR`; calls that only the model span names have no flag."
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("3.17.2",)
    not_recorded: ClassVar[str] = "Spans of unknown tools."
    verified: ClassVar[bool] = True

    @classmethod
    def recognise(cls, schema: Schema, path: Path) -> Recognition | None:
        """MLflow has `trace_info` (request_id, timestamp_ms) and, since 3.4, `spans` with `content`."""
        if not schema.has("trace_info", "request_id", "timestamp_ms"):
            return None
        if not schema.has("spans", "trace_id", "span_id", "content"):
            return Recognition("before 3.4", "the spans of its traces are in files, not in the database")
        return Recognition("spans" if schema.has("trace_info", "session_id") else "spans, sessions in metadata")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._index = Remembered(path, _grouped)

    def sessions(self) -> Iterator[Session]:
        """Every session, and every trace outside of one, newest first."""
        yield from newest_first(session for session, _ in self._index().values())

    def session(self, session_id: str) -> Session | None:
        """One session by its id, or one trace outside of any."""
        found = self._index().get(session_id)
        return found[0] if found else None

    def _traces(self, session_id: str) -> Iterator[list[Span]]:
        for _, spans in self._told(session_id):
            yield spans

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        story = Story()
        for trace, spans in self._told(narrator.session_id):
            story.trace(spans)
            if not spans:
                story.items += self._preview(trace)
        yield from story.steps(narrator)

    def _told(self, session_id: str) -> Iterator[tuple[object, list[Span]]]:
        found = self._index().get(session_id)
        for trace in found[1] if found else ():
            with reading(self.path) as connection:
                rows = _span_rows(connection, trace)
            yield trace, [_span(row) for row in rows]

    def _preview(self, trace: object) -> Iterator[Said]:
        """What the database keeps of a trace whose spans are elsewhere."""
        with reading(self.path) as connection:
            columns = columns_of(connection, "trace_info")
            picked = selection(columns, "request_preview", "response_preview", "timestamp_ms")
            query = f"SELECT {picked} FROM trace_info WHERE request_id IS ?"
            row = connection.execute(query, (trace,)).fetchone() or (None, None, None)
        at = parse_time(row[2])
        for kind, text in zip((StepKind.USER, StepKind.ASSISTANT), map(text_of, row[:2]), strict=True):
            if text.strip():
                yield Said(kind, text, at)
        yield Said(StepKind.NOTE, f"the spans of trace {text_of(trace)} are not in the database", at)


def _grouped(connection: Connection) -> dict[str, tuple[Session, list[object]]]:
    """Sessions by their id (a trace outside of any is one), each with the ids of its traces, oldest first."""
    columns = columns_of(connection, "trace_info")
    sessions: dict[object, object] = {}
    if {"key", "value", "request_id"} <= columns_of(connection, "trace_request_metadata"):
        query = "SELECT request_id, value FROM trace_request_metadata WHERE key = 'mlflow.trace.session'"
        sessions = dict(connection.execute(query).fetchall())
    names: dict[object, object] = {}
    if {"experiment_id", "name"} <= columns_of(connection, "experiments"):
        names = dict(connection.execute("SELECT experiment_id, name FROM experiments").fetchall())
    found: dict[str, _Traces] = {}
    query = f"SELECT {selection(columns, *_TRACE)} FROM trace_info ORDER BY timestamp_ms, request_id"
    for values in connection.execute(query):
        row = dict(zip(_TRACE, values, strict=True))
        own = row["session_id"] or sessions.get(row["request_id"]) or row["request_id"]
        group = found.setdefault(text_of(own), _Traces(text_of(own)))
        group.project = group.project or text_of(names.get(row["experiment_id"])) or None
        group.rows.append(row)
    return {name: (_session(group), [row["request_id"] for row in group.rows]) for name, group in found.items()}


def _session(traces: _Traces) -> Session:
    first, last = traces.rows[0], traces.rows[-1]
    ended, took = parse_time(last["timestamp_ms"]), last["execution_time_ms"]
    if ended is not None and isinstance(took, int):
        ended = parse_time(ended + took)
    return Session(
        store="mlflow",
        id=traces.id,
        title=text_of(first["trace_name"]) or None,
        project=traces.project,
        started_at=parse_time(first["timestamp_ms"]),
        ended_at=ended,
        tokens=Tokens(_sum(traces, "input_tokens"), _sum(traces, "output_tokens")),
        outcome=text_of(last["status"]) or None,
    )


def _sum(traces: _Traces, name: str) -> int | None:
    counts = [count for row in traces.rows if (count := as_int(row[name])) is not None]
    return sum(counts) if counts else None


def _span_rows(connection: Connection, trace: object) -> list[Any]:
    """Spans in the order of their start; payloads that repeat those of others stay in the file."""
    columns = columns_of(connection, "spans")
    kept = f"upper(type) NOT IN ({_WITHOUT_PAYLOAD}) OR type IS NULL" if "type" in columns else "1"
    parent = "parent_span_id IS NULL" if "parent_span_id" in columns else "1"
    error = "status = 'ERROR'" if "status" in columns else "1"
    query = (
        f"SELECT {selection(columns, *_SPAN)}, CASE WHEN {kept} OR {parent} OR {error} "
        "OR content LIKE '%\"candidates%' THEN CAST(content AS BLOB) END FROM spans WHERE trace_id IS ? "
        f"ORDER BY {'start_time_unix_nano, ' if 'start_time_unix_nano' in columns else ''}rowid"
    )
    return connection.execute(query, (trace,)).fetchall()


def _span(row: Any) -> Span:
    identifier, parent, name, kind, status, start, end, raw = row
    span = Span(
        text_of(identifier),
        text_of(parent),
        text_of(name),
        text_of(kind).upper(),
        parse_time(start),
        parse_time(end),
        text_of(status).upper() or "UNSET",
    )
    content = decoded(raw)
    if raw is not None and not isinstance(content, dict):
        span.raw = text_of(raw)
    elif isinstance(content, dict):
        _take(span, as_object(shallow(content)))
    span.kind = _KINDS.get(span.kind, span.kind)
    return span


def _take(span: Span, content: dict[str, JsonValue]) -> None:
    attributes = {name: _attribute(value) for name, value in as_object(content.get("attributes")).items()}
    status = as_object(content.get("status"))
    span.message = json_text(status.get("message"))
    if span.status == "UNSET":
        span.status = _STATUS.get(as_text(status.get("code")) or "", "UNSET")
    _take_exception(span, content.get("events"))
    span.kind = span.kind or (as_text(attributes.get("mlflow.spanType")) or "").upper()
    span.input = attributes.get("mlflow.spanInputs")
    span.output = attributes.get("mlflow.spanOutputs")
    kind = _KINDS.get(span.kind, span.kind)
    if kind == "TOOL":
        _take_tool(span, attributes)
    elif kind == "LLM":
        _take_model(span, attributes)
    elif kind in ("RETRIEVER", "RERANKER"):
        span.route = documents_route(query_text(span.input), decoded_text(span.output))
    else:
        span.route = recorded_route([attributes.get("metadata"), attributes.get("routing"), span.output])


def _attribute(value: JsonValue) -> JsonValue:
    """Attribute values are JSON text; one that is not stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value)
    except BadJson:
        return value


def _take_exception(span: Span, events: JsonValue) -> None:
    for event in events if isinstance(events, list) else []:
        fields = as_object(as_object(event).get("attributes"))
        if "exception.type" in fields or "exception.message" in fields:
            span.exception = as_text(fields.get("exception.type")) or ""
            span.message = span.message or json_text(fields.get("exception.message"))


def _take_tool(span: Span, attributes: dict[str, JsonValue]) -> None:
    span.tool = as_text(attributes.get("tool_name")) or span.name
    ids = [attributes.get("tool_call_id"), attributes.get("gen_ai.tool.call.id")]
    message = as_object(decoded_text(span.output))
    if "tool_call_id" in message and "content" in message:  # LangChain's autolog dumps the tool message
        span.output = content_text(message.get("content"))
        ids.append(message.get("tool_call_id"))
    span.call_id = next(filter(None, map(as_text, ids)), "")


def _take_model(span: Span, attributes: dict[str, JsonValue]) -> None:
    parameters = as_object(attributes.get("invocation_params"))
    span.model = as_text(attributes.get("mlflow.llm.model")) or as_text(parameters.get("model")) or ""
    inputs = as_object(span.input)
    lists = (parameters.get("tools"), attributes.get("mlflow.chat.tools"), inputs.get("tools"))
    tools = next((one for one in lists if one), None)
    for tool in tools if isinstance(tools, list) else []:
        if (offered := offered_tool(tool)) is not None:
            span.offered.append(offered)
    span.said = request_entries(span.input)
    span.answered = answer_entries(span.output)

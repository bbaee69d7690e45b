"""Annotation exports of Langfuse and Label Studio as rows: which call, which class, by whom, when, with what comment.

Langfuse: scores as the public API gives them (`GET /api/public/v2/scores`, camelCase; api.reference.langfuse.com), and
as its batch and blob storage exports write them (JSON, JSON Lines or CSV in snake_case;
langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields). Scores of source ANNOTATION are people's;
those of API and EVAL are programs' and are left out.
Label Studio: JSON (tasks with `annotations`, labelstud.io/guide/task_format), JSON_MIN and CSV or TSV (one row an
annotation, labelstud.io/guide/export). `predictions` are a model's and cancelled annotations nobody's: left out.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reach_tui.base.clock import parse_time
from reach_tui.base.errors import LabelError
from reach_tui.base.jsonio import BadJson, as_object, loads
from reach_tui.labels.exchange import Problem, read_text

LANGFUSE, LABEL_STUDIO = "langfuse", "label-studio"
TOOLS = (LANGFUSE, LABEL_STUDIO)
_CELL_LIMIT = 2**31 - 1
_TASK = frozenset(["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"])
"""Columns of JSON_MIN and CSV that Label Studio adds itself."""
_OURS = frozenset(
    [
        "store",
        "path",
        "session_id",
        "call_key",
        "call_id",
        "step",
        "turn",
        "tool",
        "arguments",
        "result",
        "result_bytes",
        "flagged",
        "failed",
        "hidden",
        "confidence",
        "category",
        "subcategory",
        "rule",
        "evidence",
        "started_at",
        "duration_ms",
        "route",
        "slots",
        "label",
        "problem",
        "copy_of",
        "status",
        "soft",
    ]
)
"""Fields of a call's record: where tasks were made of those, they are the question and not the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One person's answer about one thing, as the other tool wrote it."""

    line: int
    """The row or task in the file, from 1."""
    id: str
    targets: tuple[str, ...]
    """What names the call, the most telling first: call key, observation, span or call id."""
    session: str | None
    """The session or trace, where the file says it."""
    values: tuple[str, ...]
    """The class or classes chosen, as words."""
    by: str
    at: int | None
    comment: str


@dataclass(slots=True)
class Foreign:
    """What a file holds."""

    tool: str
    answers: list[Answer] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """What is no person's answer, in words, and how many."""


def recognise(path: Path) -> str | None:
    """The tool whose export a file is, None if it is neither's. Raises `LabelError` if it cannot be read."""
    if path.is_dir() or path.suffix.lower() == ".parquet":
        return None
    first = next(iter(_records(path)), (0, {}))[1]
    return _tool_of(first)


def read_foreign(path: Path, tool: str | None = None, target: str = "call_key", question: str = "") -> Foreign:
    """The answers in a file; `target`: the field of a task's data that names the call; `question`: the only one taken.

    Raises `LabelError` for a file that is neither tool's.
    """
    found: Foreign | None = None
    for line, record in _records(path):
        if found is None:
            kind = tool or _tool_of(record)
            if kind is None:
                hint = f"--from {' or '.join(TOOLS)}, if it is one of theirs"
                raise LabelError("neither scores of Langfuse nor annotations of Label Studio", path, hint)
            found = Foreign(kind)
        if found.tool == LANGFUSE:
            _langfuse(found, line, record, question)
        else:
            _label_studio(found, line, record, target, question)
    return found or Foreign(tool or TOOLS[0])


def _tool_of(record: Mapping[str, Any]) -> str | None:
    names = set(record)
    places = names & {"traceId", "trace_id", "observationId", "observation_id"}
    if {"id", "name", "source"} <= names and places and names & {"value", "stringValue", "string_value"}:
        return LANGFUSE
    if isinstance(record.get("annotations"), list) and "data" in names:
        return LABEL_STUDIO
    return LABEL_STUDIO if {"annotation_id", "annotator"} <= names else None


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON array, of `{"data": […]}`, of JSON Lines or of a table, with their numbers from 1."""
    text = read_text(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        limit = csv.field_size_limit(_CELL_LIMIT)
        try:
            delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
            rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
        except csv.Error as error:
            raise LabelError(f"not CSV: {error}", path) from None
        finally:
            csv.field_size_limit(limit)
        yield from ((number, {str(k): v for k, v in row.items()}) for number, row in enumerate(rows, start=1))
        return
    try:
        whole = loads(text)
    except BadJson as error:
        if "\n" not in text.strip():
            raise LabelError(f"not JSON: {error}", path) from None
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                record = loads(line) if line.strip() else None
            except BadJson:
                record = {}
            if record is not None:
                yield number, as_object(record) if isinstance(record, dict) else {}
        return
    if isinstance(whole, dict):
        data = whole.get("data")
        whole = data if isinstance(data, list) else [whole]
    for number, record in enumerate(whole if isinstance(whole, list) else [], start=1):
        yield number, as_object(record) if isinstance(record, dict) else {}


# Langfuse


def _langfuse(found: Foreign, line: int, record: Mapping[str, Any], question: str) -> None:
    source = _one(record, "source").upper()
    if source and source != "ANNOTATION":
        found.left_out[f"scores of source {source}"] += 1
        return
    if question and _one(record, "name") != question:
        found.left_out["scores of other names"] += 1
        return
    value = _one(record, "stringValue", "string_value") or _one(record, "value")
    metadata = record.get("metadata")
    named = _one(metadata, "call_key") if isinstance(metadata, Mapping) else ""
    targets = tuple(dict.fromkeys(filter(None, (named, _one(record, "observationId", "observation_id")))))
    session = _one(record, "sessionId", "session_id") or _one(record, "traceId", "trace_id") or None
    if not targets and not session:
        found.problems.append(Problem(line, "names neither an observation nor a session"))
        return
    found.answers.append(
        Answer(
            line,
            _one(record, "id") or f"{line}",
            targets,
            session,
            (value,) if value else (),
            _one(record, "authorUserName", "author_user_name", "authorUserId", "author_user_id", "author"),
            _time(record, "updatedAt", "updated_at", "timestamp", "createdAt", "created_at"),
            _one(record, "comment"),
        )
    )


# Label Studio


def _label_studio(found: Foreign, line: int, record: Mapping[str, Any], target: str, question: str) -> None:
    if not isinstance(record.get("annotations"), list):
        _flat_annotation(found, line, record, target, question)
        return
    data = as_object(record.get("data"))
    for one in map(as_object, record["annotations"]):
        if one.get("was_cancelled") is True:
            found.left_out["cancelled annotations"] += 1
            continue
        values: list[str] = []
        notes: list[str] = []
        for part in map(as_object, _list(one.get("result"))):
            value = as_object(part.get("value"))
            chosen = [*map(_text, _list(value.get("choices"))), *map(_path, _list(value.get("taxonomy")))]
            values += chosen if question in ("", part.get("from_name")) else []
            notes += map(_text, _list(value.get("text")) if part.get("type") == "textarea" else [])
        _annotation(found, line, data, target, one, values, notes)
    if record.get("predictions"):
        found.left_out["tasks' predictions of a model"] += 1


def _annotation(
    found: Foreign,
    line: int,
    data: Mapping[str, Any],
    target: str,
    one: Mapping[str, Any],
    values: Sequence[str],
    notes: Sequence[str],
) -> None:
    by = one.get("completed_by")
    person = _one(by, "email", "username", "id") if isinstance(by, Mapping) else _text(by)
    answer = Answer(
        line,
        _one(one, "id", "unique_id") or f"{line}",
        _targets(data, target),
        _one(data, "session_id") or None,
        tuple(dict.fromkeys(values)),
        person,
        _time(one, "updated_at", "created_at"),
        "\n".join(notes),
    )
    if answer.targets or answer.session:
        found.answers.append(answer)
    else:
        found.problems.append(Problem(line, f"the task's data has no field {target!r} that names the call"))


def _flat_annotation(found: Foreign, line: int, record: Mapping[str, Any], target: str, question: str) -> None:
    """A row of JSON_MIN or CSV: the task's data, then each question under its own name."""
    values: list[str] = []
    for name, value in record.items():
        if name == question or not (question or name in _TASK or name in _OURS or name == target):
            values += _choices(value)
    notes = [_text(record.get(name)) for name in ("note", "comment") if record.get(name)]
    one = {**record, "id": record.get("annotation_id"), "completed_by": record.get("annotator")}
    _annotation(found, line, record, target, one, values, notes)


def _choices(value: object) -> list[str]:
    """What was chosen: a word, `{"choices": […]}`, a list, or one of these as JSON text in a cell."""
    if isinstance(value, str):
        if value[:1] not in "[{" or not value:
            return [value] if value else []
        try:
            value = loads(value)
        except BadJson:
            return [str(value)]
    if isinstance(value, Mapping):
        return [*map(_text, _list(value.get("choices"))), *map(_path, _list(value.get("taxonomy")))]
    if isinstance(value, list):
        return [_path(one) if isinstance(one, list) else _text(one) for one in value]
    return []


def _targets(data: Mapping[str, Any], target: str) -> tuple[str, ...]:
    names = (target, "call_key", "observation_id", "observationId", "span_id", "call_id")
    return tuple(dict.fromkeys(filter(None, (_one(data, name) for name in names))))


# Fields


def _one(record: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that says something, as text."""
    return next((text for name in names if (text := _text(record.get(name)))), "")


def _text(value: object) -> str:
    if value is None or isinstance(value, Mapping | list):
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _path(value: object) -> str:
    """A path of Label Studio's Taxonomy, as `level1/level2`."""
    return "/".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _time(record: Mapping[str, Any], *names: str) -> int | None:
    """A time in milliseconds; one without a zone is UTC, as both tools write them."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            found = parse_time(value)
            if found is not None:
                return found
    return None

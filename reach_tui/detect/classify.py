"""The records of the `classify` command: calls in, verdicts out, one JSON object a line."""

from __future__ import annotations

from reach_tui.base.jsonio import BadJson, JsonValue, as_text, loads
from reach_tui.model import Result, ToolCall, Verdict

_RESULT_FIELDS = ("result_text", "result", "output")


def identified(line: str | bytes) -> tuple[str, dict[str, JsonValue]]:
    """The object in a line of JSON, with its `id` as text. Raises `ValueError` that says what is wrong."""
    try:
        record = loads(line)
    except BadJson as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    identifier = record.get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        raise ValueError("id is missing or no text")
    return str(identifier), record


def parse_record(line: str | bytes) -> ToolCall:
    """The call in one line. Raises `ValueError` that says what is wrong with it.

    `id` and `tool` are needed; `arguments` is an object or its JSON text; without a result the call was never answered.
    """
    call_id, record = identified(line)
    tool = record.get("tool")
    if not isinstance(tool, str):
        raise ValueError("tool is missing or no text")
    flagged = record.get("flagged")
    if flagged is not None and not isinstance(flagged, bool):
        raise ValueError("flagged must be true, false or null")
    metadata = record.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise ValueError("metadata must be an object")
    return ToolCall(
        key=call_id,
        id=call_id,
        session_id=str(record.get("session") or record.get("session_id") or ""),
        tool=tool,
        arguments=_arguments(record.get("arguments")),
        flagged=flagged,
        result=_result(record),
        status=as_text(record.get("status")),
        metadata=metadata or {},
    )


def _arguments(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    try:
        parsed = loads(value)
    except BadJson:
        return value
    return parsed if isinstance(parsed, dict) else value


def _result(record: dict[str, JsonValue]) -> Result | None:
    for name in _RESULT_FIELDS:
        text = record.get(name)
        if isinstance(text, str):
            return Result(text, len(text.encode("utf-8", "replace")))
        if text is not None:
            raise ValueError(f"{name} must be a text")
    return None


def verdict_record(call_id: str, verdict: Verdict) -> dict[str, JsonValue]:
    """The verdict as the contract's record."""
    evidence: JsonValue = None
    if verdict.evidence is not None:
        found = verdict.evidence
        evidence = {"text": found.text, "start": found.start, "end": found.end, "where": found.where}
    return {
        "id": call_id,
        "failed": verdict.failed,
        "confidence": round(verdict.confidence, 3),
        "category": verdict.category,
        "subcategory": verdict.subcategory,
        "rule": verdict.rule,
        "evidence": evidence,
        "explanation": verdict.explanation,
    }

"""opencode's second interface: sessions whose rows are in `session_message` (store notes on opencode, section 7)."""

from __future__ import annotations

from collections.abc import Iterator

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.model import Result, Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, content_text, json_text, result_of
from reach_tui.stores.opencode_parts import decode_object, duration, error_of, error_text, flag


def tell_row(narrator: Narrator, identifier: str, kind: str, created: object, data: bytes | None) -> Iterator[Step]:
    """The steps of one `session_message` row; never raises."""
    value = decode_object(data)
    raw = (data or b"").decode("utf-8", "replace")
    if value is None:
        narrator.trouble("unreadable message", identifier)
        yield narrator.step(StepKind.RAW, raw or "(empty message)", parse_time(created))
        return
    at = parse_time(as_object(value.get("time")).get("created")) or parse_time(created)
    match kind:
        case "user":
            narrator.turn += 1
            yield narrator.step(StepKind.USER, json_text(value.get("text")), at)
        case "assistant":
            yield from _assistant(narrator, identifier, at, value)
        case "agent-switched":
            yield narrator.step(StepKind.NOTE, f"agent: {json_text(value.get('agent'))}", at)
        case "model-switched":
            yield narrator.step(StepKind.NOTE, f"model: {model_name(value.get('model')) or ''}", at)
        case "synthetic" | "system":
            yield narrator.step(StepKind.SYSTEM, json_text(value.get("text")), at)
        case _:
            narrator.trouble("unknown message", f"{identifier}: type {kind}")
            yield narrator.step(StepKind.RAW, raw, at)


def model_name(model: JsonValue) -> str | None:
    """`provider/model` from {id or modelID, providerID}; a plain string as it is."""
    if isinstance(model, str):
        return model or None
    fields = as_object(model)
    name = as_text(fields.get("id")) or as_text(fields.get("modelID"))
    provider = as_text(fields.get("providerID"))
    return f"{provider}/{name}" if provider and name else name


def _assistant(narrator: Narrator, identifier: str, at: int | None, value: dict[str, JsonValue]) -> Iterator[Step]:
    error = error_of(value.get("error"))
    content = value.get("content")
    seen: dict[str, int] = {}
    for item in content if isinstance(content, list) else [] if content is None else [content]:
        block = as_object(item)
        kind = block.get("type")
        if kind == "tool":
            call_id = as_text(block.get("id")) or ""
            seen[call_id] = seen.get(call_id, 0) + 1
            suffix = f"#{seen[call_id]}" if seen[call_id] > 1 or not call_id else ""
            key = f"{narrator.session_id}/{identifier}/{call_id}{suffix}"
            yield narrator.call(_call(narrator, key, call_id, at, block, as_text(error.get("name"))))
        elif kind in ("text", "reasoning"):
            if (text := json_text(block.get("text"))).strip():
                yield narrator.step(StepKind.ASSISTANT if kind == "text" else StepKind.REASONING, text, at)
        else:
            narrator.trouble("unknown part", f"{identifier}: type {json_text(kind) or type(item).__name__}")
            yield narrator.step(StepKind.RAW, json_text(item), at)
    if error:
        yield narrator.step(StepKind.ERROR, error_text(error), at)


def _call(
    narrator: Narrator, key: str, call_id: str, at: int | None, block: dict[str, JsonValue], error: str | None
) -> ToolCall:
    state = as_object(block.get("state"))
    status = as_text(state.get("status"))
    times = as_object(block.get("time"))
    arguments, problem = state.get("input"), None
    if isinstance(arguments, str):
        try:
            arguments = loads(arguments)
        except BadJson:
            problem = "arguments are not valid JSON"
    result = _result(state, status)
    facts = _metadata(state)
    if error:
        facts["message_error"] = error
    tool = json_text(block.get("name"))
    if not tool or "state" not in block:
        problem = f"missing key: {'name' if not tool else 'state'}"
        narrator.trouble("incomplete call", key)
    return ToolCall(
        key=key,
        id=call_id,
        session_id=narrator.session_id,
        tool=tool,
        arguments=arguments,
        flagged=flag(status, result),
        result=result,
        step=narrator.number + 1,
        turn=narrator.turn,
        started_at=parse_time(times.get("ran")) or parse_time(times.get("created")) or at,
        duration_ms=duration(times.get("ran") or times.get("created"), times.get("completed")),
        status=status,
        metadata=facts,
        problem=problem,
    )


def _result(state: dict[str, JsonValue], status: str | None) -> Result | None:
    if status == "error":
        error = state.get("error")
        said = as_object(error).get("message", error)
        return None if said is None else result_of(json_text(said))
    if status in ("pending", "running") or ("content" not in state and "structured" not in state):
        return None
    plain = content_text(state.get("content"))
    stored = json_text(state.get("content")) + json_text(state.get("structured"))
    return result_of(f"{plain}\n{stored}" if plain else stored)


def _metadata(state: dict[str, JsonValue]) -> dict[str, JsonValue]:
    structured = as_object(state.get("structured"))
    facts: dict[str, JsonValue] = {}
    if (code := as_int(structured.get("exit"))) is not None:
        facts["exit_code"] = code
    if structured.get("timeout") is True:
        facts["timed_out"] = True
    if structured.get("truncated") is True:
        facts["truncated"] = True
    if isinstance(child := structured.get("sessionID") or structured.get("sessionId"), str):
        facts["child_session_id"] = child
    paths = state.get("outputPaths")
    if isinstance(paths, list) and paths:
        facts["outputPaths"] = paths
    return facts

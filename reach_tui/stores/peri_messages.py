"""Peri's message JSON: both wrappings, calls written once or twice, results, times (store notes on Peri, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text, loads
from reach_tui.stores.content import content_text, json_text

ROLES = ("user", "assistant", "tool", "system", "system_reminder")


@dataclass(slots=True)
class Call:
    """A call as an assistant message holds it."""

    id: str
    name: str
    arguments: JsonValue
    problem: str | None = None


@dataclass(slots=True)
class Answer:
    """A tool's result as a message holds it."""

    call_id: str
    text: str
    is_error: bool | None
    execution: dict[str, JsonValue]
    row: Message
    paired: bool = False


@dataclass(slots=True)
class Message:
    """One row of `messages`, decoded."""

    id: str
    role: str
    at: int | None
    excluded: bool = False
    shortened: bool = False
    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    raw: str | None = None
    """Set where the row could not be read: what there is of it."""
    fault: str | None = None
    """Why it could not be read."""


def uuid_time(identifier: str) -> int | None:
    """Milliseconds since 1970 in the first 48 bits of a UUID v7; None for anything else."""
    digits = identifier.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return None
    try:
        return parse_time(int(digits[:12], 16))
    except ValueError:
        return None


def decode(message: Message, content: bytes | None) -> Message:
    """Fill `message` from the row's JSON. Never raises: what cannot be read is kept in `raw`, its reason in `fault`."""
    if content is None:
        return _unreadable(message, "no message text", b"")
    try:
        value = loads(content)
    except BadJson as error:
        return _unreadable(message, f"not JSON ({error})", content)
    if not isinstance(value, dict):
        return _unreadable(message, "not a JSON object", content)
    body = value
    if "version" in value or "type" in value:
        if value.get("version") != 1 or value.get("type") not in ("message", "system_reminder"):
            return _unreadable(
                message, f"unknown wrapping (version {value.get('version')}, type {value.get('type')})", content
            )
        if value["type"] == "system_reminder":
            message.role = "system_reminder"
            reminder = as_object(value.get("reminder"))
            message.text = content_text(reminder.get("body")) or content_text(reminder.get("summary"))
            if not message.text:
                return _unreadable(message, "a reminder without body and summary", content)
            return message
        body = as_object(value.get("message"))
    return _fill(message, body, content)


def _unreadable(message: Message, fault: str, content: bytes) -> Message:
    message.fault = fault
    message.raw = content.decode("utf-8", "replace")
    return message


def _fill(message: Message, body: dict[str, JsonValue], content: bytes) -> Message:
    if message.role not in ROLES:
        message.role = as_text(body.get("role")) or message.role
    if message.role not in ROLES:
        return _unreadable(message, f"unknown role {message.role!r}", content)
    if "content" not in body and "tool_calls" not in body:
        return _unreadable(message, "neither content nor tool_calls", content)
    blocks = body.get("content")
    if message.role == "tool":
        message.answers.append(_answer(message, as_text(body.get("tool_call_id")), content_text(blocks), body))
        return message
    message.text = content_text(blocks)
    if isinstance(blocks, list):
        _read_blocks(message, blocks)
    if message.role == "assistant":
        _read_tool_calls(message, body.get("tool_calls"))
    return message


def _read_blocks(message: Message, blocks: list[JsonValue]) -> None:
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in ("reasoning", "thinking"):
            message.reasoning += json_text(block.get("text")) or json_text(block.get("thinking"))
        elif kind == "tool_use" and message.role == "assistant":
            message.calls.append(_call(block.get("id"), block.get("name"), block.get("input")))
        elif kind == "tool_result":
            message.answers.append(
                _answer(message, as_text(block.get("tool_use_id")), content_text(block.get("content")), block)
            )


def _answer(message: Message, call_id: str | None, text: str, body: dict[str, JsonValue]) -> Answer:
    flag = body.get("is_error")
    known = flag if isinstance(flag, bool) else None
    return Answer(call_id or "", text, known, as_object(body.get("execution")), message)


def _call(identifier: JsonValue, name: JsonValue, arguments: JsonValue) -> Call:
    problem = None
    if isinstance(arguments, str):
        try:
            arguments = loads(arguments)
        except BadJson:
            problem = "arguments are not valid JSON"
    return Call(as_text(identifier) or "", as_text(name) or "", arguments, problem)


def _read_tool_calls(message: Message, entries: JsonValue) -> None:
    """Add `tool_calls`; an entry whose id a tool_use block has already is the same call written twice."""
    if not isinstance(entries, list):
        return
    blocks = list(message.calls)
    for entry in entries:
        if not isinstance(entry, dict):
            message.calls.append(Call("", "", entry, "a call that is no object"))
            continue
        function = as_object(entry.get("function"))
        call = _call(
            entry.get("id"),
            entry.get("name") or function.get("name"),
            entry["arguments"] if "arguments" in entry else function.get("arguments"),
        )
        twin = next((known for known in blocks if known.id == call.id), None) if call.id else None
        if twin is None:
            message.calls.append(call)
            continue
        blocks.remove(twin)
        differing = [
            what
            for what, differs in (("name", twin.name != call.name), ("arguments", twin.arguments != call.arguments))
            if differs
        ]
        if differing:
            twin.problem = f"conflicting double write: {' and '.join(differing)} differ"
            twin.name = twin.name or call.name

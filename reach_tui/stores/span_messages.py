"""Messages as tracing programs keep them in spans: OpenInference, OpenAI, LangChain and Anthropic shapes.

All become `Entry` of the message lists' family, so that a message looks the same in the request that first has it and
in every later one. Shapes: the store notes on Phoenix and MLflow.
"""

from __future__ import annotations

from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text, loads
from reach_tui.model import StepKind
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.openai_messages import Answer, Entry, Request, item_entry, message_entry, request_of

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "AIMessageChunk": "assistant"}
_LISTS = ("messages", "input_messages", "input", "contents", "prompts", "prompt")
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call")


def decoded_text(value: JsonValue) -> JsonValue:
    """JSON text that holds an object or list, decoded; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return loads(value)
        except BadJson:
            return value
    return value


def request_entries(value: JsonValue) -> list[Entry]:
    """The messages that went into a model: a list, an object with one, or the prompt as text."""
    value = decoded_text(value)
    if isinstance(value, dict):
        system = value.get("system") or value.get("instructions")
        found = next((value[name] for name in _LISTS if value.get(name) not in (None, "")), None)
        head = [_said(StepKind.SYSTEM, content_text(system))] if isinstance(system, str | list) and system else []
        if found is not None:
            return head + request_entries(found)
        return head + [one for one in [_entry(value)] if one is not None]
    if isinstance(value, list):
        entries: list[Entry] = []
        for item in value:
            if isinstance(item, list) and not _is_pair(item):
                entries += request_entries(item)  # LangChain: a list of conversations
            elif (entry := _entry(item)) is not None:
                entries.append(entry)
        return entries
    return [_said(StepKind.USER, value)] if isinstance(value, str) and value.strip() else []


def answer_entries(value: JsonValue) -> list[Entry]:
    """The messages that came out of a model: choices, generations, Responses items, one message, or plain text."""
    value = decoded_text(value)
    if isinstance(value, str):
        return [_said(StepKind.ASSISTANT, value)] if value.strip() else []
    if isinstance(value, list):
        return [entry for item in value for entry in answer_entries(item)]
    if not isinstance(value, dict):
        return []
    for name in ("choices", "generations", "output", "messages", "candidates"):
        if isinstance(inner := value.get(name), list):
            return answer_entries(inner)
    if isinstance(inner := value.get("message"), dict):
        return answer_entries(inner)
    entry = _entry({"role": "assistant", **value} if "content" in value and "type" not in value else value)
    if entry is not None:
        return [entry]
    return answer_entries(value["text"]) if isinstance(value.get("text"), str) else []


def _said(kind: StepKind, text: str) -> Entry:
    return Entry("", said=[(kind, text)])


def _is_pair(item: list[JsonValue]) -> bool:
    """`["user", "text"]`, LangChain's short form of a message."""
    return len(item) == 2 and all(isinstance(part, str) for part in item)


def _entry(value: JsonValue) -> Entry | None:
    """One message of any shape; None where it is none."""
    if isinstance(value, str):
        return _said(StepKind.USER, value)
    if isinstance(value, list) and _is_pair(value):
        value = {"role": value[0], "content": value[1]}
    message = _unwrapped(as_object(value))
    if message.get("type") in _ITEMS and "role" not in message:
        return item_entry("", message)
    role = as_text(message.get("role")) or as_text(message.get("type")) or ""
    role = _ROLES.get(role, role)
    if role not in ("user", "assistant", "system", "developer", "tool"):
        return None
    return _message(role, message)


def _unwrapped(message: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The message inside `{message}` (OpenInference), `{type, data}` or `{lc, id, kwargs}` (LangChain)."""
    if isinstance(inner := message.get("message"), dict):
        return inner
    if isinstance(inner := message.get("data"), dict) and "type" in message:
        return {"type": message["type"], **inner}
    if isinstance(inner := message.get("kwargs"), dict) and message.get("type") == "constructor":
        path = message.get("id")
        name = as_text(path[-1]) or "" if isinstance(path, list) and path else ""
        return {"type": name.removesuffix("Chunk").removesuffix("Message").lower(), **inner}
    return message


def _message(role: str, message: dict[str, JsonValue]) -> Entry:
    content = message.get("content")
    if content is None:
        content = message.get("contents") or message.get("parts")
    blocks = [_block(block) for block in content] if isinstance(content, list) else []
    calls: list[JsonValue] = []
    for name in ("tool_calls", "invalid_tool_calls"):
        asked = message.get(name)
        calls += [_call(call) for call in asked] if isinstance(asked, list) else []
    kept: dict[str, JsonValue] = {**message, "role": role, "content": list(blocks) if blocks else content}
    kept["tool_calls"] = calls
    entry = message_entry("", kept)
    known = {request.id for request in entry.requests if request.id}
    for block in map(as_object, blocks):
        _take_block(entry, block, known)
    return entry


def _block(block: JsonValue) -> JsonValue:
    """A content block out of OpenInference's `{message_content}`."""
    inner = as_object(block).get("message_content")
    return inner if isinstance(inner, dict) else block


def _call(call: JsonValue) -> JsonValue:
    """A call out of OpenInference's `{tool_call}`."""
    inner = as_object(call).get("tool_call")
    return inner if isinstance(inner, dict) else call


def _take_block(entry: Entry, block: dict[str, JsonValue], known: set[str]) -> None:
    kind = block.get("type")
    if kind == "tool_use":
        request = request_of(block)
        if request.id not in known:  # LangChain keeps Anthropic's calls in the content and beside it
            entry.requests.append(request)
    elif kind == "tool_result":
        text = content_text(block.get("content"))
        flag = block.get("is_error")
        flagged = flag if isinstance(flag, bool) else None
        entry.answers.append(Answer(as_text(block.get("tool_use_id")) or "", text, flagged=flagged))
    elif kind in ("thinking", "reasoning"):
        thought = content_text(block.get("thinking") or block.get("reasoning") or block.get("text"))
        entry.said.insert(0, (StepKind.REASONING, thought))


Fingerprint = tuple[tuple[tuple[StepKind, str], ...], tuple[str, ...], tuple[str, ...]]


def fingerprint(entry: Entry) -> Fingerprint:
    """What makes a message the same one in a later request: its words, calls and answers, not its reasoning."""
    said = tuple((kind, text.strip()) for kind, text in entry.said if kind is not StepKind.REASONING and text.strip())
    return said, tuple(map(_asked, entry.requests)), tuple(one.call_id or one.text for one in entry.answers)


def _asked(request: Request) -> str:
    return request.id or f"{request.name} {json_text(request.arguments)}"

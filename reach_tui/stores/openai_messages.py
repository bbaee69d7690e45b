"""Message lists as OpenAI's interfaces shape them: assistant messages with calls, and tool messages that answer them.

Shared by every store that keeps such lists. A store turns each of its rows into an `Entry` (`message_entry` for Chat
Completions messages, `item_entry` for Responses items, or by hand), and `tell` makes the steps of them. Shapes: the
store notes on Hermes, OpenAI Agents and llm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text, loads
from reach_tui.model import Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, content_text, json_text, result_of

_SPEAKERS = {
    "user": StepKind.USER,
    "assistant": StepKind.ASSISTANT,
    "system": StepKind.SYSTEM,
    "developer": StepKind.SYSTEM,
}
_FREE_FORM = ("custom", "custom_tool_call")
"""Calls whose input is plain text, not JSON."""
_CALL_FIELDS = {"id", "call_id", "type", "status", "name", "output", "outputs", "result", "results", "error"}
_OUTPUTS = ("output", "outputs", "results", "result")


@dataclass(slots=True)
class Request:
    """A call as the model asked for it."""

    id: str
    name: str
    arguments: JsonValue = None
    problem: str | None = None
    status: str | None = None
    target: str | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(slots=True)
class Answer:
    """A call's result. `flagged` is what the store itself recorded, None where it records nothing."""

    call_id: str
    text: str
    name: str = ""
    flagged: bool | None = None
    status: str | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(slots=True)
class Entry:
    """One row of a conversation: what was said, then what was called, then what was answered."""

    key: str
    """Unique in the session and stable from run to run."""
    at: int | None = None
    said: list[tuple[StepKind, str]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    visible: bool = True
    original: str | None = None
    """Where the row is a stored copy: session and key of the one it was copied from, joined by a slash."""
    fault: str | None = None
    """Why the row, or a part of it, could not be read; then `raw` is what there is of that."""
    raw: str = ""


def unreadable(key: str, at: int | None, fault: str, raw: JsonValue) -> Entry:
    """An entry for a row that cannot be read, shown as it is."""
    return Entry(key, at, fault=fault, raw=json_text(raw))


def arguments_of(value: JsonValue) -> tuple[JsonValue, str | None]:
    """Arguments decoded from the JSON text the model wrote (objects as they are), and what is wrong with them."""
    if not isinstance(value, str):
        return value, None
    if not value.strip():
        return None, None
    try:
        return loads(value), None
    except BadJson:
        return value, "arguments are not valid JSON"


def request_of(value: JsonValue) -> Request:
    """A call from `{id, function: {name, arguments}}`, or flat `{id or call_id, name, arguments or args or input}`."""
    call = as_object(value)
    if not call:
        return Request("", "", value, "a call that is no object")
    inner = as_object(call.get("function")) or as_object(call.get("custom")) or call
    name = as_text(inner.get("name")) or as_text(call.get("name")) or ""
    written = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    arguments, problem = (written, None) if call.get("type") in _FREE_FORM else arguments_of(written)
    return Request(as_text(call.get("id")) or as_text(call.get("call_id")) or "", name, arguments, problem)


def message_entry(key: str, value: JsonValue, at: int | None = None) -> Entry:
    """A Chat Completions message: role, content, reasoning, `tool_calls`; or a tool message with `tool_call_id`."""
    message = as_object(value)
    role = as_text(message.get("role")) or ""
    if role in ("tool", "function"):
        name = as_text(message.get("name")) or as_text(message.get("tool_name")) or ""
        text = content_text(message.get("content"))
        return Entry(key, at, answers=[Answer(as_text(message.get("tool_call_id")) or "", text, name)])
    if role not in _SPEAKERS:
        return unreadable(key, at, f"unknown role {role!r}" if role else "no message with a role", value)
    entry = Entry(key, at)
    if thought := json_text(message.get("reasoning_content")) or json_text(message.get("reasoning")):
        entry.said.append((StepKind.REASONING, thought))
    entry.said.append((_SPEAKERS[role], content_text(message.get("content"))))
    if refusal := as_text(message.get("refusal")):
        entry.said.append((_SPEAKERS[role], refusal))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else [] if not calls else [calls]:
        entry.requests.append(request_of(call))
    if isinstance(single := message.get("function_call"), dict):
        entry.requests.append(request_of(single))
    return entry


def item_entry(key: str, value: JsonValue, at: int | None = None) -> Entry:
    """A Responses item: message, reasoning, a call (function, custom or hosted) or its output."""
    item = as_object(value)
    kind = as_text(item.get("type")) or ("message" if "role" in item else "")
    if kind == "message":
        return message_entry(key, value, at)
    if kind == "reasoning":
        said = content_text(item.get("summary") or []) or content_text(item.get("content") or [])
        return Entry(key, at, [(StepKind.REASONING, said)])
    if kind in ("function_call", "custom_tool_call"):
        request = request_of({**item, "id": item.get("call_id") or item.get("id")})
        request.status = as_text(item.get("status"))
        return Entry(key, at, requests=[request])
    if kind.endswith("_output"):
        answer = Answer(as_text(item.get("call_id")) or "", content_text(item.get("output")))
        answer.status = as_text(item.get("status"))
        return Entry(key, at, answers=[answer])
    if kind.endswith("_call"):
        return _hosted(key, item, kind, at)
    if kind in ("compaction", "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"):
        return Entry(key, at, [(StepKind.NOTE, f"{kind}: {json_text(value)}")])
    return unreadable(key, at, f"unknown item {kind!r}" if kind else "no item with a type", value)


def _hosted(key: str, item: dict[str, JsonValue], kind: str, at: int | None) -> Entry:
    """A tool that the model's provider ran itself: call and outcome in one item; only here an error is recorded."""
    identifier = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
    status = as_text(item.get("status"))
    rest: JsonValue = {name: part for name, part in item.items() if name not in _CALL_FIELDS}
    arguments, problem = arguments_of(item["arguments"]) if "arguments" in item else (rest, None)
    name = as_text(item.get("name")) or kind.removesuffix("_call")
    entry = Entry(key, at, requests=[Request(identifier, name, arguments, problem, status)])
    error = item.get("error")
    outcome = next((item[name] for name in _OUTPUTS if item.get(name) is not None), None)
    if error or status == "failed":
        entry.answers.append(Answer(identifier, json_text(error) or content_text(outcome), flagged=True))
    elif outcome is not None:
        entry.answers.append(Answer(identifier, content_text(outcome)))
    return entry


def tell(narrator: Narrator, entries: Sequence[Entry], *, timed: bool = True) -> Iterator[Step]:
    """The steps of a conversation; calls stand where they were made, with their results.

    `timed`: an answer's time is when the tool was done, so that a call that was made alone has a duration.
    """
    paired, used = _pair(entries)
    for entry in entries:
        narrator.turn += any(kind is StepKind.USER and text.strip() for kind, text in entry.said)
        for kind, text in entry.said:
            if text.strip():
                yield narrator.step(kind, text, entry.at, visible=entry.visible)
        if entry.fault is not None:
            narrator.trouble("unreadable message", f"{entry.key}: {entry.fault}")
            yield narrator.step(StepKind.RAW, entry.raw or f"({entry.fault})", entry.at, visible=entry.visible)
        yield from _call_steps(narrator, entry, paired, timed)
        for answer in entry.answers:
            if id(answer) not in used:
                narrator.trouble("orphan result", f"{entry.key}: {answer.call_id or 'no id'}")
                text = f"orphan result ({answer.call_id or answer.name}): {answer.text}"
                yield narrator.step(StepKind.NOTE, text, entry.at, visible=entry.visible)


def _pair(entries: Sequence[Entry]) -> tuple[dict[int, tuple[Answer, Entry]], set[int]]:
    """Answers by `id()` of their request, and the answers used: the first open call of that id, in the order of rows.

    Answers without an id go to the first open call without one, of the same name if they name one.
    """
    waiting: dict[str, list[Request]] = {}
    paired: dict[int, tuple[Answer, Entry]] = {}
    used: set[int] = set()
    for entry in entries:
        for request in entry.requests:
            waiting.setdefault(request.id, []).append(request)
        for answer in entry.answers:
            candidates = waiting.get(answer.call_id, [])
            named = not answer.call_id and answer.name
            place = next((n for n, one in enumerate(candidates) if not named or one.name == answer.name), None)
            if place is not None:
                paired[id(candidates.pop(place))] = (answer, entry)
                used.add(id(answer))
    return paired, used


def _call_steps(
    narrator: Narrator, entry: Entry, paired: dict[int, tuple[Answer, Entry]], timed: bool
) -> Iterator[Step]:
    seen: dict[str, int] = {}
    for request in entry.requests:
        seen[request.id] = seen.get(request.id, 0) + 1
        suffix = f"#{seen[request.id]}" if seen[request.id] > 1 or not request.id else ""
        place = f"{request.id}{suffix}"
        if not request.name:
            request.problem = request.problem or "a call without a name"
            narrator.trouble("malformed call", f"{entry.key}/{place}: {request.problem}")
        answer, row = paired.get(id(request), (None, entry))
        alone = timed and len(entry.requests) == 1
        call = ToolCall(
            key=f"{narrator.session_id}/{entry.key}/{place}",
            id=request.id,
            session_id=narrator.session_id,
            tool=request.name,
            arguments=request.arguments,
            flagged=answer.flagged if answer else None,
            result=result_of(answer.text) if answer else None,
            step=narrator.number + 1,
            turn=narrator.turn,
            started_at=entry.at,
            duration_ms=_between(entry.at, row.at) if answer and alone and row is not entry else None,
            status=(answer.status if answer else None) or request.status,
            target=request.target,
            metadata={**request.metadata, **(answer.metadata if answer else {})},
            copy_of=f"{entry.original}/{place}" if entry.original else None,
            visible=entry.visible and row.visible,
            problem=request.problem,
        )
        yield narrator.call(call)


def _between(start: int | None, end: int | None) -> int | None:
    """Milliseconds between two times; None where one is unknown or they run backwards."""
    return end - start if start is not None and end is not None and end >= start else None

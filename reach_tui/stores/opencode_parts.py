"""opencode's messages and parts (the first interface) as steps (store notes on opencode, sections 5 and 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.model import Result, Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, attachment_text, json_text, result_of

if TYPE_CHECKING:
    from reach_tui.stores.opencode_forks import Originals

SILENT = {"step-start", "step-finish", "snapshot"}
"""Parts that say nothing a reader of the session needs."""
KNOWN = {"tool", "text", "reasoning", "file", "agent", "subtask", "patch", "compaction", "retry"}
"""Parts that become a step."""
_PLACEHOLDER = "invalid"
SHELLS = {"bash", "shell"}
NOTICE_WITHIN = 4000
"""Characters at the end of a shell's result among which the program's notice about it stands."""
_NOTICE = re.compile(r"<(shell|bash)_metadata>\s*(.*?)\s*</\1_metadata>\s*\Z", re.DOTALL)
_TYPED_BY_USER = re.compile(r"\A[0-9A-HJKMNP-TV-Z]{26}\Z")
_UNFINISHED = {"pending", "running"}
_COPIES_OF_RESULT = ("output", "preview")


@dataclass(slots=True)
class Message:
    """What the steps need of a row of `message`."""

    row: int
    id: str
    at: int | None
    role: str | None = None
    error: dict[str, JsonValue] = field(default_factory=dict)
    raw: str | None = None
    """Set where the row could not be read."""


@dataclass(slots=True)
class Part:
    """A row of `part`, its JSON decoded; `value` is None where that failed."""

    id: str
    value: dict[str, JsonValue] | None
    raw: str = ""


def decode_message(row: int, identifier: str, created: object, data: bytes | None) -> Message:
    """A message row; never raises."""
    message = Message(row, identifier, parse_time(created))
    value = decode_object(data)
    if value is None:
        message.raw = (data or b"").decode("utf-8", "replace")
        return message
    message.role = as_text(value.get("role"))
    message.error = error_of(value.get("error"))
    if message.role is None:
        message.raw = (data or b"").decode("utf-8", "replace")
    return message


def decode_object(data: bytes | None) -> dict[str, JsonValue] | None:
    """The JSON object in a column, None for anything else."""
    try:
        value = loads(data or b"")
    except BadJson:
        return None
    return value if isinstance(value, dict) else None


def error_of(value: JsonValue) -> dict[str, JsonValue]:
    """A message's error as an object with `name` and `data`, whatever it was stored as; empty without one."""
    if value is None:
        return {}
    if isinstance(value, dict):
        name = as_text(value.get("name")) or as_text(value.get("type")) or "error"
        data = value.get("data") if "data" in value else {"message": value.get("message")}
        return {"name": name, "data": data}
    return {"name": "error", "data": {"message": json_text(value)}}


def error_text(error: dict[str, JsonValue]) -> str:
    """`APIError (400): message` for an ERROR step."""
    data = as_object(error.get("data"))
    said = json_text(data.get("message")) or json_text(error.get("data"))
    code = as_int(data.get("statusCode"))
    name = f"{error['name']} ({code})" if code is not None else json_text(error["name"])
    return f"{name}: {said}" if said else name


@dataclass(slots=True)
class Undone:
    """Where a session was reverted to: messages from there on are undone for the model."""

    message: str | None = None
    part: str | None = None
    reached: bool = False

    def visible(self, message: str, part: str | None) -> bool:
        """False from the reverted message (or its part) on. Asked in the session's order."""
        if self.message == message and self.part in (None, part):
            self.reached = True
        return not self.reached


def tell_message(
    narrator: Narrator, message: Message, parts: list[Part], undone: Undone, originals: Originals | None
) -> Iterator[Step]:
    """The steps of one message."""
    visible = undone.visible(message.id, None)
    if message.raw is not None:
        narrator.trouble("unreadable message", message.id)
        yield narrator.step(StepKind.RAW, message.raw or "(empty message)", message.at, visible=visible)
    if message.role == "user" and any(by_user(part) for part in parts):
        narrator.turn += 1
    error = as_text(message.error.get("name"))
    for part in parts:
        visible = undone.visible(message.id, part.id)
        if (step := _tell_part(narrator, message, part, visible, error, originals)) is not None:
            yield step
    if message.error:
        yield narrator.step(StepKind.ERROR, error_text(message.error), message.at, visible=visible)


def by_user(part: Part) -> bool:
    """True for a part of a user's message that a person wrote."""
    value = part.value or {}
    kind = value.get("type")
    if kind == "text":
        return not value.get("synthetic") and bool(json_text(value.get("text")).strip())
    return kind in ("file", "subtask", "agent")


def _tell_part(
    narrator: Narrator, message: Message, part: Part, visible: bool, error: str | None, originals: Originals | None
) -> Step | None:
    value = part.value
    kind = None if value is None else value.get("type")
    if value is None or not isinstance(kind, str):
        narrator.trouble("unreadable part", part.id)
        return narrator.step(StepKind.RAW, part.raw or "(empty part)", message.at, visible=visible)
    if kind in SILENT:
        return None
    if kind == "tool":
        call = tool_call(narrator, message, part, visible, error)
        return narrator.call(call if originals is None else originals.marked(call))
    step_kind, text = text_of_part(message, kind, value)
    if step_kind is StepKind.RAW:
        narrator.trouble("unknown part", f"{part.id}: type {kind}")
        text = part.raw
    if not text.strip():
        return None
    at = parse_time(as_object(value.get("time")).get("start")) or message.at
    return narrator.step(step_kind, text, at, visible=visible)


def text_of_part(message: Message, kind: str, value: dict[str, JsonValue]) -> tuple[StepKind, str]:
    """What a part that is no call is to the session, and its text; RAW for an unknown one."""
    own = {"user": StepKind.USER, "assistant": StepKind.ASSISTANT}.get(message.role or "", StepKind.SYSTEM)
    match kind:
        case "text":
            return (StepKind.SYSTEM if value.get("synthetic") else own), json_text(value.get("text"))
        case "reasoning":
            return StepKind.REASONING, json_text(value.get("text"))
        case "file":
            return (own if own is StepKind.USER else StepKind.NOTE), attachment_text(value)
        case "agent":
            return (own if own is StepKind.USER else StepKind.NOTE), f"@{json_text(value.get('name'))}"
        case "subtask":
            return own, json_text(value.get("prompt")) or json_text(value.get("description"))
        case "patch":
            return StepKind.NOTE, f"files changed: {_listed(value.get('files'))}"
        case "compaction":
            return StepKind.NOTE, f"compaction ({'automatic' if value.get('auto') else 'asked for'})"
        case "retry":
            return StepKind.ERROR, f"retry: {error_text(error_of(value.get('error')) or {'name': 'error'})}"
    return StepKind.RAW, ""


def _listed(value: JsonValue) -> str:
    return ", ".join(json_text(item) for item in value) if isinstance(value, list) else json_text(value)


def tool_call(narrator: Narrator, message: Message, part: Part, visible: bool, error: str | None) -> ToolCall:
    """The call in a tool part, whatever of it can be read."""
    value = part.value or {}
    state = as_object(value.get("state"))
    status = as_text(state.get("status"))
    call_id = as_text(value.get("callID")) or ""
    tool = json_text(value.get("tool"))
    result = result_in(state, status)
    own, outer = as_object(state.get("metadata")), as_object(value.get("metadata"))
    facts = facts_of(tool, own, outer, state.get("attachments"), result)
    if error:
        facts["message_error"] = error
    if typed_by_user(call_id):
        facts["typed_by_user"] = True
    times = as_object(state.get("time"))
    arguments, problem = _arguments(state)
    target = None
    if tool == _PLACEHOLDER:
        target = as_text(as_object(arguments).get("tool"))
        if "JSON" in json_text(as_object(arguments).get("error")):
            problem = "the arguments were no valid JSON; only the program's quote of them is stored"
    if not tool or "state" not in value:
        lacks = "tool" if not tool else "state"
        problem = f"missing key: {lacks}"
        narrator.trouble("incomplete call", f"{part.id}: no {lacks}")
    return ToolCall(
        key=f"{narrator.session_id}/{part.id}",
        id=call_id,
        session_id=narrator.session_id,
        tool=tool,
        arguments=arguments,
        flagged=flag(status, result),
        result=result,
        step=narrator.number + 1,
        turn=narrator.turn,
        started_at=parse_time(times.get("start")) or message.at,
        duration_ms=duration(times.get("start"), times.get("end")),
        status=status,
        target=target,
        metadata=facts,
        visible=visible and not times.get("compacted"),
        problem=problem,
    )


def typed_by_user(call_id: str) -> bool:
    """True for the id of a shell command that a person typed: a ULID, where providers' ids look different."""
    return len(call_id) == 26 and _TYPED_BY_USER.match(call_id) is not None


def flag(status: str | None, result: Result | None) -> bool | None:
    """True for `error`, None without an outcome (pending, running, unknown word and no output), else False."""
    if status == "error":
        return True
    if status == "completed":
        return False
    return None if status in _UNFINISHED or status is None or result is None else False


def duration(start: JsonValue, end: JsonValue) -> int | None:
    """Milliseconds between two times, None where one is missing or they run backwards."""
    first, last = parse_time(start), parse_time(end)
    return last - first if first is not None and last is not None and last >= first else None


def _arguments(state: dict[str, JsonValue]) -> tuple[JsonValue, str | None]:
    arguments, raw = state.get("input"), state.get("raw")
    if not arguments and isinstance(raw, str) and raw:
        arguments = raw
    if isinstance(arguments, str):
        try:
            return loads(arguments), None
        except BadJson:
            return arguments, "arguments are not valid JSON"
    return arguments, None


def result_in(state: dict[str, JsonValue], status: str | None) -> Result | None:
    """What the model got back according to a tool part's state; None while there is nothing."""
    if status == "error":
        error = state.get("error")
        said = error.get("message", error) if isinstance(error, dict) else error
        return None if said is None else result_of(json_text(said))
    if status in _UNFINISHED or state.get("output") is None:
        return None
    return result_of(json_text(state["output"]))


def facts_of(
    tool: str,
    own: dict[str, JsonValue],
    outer: dict[str, JsonValue] | None,
    attached: JsonValue,
    result: Result | None,
) -> dict[str, JsonValue]:
    """Metadata of a call from its state's own and the part's outer one, copies of the result left out."""
    facts: dict[str, JsonValue] = {**outer, **own} if outer else dict(own)
    code = as_int(facts.pop("exit")) if "exit" in facts else None
    if "exitCode" in facts:
        other = as_int(facts.pop("exitCode"))
        code = other if code is None else code
    if code is not None:
        facts["exit_code"] = code
    if result is not None:
        for name in _COPIES_OF_RESULT:
            facts.pop(name, None)
    if isinstance(attached, list):
        facts["attachments"] = [attachment_text(as_object(item)) for item in attached]
    if isinstance(child := own.get("sessionId"), str):
        facts["child_session_id"] = child
    if tool in SHELLS and result is not None and (notice := _NOTICE.search(result.text[-NOTICE_WITHIN:])):
        facts["notice"] = notice[2]
        if code is None and "exit" in own:
            facts["timed_out"] = "exceeding timeout" in notice[2]
            facts["interrupted"] = "aborted the command" in notice[2]
    return facts

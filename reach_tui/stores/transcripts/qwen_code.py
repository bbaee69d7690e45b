"""Qwen Code: a chain of lines, durations in telemetry lines before the results (store notes on Qwen Code)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text
from reach_tui.model import Session, StepKind
from reach_tui.stores.content import json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.format import PlainFormat, Summary, Usage, last_time, line_time, short_title
from reach_tui.stores.transcripts.gemini_parts import part_text, parts_of, parts_text, response_of, shell_facts
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line, last_line_where
from reach_tui.stores.transcripts.story import Answer, Story

_TYPES = frozenset({"user", "assistant", "tool_result", "system"})


class QwenCode(PlainFormat):
    """Chats of Qwen Code."""

    kind: ClassVar[str] = "qwen_code"
    title: ClassVar[str] = "Qwen Code"
    flag_meaning: ClassVar[str] = "status `error` of the result, or an `error` in the function's response"
    versions_tried: ClassVar[tuple[str, ...]] = ("0.15.10",)
    not_recorded: ClassVar[str] = "Exit codes other than in the text; the tools that were offered."
    verified: ClassVar[bool] = True

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """Lines of a chain whose messages have `parts`, or with a `systemPayload`."""
        for line in first:
            chained = "parentUuid" in line and "sessionId" in line and as_text(line.get("type")) in _TYPES
            if chained and ("parts" in as_object(line.get("message")) or "systemPayload" in line):
                return Recognition(as_text(line.get("version")) or "?")
        return None

    def summary(self, excerpt: Excerpt) -> Summary:
        """First prompt, folder and model."""
        title = project = model = session_id = lineage = None
        started: int | None = None
        usage = Usage()
        for line in excerpt.head():
            session_id = session_id or as_text(line.get("sessionId"))
            project = project or as_text(line.get("cwd"))
            started = started if started is not None else line_time(line)
            lineage = lineage or as_text(line.get("uuid"))
            if line.get("type") == "user":
                title = title or short_title(parts_text(as_object(line.get("message")).get("parts")))
            elif line.get("type") == "assistant":
                model = model or as_text(line.get("model"))
                usage.add(as_object(line.get("usageMetadata")), ("promptTokenCount",), "candidatesTokenCount")
            if title and model and not excerpt.whole:
                break
        session = Session(
            store=self.kind,
            id=session_id or excerpt.path.stem,
            title=title,
            project=project,
            model=model,
            started_at=started,
            ended_at=last_time(excerpt, started),
            tokens=usage.sums(excerpt),
        )
        return Summary(session, lineage)

    def teller(self, path: Path, story: Story) -> _Teller:
        """What stands before the last compression is invisible to the model."""
        return _Teller(story, last_line_where(path, b"chat_compression", _compresses))


def _compresses(line: JsonObject) -> bool:
    return line.get("subtype") == "chat_compression"


class _Teller:
    def __init__(self, story: Story, horizon: int) -> None:
        self._story = story
        self._horizon = horizon
        self._measured: list[JsonObject] = []
        self._names: dict[str, tuple[str, JsonValue]] = {}

    def tell(self, line: Line) -> None:
        """One line."""
        value = line.value
        at, visible = line_time(value), line.number >= self._horizon
        parts = parts_of(as_object(value.get("message")).get("parts"))
        kind = value.get("type")
        if kind in ("user", "assistant", "tool_result") and not isinstance(value.get("message"), dict):
            self._story.misshapen(line, "message")
        elif kind == "user":
            self._story.prompt(parts_text(parts), at, visible=visible)
        elif kind == "assistant":
            self._assistant(parts, at, line, visible)
        elif kind == "tool_result":
            self._result(parts, at, line, visible)
        elif kind == "system":
            self._system(value, at, visible)

    def _assistant(self, parts: Sequence[JsonValue], at: int | None, line: Line, visible: bool) -> None:
        for part in parts:
            fields = as_object(part)
            call = as_object(fields.get("functionCall"))
            if call:
                call_id, tool = as_text(call.get("id")) or "", json_text(call.get("name"))
                self._names[call_id] = tool, call.get("args")
                self._story.begin(call_id, tool, call.get("args"), at, line, visible=visible)
            else:
                kind = StepKind.REASONING if fields.get("thought") else StepKind.ASSISTANT
                self._story.say(kind, part_text(part), at, visible=visible)

    def _result(self, parts: Sequence[JsonValue], at: int | None, line: Line, visible: bool) -> None:
        told = as_object(line.value.get("toolCallResult"))
        for part in parts:
            response = response_of(part)
            if response is None:
                self._story.say(StepKind.SYSTEM, part_text(part), at, visible=visible)
                continue
            wrapper = as_object(as_object(part).get("functionResponse"))
            call_id = as_text(wrapper.get("id")) or as_text(told.get("callId")) or ""
            text, failed = response
            status = as_text(told.get("status"))
            measured = self._telemetry(call_id, json_text(wrapper.get("name")))
            metadata = shell_facts(text)
            error_type = as_text(told.get("errorType")) or as_text(measured.get("error_type"))
            if error_type:
                metadata["error_type"] = error_type
            if decision := as_text(measured.get("decision")):
                metadata["decision"] = decision
            duration = as_int(measured.get("duration_ms"))
            flagged = failed or status == "error"
            answer = Answer(text, flagged, at, status, duration_ms=duration, metadata=metadata)
            self._story.answer(call_id, answer, line, visible=visible)

    def _telemetry(self, call_id: str, name: str) -> JsonObject:
        """The measurement before a result: of the same tool with the same arguments, else the oldest of the tool."""
        tool, arguments = self._names.get(call_id, (name, None))
        same = [one for one in self._measured if one.get("function_name") == tool]
        found = next((one for one in same if one.get("function_args") == arguments), same[0] if same else None)
        if found is None:
            return {}
        self._measured.remove(found)
        return found

    def _system(self, value: JsonObject, at: int | None, visible: bool) -> None:
        payload = as_object(value.get("systemPayload"))
        event = as_object(payload.get("uiEvent"))
        name = event.get("event.name")
        if name == "qwen-code.tool_call":
            self._measured.append(event)
        elif name == "qwen-code.api_error":
            text = json_text(event.get("error_message")) or json_text(event.get("error_type"))
            self._story.say(StepKind.ERROR, text or "the model's interface failed", at, visible=visible)
        elif value.get("subtype") == "chat_compression":
            self._story.say(StepKind.NOTE, "context compressed", at)

    def end(self) -> None:
        """Nothing is left to tell."""

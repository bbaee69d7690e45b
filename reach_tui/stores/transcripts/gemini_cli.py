"""Gemini CLI: messages, of which a later line with the same id replaces the earlier one (store notes on Gemini CLI)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.model import Session, StepKind
from reach_tui.stores.content import json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.format import PlainFormat, Summary, Usage, last_time, line_time, short_title
from reach_tui.stores.transcripts.gemini_parts import part_text, parts_of, parts_text, response_of, shell_facts
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line, read_lines
from reach_tui.stores.transcripts.story import Answer, Story

_ENDED = {"success": False, "error": True, "cancelled": False}
_CONTEXT = "<session_context>"
_WORKSPACE = re.compile(r"^\W*Workspace Directories:\W*\n\s*- (.+)", re.MULTILINE)
_SHELL = frozenset({"run_shell_command", "shell"})


class GeminiCli(PlainFormat):
    """Chats of Gemini CLI."""

    kind: ClassVar[str] = "gemini_cli"
    title: ClassVar[str] = "Gemini CLI"
    flag_meaning: ClassVar[str] = "status `error` of the call; a command's exit code does not count"
    versions_tried: ClassVar[tuple[str, ...]] = ("0.61.0",)
    not_recorded: ClassVar[str] = (
        "Calls that were running when the program was killed; durations; the tools that were offered."
    )
    verified: ClassVar[bool] = True

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """The first line has `sessionId` and `projectHash`."""
        head = first[0]
        if not isinstance(head.get("sessionId"), str) or "projectHash" not in head:
            return None
        return Recognition(f"kind {json_text(head.get('kind') or 'main')}")

    def summary(self, excerpt: Excerpt) -> Summary:
        """Header, first prompt and model."""
        header: JsonObject = {}
        title = model = project = None
        usage: dict[str, JsonObject] = {}
        for line in excerpt.head():
            header = header or line
            project = project or _workspace(line)
            if line.get("type") == "user":
                title = title or short_title(_prompt(line))
            elif line.get("type") == "gemini":
                model = model or as_text(line.get("model"))
                usage[json_text(line.get("id"))] = as_object(line.get("tokens"))
            if title and model and not excerpt.whole:
                break
        tokens = Usage()
        for one in usage.values():
            tokens.add(one, ("input",), "output")
        started = parse_time(header.get("startTime"))
        child = header.get("kind") not in (None, "main")
        session = Session(
            store=self.kind,
            id=as_text(header.get("sessionId")) or excerpt.path.stem,
            title=title or as_text(header.get("summary")),
            project=project or as_text(header.get("projectHash")),
            model=model,
            started_at=started,
            ended_at=last_time(excerpt, parse_time(header.get("lastUpdated")) or started),
            tokens=tokens.sums(excerpt),
            own_work=not child,
        )
        return Summary(session)

    def teller(self, path: Path, story: Story) -> _Teller:
        """Each message is told where its last version stands."""
        last: dict[str, int] = {}
        for line in read_lines(path):
            if (name := as_text(line.value.get("id"))) is not None:
                last[name] = line.number
        return _Teller(story, last)


def _workspace(line: JsonObject) -> str | None:
    """The first folder of the workspace, from the context that the program gives to the model."""
    messages = as_object(line.get("$set")).get("messages")
    for message in messages if isinstance(messages, list) else [line]:
        text = parts_text(as_object(message).get("content"))[:20_000]
        if text.startswith(_CONTEXT) and (found := _WORKSPACE.search(text)):
            return found[1].strip()
    return None


def _prompt(message: JsonObject) -> str:
    """What the user wrote: not the program's context, not the responses of functions."""
    texts = [part_text(part) for part in parts_of(message.get("content"))]
    return "".join(text for text in texts if not text.lstrip().startswith(_CONTEXT))


class _Teller:
    def __init__(self, story: Story, last: dict[str, int]) -> None:
        self._story = story
        self._last = last
        self._told: set[str] = set()

    def tell(self, line: Line) -> None:
        """One line: a message, or a change of the header that may carry messages."""
        value = line.value
        change = as_object(value.get("$set"))
        if change:
            messages = change.get("messages")
            for message in messages if isinstance(messages, list) else []:
                name = as_text(as_object(message).get("id"))
                if name is None or (name not in self._last and name not in self._told):
                    self._told.add(name or "")
                    self._message(as_object(message), line)
        elif (name := as_text(value.get("id"))) is None or self._last.get(name, 0) <= line.number:
            self._message(value, line)

    def _message(self, message: JsonObject, line: Line) -> None:
        kind, at = message.get("type"), line_time(message)
        if kind == "user":
            for part in parts_of(message.get("content")):
                text = part_text(part)
                if text.lstrip().startswith(_CONTEXT):
                    self._story.say(StepKind.SYSTEM, text, at)
            self._story.prompt(_prompt(message), at)
        elif kind in ("gemini", "model") or "toolCalls" in message:
            self._model(message, at, line)
        elif kind == "error":
            self._story.say(StepKind.ERROR, parts_text(message.get("content")), at)
        elif kind is not None:
            self._story.say(StepKind.NOTE, parts_text(message.get("content")), at)

    def _model(self, message: JsonObject, at: int | None, line: Line) -> None:
        for thought in parts_of(message.get("thoughts")):
            fields = as_object(thought)
            told = [as_text(fields.get(name)) for name in ("subject", "description")]
            self._story.say(StepKind.REASONING, ": ".join(text for text in told if text) or json_text(thought), at)
        self._story.say(StepKind.ASSISTANT, parts_text(message.get("content")), at)
        for one in parts_of(message.get("toolCalls")):
            call = as_object(one)
            call_id = as_text(call.get("id")) or ""
            tool = json_text(call.get("name"))
            self._story.begin(call_id, tool, call.get("args"), at, line)
            self._story.answer(call_id, _answer(call, tool), line)

    def end(self) -> None:
        """Nothing is left to tell."""


def _answer(call: JsonObject, tool: str) -> Answer:
    status = as_text(call.get("status"))
    responses = [response for part in parts_of(call.get("result")) if (response := response_of(part)) is not None]
    text = "\n".join(text for text, _ in responses) if responses else None
    metadata: dict[str, JsonValue] = {}
    if text is not None and tool in _SHELL:
        metadata |= shell_facts(text)
    flagged = _ENDED.get(status or "")
    if flagged is None and responses:
        flagged = any(failed for _, failed in responses)
    return Answer(text, flagged, parse_time(call.get("timestamp")), status, metadata=metadata)

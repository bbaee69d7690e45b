"""Claude Code: one file a session, sub-agents in files of their own (store notes on Claude Code)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text
from reach_tui.model import Session, StepKind
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.format import PlainFormat, Summary, Usage, last_time, line_time, short_title
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line, last_line_where
from reach_tui.stores.transcripts.story import Answer, Story

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROGRAMS = re.compile(
    r"\s*(?:<(?:command-name|command-message|local-command|system-reminder|bash-|task-notification)|Caveat: The mess)"
)
_EXIT = re.compile(r"Exit code (-?\d+)\b")
_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeCode(PlainFormat):
    """Sessions of Claude Code."""

    kind: ClassVar[str] = "claude_code"
    title: ClassVar[str] = "Claude Code"
    flag_meaning: ClassVar[str] = "`is_error` of the tool's result; where the key is absent, the call succeeded"
    versions_tried: ClassVar[tuple[str, ...]] = ("2.1.197",)
    not_recorded: ClassVar[str] = "Exit codes other than in the text; durations; the tools that were offered."
    verified: ClassVar[bool] = True

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """Lines of a chain (`parentUuid`, `sessionId`, `isSidechain`), or one of the lines that may come before it."""
        for line in first:
            if "parentUuid" in line and "sessionId" in line and ("isSidechain" in line or "userType" in line):
                return Recognition(as_text(line.get("version")) or "?")
        queued = any(line.get("type") in ("queue-operation", "last-prompt") and "sessionId" in line for line in first)
        titled = any(line.get("type") == "summary" and "leafUuid" in line for line in first)
        backed_up = any(line.get("type") == "file-history-snapshot" and "snapshot" in line for line in first)
        return Recognition("?") if queued or titled or backed_up else None

    def summary(self, excerpt: Excerpt) -> Summary:
        """Title (a summary line, else the first prompt), folder, model; a file in `subagents` is a child."""
        title = named = project = model = session_id = lineage = None
        started: int | None = None
        sidechain = False
        usage, counted = Usage(), set[str]()
        for line in excerpt.head():
            session_id = session_id or as_text(line.get("sessionId"))
            project = project or as_text(line.get("cwd"))
            started = started if started is not None else line_time(line)
            message = as_object(line.get("message"))
            if message:
                lineage = lineage or as_text(line.get("uuid"))
                sidechain = sidechain or line.get("isSidechain") is True
            named = as_text(line.get("summary")) if line.get("type") == "summary" else named
            if line.get("type") == "assistant":
                known = as_text(message.get("model"))
                model = model or (known if known != "<synthetic>" else None)
                if (name := as_text(message.get("id")) or "") not in counted:
                    counted.add(name)
                    usage.add(as_object(message.get("usage")), _INPUTS, "output_tokens")
            elif line.get("type") == "user" and title is None and not _is_programs(line):
                title = short_title(content_text(message.get("content")))
            if title and model and not excerpt.whole:
                break
        stem = excerpt.path.stem
        child = stem.startswith("agent-")
        own = stem if child or _UUID.fullmatch(stem) else session_id or stem
        session = Session(
            store=self.kind,
            id=own,
            parent_id=session_id if child and session_id != own else None,
            title=named or title,
            project=project,
            model=model,
            started_at=started,
            ended_at=last_time(excerpt, started),
            tokens=usage.sums(excerpt),
            own_work=not child,
        )
        return Summary(session, lineage)

    def teller(self, path: Path, story: Story) -> _Teller:
        """What stands before the last compaction is invisible to the model."""
        return _Teller(story, last_line_where(path, b"ompact", _compacts), sub_agent=path.stem.startswith("agent-"))


def _compacts(line: JsonObject) -> bool:
    return line.get("subtype") == "compact_boundary" or line.get("isCompactSummary") is True


def _is_programs(line: JsonObject) -> bool:
    """True for a `user` line that the program wrote."""
    content = as_object(line.get("message")).get("content")
    return line.get("isMeta") is True or _PROGRAMS.match(content_text(content)) is not None


class _Teller:
    def __init__(self, story: Story, horizon: int, *, sub_agent: bool) -> None:
        self._story = story
        self._horizon = horizon
        self._sub_agent = sub_agent
        self._lines: set[str] = set()

    def tell(self, line: Line) -> None:
        """One line; a line whose `uuid` was there before is the same line again."""
        value = line.value
        if (uuid := as_text(value.get("uuid"))) is not None:
            if uuid in self._lines:
                self._story.trouble("repeated line", f"line {line.number}: {uuid}")
                return
            self._lines.add(uuid)
        kind = value.get("type")
        if kind in ("user", "assistant") and not isinstance(value.get("message"), dict):
            self._story.misshapen(line, "message")
        elif kind == "user":
            self._user(line)
        elif kind == "assistant":
            self._assistant(line)
        elif kind == "system":
            self._system(line)

    def _visible(self, line: Line) -> bool:
        return line.number >= self._horizon

    def _system(self, line: Line) -> None:
        text = content_text(line.value.get("content"))
        kind = StepKind.SYSTEM
        if line.value.get("subtype") == "compact_boundary":
            kind, text = StepKind.NOTE, "context compacted"
        elif line.value.get("subtype") == "api_error":
            kind = StepKind.ERROR
            text = text or json_text(as_object(line.value.get("error")).get("message")) or "API error"
        self._story.say(kind, text, line_time(line.value), visible=self._visible(line))

    def _user(self, line: Line) -> None:
        at, visible = line_time(line.value), self._visible(line)
        content = as_object(line.value.get("message")).get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = [block for block in blocks if as_object(block).get("type") != "tool_result"]
        for block in blocks:
            result = as_object(block)
            if result.get("type") == "tool_result":
                self._story.answer(
                    as_text(result.get("tool_use_id")) or "", _answer(result, line.value, at), line, visible=visible
                )
        text = content_text(texts)
        if text.startswith("[Request interrupted by user"):
            self._story.say(StepKind.NOTE, text, at, visible=visible)
        elif _is_programs(line.value) or line.value.get("isCompactSummary") is True:
            self._story.say(StepKind.SYSTEM, text, at, visible=visible)
        elif line.value.get("isSidechain") is True and not self._sub_agent:
            self._story.say(StepKind.SYSTEM, f"to the sub-agent: {text}", at, visible=visible)
        else:
            self._story.prompt(text, at, visible=visible)

    def _assistant(self, line: Line) -> None:
        at, visible = line_time(line.value), self._visible(line)
        message = as_object(line.value.get("message"))
        failed = line.value.get("isApiErrorMessage") is True
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            part = as_object(block)
            if part.get("type") == "tool_use":
                self._story.begin(
                    as_text(part.get("id")) or "",
                    json_text(part.get("name")),
                    part.get("input"),
                    at,
                    line,
                    visible=visible,
                )
            elif part.get("type") in ("thinking", "redacted_thinking"):
                text = json_text(part.get("thinking")) or "[redacted]"
                self._story.say(StepKind.REASONING, text, at, visible=visible)
            else:
                kind = StepKind.ERROR if failed else StepKind.ASSISTANT
                self._story.say(kind, content_text([block]), at, visible=visible)

    def end(self) -> None:
        """Nothing is left to tell."""


def _answer(block: JsonObject, line: JsonObject, at: int | None) -> Answer:
    text = content_text(block.get("content"))
    details = as_object(line.get("toolUseResult"))
    metadata: dict[str, JsonValue] = {}
    if details.get("interrupted") is True:
        metadata["interrupted"] = True
    flagged = block.get("is_error") is True
    if flagged and (code := _EXIT.match(text)):
        metadata["exit_code"] = int(code[1][:9])
    for name in ("stderr", "agentId"):
        if told := as_text(details.get(name)):
            metadata[name] = told
    if text.startswith("<persisted-output>"):
        metadata["truncated"] = True
    duration = next((ms for name in ("durationMs", "totalDurationMs") if (ms := as_int(details.get(name)))), None)
    return Answer(text, flagged, at, duration_ms=duration, metadata=metadata)

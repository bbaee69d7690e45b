"""GitHub Copilot CLI: events of a session; the database beside them is an index (store notes on Copilot CLI)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar

from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text
from reach_tui.model import Session, StepKind, Tokens
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.format import PlainFormat, Summary, Usage, last_time, line_time, short_title
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line
from reach_tui.stores.transcripts.story import Answer, Story

_EXIT = re.compile(r"<[^<>]*exit(?:ed)?(?: with)?(?: exit)? code:? (-?\d+)>\s*\Z")


class CopilotCli(PlainFormat):
    """Sessions of GitHub Copilot CLI."""

    kind: ClassVar[str] = "copilot_cli"
    title: ClassVar[str] = "GitHub Copilot CLI"
    flag_meaning: ClassVar[str] = "`success: false` of the completed tool; a command's exit code does not count"
    versions_tried: ClassVar[tuple[str, ...]] = ("1.0.102",)
    not_recorded: ClassVar[str] = "Exit codes as failures; the tools that were offered."
    verified: ClassVar[bool] = True

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """Events with `type`, `data` and `parentId`, the first of them `session.start`."""
        for line in first:
            if line.get("type") == "session.start" and isinstance(line.get("data"), dict):
                return Recognition(as_text(as_object(line.get("data")).get("copilotVersion")) or "?")
        return None

    def summary(self, excerpt: Excerpt) -> Summary:
        """The start's data, the first prompt, and the totals of the shutdown."""
        start: JsonObject = {}
        title = model = lineage = None
        started: int | None = None
        usage = Usage()
        for line in excerpt.head():
            kind, data = line.get("type"), as_object(line.get("data"))
            started = started if started is not None else line_time(line)
            if kind == "session.start":
                start = start or data
            elif kind == "user.message":
                lineage = lineage or as_text(line.get("id"))
                title = title or short_title(content_text(data.get("content")))
            elif kind == "assistant.message":
                model = model or as_text(data.get("model"))
            elif kind == "session.usage_record":
                usage.add(as_object(data.get("usage")), ("inputTokens",), "outputTokens")
            if title and model and not excerpt.whole:
                break
        shutdown = next((line for line in islice(excerpt.tail(), 5) if line.get("type") == "session.shutdown"), None)
        totals = as_object(shutdown.get("data")) if shutdown else {}
        session = Session(
            store=self.kind,
            id=as_text(start.get("sessionId")) or excerpt.path.stem,
            title=title,
            project=as_text(as_object(start.get("context")).get("cwd")),
            model=model or as_text(start.get("selectedModel")),
            started_at=started,
            ended_at=last_time(excerpt, started),
            tokens=usage.sums(excerpt) if excerpt.whole else _totals(totals),
            outcome=as_text(totals.get("shutdownType")),
            notes=() if shutdown else ("no shutdown recorded: running, or killed",),
        )
        return Summary(session, lineage)

    def teller(self, path: Path, story: Story) -> _Teller:
        """Events in the order of the file."""
        return _Teller(story)

    def files_beside(self, path: Path) -> Iterator[Path]:
        """The sessions' folders beside `session-store.db`, or copies of their events in the same folder."""
        yield from path.parent.glob("session-state/*/events.jsonl")
        yield from path.parent.glob("*events.jsonl")


def _totals(shutdown: JsonObject) -> Tokens:
    metrics = as_object(as_object(shutdown.get("accountingSnapshot")).get("modelMetrics"))
    metrics = metrics or as_object(shutdown.get("modelMetrics"))
    usages = [as_object(as_object(one).get("usage")) for one in metrics.values()]
    read = [count for usage in usages if (count := as_int(usage.get("inputTokens"))) is not None]
    written = [count for usage in usages if (count := as_int(usage.get("outputTokens"))) is not None]
    return Tokens(sum(read) if read else None, sum(written) if written else None)


class _Teller:
    def __init__(self, story: Story) -> None:
        self._story = story

    def tell(self, line: Line) -> None:
        """One event."""
        data, at = as_object(line.value.get("data")), line_time(line.value)
        match line.value.get("type"):
            case str(kind) if not isinstance(line.value.get("data"), dict):
                self._story.misshapen(line, f"data of {kind}")
            case "user.message":
                self._story.prompt(content_text(data.get("content")), at)
            case "system.message" | "system.notification":
                self._story.say(StepKind.SYSTEM, content_text(data.get("content")), at)
            case "assistant.message":
                self._assistant(data, at, line)
            case "assistant.reasoning":
                self._story.say(StepKind.REASONING, content_text(data.get("content")), at)
            case "tool.execution_start":
                self._started(data, at, line)
            case "tool.execution_complete":
                self._story.answer(as_text(data.get("toolCallId")) or "", _answer(data, at), line)
            case "session.error":
                self._story.say(StepKind.ERROR, json_text(data.get("message")) or "error", at)
            case "session.compaction_complete" | "session.truncation":
                self._story.say(StepKind.NOTE, "context compacted", at)
            case "abort":
                self._story.say(StepKind.NOTE, f"aborted: {json_text(data.get('reason'))}", at)

    def _assistant(self, data: JsonObject, at: int | None, line: Line) -> None:
        self._story.say(StepKind.REASONING, content_text(data.get("reasoningText")), at)
        self._story.say(StepKind.ASSISTANT, content_text(data.get("content")), at)
        requests = data.get("toolRequests")
        for one in requests if isinstance(requests, list) else []:
            request = as_object(one)
            call_id = as_text(request.get("toolCallId")) or ""
            self._story.begin(call_id, json_text(request.get("name")), request.get("arguments"), at, line)

    def _started(self, data: JsonObject, at: int | None, line: Line) -> None:
        """A call begins to run; the program's own calls are in no message."""
        call_id = as_text(data.get("toolCallId")) or ""
        if self._story.is_open(call_id):
            self._story.started(call_id, at)
        else:
            self._story.begin(call_id, json_text(data.get("toolName")), data.get("arguments"), at, line)

    def end(self) -> None:
        """Nothing is left to tell."""


def _answer(data: JsonObject, at: int | None) -> Answer:
    success = data.get("success")
    error = as_object(data.get("error"))
    content = as_object(data.get("result")).get("content")
    # a failed call has no content; its error is kept as an object, and shown as it is
    text = content_text(content) if content is not None else json_text(error or None)
    metadata: dict[str, JsonValue] = {}
    code = as_int(as_object(data.get("shellExecution")).get("exitCode"))
    if code is None and (told := _EXIT.search(text[-200:])):
        code = int(told[1][:9])
    if code is not None:
        metadata["exit_code"] = code
    if error_code := as_text(error.get("code")):
        metadata["error_code"] = error_code
    status = None if not isinstance(success, bool) else "success" if success else "failure"
    return Answer(text, None if status is None else success is False, at, status, metadata=metadata)

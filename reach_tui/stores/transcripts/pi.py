"""Pi coding agent: one file a session, its entries a tree whose last line is the active leaf (store notes on Pi)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text, shallow
from reach_tui.model import Session, StepKind
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.format import PlainFormat, Summary, Usage, last_time, line_time, short_title
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line
from reach_tui.stores.transcripts.story import Answer, Story
from reach_tui.stores.transcripts.tree import Tree, tree_of

_UNTOLD = frozenset({"session", "thinking_level_change", "label", "session_info", "custom"})


class Pi(PlainFormat):
    """Sessions of the Pi coding agent and its forks."""

    kind: ClassVar[str] = "pi"
    title: ClassVar[str] = "Pi"
    flag_meaning: ClassVar[str] = "`isError` of the tool's result: what the program can see, exit codes among it"
    versions_tried: ClassVar[tuple[str, ...]] = ("1.6.0",)
    not_recorded: ClassVar[str] = "Durations; the tools that were offered."
    verified: ClassVar[bool] = True

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """The first line is a header of type `session` with an id."""
        head = first[0]
        if head.get("type") != "session" or not isinstance(head.get("id"), str) or "timestamp" not in head:
            return None
        return Recognition(f"session version {json_text(head.get('version', 1))}")

    def summary(self, excerpt: Excerpt) -> Summary:
        """Header, first prompt, model, name; tokens where the whole file is read."""
        header: JsonObject = {}
        title = model = name = lineage = None
        tokens = Usage()
        for line in excerpt.head():
            kind, message = line.get("type"), as_object(line.get("message"))
            if kind == "session":
                header = header or line
            elif kind == "session_info":
                name = as_text(line.get("name")) or name
            elif kind == "model_change":
                model = model or as_text(line.get("modelId"))
            lineage = lineage or (_identity(line) if kind == "message" else None)
            if message.get("role") == "user":
                title = title or short_title(content_text(message.get("content")))
            elif message.get("role") == "assistant":
                model = as_text(message.get("model")) or model
                tokens.add(as_object(message.get("usage")), ("input", "cacheRead", "cacheWrite"), "output")
            if title and model and not excerpt.whole:
                break
        tail = list(islice(excerpt.tail(), 40))
        name = next((as_text(line.get("name")) for line in tail if line.get("type") == "session_info"), None) or name
        started = line_time(header)
        outcome = next(
            (as_text(m.get("stopReason")) for m in map(_message, tail) if m.get("role") == "assistant"), None
        )
        parent = as_text(header.get("parentSession"))
        session = Session(
            store=self.kind,
            id=as_text(header.get("id")) or excerpt.path.stem,
            title=name or title,
            project=as_text(header.get("cwd")),
            model=model,
            started_at=started,
            ended_at=last_time(excerpt, started),
            tokens=tokens.sums(excerpt),
            outcome=outcome,
            notes=(f"from {parent.replace(chr(92), '/').rpartition('/')[2]}",) if parent else (),
        )
        return Summary(session, lineage)

    def teller(self, path: Path, story: Story) -> _Teller:
        """Entries off the path to the last one, and before the last compaction, are invisible to the model."""
        return _Teller(story, tree_of(path, "id", "parentId"))


def _identity(line: JsonObject) -> str | None:
    name = as_text(line.get("id"))
    return f"{name} {json_text(line.get('timestamp'))}" if name else None  # eight digits alone are soon met twice


def _message(line: JsonObject) -> JsonObject:
    return as_object(line.get("message"))


class _Teller:
    def __init__(self, story: Story, tree: Tree) -> None:
        self._story = story
        self._tree = tree

    def tell(self, line: Line) -> None:
        """One entry."""
        value = line.value
        kind, at = as_text(value.get("type")), line_time(value)
        visible = self._tree.visible(value.get("id"))
        if kind == "message" and not isinstance(value.get("message"), dict):
            self._story.misshapen(line, "message")
        elif kind == "message":
            self._message(_message(value), at, line, visible)
        elif kind == "compaction":
            self._story.say(StepKind.NOTE, "context compacted: " + json_text(value.get("summary")), at)
        elif kind == "branch_summary":
            self._story.say(StepKind.NOTE, "branch left: " + json_text(value.get("summary")), at, visible=visible)
        elif kind == "model_change":
            self._story.say(StepKind.NOTE, "model: " + json_text(value.get("modelId")), at, visible=visible)
        elif kind == "custom_message":
            self._story.say(StepKind.SYSTEM, content_text(value.get("content")), at, visible=visible)
        elif kind not in _UNTOLD:
            self._story.say(StepKind.NOTE, json_text(shallow(value)), at, visible=visible)

    def _message(self, message: JsonObject, at: int | None, line: Line, visible: bool) -> None:
        role, content = message.get("role"), message.get("content")
        if role == "user":
            self._story.prompt(content_text(content), at, visible=visible)
        elif role == "assistant":
            self._assistant(message, at, line, visible)
        elif role == "toolResult":
            self._story.answer(as_text(message.get("toolCallId")) or "", _answer(message, at), line, visible=visible)
        elif role == "bashExecution":
            text = f"$ {json_text(message.get('command'))}\n{json_text(message.get('output'))}"
            code = as_int(message.get("exitCode"))
            self._story.say(StepKind.NOTE, text if code is None else f"{text}\n[exit code {code}]", at, visible=visible)
        else:
            self._story.say(StepKind.NOTE, content_text(content) or json_text(shallow(message)), at, visible=visible)

    def _assistant(self, message: JsonObject, at: int | None, line: Line, visible: bool) -> None:
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            part = as_object(block)
            if part.get("type") == "toolCall":
                self._story.begin(
                    as_text(part.get("id")) or "",
                    json_text(part.get("name")),
                    part.get("arguments"),
                    at,
                    line,
                    visible=visible,
                )
            elif part.get("type") == "thinking":
                self._story.say(StepKind.REASONING, json_text(part.get("thinking")), at, visible=visible)
            else:
                self._story.say(StepKind.ASSISTANT, content_text([block]), at, visible=visible)
        if message.get("stopReason") in ("error", "aborted"):
            reason = json_text(message.get("errorMessage")) or json_text(message.get("stopReason"))
            self._story.say(StepKind.ERROR, reason, at, visible=visible)

    def end(self) -> None:
        """Nothing is left to tell."""


def _answer(message: JsonObject, at: int | None) -> Answer:
    flag = message.get("isError")
    metadata: dict[str, JsonValue] = {}
    if details := as_object(message.get("details")):
        metadata["details"] = shallow(details)
    when = at if at is not None else parse_time(message.get("timestamp"))
    return Answer(
        content_text(message.get("content")), flag if isinstance(flag, bool) else None, when, metadata=metadata
    )

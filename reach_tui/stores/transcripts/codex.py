"""Codex: rollouts are the source of truth, the databases beside them know names, parents and statuses (store notes)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from reach_tui.base.clock import parse_time
from reach_tui.base.errors import StoreError
from reach_tui.base.jsonio import JsonValue, as_int, as_object, as_text, shallow
from reach_tui.base.sqlite import stamp
from reach_tui.model import Session, StepKind, Tokens
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.reader import Recognition
from reach_tui.stores.transcripts.codex_items import Items, Thread, facts_in, items_of, threads_of
from reach_tui.stores.transcripts.format import PlainFormat, Summary, last_time, line_time, short_title
from reach_tui.stores.transcripts.lines import Excerpt, JsonObject, Line, stamp_of
from reach_tui.stores.transcripts.story import Answer, Story

_LINES = frozenset({"response_item", "event_msg", "turn_context", "world_state", "compacted"})
_PROGRAMS = re.compile(
    r"\s*<(?:environment_context|subagent_notification|user_instructions|turn_aborted|permissions|skill)"
)
_GENERATION = re.compile(r"_(\d+)\.sqlite\Z")
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
_ENDINGS = {"task_complete": "completed", "turn_aborted": "aborted", "task_started": "unfinished"}
_FOLDERS = ("sessions", "archived_sessions")


class Codex(PlainFormat):
    """Threads of Codex CLI and its kin."""

    kind: ClassVar[str] = "codex"
    title: ClassVar[str] = "Codex"
    flag_meaning: ClassVar[str] = (
        "status `failed` of the item recorded for the call (any exit code but 0); calls turned down before they ran "
        "have no item, and no flag"
    )
    versions_tried: ClassVar[tuple[str, ...]] = ("0.171.0",)
    not_recorded: ClassVar[str] = "A flag for calls that were turned down before they ran; the tools that were offered."
    verified: ClassVar[bool] = True

    def __init__(self) -> None:
        self._threads: dict[Path, tuple[tuple[int, ...], dict[str, Thread]]] = {}

    def recognise(self, first: Sequence[JsonObject], path: Path) -> Recognition | None:
        """A `session_meta` line, or other lines with a `payload`; early rollouts have bare items after a header."""
        for line in first:
            if line.get("type") == "session_meta" and isinstance(line.get("payload"), dict):
                return Recognition(as_text(as_object(line.get("payload")).get("cli_version")) or "?")
        if any(as_text(line.get("type")) in _LINES and isinstance(line.get("payload"), dict) for line in first):
            return Recognition("?")
        head = first[0]
        early = path.name.startswith("rollout-") and "id" in head and "timestamp" in head and "type" not in head
        return Recognition("early") if early else None

    def summary(self, excerpt: Excerpt) -> Summary:
        """Meta line, first prompt and model from the rollout; name, parent and archive mark from the database."""
        meta: JsonObject = {}
        title = model = None
        for line in excerpt.head():
            payload = _payload(line)
            if line.get("type") == "session_meta" or (not meta and "instructions" in line):
                meta = meta or payload
            elif line.get("type") == "turn_context":
                model = model or as_text(payload.get("model"))
            elif payload.get("type") == "message" and payload.get("role") == "user":
                text = content_text(payload.get("content"))
                title = title or (None if _PROGRAMS.match(text) else short_title(text))
            if title and model:
                break
        started = parse_time(meta.get("timestamp"))
        session_id = as_text(meta.get("id")) or excerpt.path.stem[-36:]
        spawned = as_object(as_object(as_object(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = as_text(spawned.get("parent_thread_id"))
        child = isinstance(meta.get("source"), dict)
        outcome, tokens = _ending(excerpt)
        session = Session(
            store=self.kind,
            id=session_id,
            parent_id=parent,
            title=title,
            project=as_text(meta.get("cwd")),
            model=model,
            started_at=started,
            ended_at=last_time(excerpt, started),
            tokens=tokens,
            outcome=outcome,
            own_work=not child,
            notes=("archived",) if "archived_sessions" in excerpt.path.parts else (),
        )
        history = as_text(as_object(meta.get("history_base")).get("thread_id"))
        if history:
            session = replace(session, notes=(*session.notes, f"continues {history}"))
        return Summary(self._with_state(session, excerpt.path))

    def _with_state(self, session: Session, path: Path) -> Session:
        state = _newest(path, "state")
        if state is None:
            return session
        try:
            thread = self._known_to(state).get(session.id)
        except StoreError as error:  # the rollouts hold the calls: the names are not worth losing them
            return replace(session, notes=(*session.notes, f"{state.name} cannot be read: {error.what}"))
        if thread is None:
            return replace(session, notes=(*session.notes, f"not in {state.name}"))
        notes = session.notes
        if thread.archived and "archived" not in notes:
            notes = (*notes, "archived")
        return replace(
            session,
            title=thread.title or session.title,
            model=session.model or thread.model,
            parent_id=session.parent_id or thread.parent_id,
            own_work=session.own_work and thread.parent_id is None,
            notes=notes,
        )

    def _known_to(self, state: Path) -> dict[str, Thread]:
        known = self._threads.get(state)
        now = stamp(state)
        if known is None or known[0] != now:
            known = self._threads[state] = now, threads_of(state)
        return known[1]

    def without_file(self, files: Sequence[Path]) -> Iterator[tuple[Path, Session]]:
        """The threads of the state databases that have no rollout anywhere below their home."""
        current = [path for path in files if _FOLDERS[0] in path.parts]  # archived ones may be a source of their own
        for state in {database for path in current if (database := _newest(path, "state")) is not None}:
            try:
                threads = self._known_to(state)
            except StoreError:  # said in the notes of its sessions
                continue
            told = {path.stem[-36:] for path in files}
            if threads.keys() <= told:
                continue
            told |= {path.stem[-36:] for path in self.files_beside(state)}
            for thread_id, thread in threads.items():
                if thread_id in told:
                    continue
                session = Session(
                    store=self.kind,
                    id=thread_id,
                    parent_id=thread.parent_id,
                    title=thread.title,
                    project=thread.project,
                    model=thread.model,
                    started_at=thread.started_at,
                    ended_at=thread.ended_at,
                    own_work=thread.parent_id is None,
                    notes=("its rollout is missing",),
                )
                yield state, session

    def teller(self, path: Path, story: Story) -> _Teller:
        """The rollout's lines, with the items of its calls."""
        thread_id = story.session_id.partition("@")[0]
        try:
            items = items_of(path, thread_id, _newest(path, "thread_history"))
        except StoreError as error:
            if error.where == str(path):
                raise
            story.trouble("unreadable database", error.line())
            items = items_of(path, thread_id, None)
        return _Teller(story, items)

    def files_beside(self, path: Path) -> Iterator[Path]:
        """The rollouts below the folder of the databases."""
        for folder in _FOLDERS:
            yield from (path.parent / folder).rglob("rollout-*.jsonl")

    def state_beside(self, path: Path) -> Sequence[Path]:
        """The newest state and history databases."""
        found = []
        for name in ("state", "thread_history"):
            if (database := _newest(path, name)) is not None:
                found += [database, database.with_name(database.name + "-wal")]
        return found


def _newest(rollout: Path, name: str) -> Path | None:
    """The database of that name with the highest generation, in the folder that holds `sessions`."""
    home = _home_of(rollout.parent)
    return _newest_in(home, stamp_of(home)[2], name)


@lru_cache(maxsize=4096)
def _home_of(folder: Path) -> Path:
    above = (folder, *folder.parents)
    return next((one.parent for one in above if one.name in _FOLDERS), folder)


@lru_cache(maxsize=256)
def _newest_in(home: Path, _changed: int, name: str) -> Path | None:
    found = {int(match[1]): path for path in home.glob(f"{name}_*.sqlite") if (match := _GENERATION.search(path.name))}
    return found[max(found)] if found else None


def _payload(line: JsonObject) -> JsonObject:
    """The payload of a line; early rollouts have none around their items."""
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else line


def _ending(excerpt: Excerpt) -> tuple[str | None, Tokens]:
    """How the last turn ended, and the token sums, from the last lines."""
    outcome: str | None = None
    for line in excerpt.tail():
        payload = _payload(line)
        kind = payload.get("type")
        if outcome is None and line.get("type") == "event_msg":
            outcome = "failed" if kind == "task_complete" and payload.get("error") else _ENDINGS.get(str(kind))
        if kind == "token_count":
            total = as_object(as_object(payload.get("info")).get("total_token_usage"))
            return outcome, Tokens(as_int(total.get("input_tokens")), as_int(total.get("output_tokens")))
    return outcome, Tokens()


class _Teller:
    def __init__(self, story: Story, items: Items) -> None:
        self._story = story
        self._items = items

    def tell(self, line: Line) -> None:
        """One line; only items of responses and a few events make steps, the rest repeats them."""
        kind, payload = line.value.get("type"), _payload(line.value)
        at, visible = line_time(line.value), line.number >= self._items.compacted
        if kind == "event_msg":
            self._event(payload, at, visible)
        elif kind == "compacted":
            self._story.say(StepKind.NOTE, "context compacted: " + json_text(payload.get("message")), at)
        elif kind == "response_item" and payload is line.value:
            self._story.misshapen(line, "payload")
        elif kind == "response_item" or payload is line.value:
            self._response_item(payload, at, line, visible)

    def _event(self, event: JsonObject, at: int | None, visible: bool) -> None:
        kind = event.get("type")
        if kind == "turn_aborted":
            self._story.say(StepKind.NOTE, f"turn aborted: {json_text(event.get('reason'))}", at, visible=visible)
        elif kind in ("error", "stream_error"):
            self._story.say(StepKind.ERROR, json_text(event.get("message")) or "error", at, visible=visible)
        elif kind == "task_complete" and (error := event.get("error")):
            self._story.say(StepKind.ERROR, json_text(as_object(error).get("message") or error), at, visible=visible)

    def _response_item(self, item: JsonObject, at: int | None, line: Line, visible: bool) -> None:
        kind = as_text(item.get("type"))
        if kind == "message":
            self._message(item, at, visible)
        elif kind == "reasoning":
            text = content_text(item.get("summary")) or content_text(item.get("content"))
            self._story.say(StepKind.REASONING, text, at, visible=visible)
        elif kind in _CALLS:
            self._call(item, at, line, visible)
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            call_id = as_text(item.get("call_id")) or ""
            output = item.get("output", item.get("tools"))
            if isinstance(output, dict):  # {content, success} in earlier versions
                output = output.get("content", output)
            parts = output if isinstance(output, list) else [output]
            self._answer(call_id, "\n".join(content_text([part]) for part in parts), at, line, visible)

    def _message(self, item: JsonObject, at: int | None, visible: bool) -> None:
        text = content_text(item.get("content"))
        if item.get("role") == "assistant":
            self._story.say(StepKind.ASSISTANT, text, at, visible=visible)
        elif item.get("role") == "user" and not _PROGRAMS.match(text):
            self._story.prompt(text, at, visible=visible)
        else:
            self._story.say(StepKind.SYSTEM, text, at, visible=visible)

    def _call(self, item: JsonObject, at: int | None, line: Line, visible: bool) -> None:
        kind = as_text(item.get("type")) or ""
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
        arguments: JsonValue = item.get("arguments", item.get("input", shallow(item.get("action"))))
        name = as_text(item.get("name")) or kind.removesuffix("_call")
        if namespace := as_text(item.get("namespace")):
            name = f"{namespace}.{name}"
        free_form = kind == "custom_tool_call" and isinstance(arguments, str)
        if free_form:
            arguments = {"input": arguments}
        self._story.begin(call_id, name, arguments, at, line, visible=visible)
        if kind == "web_search_call":  # has no output line
            self._story.answer(call_id, Answer(None, None, status=as_text(item.get("status"))), line)

    def _answer(self, call_id: str, text: str, at: int | None, line: Line, visible: bool) -> None:
        item = self._items.take(call_id)
        if item is None:
            answer = Answer(text, None, at, metadata=facts_in(text))
        else:
            answer = Answer(text, item.flagged, at, item.status, item.duration_ms, item.metadata)
        self._story.answer(call_id, answer, line, visible=visible)

    def end(self) -> None:
        """Nothing is left to tell."""

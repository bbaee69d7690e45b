"""Importing traces into a native Reach database: session by session, each whole or not at all, and none twice."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from reach_tui.base.errors import ReachError
from reach_tui.base.jsonio import dumps, shallow
from reach_tui.model import Label, Session, Step, StepKind, ToolCall
from reach_tui.native.error_types import ERROR_TYPES, map_error_type
from reach_tui.native.event import Event
from reach_tui.native.schema import DECISIONS, EVENT_STEPS, SLOT_SOURCES
from reach_tui.native.writer import NativeWriter
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

_RENAMES = 100
_FORM = 1  # of the digest and of how a session is written; a new form brings every session anew


@dataclass(frozen=True, slots=True)
class Story:
    """A session as it will be written."""

    session: Session
    steps: Sequence[Step]
    loose: dict[int, Event] = field(default_factory=dict)
    """Events that are steps of their own, by the step's number."""
    events: Sequence[Event] | None = None
    """Events of calls; None where a call's route is all there is."""
    labels: Sequence[Label] = ()


@dataclass(slots=True)
class Imported:
    """What an import did."""

    sessions: int = 0
    """Written anew."""
    unchanged: int = 0
    """There already, the same."""
    calls: int = 0
    labels: int = 0
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Sessions whose id another origin's session had: as it was, and the one given."""
    unmapped: Counter[str] = field(default_factory=Counter)
    """Error types that fit no member of the closed enumeration, and how often; kept as text."""


class Importer:
    """Brings sessions into an open native database."""

    def __init__(self, writer: NativeWriter) -> None:
        self._writer = writer
        self.done = Imported()
        self.labels: list[Label] = []
        """Labels of what was imported, for the database's own log."""

    def add(self, story: Story, origin: str) -> None:
        """Write a session if it is new or has changed. Raises `StoreError`; then nothing of it is written."""
        digest = _digest(story)
        session_id = self._place(story.session.id, origin, digest)
        if session_id != story.session.id:
            self.done.renamed.append((story.session.id, session_id))
        known = self._writer.origin_of(session_id)
        same = known is not None and known[1] == digest
        keys = {} if same and not story.labels else self._keys(story, session_id, origin)
        for label in story.labels:
            key = keys.get(label.call_key, label.call_key) if label.call_key else None
            self.labels.append(replace(label, store="reach", session_id=session_id, call_key=key, id=None, uid=None))
        mapped = {number: self._mapped(event) for number, event in story.loose.items()}
        events = None if story.events is None else [self._mapped(event) for event in story.events]
        if same:
            self.done.unchanged += 1
            return
        with self._writer.as_one():
            self._writer.forget_session(session_id)
            self._writer.add_session(replace(story.session, id=session_id), origin=origin, digest=digest)
            for step in story.steps:
                self._step(step, session_id, keys, mapped, events is not None)
            for event in events or ():
                self._event(replace(event, session_id=session_id, call_key=keys.get(event.call_key or "")))
        self.done.sessions += 1
        self.done.calls += sum(step.call is not None for step in story.steps)

    def _place(self, session_id: str, origin: str, digest: str) -> str:
        """The id to write it under: its own, unless a session of another origin and other content has that."""
        for number in range(1, _RENAMES):
            name = session_id if number == 1 else f"{session_id}@{origin}" + (f"~{number}" if number > 2 else "")
            known = self._writer.origin_of(name)
            if known is None or known[0] == origin or known[1] == digest:
                return name
        raise ReachError(f"{_RENAMES} sessions are named {session_id!r}", self._writer.path)

    def _keys(self, story: Story, session_id: str, origin: str) -> dict[str, str]:
        """The keys of the calls as they will be written, by those in the store."""
        own = [step.call.key for step in story.steps if step.call is not None]
        ending = "" if session_id == story.session.id else f"@{origin}"
        while self._writer.taken([f"{key}{ending}" for key in own], session_id):
            ending += f"@{origin}"
        return {key: f"{key}{ending}" for key in own}

    def _step(
        self, step: Step, session_id: str, keys: dict[str, str], loose: dict[int, Event], with_events: bool
    ) -> None:
        number = step.number
        if step.call is not None:
            self._call(replace(step.call, session_id=session_id, key=keys[step.call.key]), keys, with_events)
        elif number in loose:
            self._event(replace(loose[number], session_id=session_id, seq=number))
        elif step.kind is StepKind.DECISION and step.route is not None and step.route.decision in DECISIONS:
            route = step.route
            self._writer.add_event(
                Event(
                    trace_id=f"{session_id}/{step.turn}",
                    step="route",
                    session_id=session_id,
                    seq=number,
                    intent=route.intent,
                    candidates=route.candidates,
                    decision=route.decision,
                    thresholds=route.thresholds,
                    at=step.at,
                )
            )
        else:
            kind = StepKind.NOTE if step.kind in (StepKind.DECISION, StepKind.CALL) else step.kind
            self._writer.add_message(
                session_id,
                kind,
                step.text,
                seq=number,
                turn=step.turn,
                at=step.at,
                visible=step.visible,
                inherited=step.inherited,
            )

    def _call(self, call: ToolCall, keys: dict[str, str], with_events: bool) -> None:
        slots = tuple(slot for slot in call.slots if slot.source in SLOT_SOURCES) if call.slots else call.slots
        route = call.route if call.route and not with_events and call.route.decision in DECISIONS else None
        copy_of = keys.get(call.copy_of, call.copy_of) if call.copy_of else None
        self._writer.add_call(replace(call, slots=slots, route=route, copy_of=copy_of))
        error = call.metadata.get("error_type")
        if with_events or not isinstance(error, str):
            return
        self._event(
            self._mapped(
                Event(
                    trace_id=f"{call.session_id}/{call.turn}",
                    step="execute",
                    session_id=call.session_id,
                    call_key=call.key,
                    error_type=error,
                    at=call.started_at,
                )
            )
        )

    def _event(self, event: Event) -> None:
        if event.step in EVENT_STEPS:
            self._writer.add_event(event)
        else:
            self._writer.add_message(event.session_id, StepKind.NOTE, repr(event), seq=event.seq, at=event.at)

    def _mapped(self, event: Event) -> Event:
        """The event with its error type as a member of the closed enumeration, or as text where it fits none."""
        details = [event.detail] if event.detail else []
        error = event.error_type
        if error is not None and error not in ERROR_TYPES:
            spelling, error = error, map_error_type(error)
            if error is None:
                self.done.unmapped[spelling] += 1
                details.append(f"error_type: {spelling}")
        elif error is None and event.detail and event.detail.startswith("error_type: "):
            self.done.unmapped[event.detail.removeprefix("error_type: ")] += 1  # by the migration of an old database
        decision = event.decision
        if decision is not None and decision not in DECISIONS:
            details.append(f"decision: {decision}")
            decision = None
        return replace(event, error_type=error, decision=decision, detail=" · ".join(details) or None)


def stories(workspace: Workspace, source: Source) -> Iterator[Story]:
    """Every session of a source, newest first. Raises `StoreError`."""
    from reach_tui.stores.reach import ReachReader

    reader = source.reader
    by_session: dict[str, list[Label]] = {}
    for label in workspace.labels_in_force(source):
        by_session.setdefault(label.session_id, []).append(label)
    seen: set[str] = set()
    for session in reader.sessions():
        if session.id in seen:
            continue
        seen.add(session.id)
        given = tuple(by_session.get(session.id, ()))
        if isinstance(reader, ReachReader):
            steps, loose, events = reader.told_events(session.id)
            yield Story(session, steps, loose, events, given)
        else:
            yield Story(session, list(reader.steps(session.id)), labels=given)


def _digest(story: Story) -> str:
    body = hashlib.sha256(f"{_FORM}\n".encode())
    for part in (replace(story.session, store=""), story.loose, story.events or ()):
        body.update(repr(part).encode("utf-8", "replace"))
    for step in story.steps:
        call = step.call
        if call is not None:  # whose arguments may be nested as deeply as repr can not go
            facts = dumps(shallow([call.arguments, dict(call.metadata)]))
            body.update(repr((facts, replace(call, arguments=None, metadata={}))).encode("utf-8", "replace"))
        else:
            body.update(repr(step).encode("utf-8", "replace"))
    return body.hexdigest()[:32]

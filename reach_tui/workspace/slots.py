"""Slots for a session's calls: those that the store recorded, else inferred from what came before each call."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.slots import Schemas, SlotIndex, call_confidence
from reach_tui.model import Session, ToolCall
from reach_tui.stores.offered import OffersTools
from reach_tui.workspace.judged import JudgedCall, JudgedStep

if TYPE_CHECKING:
    from reach_tui.infer.held import Belief
    from reach_tui.reach.spec import ToolSpec
    from reach_tui.workspace.sources import Source
    from reach_tui.workspace.workspace import Workspace


def schemas_of(source: Source, session_id: str, registry: Iterable[ToolSpec] = ()) -> Schemas:
    """The JSON schemas of the session's tools: as recorded, else the person's registry's, else the bundled one's."""
    from reach_tui.infer.registries import bundled

    found: dict[str, JsonValue] = {name: tool.params_schema for name, tool in bundled(source.kind).items()}
    found |= {tool.name: tool.params_schema for tool in registry}
    if isinstance(source.reader, OffersTools):
        offered = source.reader.offered_tools(session_id)
        found |= {tool.name: tool.schema for tool in offered if isinstance(tool.schema, dict)}
    return found


@dataclass(frozen=True, slots=True)
class Insight:
    """What is known of one call's arguments."""

    call: ToolCall
    """With its slots: recorded, else inferred."""
    confidence: float | None
    """The lowest of its filled required slots; None where nothing is filled."""
    belief: Belief | None = None
    """For an edit: what the agent believed the file to hold, and what it held."""


class SessionSlots:
    """The slots of one session's calls. Steps are given in order; any call among them can be asked for, at any time.

    Methods may be called from any thread, one at a time waits for the other.
    """

    def __init__(self, source: Source, session: Session | str, registry: Iterable[ToolSpec] = ()) -> None:
        known = session if isinstance(session, Session) else source.reader.session(session)
        session_id = session if isinstance(session, str) else session.id
        folder = known.project if known is not None and known.project and known.project.startswith("/") else None
        self._index = SlotIndex(folder, schemas_of(source, session_id, registry))
        self._lock = threading.Lock()

    def add(self, one: JudgedStep) -> None:
        """Take in the next step."""
        with self._lock:
            self._index.add(one.step, one.judged.verdict if one.judged else None)

    def insight(self, call: ToolCall, *, with_belief: bool = True) -> Insight:
        """The call's slots, confidence and, for an edit, its belief. What came before must have been taken in."""
        with self._lock:
            belief = self._index.belief(call) if with_belief else None
            if call.slots is not None:
                return Insight(call, call_confidence(call.slots), belief)
            slots = self._index.slots(call)
            return Insight(replace(call, slots=slots), self._index.confidence(call, slots), belief)


def with_slots(
    workspace: Workspace, source: Source, session_ids: Iterable[str] | None = None
) -> Iterator[tuple[JudgedCall, Insight]]:
    """The calls of a source, session by session, with verdict, label and slots. Raises `StoreError`."""
    sessions: Iterable[Session | None]
    sessions = source.reader.sessions() if session_ids is None else map(source.reader.session, session_ids)
    for session in sessions:
        if session is None:
            continue
        slots = SessionSlots(source, session)
        for one in workspace.judged_steps(source, session.id):
            if one.judged is not None:
                insight = slots.insight(one.judged.call, with_belief=False)
                yield replace(one.judged, call=insight.call), insight
            slots.add(one)

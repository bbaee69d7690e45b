"""The contract's records: plain dictionaries with stable keys, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reach_tui.base.clock import to_iso
from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Label, Route, Slot, ToolCall, Verdict
from reach_tui.workspace.judged import JudgedCall, JudgedSession, JudgedStep

if TYPE_CHECKING:
    from reach_tui.workspace.sources import Source

Record = dict[str, JsonValue]
_LONGEST_FACT = 4_000  # characters


def call_record(source: Source, judged: JudgedCall) -> Record:
    """A tool call record, as in the contract."""
    call, verdict = judged.call, judged.verdict
    record: Record = {
        **place_fields(source, call),
        "arguments": call.arguments,
        "result": call.result.text if call.result else None,
        "result_bytes": call.result.bytes if call.result else None,
        "status": call.status,
        "metadata": _facts(call.metadata) or None,
        "flagged": call.flagged,
        "hidden": judged.hidden,
        **verdict_fields(verdict),
        "started_at": to_iso(call.started_at),
        "duration_ms": call.duration_ms,
        "copy_of": call.copy_of,
        "route": route_record(call.route) if call.route else None,
        "slots": [slot_record(slot) for slot in call.slots] if call.slots is not None else None,
        "label": label_field(judged.label) if judged.label else None,
        "problem": call.problem,
    }
    return record


def place_fields(source: Source, call: ToolCall) -> Record:
    """Which call it is: store, path, session_id, call_key, call_id, step, turn, tool, target."""
    return {
        "store": source.kind,
        "path": source.file_of(call.session_id),
        "session_id": call.session_id,
        "call_key": call.key,
        "call_id": call.id or None,
        "step": call.step,
        "turn": call.turn,
        "tool": call.tool,
        "target": call.target,
    }


def _facts(metadata: Mapping[str, JsonValue]) -> Record:
    """The metadata that verdicts stand on: exit status, marks, notices; not the copies of whole files and outputs."""
    return {
        name: value
        for name, value in metadata.items()
        if not isinstance(value, list | dict) and (not isinstance(value, str) or len(value) <= _LONGEST_FACT)
    }


def step_record(judged: JudgedStep) -> Record:
    """A step of a session; a call's step names its `call_key`, a decision without a call has its `route`."""
    step = judged.step
    return {
        "step": step.number,
        "turn": step.turn,
        "kind": step.kind.value,
        "at": to_iso(step.at),
        "visible": step.visible,
        "inherited": step.inherited,
        "text": step.text,
        "call_key": judged.judged.call.key if judged.judged else None,
        "route": route_record(step.route) if step.route else None,
    }


def verdict_fields(verdict: Verdict) -> Record:
    """failed, confidence, category, subcategory, rule, soft, evidence, explanation."""
    evidence = verdict.evidence
    return {
        "failed": verdict.failed,
        "confidence": round(verdict.confidence, 3),
        "category": verdict.category,
        "subcategory": verdict.subcategory,
        "rule": verdict.rule,
        "soft": verdict.soft,
        "evidence": None
        if evidence is None
        else {"text": evidence.text, "start": evidence.start, "end": evidence.end, "where": evidence.where},
        "explanation": verdict.explanation or None,
    }


def route_record(route: Route) -> Record:
    """basis, intent, candidates, decision, gap, thresholds; of inferred ones: among which tools, and the one called."""
    record: Record = {
        "basis": route.basis,
        "intent": route.intent,
        "candidates": [{"name": one.name, "score": one.score, "reason": one.reason} for one in route.candidates],
        "decision": route.decision,
        "gap": route.gap,
        "thresholds": {"t1": route.thresholds.t1, "gap": route.thresholds.gap, "floor": route.thresholds.floor},
    }
    if route.basis == "inferred":
        chosen = route.chosen
        record["candidates_from"] = route.candidates_from
        record["chosen"] = {"name": chosen.name, "score": chosen.score, "rank": route.rank} if chosen else None
        record["dropped"] = [{"name": one.name, "reason": one.reason} for one in route.dropped]
    return record


def slot_record(slot: Slot) -> Record:
    """name, value, source, origin, matches, confidence, basis, note."""
    return {
        "name": slot.name,
        "value": slot.value,
        "source": slot.source,
        "origin": slot.origin,
        "origin_step": slot.origin_step,
        "matches": slot.matches,
        "confidence": slot.confidence,
        "basis": slot.basis,
        "note": slot.note or None,
    }


def label_field(label: Label) -> Record:
    """The `label` field of a call record."""
    return {
        "category": label.category,
        "subcategory": label.subcategory,
        "note": label.note,
        "by": label.by,
        "at": to_iso(label.at),
    }


def session_record(source: Source, judged: JudgedSession) -> Record:
    """A session record, as in the contract."""
    session, sums = judged.session, judged.counts
    counts = sums.counts if sums else None
    return {
        "store": source.kind,
        "path": source.file_of(session.id),
        "session_id": session.id,
        "parent_id": session.parent_id,
        "title": session.title,
        "project": session.project,
        "model": session.model,
        "started_at": to_iso(session.started_at),
        "ended_at": to_iso(session.ended_at),
        "turns": counts.turns if counts else None,
        "calls": counts.calls if counts else None,
        "flagged": counts.flagged if counts else None,
        "hidden": counts.hidden if counts else None,
        "failed": counts.failed if counts else None,
        "soft": counts.soft if counts else None,
        "unfinished": counts.unfinished if counts else None,
        "unreadable": counts.unreadable if counts else None,
        "labelled": judged.labelled,
        "tokens": {"input": session.tokens.input, "output": session.tokens.output},
        "first_pass": sums.first_pass if sums else None,
        "outcome": session.outcome,
        "copy_of": session.copy_of,
        "notes": list(session.notes),
    }

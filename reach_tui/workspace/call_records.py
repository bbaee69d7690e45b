"""The contract's call records (JSON Lines of `calls --jsonl`) read back as sessions with calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from reach_tui.base.clock import parse_time
from reach_tui.base.errors import StoreUnreadable
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_object, as_text, loads
from reach_tui.model import Candidate, Label, Result, Route, Session, Slot, Step, StepKind, Thresholds, ToolCall
from reach_tui.workspace.importing import Story

_HEAD = 1 << 20  # bytes of the first line that are looked at
_NEEDED = ("session_id", "call_key", "tool")
_GAP = "not in the imported records"
_MOST_GAPS = 100_000  # a step number that far beyond the one before is none


class NotARecord(ValueError):
    """A line that is no call record; the text says why."""


def holds_records(path: Path) -> bool:
    """True if the first line that is not blank is a call record. False for whatever cannot be read."""
    try:
        if not path.is_file():
            return False
        with open(path, "rb") as file:
            if not file.read(16).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                return False
            file.seek(0)
            while (line := file.readline()).isspace() and file.tell() < _HEAD:
                pass
        value = loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in _NEEDED)


class RecordFile:
    """A file of call records. Two passes: where the lines of each session are, then one session at a time."""

    def __init__(self, path: Path) -> None:
        """Raises `StoreUnreadable`."""
        self.path = path
        self.problems: list[tuple[int, str]] = []
        """Lines, from 1, that are no records, and why."""
        self._places: dict[str, list[tuple[int, int]]] = {}
        number, offset = 0, 0
        try:
            with open(path, "rb") as file:
                for number, line in enumerate(file, 1):  # split at line feeds only
                    place, offset = offset, offset + len(line)
                    if not line.strip():
                        continue
                    try:
                        session_id = _text(_object(line), "session_id")
                    except NotARecord as error:
                        self.problems.append((number, str(error)))
                    else:
                        self._places.setdefault(session_id, []).append((number, place))
        except OSError as error:
            raise StoreUnreadable(error.strerror or str(error), path, "name a file of call records") from None

    def __len__(self) -> int:
        return len(self._places)

    def stories(self) -> Iterator[Story]:
        """The sessions in the order of their first lines; steps that no record tells of are notes that say so."""
        with open(self.path, "rb") as file:
            for session_id, places in self._places.items():
                calls: dict[str, tuple[ToolCall, Label | None]] = {}
                for number, place in places:
                    file.seek(place)
                    try:
                        call, label = _call(_object(file.readline()))
                    except NotARecord as error:
                        self.problems.append((number, str(error)))
                    else:
                        calls[call.key] = (call, label)  # a call that came twice is as it was last
                if calls:
                    yield _story(session_id, [call for call, _ in calls.values()], [one for _, one in calls.values()])


def _story(session_id: str, calls: list[ToolCall], labels: list[Label | None]) -> Story:
    calls.sort(key=lambda call: call.step)
    repeated = {step for step, count in Counter(call.step for call in calls).items() if count > 1 or step < 1}
    steps: list[Step] = []
    for call in calls:
        while not repeated and len(steps) + 1 < call.step and call.step - len(steps) <= _MOST_GAPS:
            steps.append(Step(len(steps) + 1, call.turn, StepKind.NOTE, _GAP))
        number = len(steps) + 1
        steps.append(Step(number, call.turn, StepKind.CALL, at=call.started_at, call=replace(call, step=number)))
    starts = [call.started_at for call in calls if call.started_at is not None]
    session = Session("reach", session_id, started_at=min(starts, default=None), ended_at=max(starts, default=None))
    return Story(session, steps, labels=[label for label in labels if label is not None])


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = loads(line.removeprefix(b"\xef\xbb\xbf"))
    except BadJson as error:
        raise NotARecord(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise NotARecord("not a JSON object")
    return value


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise NotARecord(f"no call record: {name!r} must be text")
    return value


def _call(record: dict[str, Any]) -> tuple[ToolCall, Label | None]:
    session_id, key, tool = (_text(record, name) for name in _NEEDED)
    wrong: list[str] = []

    def optional(name: str, kinds: type | tuple[type, ...]) -> Any:
        value = record.get(name)
        if value is None or (isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool))):
            return value
        wrong.append(f"{name}: {type(value).__name__} in the record")
        return None

    text = optional("result", str)
    flagged, status, target = optional("flagged", bool), optional("status", str), optional("target", str)
    step, turn, duration = optional("step", int), optional("turn", int), optional("duration_ms", int)
    metadata, slots = optional("metadata", dict), optional("slots", list)
    problem = "; ".join([*filter(None, [optional("problem", str)]), *wrong]) or None
    call = ToolCall(
        key=key,
        id=as_text(record.get("call_id")) or "",
        session_id=session_id,
        tool=tool,
        arguments=record.get("arguments"),
        flagged=flagged,
        result=None if text is None else Result(text, len(text.encode("utf-8", "replace"))),
        step=step or 0,
        turn=turn or 0,
        started_at=parse_time(record.get("started_at")),
        duration_ms=duration if duration is not None and duration >= 0 else None,
        status=status,
        target=target,
        metadata=metadata or {},
        route=_route(as_object(record.get("route"))),
        slots=_slots(slots or []),
        copy_of=as_text(record.get("copy_of")),
        problem=problem,
    )
    return call, _label(record, call)


def _route(record: dict[str, JsonValue]) -> Route | None:
    decision = as_text(record.get("decision"))
    if record.get("basis") != "recorded" or decision is None:
        return None
    limits = as_object(record.get("thresholds"))
    standard = Thresholds()
    listed = record.get("candidates")
    candidates = [
        Candidate(as_text(one.get("name")) or "", score, as_text(one.get("reason")) or "")
        for one in map(as_object, listed if isinstance(listed, list) else [])
        if (score := _number(one.get("score"))) is not None
    ]
    thresholds = [_number(limits.get(name)) for name in ("t1", "gap", "floor")]
    t1, gap, floor = thresholds
    chosen = standard if t1 is None or gap is None or floor is None else Thresholds(t1, gap, floor)
    return Route("recorded", as_text(record.get("intent")) or "", tuple(candidates), decision, chosen)


def _slots(listed: list[JsonValue]) -> tuple[Slot, ...] | None:
    recorded = tuple(_slot(as_object(one)) for one in listed if as_object(one).get("basis") == "recorded")
    return recorded or None


def _slot(record: dict[str, JsonValue]) -> Slot:
    return Slot(
        name=as_text(record.get("name")) or "",
        value=record.get("value"),
        source=as_text(record.get("source")) or "none",
        basis="recorded",
        origin=as_text(record.get("origin")),
        origin_step=as_int(record.get("origin_step")),
        matches=as_int(record.get("matches")),
        confidence=_number(record.get("confidence")),
        note=as_text(record.get("note")) or "",
    )


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _label(record: dict[str, Any], call: ToolCall) -> Label | None:
    from reach_tui.base.hashing import content_hash
    from reach_tui.taxonomy import default

    given = as_object(record.get("label"))
    category, by, at = as_text(given.get("category")), as_text(given.get("by")), parse_time(given.get("at"))
    if category is None or by is None or at is None:
        return None
    taxonomy = default()
    failed = record.get("failed")
    return Label(
        store="reach",
        session_id=call.session_id,
        call_key=call.key,
        content_hash=content_hash(call.tool, call.arguments, call.result.text if call.result else None),
        category=category,
        subcategory=as_text(given.get("subcategory")),
        note=as_text(given.get("note")) or "",
        by=by,
        at=at,
        taxonomy=taxonomy.id,
        taxonomy_version=taxonomy.version,
        verdict=failed if isinstance(failed, bool) else None,
        rule=as_text(record.get("rule")),
        tool_version="",
    )

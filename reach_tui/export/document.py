"""What an export holds: the records of one session, redacted, long results cut with their size and hash stated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue
from reach_tui.export.redact import Redactor

Record = dict[str, JsonValue]
LIMIT = 20_000
"""Characters of a result that an export keeps by default."""


@dataclass(frozen=True, slots=True)
class Document:
    """One session: its record, its steps in order (a call's step names its `call_key`), its calls."""

    session: Record
    steps: tuple[Record, ...]
    calls: tuple[Record, ...]
    redacted: Mapping[str, int] | None
    """How many secrets of each kind were replaced; None where nobody looked."""

    def call_of(self) -> dict[str, Record]:
        """The call records by key."""
        return {str(call["call_key"]): call for call in self.calls}


def make_document(
    session: Record, steps: Sequence[Record], calls: Sequence[Record], *, redact: bool = True, limit: int = LIMIT
) -> Document:
    """The document of a session. `limit`: characters of a result that are kept, 0 for all of it."""
    hashes = [_digest(call.get("result")) for call in calls]
    counts: Mapping[str, int] | None = None
    if redact:
        redactor = Redactor()
        redactor.learn([session, *steps, *calls])
        session = redactor.call(session)
        steps = [redactor.call(step) for step in steps]
        calls = [redactor.call(call) for call in calls]
        counts = dict(sorted(redactor.counts.items()))
    cut = [_cut(call, digest, limit) for call, digest in zip(calls, hashes, strict=True)]
    return Document(session, tuple(steps), tuple(cut), counts)


def _digest(text: JsonValue) -> str | None:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if isinstance(text, str) else None


def _cut(call: Record, digest: str | None, limit: int) -> Record:
    """The record with `result_cut`: None, or what of the result is kept, and size and hash of the whole."""
    text, evidence = call.get("result"), call.get("evidence")
    if not isinstance(text, str) or not limit or len(text) <= limit:
        return {**call, "result_cut": None}
    head = tail = limit // 2
    in_result = isinstance(evidence, dict) and evidence.get("where", "result") == "result"
    if in_result and isinstance(evidence, dict):
        start, end = evidence.get("start"), evidence.get("end")
        if isinstance(start, int) and isinstance(end, int) and end > head and start < len(text) - tail:
            return _cut_around(call, text, evidence, (start, end), digest, limit)
    mark = f"\n…[cut {len(text) - head - tail:,} characters]…\n"
    shown = text[:head] + mark + text[len(text) - tail :]
    moved = call.get("evidence")
    if in_result and isinstance(evidence, dict) and isinstance(start := evidence.get("start"), int) and start >= head:
        moved = _moved(evidence, head + len(mark) + tail - len(text))
    return {**call, "result": shown, "evidence": moved, "result_cut": _stated(call, digest, head + tail)}


def _cut_around(
    call: Record, text: str, evidence: Record, span: tuple[int, int], digest: str | None, limit: int
) -> Record:
    """Keep the start, the evidence with what surrounds it, and the end."""
    third = limit // 3
    start, end = span
    first, last = max(third, start - third // 2), min(len(text) - third, max(end, start) + third // 2)
    last = min(last, first + max(third, 1) * 4)  # evidence longer than the limit is cut too
    left = f"\n…[cut {first - third:,} characters]…\n" if first > third else ""
    right = f"\n…[cut {len(text) - third - last:,} characters]…\n" if last < len(text) - third else ""
    shown = text[:third] + left + text[first:last] + right + text[len(text) - third :]
    moved = _moved(evidence, third + len(left) - first)
    kept = third + (last - first) + third
    return {**call, "result": shown, "evidence": moved, "result_cut": _stated(call, digest, kept)}


def _moved(evidence: Record, by: int) -> Record:
    start, end = evidence["start"], evidence["end"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    return {**evidence, "start": start + by, "end": end + by}


def _stated(call: Record, digest: str | None, kept: int) -> Record:
    return {"kept_characters": kept, "bytes": call.get("result_bytes"), "sha256": digest}

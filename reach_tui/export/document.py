"""What an export holds: the records of one session, redacted, long results cut with their size and hash stated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue, shallow
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
    """The document of a session. `limit`: characters of a result that are kept, 0 for all. Deep arguments are cut."""
    calls = [{key: shallow(value) for key, value in call.items()} for call in calls]
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
    span = _span(evidence)
    pieces = _pieces(len(text), limit, span)
    shown, offsets, at = "", [], 0
    for start, end in pieces:
        if start > at:
            shown += f"\n…[cut {start - at:,} characters]…\n"
        offsets.append(len(shown) - start)
        shown += text[start:end]
        at = end
    if span and isinstance(evidence, dict):
        start, end = span
        piece = next(index for index, (first, last) in enumerate(pieces) if first <= start < last)
        end = min(end, pieces[piece][1])
        evidence = {**evidence, "start": start + offsets[piece], "end": end + offsets[piece]}
    kept = sum(end - start for start, end in pieces)
    stated: Record = {"kept_characters": kept, "bytes": call.get("result_bytes"), "sha256": digest}
    return {**call, "result": shown, "evidence": evidence, "result_cut": stated}


def _span(evidence: JsonValue) -> tuple[int, int] | None:
    if not isinstance(evidence, dict) or evidence.get("where", "result") != "result":
        return None
    start, end = evidence.get("start"), evidence.get("end")
    return (start, end) if isinstance(start, int) and isinstance(end, int) and 0 <= start < end else None


def _pieces(length: int, limit: int, span: tuple[int, int] | None) -> list[tuple[int, int]]:
    """What of a text to keep, at most `limit` characters: its start, the evidence with what surrounds it, its end."""
    if span is None:
        return [(0, limit // 2), (length - limit // 2, length)]
    third = max(1, limit // 3)
    start, end = span
    first = max(0, start - max(0, third - (end - start)) // 2)
    joined: list[tuple[int, int]] = []
    for piece in sorted([(0, third), (first, min(length, first + third)), (length - third, length)]):
        if joined and piece[0] <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], piece[1])
        else:
            joined.append(piece)
    return joined

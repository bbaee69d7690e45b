"""Search over a source's calls, for both shells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from reach_tui.base.clock import to_iso
from reach_tui.index.search import Hit as Hit
from reach_tui.index.search import Query, search
from reach_tui.model import is_hidden
from reach_tui.workspace.records import Record
from reach_tui.workspace.rules import detectors
from reach_tui.workspace.sources import Source


def search_source(
    source: Source,
    words: Sequence[str],
    limit: int | None = None,
    *,
    tools: Collection[str] = (),
    failed: bool = False,
    whole: bool = False,
) -> Iterator[Hit]:
    """The calls whose arguments or results hold all words, as they are found. Raises `StoreError`.

    The index answers for what it knows; the rest is read.
    """
    query = Query(tuple(words), frozenset(tools), failed, whole)
    return search(source.reader, detectors().engine, query, limit)


def hit_record(source: Source, hit: Hit) -> Record:
    """A hit as a plain dictionary: where it is, what the call came to, and the words in their surroundings."""
    call, verdict = hit.call, hit.verdict
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
        "where": hit.where,
        "excerpt": hit.excerpt,
        "result_bytes": None if call.result is None else call.result.bytes,
        "flagged": call.flagged,
        "hidden": is_hidden(call, verdict),
        "failed": verdict.failed,
        "soft": verdict.soft,
        "category": verdict.category,
        "subcategory": verdict.subcategory,
        "rule": verdict.rule,
        "started_at": to_iso(call.started_at),
    }

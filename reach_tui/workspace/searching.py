"""Search over a source's calls, for both shells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from reach_tui.base.clock import to_iso
from reach_tui.index.search import Hit as Hit
from reach_tui.index.search import Query, Watch, search
from reach_tui.index.text import folded, position
from reach_tui.model import is_hidden
from reach_tui.workspace.records import Record, place_fields
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
    watch: Watch | None = None,
) -> Iterator[Hit]:
    """The calls whose arguments or results hold all words, as they are found. Raises `StoreError`.

    The index answers for what it knows; the rest is read, and `watch` told how much of it.
    """
    query = Query(tuple(words), frozenset(tools), failed, whole)
    return search(source.reader, detectors().engine, query, limit, watch)


def marks(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where the words stand in an excerpt, as spans that do not overlap, in order."""
    plain: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in folded(character):
            plain.append(one)
            places.append(place)
    places.append(len(text))
    searched = "".join(plain)
    spans: list[tuple[int, int]] = []
    for word in filter(None, (folded(one).strip() for one in words)):
        start = 0
        while (at := position(word, searched[start:])) is not None:
            start += at + len(word)
            spans.append((places[start - len(word)], places[start - 1] + 1))
    return _merged(sorted(spans))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def hit_record(source: Source, hit: Hit) -> Record:
    """A hit as a plain dictionary: where it is, what the call came to, and the words in their surroundings."""
    call, verdict = hit.call, hit.verdict
    return {
        **place_fields(source, call),
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

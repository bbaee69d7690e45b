"""Scores that spans recorded, as routes: documents of a retriever or reranker, and decisions of a router."""

from __future__ import annotations

from collections.abc import Iterator

from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.model import Candidate, Route, Thresholds
from reach_tui.stores.content import content_text, json_text
from reach_tui.stores.span_messages import decoded_text

_NAMES = ("tool_name", "tool", "name", "id", "title", "source", "doc_uri")
_SCORES = ("score", "relevance_score", "similarity_score", "similarity")
_TEXTS = ("content", "page_content", "text")
_DECISIONS = ("execute", "clarify", "no_capability")
_DEEPEST = 4


def documents_route(query: str, documents: JsonValue) -> Route | None:
    """A route of scored documents; None where there is none, or a score is missing or not between 0 and 1."""
    found = [_document(one) for one in documents] if isinstance(documents, list) else []
    candidates = [one for one in found if one is not None]
    if not candidates or len(candidates) < len(found):
        return None
    return Route("recorded", query, _ordered(candidates), "execute")


def recorded_route(value: JsonValue) -> Route | None:
    """The first routing record inside `value`: an object with `candidates`, each with a name and a score of 0 to 1."""
    for record in _records(value, _DEEPEST):
        raw = record["candidates"]
        found = [_candidate(one) for one in raw] if isinstance(raw, list) else []
        candidates = [one for one in found if one is not None]
        if candidates and len(candidates) == len(found):
            intent = next((as_text(record.get(key)) for key in ("intent", "query", "input") if record.get(key)), None)
            decision = as_text(record.get("decision"))
            chosen = decision if decision in _DECISIONS else "execute"
            return Route("recorded", intent or "", _ordered(candidates), chosen, _thresholds(record))
    return None


def _records(value: JsonValue, depth: int) -> Iterator[dict[str, JsonValue]]:
    value = decoded_text(value)
    if isinstance(value, dict):
        if "candidates" in value:
            yield value
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list) else []
    for item in inner if depth else ():
        if isinstance(item, dict | list) or (isinstance(item, str) and "candidates" in item):
            yield from _records(item, depth - 1)


def _ordered(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    return tuple(sorted(candidates, key=lambda one: -one.score))


def _score(fields: dict[str, JsonValue]) -> float | None:
    for name in _SCORES:
        score = fields.get(name)
        if isinstance(score, int | float) and not isinstance(score, bool):
            return float(score) if 0 <= score <= 1 else None
    return None


def _candidate(value: JsonValue) -> Candidate | None:
    fields = as_object(value)
    name = next((text for key in _NAMES if (text := as_text(fields.get(key)))), None)
    score = _score(fields)
    return None if name is None or score is None else Candidate(name, score, as_text(fields.get("reason")) or "")


def _document(value: JsonValue) -> Candidate | None:
    """A document: `{document: {content, score, id, metadata}}` (OpenInference), or LangChain's and MLflow's own."""
    fields = as_object(value)
    fields = as_object(fields.get("document")) or fields
    metadata = as_object(decoded_text(fields.get("metadata")))
    score = _score(fields)
    score = _score(metadata) if score is None else score
    text = content_text(next((fields[key] for key in _TEXTS if key in fields), None))
    named = (as_text(part.get(key)) for key in _NAMES for part in (metadata, fields))
    name = next(filter(None, named), None) or text.strip().partition("\n")[0][:60]
    return None if score is None or not name else Candidate(name, score, text if text != name else "")


def _thresholds(record: dict[str, JsonValue]) -> Thresholds:
    """Thresholds that the record names; the usual ones where it does not."""
    fields = {**record, **as_object(record.get("thresholds"))}
    usual = Thresholds()
    found = {name: fields.get(name) for name in ("t1", "gap", "floor")}
    numbers = {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return Thresholds(
        numbers.get("t1", usual.t1),
        numbers.get("gap", usual.gap) if "thresholds" in record else usual.gap,
        numbers.get("floor", usual.floor),
    )


def query_text(value: JsonValue) -> str:
    """What a retriever was asked: its input as text, or the one text in an object."""
    value = decoded_text(value)
    texts = [one for one in as_object(value).values() if isinstance(one, str)]
    return texts[0] if len(texts) == 1 else json_text(value)

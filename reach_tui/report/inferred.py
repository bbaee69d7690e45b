"""The report's inferred part: routes, slots, timeouts and chains as rows, JSON and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reach_tui.analyze.chains import Band as ChainBand
from reach_tui.analyze.chains import bands
from reach_tui.analyze.confidence import Band, Confidence
from reach_tui.analyze.inferred import Inferred
from reach_tui.analyze.routes import Agreement
from reach_tui.analyze.timeouts import FEWEST, MARGIN, Advice, advice
from reach_tui.infer.candidates import IN_WORDS
from reach_tui.report.tables import Table, cell, percent, tool_name

_MOST = 12
"""Rows of a list that goes on and on."""
_DECISIONS = ("execute", "clarify", "no_capability")
_FINDINGS = {
    "hides_slowness": "hides slowness: more than twice what is advised",
    "kills_good_calls": "kills good calls: some need longer",
    "fits": "fits",
    "": "",
}


@dataclass(frozen=True, slots=True)
class RouteRow:
    """How the inferred routes of one kind of store agree with what was called."""

    store: str
    candidates_from: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class GapRow:
    """A slot that was required and missing."""

    tool: str
    slot: str
    calls: int
    """Calls in which it was missing."""
    failed: int
    """Of these, calls that failed."""
    of: int
    """Failed calls of the tool."""


@dataclass(frozen=True, slots=True)
class InferredRows:
    """The inferred part of a report."""

    routes: tuple[RouteRow, ...]
    """By kind of store; the last one, without a name, is all of them where there are several."""
    confused: tuple[tuple[str, str, int, int], ...]
    """(called, router's first, calls, of these failed), the most frequent first."""
    gaps: tuple[GapRow, ...]
    stale: tuple[tuple[str, str, int], ...]
    invented: tuple[tuple[str, str, int], ...]
    sources: tuple[tuple[str, str, int], ...]
    """(basis, source, slots); composed ones are a source of their own."""
    composed: tuple[tuple[str, int], ...]
    confidence: tuple[tuple[str, Confidence], ...]
    """By kind of store; the last one, without a name, is all of them where there are several."""
    timeouts: tuple[Advice, ...]
    per_step: float | None
    chains: tuple[ChainBand, ...]


def build(sums: Inferred) -> InferredRows:
    """The rows of what was added up."""
    agreement, confidence = sums.all_agreement, sums.all_confidence
    several = len(sums.agreement) > 1
    routes = [RouteRow(kind, _origin(sums, kind), one) for kind, one in sorted(sums.agreement.items())]
    levels = sorted(sums.confidence.items())
    return InferredRows(
        routes=(*routes, RouteRow("", "", agreement)) if several else tuple(routes),
        confused=tuple(
            (called, first, count, agreement.confused_failed[called, first])
            for (called, first), count in _ordered(agreement.confused)
        ),
        gaps=tuple(
            GapRow(tool, slot, count, sums.gaps_failed[tool, slot], confidence.failures[tool])
            for (tool, slot), count in _ordered(confidence.gaps)
        ),
        stale=tuple((*pair, count) for pair, count in _ordered(confidence.stale)),
        invented=tuple((*pair, count) for pair, count in _ordered(confidence.invented)),
        sources=tuple((*pair, count) for pair, count in _ordered(confidence.sources)),
        composed=tuple((tool, count) for tool, count in _ordered(sums.composed) if count),
        confidence=(*levels, ("", confidence)) if several else tuple(levels),
        timeouts=tuple(advice(sums.durations, sums.limits)),
        per_step=sums.chains.per_step,
        chains=tuple(bands(sums.chains)),
    )


def _origin(sums: Inferred, kind: str) -> str:
    found = {origin: count for (store, origin), count in sums.origins.items() if store == kind and count}
    return max(sorted(found), key=lambda origin: found[origin], default="")


def _ordered(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def record(rows: InferredRows) -> dict[str, Any]:
    """The JSON object under the report's key `inferred`."""
    return {
        "routes": [_route(row) for row in rows.routes],
        "confused": [
            {"called": called, "router": first, "count": count, "failed": failed}
            for called, first, count, failed in rows.confused
        ],
        "gaps": [
            {"tool": row.tool, "slot": row.slot, "calls": row.calls, "failed": row.failed, "of_failed": row.of}
            for row in rows.gaps
        ],
        "stale": [{"tool": tool, "slot": slot, "count": count} for tool, slot, count in rows.stale],
        "invented": [{"tool": tool, "slot": slot, "count": count} for tool, slot, count in rows.invented],
        "sources": [{"basis": basis, "source": name, "count": count} for basis, name, count in rows.sources],
        "composed": [{"tool": tool, "slots": count} for tool, count in rows.composed],
        "confidence": [_confidence(store, one) for store, one in rows.confidence],
        "timeouts": [_timeout(one) for one in rows.timeouts],
        "chains": {"per_step": _rounded(rows.per_step), "bands": [_chain(one) for one in rows.chains]},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _route(row: RouteRow) -> dict[str, Any]:
    one = row.agreement
    return {
        "store": row.store or None,
        "candidates_from": row.candidates_from or None,
        "calls": one.calls,
        "ranked": one.ranked,
        "silent": one.silent,
        "top1": _rounded(one.top1),
        "top5": _rounded(one.top5),
        "chance": _rounded(one.chance),
        "decisions": [
            {
                "decision": decision,
                "count": one.decisions[decision],
                "judged": one.judged[decision],
                "failed": one.failed[decision],
            }
            for decision in _DECISIONS
        ],
    }


def _confidence(store: str, one: Confidence) -> dict[str, Any]:
    return {
        "store": store or None,
        "calls": one.calls,
        "auc": _rounded(one.auc()),
        "auc_filled": _rounded(one.auc(filled_only=True)),
        "bands": [
            {"from": band.low, "to": band.high, "calls": band.calls, "failed": band.failed, "rate": _rounded(band.rate)}
            for band in one.bands()
        ],
    }


def _timeout(one: Advice) -> dict[str, Any]:
    names = ("tool", "calls", "killed", "killed_early", "p50", "p99", "advised", "today", "firm")
    return {**{name: getattr(one, name) for name in names}, "finding": one.finding or None}


def _chain(one: ChainBand) -> dict[str, Any]:
    return {
        "shortest": one.shortest,
        "longest": one.longest,
        "chains": one.chains,
        "whole": one.whole,
        "expected": _rounded(one.expected),
        "actual": _rounded(one.actual),
        "interval": [_rounded(one.interval[0]), _rounded(one.interval[1])],
    }


def tables(rows: InferredRows) -> list[Table]:
    """The tables of the text, Markdown and HTML forms; empty ones are left out."""
    made = (*_routes(rows), _gaps(rows), *_slots(rows), _bands(rows), _timeouts(rows), _chains(rows))
    return [table for table in made if table.rows]


def _routes(rows: InferredRows) -> Iterator[Table]:
    texts = tuple(
        (
            cell(row.store or "all"), cell(IN_WORDS.get(row.candidates_from)), cell(row.agreement.calls),
            cell(row.agreement.unknown), cell(row.agreement.silent), percent(row.agreement.top1, 1),
            percent(row.agreement.top5, 1), percent(row.agreement.chance, 1),
        )
        for row in rows.routes
        if row.agreement.calls
    )  # fmt: skip
    head = ("store", "candidates", "calls", "unknown tool", "no word", "top 1", "top 5", "by chance")
    note = "How often the tool that was called is the router's first, or among its first five, by words alone."
    yield Table("Inferred routes", head, texts, frozenset(range(2, 8)), note)
    decided = rows.routes[-1].agreement if rows.routes else Agreement()
    lines = tuple(_decision(decided, word) for word in _DECISIONS if decided.decisions[word])
    note = "What the router would have decided, and how many of those calls failed."
    columns = ("decision", "calls", "share", "failed", "rate", "95 % interval")
    yield Table("Decisions of inferred routes", columns, lines, frozenset(range(1, 6)), note)
    pairs = tuple((*map(tool_name, row[:2]), *map(cell, row[2:])) for row in rows.confused[:_MOST])
    note = f"Called, and what the router would have put first; {len(rows.confused):,} pairs in all."
    yield Table("Confusable pairs", ("called", "router", "calls", "failed"), pairs, frozenset({2, 3}), note)


def _decision(sums: Agreement, decision: str) -> tuple[str, ...]:
    count, rate = sums.decisions[decision], sums.failure_rate(decision)
    between = "–" if rate is None else f"{percent(rate[1][0], 1)} … {percent(rate[1][1], 1)}"
    share = percent(count / sums.calls if sums.calls else None, 1)
    return decision, cell(count), share, cell(sums.failed[decision]), percent(rate[0] if rate else None, 1), between


def _gaps(rows: InferredRows) -> Table:
    texts = tuple(
        (tool_name(row.tool), f"{cell(row.slot)} missing in {row.failed:,} of {row.of:,}", cell(row.calls))
        for row in rows.gaps[:_MOST]
    )
    note = "Required slots that were absent, null or empty, in the failed calls of the tool; and in all of its calls."
    return Table("Gaps", ("tool", "slot", "calls"), texts, frozenset({2}), note)


def _slots(rows: InferredRows) -> Iterator[Table]:
    for title, found, note in (
        ("Stale slots", rows.stale, "The value stands only in a version that was replaced since."),
        ("Invented slots", rows.invented, "The value stands nowhere before the call."),
    ):
        texts = tuple((tool_name(tool), *map(cell, more)) for tool, *more in found[:_MOST])
        yield Table(title, ("tool", "slot", "calls"), texts, frozenset({2}), note)
    texts = tuple(tuple(map(cell, row)) for row in rows.sources)
    yield Table("Where slots came from", ("basis", "source", "slots"), texts, frozenset({2}))
    texts = tuple((tool_name(tool), cell(count)) for tool, count in rows.composed[:_MOST])
    note = "New text, prompts, descriptions, commands: the agent's own, no confidence is counted for them."
    yield Table("Composed slots", ("tool", "slots"), texts, frozenset({1}), note)


def _bands(rows: InferredRows) -> Table:
    texts = []
    for store, one in rows.confidence:
        area = one.auc()
        shown = "–" if area is None else f"{area:.3f}"
        cells = [f"{band.failed:,} of {band.calls:,} ({percent(band.rate, 1)})" for band in one.bands()]
        texts.append((cell(store or "all"), *cells, shown))
    head = ("store", *map(_band_name, Confidence().bands()), "AUC")
    note = "Failures about parameters by the confidence in the call's slots. AUC of (1 - confidence): 0.5 says nothing."
    return Table("Failure rate by confidence", head, tuple(texts), frozenset(range(1, len(head))), note)


def _band_name(band: Band) -> str:
    return "nothing to fill" if band.low is None else f"{band.low:.2f} – {band.high:.2f}"


def _timeouts(rows: InferredRows) -> Table:
    told = [one for one in rows.timeouts if one.advised is not None or one.killed]
    head = ("tool", "calls", "timed out", "too early", "P50", "P99", "advised", "today", "finding", "")
    note = (
        f"Advised: P99 of successful calls × {MARGIN}, from {FEWEST} calls on. Today: what most calls asked for, else "
        "what the registry says."
    )
    return Table("Timeouts", head, tuple(map(_timeout_row, told)), frozenset(range(1, 8)), note)


def _timeout_row(one: Advice) -> tuple[str, ...]:
    counts = map(cell, (one.calls, one.killed, one.killed_early))
    times = map(_ms, (one.p50, one.p99, one.advised, one.today))
    few = "" if one.firm or one.advised is None else "few calls"
    return tool_name(one.tool), *counts, *times, _FINDINGS.get(one.finding, ""), few


def _ms(value: int | None) -> str:
    if value is None:
        return "–"
    return f"{value:,} ms" if value < 10_000 else f"{value / 1000:,.1f} s"


def _chains(rows: InferredRows) -> Table:
    texts = tuple(
        (
            f"{one.shortest:,}" if one.shortest == one.longest else f"{one.shortest:,} – {one.longest:,}",
            cell(one.chains), percent(one.expected, 1), percent(one.actual, 1),
            f"{percent(one.interval[0], 1)} … {percent(one.interval[1], 1)}",
        )
        for one in rows.chains
    )  # fmt: skip
    note = (
        f"The calls after one request, without any failure: p = {percent(rows.per_step)} per step to the power of the "
        "steps, against what happened. More than expected: failures come together."
    )
    return Table("Chains", ("steps", "chains", "expected", "actual", "95 % interval"), texts, frozenset(range(5)), note)

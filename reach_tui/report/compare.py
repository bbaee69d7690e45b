"""Before and after (seed A10): two reports, what changed in each tool and class, and whether it is more than chance.

Two populations in time are compared, nothing more: a difference says that something changed, not why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reach_tui.analyze.intervals import fisher_midp, holm, newcombe, share
from reach_tui.base.errors import UsageError
from reach_tui.base.text import shown_name

Json = Mapping[str, Any]
Counted = tuple[int, int]
"""A count and its denominator."""

_LEVEL = 0.05
_MEASURES = {"flagged": "of_flagged", "hidden": "of_failed", "failed": "of_failed"}
_MUST_AGREE = {"rules_version": "rules of the detectors", "taxonomy": "taxonomy"}
_SHOULD_AGREE = {"scope": "scope", "tools": "tools"}


@dataclass(frozen=True, slots=True)
class Change:
    """One share before and after. Without a denominator on one side there is no rate, no change and no test."""

    tool: str
    measure: str
    """flagged, hidden, failed, or `class`."""
    failure_class: str | None
    before: Counted
    after: Counted
    p: float | None
    """Two-sided mid-p value of Fisher's exact test."""
    p_adjusted: float | None = None
    """The same, adjusted (Holm) for all rows of its table."""

    @property
    def rate_before(self) -> float | None:
        """0..1, None without a denominator."""
        return share(*self.before)

    @property
    def rate_after(self) -> float | None:
        """0..1, None without a denominator."""
        return share(*self.after)

    @property
    def change(self) -> float | None:
        """After minus before, -1..1."""
        first, second = self.rate_before, self.rate_after
        return None if first is None or second is None else second - first

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the change (Newcombe)."""
        return newcombe(self.before, self.after)

    @property
    def beyond_chance(self) -> bool | None:
        """True if the adjusted p-value is below 0.05; None without a test."""
        return None if self.p_adjusted is None else self.p_adjusted < _LEVEL


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two reports side by side; `before` and `after` are their scopes, as in the report's JSON."""

    before: Json
    after: Json
    differences: tuple[str, ...]
    """What the two do not have in common and should: read every row with it in mind."""
    notes: tuple[str, ...]
    tools: tuple[Change, ...]
    classes: tuple[Change, ...]


def compare(before: Json, after: Json) -> Comparison:
    """The comparison of two reports, each as the report's JSON object.

    Raises `UsageError` where they were made with different rules or taxonomies, or where one is no such report: their
    counts mean different things.
    """
    first, second = _scope(before), _scope(after)
    for key, name in _MUST_AGREE.items():
        if first.get(key) != second.get(key):
            what = f"made with other {name} ({first.get(key)} before, {second.get(key)} after): not comparable"
            raise UsageError(what, hint="make both reports with the same version of reach-tui")
    tools = sorted(_tools(before).keys() | _tools(after).keys())
    changes = [change for tool in tools for change in _tool_changes(tool, _tools(before), _tools(after))]
    classes = [change for tool in tools for change in _class_changes(tool, _tools(before), _tools(after))]
    return Comparison(
        first,
        second,
        tuple(_differences(first, second)),
        tuple(_conventions(tools, _tools(before), _tools(after))),
        _adjusted(changes),
        _adjusted(classes),
    )


def _scope(report: Json) -> Json:
    scope = report.get("scope")
    if not isinstance(scope, Mapping) or not isinstance(report.get("tools"), list):
        raise UsageError("no report of this program", hint="make one with `reach-tui report PATH --format json`")
    return scope


def _tools(report: Json) -> dict[str, Json]:
    rows = [row for row in report["tools"] if isinstance(row, Mapping)]
    return {row["tool"]: row for row in rows if isinstance(row.get("tool"), str)}


def _counted(row: Json | None, measure: str) -> Counted:
    if row is None:
        return 0, 0
    of = _whole(row.get(_MEASURES[measure]))
    return min(_whole(row.get(measure)), of), of


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _tool_changes(tool: str, before: dict[str, Json], after: dict[str, Json]) -> Iterable[Change]:
    for measure in _MEASURES:
        first, second = _counted(before.get(tool), measure), _counted(after.get(tool), measure)
        yield Change(tool, measure, None, first, second, fisher_midp(first, second))


def _class_changes(tool: str, before: dict[str, Json], after: dict[str, Json]) -> Iterable[Change]:
    """Each class of failure as a share of the tool's ended calls."""
    of = _counted(before.get(tool), "failed")[1], _counted(after.get(tool), "failed")[1]
    first, second = _classes(before.get(tool)), _classes(after.get(tool))
    for name in sorted(first.keys() | second.keys()):
        was, now = (min(first.get(name, 0), of[0]), of[0]), (min(second.get(name, 0), of[1]), of[1])
        yield Change(tool, "class", name, was, now, fisher_midp(was, now))


def _classes(row: Json | None) -> dict[str, int]:
    rows = row.get("classes") if row is not None else None
    return {
        "/".join(str(one[key]) for key in ("category", "subcategory", "rule") if one.get(key)): _whole(one.get("count"))
        for one in (rows if isinstance(rows, list) else ())
        if isinstance(one, Mapping)
    }


def _differences(before: Json, after: Json) -> Iterable[str]:
    for key, name in _SHOULD_AGREE.items():
        if before.get(key) != after.get(key):
            yield f"{name}: {_said(before.get(key))} before, {_said(after.get(key))} after"
    kinds = [sorted({str(one.get("store")) for one in _stores(scope)}) for scope in (before, after)]
    if kinds[0] != kinds[1]:
        yield f"stores: {', '.join(kinds[0]) or 'none'} before, {', '.join(kinds[1]) or 'none'} after"


def _stores(scope: Json) -> list[Json]:
    stores = scope.get("stores")
    return [one for one in stores if isinstance(one, Mapping)] if isinstance(stores, list) else []


def _said(value: object) -> str:
    return (", ".join(map(str, value)) or "all") if isinstance(value, list) else str(value)


def _conventions(tools: list[str], before: dict[str, Json], after: dict[str, Json]) -> Iterable[str]:
    """Tools whose failures are recorded otherwise than before: their flagged counts cannot be held side by side."""
    for tool in tools:
        shares = []
        for side in (before, after):
            row = side.get(tool)
            failed = _whole(row.get("failed")) if row else 0
            hidden = min(_whole(row.get("hidden")), failed) if row else 0
            shares.append((hidden, failed))
        p = fisher_midp(*shares)
        if p is not None and p < _LEVEL:
            was, now = (f"{hidden} of {failed}" for hidden, failed in shares)
            said = f"hidden were {was} failures before, {now} after"
            yield f"{shown_name(tool)}: {said}: compare it by failed, not by flagged"


def _adjusted(changes: list[Change]) -> tuple[Change, ...]:
    adjusted = holm([change.p for change in changes])
    return tuple(replace(change, p_adjusted=p) for change, p in zip(changes, adjusted, strict=True))

"""The settings of a replay as a row of knobs: shown, turned up and down, typed, put back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from reach_tui.base.text import one_line
from reach_tui.infer.routes import K
from reach_tui.model import Thresholds
from reach_tui.replay.registry_source import bundled_names
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line, fit, width_of
from reach_tui.workspace.replaying import ReplaySettings

_STEP = 0.05
_SECONDS = (None, 5, 10, 30, 60, 120, 300, 600)
_MOST_FAILURES, _MOST_CANDIDATES = 50, 50
_RULES = ("same_error", "any_error")
UNCHANGED = ReplaySettings()


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting that can be turned."""

    id: str
    label: str
    about: str
    """What it does, for the line of hints."""
    shown: Callable[[ReplaySettings, Thresholds], str]
    turned: Callable[[ReplaySettings, Thresholds, int], ReplaySettings]
    """The settings one step up (1) or down (-1)."""
    typed: Callable[[ReplaySettings, str], ReplaySettings]
    """The settings with a text that a person wrote. Raises `ValueError` saying what could be written."""
    fields: tuple[str, ...]
    """Of `ReplaySettings`."""

    def changed(self, settings: ReplaySettings) -> bool:
        """True if it is not as at the beginning."""
        return any(getattr(settings, name) != getattr(UNCHANGED, name) for name in self.fields)

    def reset(self, settings: ReplaySettings) -> ReplaySettings:
        """As at the beginning."""
        return replace(settings, **{name: getattr(UNCHANGED, name) for name in self.fields})


def _with(settings: ReplaySettings, name: str, value: float) -> ReplaySettings:
    change: dict[str, Any] = {name: value}
    return replace(settings, **change)


def _threshold(name: str, about: str) -> Knob:
    def now(settings: ReplaySettings, usual: Thresholds) -> float:
        value: float | None = getattr(settings, name)
        return getattr(usual, name) if value is None else value

    def turned(settings: ReplaySettings, usual: Thresholds, by: int) -> ReplaySettings:
        value = round(round((now(settings, usual) + by * _STEP) / _STEP) * _STEP, 2)
        return _with(settings, name, min(1.0, max(0.0, value)))

    def typed(settings: ReplaySettings, text: str) -> ReplaySettings:
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise ValueError("a number from 0 to 1")
        return _with(settings, name, value)

    return Knob(name, name, about, lambda one, usual: f"{now(one, usual):.2f}", turned, typed, (name,))


def _whole(text: str, most: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise ValueError(f"a whole number from 1 to {most}")
    return int(text)


def milliseconds(text: str) -> int:
    """`60 s`, `60000`, `1500 ms`, `2 min` as milliseconds; a bare number is milliseconds. Raises `ValueError`."""
    for unit, factor in (("ms", 1), ("min", 60_000), ("m", 60_000), ("s", 1000), ("", 1)):
        number = text.strip().removesuffix(unit).strip()
        if unit and not text.strip().endswith(unit):
            continue
        try:
            value = float(number) * factor
        except ValueError:
            break
        if 1 <= value <= 86_400_000:
            return int(value)
        break
    raise ValueError("a time: 60 s, 1500 ms, 2 min")


def time_words(ms: int) -> str:
    """`1.5 s`, `60 s`, `800 ms`."""
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:g} s"


def _timeout_shown(settings: ReplaySettings, _: Thresholds) -> str:
    words = ["p99"] if settings.advised_timeouts else []
    words += [
        time_words(limit) if tool == "*" else f"{tool} {time_words(limit)}" for tool, limit in settings.timeouts.items()
    ]
    return ", ".join(words) or "off"


def _timeout_turned(settings: ReplaySettings, _: Thresholds, by: int) -> ReplaySettings:
    """Off, P99 × 1.3 of each tool, then one limit for all tools."""
    ladder: list[tuple[bool, int | None]] = [(False, None), (True, None)]
    ladder += [(False, seconds * 1000) for seconds in _SECONDS if seconds is not None]
    now = (settings.advised_timeouts, settings.timeouts.get("*"))
    place = ladder.index(now) if now in ladder else 0
    advised, limit = ladder[(place + by) % len(ladder)]
    return replace(settings, advised_timeouts=advised, timeouts={} if limit is None else {"*": limit})


def _timeout_typed(settings: ReplaySettings, text: str) -> ReplaySettings:
    advised, limits = False, dict[str, int]()
    for part in filter(None, (one.strip() for one in text.split(","))):
        tool, mark, limit = part.rpartition("=")
        if part.lower() == "p99":
            advised = True
        elif part.lower() != "off":
            try:
                limits[tool.strip() if mark else "*"] = milliseconds(limit)
            except ValueError:
                raise ValueError("off, p99, 60 s for all tools, or bash=60 s, read=5 s") from None
    return replace(settings, advised_timeouts=advised, timeouts=limits)


def _breaker_turned(settings: ReplaySettings, _: Thresholds, by: int) -> ReplaySettings:
    """Off, then failures in a row from two to ten; switched on at the layer's own number."""
    if not settings.breaker:
        return replace(settings, breaker=True)
    after = settings.breaker_after + by
    off = not 2 <= after <= 10
    return replace(settings, breaker=not off, breaker_after=UNCHANGED.breaker_after if off else after)


def _breaker_typed(settings: ReplaySettings, text: str) -> ReplaySettings:
    if text.lower() == "off":
        return replace(settings, breaker=False, breaker_after=UNCHANGED.breaker_after)
    return replace(settings, breaker=True, breaker_after=_whole(text, _MOST_FAILURES))


def _switch(text: str) -> bool:
    if text.lower() not in ("on", "off"):
        raise ValueError("on or off")
    return text.lower() == "on"


def _budget_turned(settings: ReplaySettings, _: Thresholds, by: int) -> ReplaySettings:
    ladder = [None if one is None else one * 1000 for one in _SECONDS]
    place = ladder.index(settings.budget_ms) if settings.budget_ms in ladder else 0
    return replace(settings, budget_ms=ladder[(place + by) % len(ladder)])


def _registry_turned(settings: ReplaySettings, _: Thresholds, by: int) -> ReplaySettings:
    """None, then each registry that ships with the program."""
    ladder = [None, *map(Path, bundled_names())]
    place = ladder.index(settings.registry) if settings.registry in ladder else 0
    return replace(settings, registry=ladder[(place + by) % len(ladder)])


def _registry_typed(settings: ReplaySettings, text: str) -> ReplaySettings:
    try:
        path = None if text.strip() in ("", "off", "none") else Path(text.strip()).expanduser()
    except RuntimeError:
        raise ValueError("a folder; there is no such user") from None
    return replace(settings, registry=path)


def _rule_typed(settings: ReplaySettings, text: str) -> ReplaySettings:
    rule = text.lower().replace(" ", "_")
    if rule not in _RULES:
        raise ValueError("same error, or any error")
    return replace(settings, guard_rule=rule)


def _turn(low: int, most: int, now: int, by: int) -> int:
    return min(most, max(low, now + by))


KNOBS: Sequence[Knob] = (
    _threshold("t1", "execute from this score on"),
    _threshold("gap", "and from this distance to the second candidate on"),
    _threshold("floor", "below this score: no capability"),
    Knob("guard", "guard after", "failures in a row after which the guard speaks",
         lambda one, _: str(one.guard_after),
         lambda one, _, by: replace(one, guard_after=_turn(1, _MOST_FAILURES, one.guard_after, by)),
         lambda one, text: replace(one, guard_after=_whole(text, _MOST_FAILURES)), ("guard_after",)),
    Knob("rule", "rule", "same error: by tool and text, at each failure; any error: one counter, once",
         lambda one, _: one.guard_rule.replace("_", " "),
         lambda one, _, by: replace(one, guard_rule=_RULES[1 - _RULES.index(one.guard_rule)]),
         _rule_typed, ("guard_rule",)),
    Knob("timeout", "timeout", "off, p99 × 1.3 of each tool, or a limit", _timeout_shown, _timeout_turned,
         _timeout_typed, ("advised_timeouts", "timeouts")),
    Knob("breaker", "breaker", "opens after so many failures in a row of one tool",
         lambda one, _: f"after {one.breaker_after}" if one.breaker else "off", _breaker_turned, _breaker_typed,
         ("breaker", "breaker_after")),
    Knob("budget", "budget", "time that the calls after one request share",
         lambda one, _: "off" if one.budget_ms is None else time_words(one.budget_ms), _budget_turned,
         lambda one, text: replace(one, budget_ms=None if text.lower() == "off" else milliseconds(text)),
         ("budget_ms",)),
    Knob("retry", "retry", "what the executor would send again: idempotent tools, failures that pass",
         lambda one, _: "on" if retries(one) else "off",
         lambda one, _, by: replace(one, retries=not retries(one)),
         lambda one, text: replace(one, retries=_switch(text)), ("retries",)),
    Knob("k", "k", "candidates that recall hands on",
         lambda one, _: str(one.k or K),
         lambda one, _, by: replace(one, k=_turn(1, _MOST_CANDIDATES, one.k or K, by)),
         lambda one, text: replace(one, k=_whole(text, _MOST_CANDIDATES)), ("k",)),
    Knob("fallback", "fallback", "route by keywords alone",
         lambda one, _: "on" if one.degraded else "off",
         lambda one, _, by: replace(one, degraded=not one.degraded),
         lambda one, text: replace(one, degraded=_switch(text)), ("degraded",)),
    Knob("registry", "registry", "route anew over a folder's tools; files you edit are read again at once",
         lambda one, _: "as recorded" if one.registry is None else short_path(one.registry), _registry_turned,
         _registry_typed, ("registry",)),
)  # fmt: skip
BY_ID: Mapping[str, Knob] = {knob.id: knob for knob in KNOBS}


def retries(settings: ReplaySettings) -> bool:
    """True if retries are looked at."""
    return settings.registry is not None if settings.retries is None else settings.retries


def short_path(path: Path) -> str:
    """The end of a path, at most 28 cells."""
    text = one_line(str(path))
    while cell_len(text) > 28:
        text = "…" + text.lstrip("…")[1:]
    return text.strip() or "?"


def knob_lines(
    settings: ReplaySettings, usual: Thresholds, chosen: int, width: int, glyphs: Glyphs
) -> tuple[list[Line], Line]:
    """The knobs in as many lines as they need, the chosen one between arrows; and what the chosen one does."""
    left, right = ("<", ">") if glyphs.rule.isascii() else ("◂", "▸")
    lines: list[Line] = [[(" ", "text")]]
    for number, knob in enumerate(KNOBS):
        value = knob.shown(settings, usual)
        value = fit(value, min(cell_len(one_line(value)), max(8, width - len(knob.label) - 8)))
        style = "key" if knob.changed(settings) else "text"
        here = number == chosen
        pieces: Line = [
            (left if here else " ", "key"),
            (f"{knob.label} ", "title" if here else "dim"),
            (value, "title" if here and style == "text" else style),
            (f"{'*' if knob.changed(settings) else ''}{right if here else ' '} ", "key"),
        ]
        if width_of(lines[-1]) + width_of(pieces) > width:
            lines.append([(" ", "text")])
        lines[-1] += pieces
    knob = KNOBS[chosen]
    hint: Line = [(f"  {knob.label}", "title"), (f": {knob.about}   ", "dim")]
    for key, does in (("+ -", "turn"), ("e", "type"), ("Bksp", "as recorded"), ("Tab", "next setting")):
        pieces = [(key, "key"), (f" {does}  ", "dim")]
        if width_of(hint) + width_of(pieces) + 4 <= width:
            hint += pieces
    return lines, hint

"""What the replay says, as lines: steps with marks, the state at the cursor, the flips, a flip's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reach_tui.base.text import one_line
from reach_tui.model import Route, ToolCall
from reach_tui.reach.breaker import BreakerState
from reach_tui.replay.differences import Difference, Kind
from reach_tui.replay.whatif import Moment, named
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.knobs import retries, time_words
from reach_tui.tui.lines import Line, fit, heading, padded, spread, width_of, wrap
from reach_tui.tui.route_panel import route_lines
from reach_tui.tui.rows import StepRow, span_of, step_line
from reach_tui.tui.slot_panel import belief_lines
from reach_tui.workspace import JudgedStep
from reach_tui.workspace.held_files import FileState
from reach_tui.workspace.replaying import ReplaySettings

_BESIDE = 76
"""From this width on recorded and now stand side by side."""
_DOTS = 10  # of a guard's counter; longer ones are a number alone
_STYLES = {
    Kind.FLIP: "hidden", Kind.GUARD: "soft", Kind.KILLED_GOOD: "bad", Kind.KILLED: "fair", Kind.BLOCKED: "bad",
    Kind.RETRIED: "good",
}  # fmt: skip
_DECISIONS = {"execute": "good", "clarify": "fair", "no_capability": "bad"}
_MARKS = 13  # cells for the marks of a step


def glyph_of(kind: Kind, glyphs: Glyphs) -> str:
    """The mark of a kind of difference."""
    return {
        Kind.FLIP: glyphs.flip, Kind.GUARD: glyphs.guard, Kind.KILLED_GOOD: glyphs.killed, Kind.KILLED: glyphs.killed,
        Kind.BLOCKED: glyphs.blocked, Kind.RETRIED: glyphs.again,
    }[kind]  # fmt: skip


def marked_step_line(
    judged: JudgedStep, found: Sequence[Difference], width: int, glyphs: Glyphs, *, cursor: bool, digits: int
) -> Line:
    """A step with what differs there at its end: the first difference with its word, the others as glyphs."""
    kinds = list(dict.fromkeys(one.kind for one in found))
    room = width - _MARKS
    line = step_line(judged, StepRow(0), room, glyphs, cursor=cursor, digits=digits, saved={})
    marks: Line = [(" ", "text")]
    for number, kind in enumerate(kinds):
        word = f" {kind} " if not number else ""
        marks.append((f"{glyph_of(kind, glyphs)}{word}", _STYLES[kind]))
    return [*padded(line, room), *padded(marks, _MARKS)]


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that is known at the cursor."""

    step: int
    call: ToolCall | None
    moment: Moment | None
    """Of this step; None where nothing was decided or called."""
    guard: Moment | None
    """The newest answered call up to the cursor: what a guard had counted."""
    next_guard: int | None
    """The next step at which the guard would speak in truth."""
    breakers: Mapping[str, BreakerState]
    """By tool, before its newest call up to the cursor."""
    found: Sequence[Difference]
    settings: ReplaySettings
    files: Sequence[FileState] | None = ()
    """None while they are being looked up."""


def scene_lines(scene: Scene, width: int, glyphs: Glyphs) -> list[Line]:
    """The panel: the decision then and now, the guards, what differs, candidates, breaker, limits, files."""
    width = max(width, 20)
    lines = _decided(scene.moment, width, glyphs)
    lines += _guards(scene, width, glyphs)
    for one in scene.found:
        if one.kind is Kind.GUARD:  # the counters say it
            continue
        first, *more = wrap(one_line(one.words), width - 2)
        lines.append([(f"{glyph_of(one.kind, glyphs)} ", _STYLES[one.kind]), (first, _STYLES[one.kind])])
        lines += [[("  ", "text"), (row, _STYLES[one.kind])] for row in more]
    lines += _routes(scene.moment, width, glyphs)
    lines += _state(scene, width, glyphs)
    return lines + _files(scene, width, glyphs)


def _decided(moment: Moment | None, width: int, glyphs: Glyphs) -> list[Line]:
    if moment is None or moment.before is None or moment.after is None:
        return [padded([("no decision was made at this step", "dim")], width)]
    lines = []
    for word, route in (("recorded", moment.before), ("now", moment.after)):
        flipped = moment.flip is not None and word == "now"
        line: Line = [(f"{glyphs.flip if flipped else ' '} ", "hidden"), (f"{word:<9} ", "dim")]
        line += _decision(route)
        if word == "recorded" and route.basis != "recorded":
            line.append(("  inferred", "dim"))
        lines.append(padded(line, width))
    if not moment.explained:
        lines.append(padded([("  the recorded decision does not follow from its scores: it stands", "dim")], width))
    return lines


def _decision(route: Route) -> Line:
    limits, gap = route.thresholds, route.gap
    style = _DECISIONS.get(route.decision, "text")
    line: Line = [(one_line(named(route)), style)]
    if route.candidates:
        top = route.candidates[0]
        name = "" if route.decision == "execute" else f" {one_line(top.name)}"
        sign = "≥" if top.score >= limits.t1 else "<"
        line.append((f" {name} {top.score:.2f} {sign} {limits.t1:.2f}".replace("  ", " "), "text"))
        if gap is not None:
            line.append((f"  gap {gap:.2f} {'≥' if gap >= limits.gap else '<'} {limits.gap:.2f}", "dim"))
    return line


def _guards(scene: Scene, width: int, glyphs: Glyphs) -> list[Line]:
    settings, moment = scene.settings, scene.guard
    state = moment.guard if moment is not None else None
    lines = []
    counts = (("by flag", state.by_flag, state.speaks_by_flag), ("in truth", state.by_truth, state.speaks_by_truth)) \
        if state is not None else (("by flag", 0, False), ("in truth", 0, False))  # fmt: skip
    for number, (word, count, speaks) in enumerate(counts):
        line: Line = [("  ", "text"), (f"{'guard' if not number else '':<6}{word:<9}", "dim")]
        line += dots(count, settings.guard_after, glyphs)
        line.append((f" {count} of {settings.guard_after}", "title" if count else "dim"))
        if speaks and moment is not None and moment.step == scene.step:
            line.append((f"  {glyphs.guard} speaks here", "soft"))
        elif number and scene.next_guard is not None:
            line.append((f"  would speak at step {scene.next_guard}", "soft"))
        lines.append(padded(line, width))
    return lines


def dots(count: int, of: int, glyphs: Glyphs) -> Line:
    """`●●●○○`; nothing where `of` is too many to draw."""
    if of > _DOTS:
        return []
    full = min(count, of)
    style = "bad" if count >= of else "fair" if count else "dim"
    return [(glyphs.dot * full, style), (glyphs.dot_empty * (of - full), "bar-empty")]


def _routes(moment: Moment | None, width: int, glyphs: Glyphs) -> list[Line]:
    if moment is None or moment.before is None or moment.after is None:
        return []
    if width < _BESIDE:
        same = (
            moment.before.candidates == moment.after.candidates and moment.before.thresholds == moment.after.thresholds
        )
        shown = [("recorded" if not same else "then and now", moment.before)]
        shown += [] if same else [("now", moment.after)]
        return [line for word, route in shown for line in _route(word, route, width, glyphs)]
    half = (width - 1) // 2
    left, right = _route("recorded", moment.before, half, glyphs), _route("now", moment.after, width - half - 1, glyphs)
    rows: list[Line] = []
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else []
        two = right[index] if index < len(right) else []
        rows.append([*padded(one, half), (glyphs.vertical, "rule"), *padded(two, width - half - 1)])
    return rows


def _route(word: str, route: Route, width: int, glyphs: Glyphs) -> list[Line]:
    return [heading(word, width, glyphs), *route_lines(route, width, glyphs)[1:]]


def _state(scene: Scene, width: int, glyphs: Glyphs) -> list[Line]:
    settings, moment, call = scene.settings, scene.moment, scene.call
    told: list[tuple[str, Line]] = []
    if settings.breaker:
        told.append(("breaker", _breakers(scene.breakers)))
    if settings.budget_ms is not None:
        left = moment.budget_left if moment is not None else None
        if left is None:
            told.append(("budget", [("no call with a time here", "dim")]))
        else:
            style = "bad" if moment is not None and moment.over_budget else "text"
            told.append(
                ("budget", [(f"{time_words(left)} left of {time_words(settings.budget_ms)} for this request", style)])
            )
    if call is not None and call.duration_ms is not None:
        took = f"took {span_of(call.duration_ms)}"
        killed = moment.timed_out if moment is not None else None
        words = {"good": ", more than its limit: killed although it succeeded", "bad": ", more than its limit: killed"}
        told.append(("time", [(f"{took}{words.get(killed or '', '')}", "bad" if killed else "dim")]))
    if retries(settings) and moment is not None and moment.retried:
        told.append(("retry", [("the executor would have sent it again", "good")]))
    if not told:
        return []
    rows: list[Line] = [heading("state", width, glyphs)]
    return rows + [padded([(f"{name:<9}", "dim"), *line], width) for name, line in told]


def _breakers(states: Mapping[str, BreakerState]) -> Line:
    odd = {tool: state for tool, state in states.items() if state is not BreakerState.CLOSED}
    if not odd:
        return [(f"closed for {len(states)} tools" if states else "no call yet", "dim")]
    return [(", ".join(f"{one_line(tool)} {state.value.replace('_', '-')}" for tool, state in odd.items()), "bad")]


def _files(scene: Scene, width: int, glyphs: Glyphs) -> list[Line]:
    if scene.files is None:
        return [heading("file", width, glyphs), [("being looked up …", "dim")]]
    lines: list[Line] = []
    for one in scene.files:
        lines.append(heading(f"file · {one_line(one.path)}", width, glyphs))
        if not one.versions:
            lines.append([("the session had not seen it before", "dim")])
            continue
        held = f"held version {one.versions}, of step {one.held} ({one.how})"
        standing = one.belief.standing if one.belief is not None else None
        if standing is None:
            seen = f"; last read at step {one.read}" if one.read is not None else "; never read"
            lines += [[(row, "text")] for row in wrap(f"{held}{seen if one.read != one.held else ''}", width)]
            continue
        believed = {
            "held": "the edit fits it",
            "stale": f"the edit believed in the one of step {standing.step}",
            "gone": f"the edit believed in the one of step {standing.step}",
        }.get(standing.word, "the edit believed in a text that is not in it")
        lines += [[(row, "hidden" if one.stale else "text")] for row in wrap(f"{held}; {believed}", width)]
        lines += belief_lines(one.belief, width, glyphs)
    return lines


def difference_line(one: Difference, width: int, glyphs: Glyphs, *, cursor: bool, digits: int) -> Line:
    """A flip (or another difference) as a row."""
    return [
        (glyphs.cursor if cursor else " ", "key"),
        (f" {glyph_of(one.kind, glyphs)} ", _STYLES[one.kind]),
        (f"step {one.step:>{digits}}  ", "dim"),
        (fit(one.words, max(1, width - 11 - digits)), "text"),
    ]


def head_line(counted: Mapping[Kind, int], decisions: int, state: str, width: int, glyphs: Glyphs) -> Line:
    """What differs in all: `── 3 of 61 decisions flip · guard speaks 4 times ──`."""
    words = {
        Kind.GUARD: "guard speaks at {}", Kind.KILLED_GOOD: "{} good calls killed", Kind.KILLED: "{} bad calls killed",
        Kind.BLOCKED: "{} blocked", Kind.RETRIED: "{} sent again",
    }  # fmt: skip
    line: Line = [(f"{glyphs.rule} ", "rule"), (f"{glyphs.flip} {counted.get(Kind.FLIP, 0):,}", "hidden")]
    line.append((f" of {decisions:,} decisions flip", "title"))
    for kind, text in words.items():
        if counted.get(kind):
            line.append((f"  {glyph_of(kind, glyphs)} {text.format(f'{counted[kind]:,}')}", _STYLES[kind]))
    right: Line = [(f" {state} ", "key"), (glyphs.rule, "rule")] if state else []
    line.append((" ", "rule"))
    room = width - width_of(line) - width_of(right)
    line.append((glyphs.rule * max(0, room), "rule"))
    return padded([*line, *right], width) if room >= 0 else spread(line, right, width)


def numbers(difference: Difference, width: int, glyphs: Glyphs) -> list[Line]:
    """Everything behind a difference: what was asked, each score with its reason, the arithmetic of both decisions."""
    moment = difference.moment
    lines: list[Line] = [[(row, _STYLES[difference.kind])] for row in wrap(one_line(difference.words), width)]
    if moment.before is None or moment.after is None:
        return lines
    if moment.before.intent:
        lines += [[], *([(row, "text")] for row in wrap(f"asked: {one_line(moment.before.intent)}", width))]
    for word, route in (("then", moment.before), ("now", moment.after)):
        lines += [[], heading(f"{word} · {named(route)} · {route.basis} scores", width, glyphs)]
        lines += route_lines(route, width, glyphs, full=False)[1:]
        lines += [[(row, "dim")] for sentence in arithmetic(route) for row in wrap(sentence, width)]
        for one in route.candidates[:5]:
            if one.reason:
                lines += [[(row, "dim")] for row in wrap(f"{one_line(one.name)}: {one_line(one.reason)}", width)]
    return lines


def arithmetic(route: Route) -> Iterable[str]:
    """How the scores and thresholds make the decision, in words."""
    limits = route.thresholds
    if not route.candidates:
        yield "no candidate: no capability"
        return
    top = route.candidates[0]
    second = route.candidates[1].score if len(route.candidates) > 1 else 0.0
    gap = top.score - second
    yield f"score: {top.score:.4f} {'≥' if top.score >= limits.t1 else '<'} t1 {limits.t1:g}"
    enough = "≥" if round(gap, 6) >= limits.gap else "<"
    yield f"gap: {top.score:.4f} - {second:.4f} = {gap:.4f} {enough} {limits.gap:g}"
    yield f"floor: {top.score:.4f} {'≥' if top.score >= limits.floor else '<'} {limits.floor:g}"

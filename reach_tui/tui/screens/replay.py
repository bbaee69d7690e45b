"""A session replayed: as it was recorded beside what it would have been under other settings. Nothing is called."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.timer import Timer

from reach_tui.base.text import one_line
from reach_tui.replay.differences import Difference
from reach_tui.tui.commands import REPLAY, bindings_for
from reach_tui.tui.knobs import KNOBS, UNCHANGED, knob_lines
from reach_tui.tui.lines import Line, padded, spread
from reach_tui.tui.replay_rows import Scene, head_line, numbers, scene_lines
from reach_tui.tui.screens.dialogs import NoteDialog, TextDialog
from reach_tui.tui.screens.replayed import ReplayedSession
from reach_tui.tui.widgets.line_view import Bar, LineList, LinesView, app_of
from reach_tui.tui.widgets.replay_lists import DifferenceList, ReplaySteps

SPEEDS = (1, 2, 4, 8, 16, 64)
_SHORTEST, _LONGEST, _UNKNOWN = 0.04, 1.5, 0.4
"""Seconds between two steps: at the least, at the most, and where the trace has no times."""
_JUMP = 10


class NumbersDialog(TextDialog):
    """The numbers behind a flip."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(f"step {difference.step} · {difference.kind}", [])
        self._difference = difference

    def _build(self, width: int) -> list[Line]:
        return numbers(self._difference, width, app_of(self).glyphs)


class ReplayScreen(ReplayedSession):
    """Step through a session as recorded; turn the settings and see what flips."""

    commands_of = REPLAY
    BINDINGS: ClassVar[list[Binding]] = bindings_for(REPLAY)  # type: ignore[assignment]
    knob = 0
    """The setting that + and - turn."""
    speed = 2
    """Index into `SPEEDS`."""
    _playing: Timer | None = None
    _shown: tuple[list[Line], int] = ([], 0)
    """The panel's lines, and their width."""

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            yield ReplaySteps()
            yield LinesView(id="inspector")
        yield Bar(id="flips-head")
        yield DifferenceList()

    def begin(self) -> None:
        self.query_one("#flips-head", Bar).show(self._flips_head)
        self.step_list.waiting = "reading …  Escape stops"
        self.difference_list.waiting = ("replaying …",)
        self.step_list.follow = self.moved
        self.difference_list.follow = self._follow_difference
        super().begin()

    def on_resize(self) -> None:
        self._fit_top()
        self.call_after_refresh(self.show_scene)

    def _fit_top(self) -> None:
        lines, _ = knob_lines(self.settings, self.usual, self.knob, self.app.size.width, self.reach.glyphs)
        self.query_one("#top", Bar).styles.height = 2 + len(lines)

    # Showing

    @property
    def step_list(self) -> ReplaySteps:
        """The steps."""
        return self.query_one(ReplaySteps)

    @property
    def difference_list(self) -> DifferenceList:
        """What differs."""
        return self.query_one(DifferenceList)

    def shown_anew(self) -> None:
        """A replay has been made: marks, flips and panel anew; the cursor stays."""
        steps, flips = self.step_list, self.difference_list
        first, before = not steps.steps, steps.found
        if self.recording is not None:
            steps.steps = self.recording.steps
        if self.course is not None:
            steps.found = self.course.at
            flips.found = self.course.differences
        steps.waiting = "this session has no steps: Escape, and choose another"
        flips.waiting = self._nothing_differs()
        if first:
            steps.set_count(len(steps.steps))
        else:
            numbers = ((index, steps.steps[index].step.number) for index in steps.seen)
            steps.forget()
            steps.redraw_lines(index for index, n in numbers if before.get(n) != steps.found.get(n))
        with self.prevent(LineList.Highlighted):
            follow, flips.follow = flips.follow, None
            flips.set_count(len(flips.found))
            flips.follow = follow
        self.show_scene()
        self.refresh_bars()

    def _nothing_differs(self) -> tuple[str, ...]:
        if self.settings == UNCHANGED:
            return ("nothing differs: these are the recorded settings.", "Tab chooses a setting, + and - turn it.")
        return ("nothing differs under these settings.",)

    def show_scene(self) -> None:
        """The panel at the cursor."""
        scene = self.scene()
        view, glyphs = self.query_one("#inspector", LinesView), self.reach.glyphs
        width = view.line_width
        lines = scene_lines(scene, width, glyphs) if scene is not None else []
        if (lines, width) != self._shown:
            self._shown = (lines, width)

            def build(wanted: int) -> list[Line]:
                return lines if wanted == width or scene is None else scene_lines(scene, wanted, glyphs)

            view.show(build, keep_scroll=True)

    def scene(self) -> Scene | None:
        """Everything that is known at the cursor; None before the first replay."""
        step, course = self.current, self.course
        if step is None or course is None:
            return None
        number = step.step.number
        return Scene(
            number,
            step.judged.call if step.judged is not None else None,
            course.moments.get(number),
            course.guard(number),
            course.next_guard(number),
            course.breakers(number) if self.settings.breaker else {},
            course.at.get(number, ()),
            self.settings,
            self.files_at(step),
        )

    def refresh_bars(self) -> None:
        """Draw the lines around the lists anew."""
        self._fit_top()
        super().refresh_bars()

    def moved(self) -> None:
        """The cursor stands on another step."""
        self.show_scene()
        self.refresh_title()
        self.look_at_files()

    def on_bar_clicked(self, event: Bar.Clicked) -> None:
        """A setting was clicked: it is the chosen one. (The base class's handler is called as well.)"""
        for number, knob in enumerate(KNOBS):
            if event.text == knob.label:
                self._choose(number - self.knob)

    # Moving

    def action_page_down(self) -> None:
        self._move(_JUMP)

    def action_page_up(self) -> None:
        self._move(-_JUMP)

    def action_scrub(self, by: int) -> None:
        """One step on or back, whichever list has the keyboard."""
        self.step_list.cursor += by

    def action_panel(self, by: int) -> None:
        """Scroll the panel by half of it."""
        view = self.query_one("#inspector", LinesView)
        view.scroll_lines(by * max(1, view.page() // 2))

    def action_next_difference(self) -> None:
        self._jump(1)

    def action_previous_difference(self) -> None:
        self._jump(-1)

    def _jump(self, by: int) -> None:
        steps = self.course.steps if self.course is not None else ()
        here = self.current.step.number if self.current is not None else 0
        place = bisect_right(steps, here) if by > 0 else bisect_left(steps, here) - 1
        if 0 <= place < len(steps):
            self.go_to(steps[place])
        else:
            self.set_status(f"no {'further' if by > 0 else 'earlier'} difference")

    def go_to(self, number: int) -> None:
        """Move to the step of that number."""
        index = next((i for i, one in enumerate(self.step_list.steps) if one.step.number == number), None)
        if index is not None:
            self.step_list.cursor = index

    def _follow_difference(self) -> None:
        flips = self.difference_list
        if flips.found and flips.has_focus:
            self.go_to(flips.found[flips.cursor].step)

    def action_flips(self) -> None:
        """Into the list of what differs, and back."""
        flips = self.difference_list
        if flips.has_focus or not flips.found:
            self.step_list.focus()
        else:
            flips.focus()
            self.go_to(flips.found[flips.cursor].step)

    def action_open(self) -> None:
        """The numbers of the flip: the one chosen, else the one at the cursor."""
        flips = self.difference_list
        chosen = flips.found[flips.cursor] if flips.has_focus and flips.found else None
        if chosen is None and self.course is not None and self.current is not None:
            chosen = next(iter(self.course.at.get(self.current.step.number, ())), None)
        if chosen is None:
            self.set_status("nothing differs at this step: n goes to the next that does")
        else:
            self.go_to(chosen.step)
            self.app.push_screen(NumbersDialog(chosen))

    def action_back(self) -> None:
        if self.difference_list.has_focus:
            self.step_list.focus()
        else:
            self.stop()
            self.app.pop_screen()

    # Playing

    def action_play(self) -> None:
        """Go on step by step in the recorded rhythm, or stop."""
        if self._playing is not None:
            self._pause()
        elif self.step_list.count:
            if self.step_list.cursor >= self.step_list.count - 1:
                self.step_list.cursor = 0
            self._playing = self.set_timer(self._delay(), self._next_step)
        self.refresh_title()

    def _pause(self) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    def _next_step(self) -> None:
        steps = self.step_list
        steps.cursor += 1
        if steps.cursor >= steps.count - 1:
            self._playing = None
            self.set_status("the end")
        else:
            self._playing = self.set_timer(self._delay(), self._next_step)

    def _delay(self) -> float:
        """Seconds until the next step: the recorded time between the two, by the speed, capped."""
        steps = self.step_list
        here, there = (steps.steps[min(steps.cursor + by, steps.count - 1)].step.at for by in (0, 1))
        gap = max(0, there - here) / 1000 if here is not None and there is not None else _UNKNOWN
        return min(_LONGEST, max(_SHORTEST, gap / SPEEDS[self.speed]))

    def action_speed(self, by: int) -> None:
        """Faster or slower."""
        self.speed = min(len(SPEEDS) - 1, max(0, self.speed + by))
        self.refresh_title()

    # Settings

    def action_next_setting(self) -> None:
        self._choose(1)

    def action_previous_setting(self) -> None:
        self._choose(-1)

    def _choose(self, by: int) -> None:
        self.knob = (self.knob + by) % len(KNOBS)
        self.refresh_title()

    def action_turn(self, by: int) -> None:
        """The chosen setting one step up or down."""
        self.change(KNOBS[self.knob].turned(self.settings, self.usual, by))

    def action_reset_setting(self) -> None:
        """The chosen setting as it was recorded."""
        self.change(KNOBS[self.knob].reset(self.settings))

    def action_reset_all(self) -> None:
        """Every setting as it was recorded."""
        self.change(UNCHANGED)

    def action_type_setting(self) -> None:
        """Write the chosen setting's value."""
        knob = KNOBS[self.knob]

        def written(text: str | None) -> None:
            if text is None:
                return
            try:
                self.change(knob.typed(self.settings, text.strip()))
            except ValueError as error:
                self.reach.say(f"{knob.label}: {one_line(text)[:80]}: write {error}", severity="warning")

        now = knob.shown(self.settings, self.usual)
        if knob.id == "registry":
            now = str(self.settings.registry or "")
        title = (
            f"{knob.label}: {'a folder of YAML files, or one that ships here' if knob.id == 'registry' else knob.about}"
        )
        self.app.push_screen(NoteDialog(title, now), written)

    # Bars

    def title_lines(self, width: int) -> list[Line]:
        glyphs, steps = self.reach.glyphs, self.step_list
        plays = ("▶ plays" if not glyphs.rule.isascii() else "plays") if self._playing is not None else "Space plays"
        right: Line = [
            (f"step {min(steps.cursor + 1, steps.count):,} of {steps.count:,}  ", "title"),
            (plays, "good" if self._playing is not None else "dim"),
            (f"  ×{SPEEDS[self.speed]} ", "key"),
        ]
        left: Line = [(" replay ", "title"), (f"· {one_line(self.title_line)}", "dim")]
        lines, hint = knob_lines(self.settings, self.usual, self.knob, width, glyphs)
        rule: Line = [(glyphs.rule, "rule"), *hint, (" ", "rule"), (glyphs.rule * width, "rule")]
        return [spread(left, right, width), *lines, _cut_rule(rule, width)]

    def _flips_head(self, width: int) -> list[Line]:
        if self.course is None:
            return [[(self.reach.glyphs.rule * width, "rule")]]
        course = self.course
        state = self.progress or ("replaying …" if self.slow else self.status)
        return [head_line(course.counts, course.replayed.decisions, state, width, self.reach.glyphs)]


def _cut_rule(line: Line, width: int) -> Line:
    """The line cut without an ellipsis: it ends in a rule."""
    found: Line = []
    left = width
    for text, style in line:
        if left <= 0:
            break
        piece = text[:left] if style == "rule" else text
        found.append((piece, style))
        left -= len(piece)
    return padded(found, width)

"""A session's replay in threads: read once, replayed for the newest settings, the registry's folder watched."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.model import Thresholds
from reach_tui.replay.differences import Course
from reach_tui.tui.knobs import UNCHANGED
from reach_tui.tui.rows import title_of
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.widgets.replay_lists import ReplaySteps
from reach_tui.workspace import JudgedSession, JudgedStep, Source
from reach_tui.workspace.held_files import FileState, HeldFiles
from reach_tui.workspace.reading import Stopped, Watch
from reach_tui.workspace.replaying import Recording, Replay, ReplaySettings

if TYPE_CHECKING:
    from collections.abc import Sequence

_REST = 0.03
"""Seconds that the cursor must rest before files are looked up."""
_POLL = 1.0
_AT_ONCE = 0.06  # a replay that takes less is drawn in one frame with the setting that was turned
_PATIENCE = 0.25  # one that takes longer says so


class ReplayedSession(FramedScreen):
    """What the replay's screen does in workers. Settings that change while it works wait, and only the newest count."""

    @dataclass
    class Progress(Message):
        """So many steps, or sessions, have been read."""

        words: str

    @dataclass
    class Ran(Message):
        """The session under some settings."""

        settings: ReplaySettings
        recording: Recording
        course: Course

    @dataclass
    class NotRun(Message):
        """Why there is no replay under these settings."""

        settings: ReplaySettings
        error: ReachError

    @dataclass
    class Overtaken(Message):
        """A replay was given up, because the settings have changed again."""

    @dataclass
    class RegistryRead(Message):
        """Files of the registry have changed."""

        changed: tuple[str, ...]
        problems: tuple[str, ...]

    @dataclass
    class FilesKnown(Message):
        """What files held at a step."""

        step: int
        files: list[FileState]

    def __init__(self, source: Source, judged: JudgedSession, at: int | None = None) -> None:
        super().__init__()
        self.source = source
        self.judged = judged
        self._at = at
        """Number of the step to begin at."""
        self.settings = UNCHANGED
        """As the person wants it; `course` may still be of others."""
        self.recording: Recording | None = None
        self.course: Course | None = None
        self.usual = Thresholds()
        """In force where nothing is changed."""
        self.busy = self.slow = False
        """A replay is being made; it takes long enough to say so."""
        self.status = ""
        self.progress = ""
        """What is being read, where that takes long."""
        self._good = UNCHANGED
        self._replay: Replay | None = None
        self._lock = threading.Lock()
        self._held: HeldFiles | None = None
        self._held_lock = threading.Lock()
        self._files: dict[int, list[FileState]] = {}
        self._rest: Timer | None = None
        self._patience: Timer | None = None

    @property
    def step_list(self) -> ReplaySteps:
        """The steps."""
        raise NotImplementedError  # the screen does

    def shown_anew(self) -> None:
        """Show what has been replayed."""
        raise NotImplementedError  # the screen does

    def show_scene(self) -> None:
        """Show the panel anew."""
        raise NotImplementedError  # the screen does

    def go_to(self, number: int) -> None:
        """Move to the step of that number."""
        raise NotImplementedError  # the screen does

    @property
    def title_line(self) -> str:
        """The session's title."""
        return title_of(self.judged)

    @property
    def current(self) -> JudgedStep | None:
        """The step under the cursor."""
        steps = self.step_list
        return steps.steps[steps.cursor] if steps.steps else None

    def set_status(self, text: str) -> None:
        """What the last key did."""
        self.status = text
        self.refresh_bars()

    def begin(self) -> None:
        """Read the session, replay it as it is, and watch the registry's folder from then on."""
        self._start()
        self.set_interval(_POLL, self._poll_soon)

    def _start(self) -> None:
        self.busy = True
        if self._patience is None:
            self._patience = self.set_timer(_PATIENCE, self._takes_long)
            self.set_timer(_AT_ONCE, self._show_if_busy)
        self._run()

    def _show_if_busy(self) -> None:
        if self.busy:
            self.refresh_title()

    def _takes_long(self) -> None:
        self.slow = self.busy
        self.refresh_bars()

    def _over(self) -> None:
        self.busy = self.slow = False
        self.progress = ""
        if self._patience is not None:
            self._patience.stop()
            self._patience = None

    def stop(self) -> None:
        """End what is still being done."""
        self.workers.cancel_node(self)

    # Replaying

    def change(self, settings: ReplaySettings) -> None:
        """Replay under other settings; while one replay is made, the newest settings wait."""
        if settings == self.settings:
            return
        self.settings, self.status = settings, ""
        if self.busy:
            self.refresh_title()
        else:
            self._start()

    @work(thread=True, group="replay", description="replay", exit_on_error=False)
    def _run(self) -> None:
        settings = self.settings
        try:
            with self._lock:
                recording, course = self._replayed(settings, get_current_worker())
        except ReachError as error:
            self.post_message(self.NotRun(settings, error))
        except Stopped:
            self.post_message(self.Overtaken())
        else:
            self.post_message(self.Ran(settings, recording, course))

    def _replayed(self, settings: ReplaySettings, worker: Worker[object]) -> tuple[Recording, Course]:
        """Raises `Stopped` when the person has left, or wants other settings."""
        what = "steps read"

        def given_up() -> bool:
            return worker.is_cancelled or (self.recording is not None and self.settings != settings)

        watch = Watch(given_up, lambda count: self.post_message(self.Progress(f"{count:,} {what}")))
        if self._replay is None:
            self._replay = Replay(self.reach.workspace, self.source, UNCHANGED)
        recording = self.recording
        if recording is None:
            recording = self._replay.read(self.judged.session, watch)
        what = "sessions read for the advised limits"
        self._replay.use(settings)
        return recording, Course(self._replay.run(recording, watch))

    @on(Progress)
    def _progress(self, message: Progress) -> None:
        if self.recording is None:
            self.step_list.waiting = f"{message.words} …  Escape stops"
            self.step_list.refresh()
        else:
            self.progress = message.words
            self.refresh_bars()

    @on(Overtaken)
    def _overtaken(self) -> None:
        self._over()
        self._start()

    @on(Ran)
    def _ran(self, message: Ran) -> None:
        first = self.recording is None
        self.recording, self.course, self._good = message.recording, message.course, message.settings
        if first:
            self.usual = _usual(message.course)
        self._next(message.settings)
        self.shown_anew()
        if first:
            if self._at is not None:
                self.go_to(self._at)
            self.look_at_files()

    @on(NotRun)
    def _not_run(self, message: NotRun) -> None:
        self.reach.say(message.error.line(), severity="error")
        self.status = message.error.line()
        newer = self.settings != message.settings
        if self.recording is None:
            self.step_list.waiting = message.error.line()
        elif not newer:  # what cannot be used is put back
            self.settings = self._good
        self._over()
        if newer:
            self._start()
        self.shown_anew()

    def _next(self, done: ReplaySettings) -> None:
        self._over()
        if self.settings != done:
            self._start()

    # The registry's folder

    def _poll_soon(self) -> None:
        if self._good.registry is not None and not self.busy:
            self._poll()

    @work(thread=True, group="poll", description="poll", exclusive=True, exit_on_error=False)
    def _poll(self) -> None:
        replay = self._replay
        if replay is None:
            return
        try:
            with self._lock:
                changed, problems = replay.refresh(), replay.problems
        except ReachError as error:
            changed, problems = (), (error.line(),)
        if changed is not None and not get_current_worker().is_cancelled:
            self.post_message(self.RegistryRead(changed, problems))

    @on(RegistryRead)
    def _registry_read(self, message: RegistryRead) -> None:
        status = ""
        if message.changed:
            status = f"registry read again: {', '.join(message.changed[:3])}{' …' if len(message.changed) > 3 else ''}"
        if message.problems:
            status = f"registry: {message.problems[0]}; the last good version counts"
        if not message.changed and status == self.status:
            return
        self.set_status(status or "registry: all files are good again")
        if message.changed and not self.busy:
            self._start()

    # Files

    def files_at(self, step: JudgedStep) -> Sequence[FileState] | None:
        """The files of the step's call; None while they are not known yet."""
        return self._files.get(step.step.number) if step.judged is not None else ()

    def look_at_files(self) -> None:
        """Look up the files of the step under the cursor, once it rests."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        step = self.current
        if step is not None and self.recording is not None and self.files_at(step) is None:
            self._rest = self.set_timer(_REST, self._find_files)

    def _find_files(self) -> None:
        if self.current is not None and self.files_at(self.current) is None:
            self._look_up(self.current)

    @work(thread=True, group="files", description="files", exclusive=True, exit_on_error=False)
    def _look_up(self, step: JudgedStep) -> None:
        with self._held_lock:
            if self._held is None and self.recording is not None:
                self._held = HeldFiles(self.recording.session, self.recording.told)
            held = self._held
        if held is not None and step.judged is not None:
            self.post_message(self.FilesKnown(step.step.number, held.at(step.judged.call)))

    @on(FilesKnown)
    def _files_known(self, message: FilesKnown) -> None:
        self._files[message.step] = message.files
        if self.current is not None and self.current.step.number == message.step:
            self.show_scene()


def _usual(course: Course) -> Thresholds:
    """The thresholds that most decisions were made with: those of the first."""
    return next((one.before.thresholds for one in course.replayed.moments if one.before is not None), Thresholds())

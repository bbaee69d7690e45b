"""The app: owns workspace, theme, keys and the one thread that writes labels; screens do the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding

from reach_tui.base.errors import ConfigError, ReachError
from reach_tui.tui.commands import checked_keymap, commands_for, shown_keys
from reach_tui.tui.glyphs import ASCII, choose_glyphs
from reach_tui.tui.screens.sessions import SessionsScreen
from reach_tui.tui.themes import DEFAULT, Palette, load_theme, palette_of, theme_files
from reach_tui.tui.widgets.line_view import Bar, LineView
from reach_tui.workspace import Source, Workspace

if TYPE_CHECKING:
    from textual.filter import LineFilter
    from textual.screen import Screen

    from reach_tui.tui.live import Live, StoreChanged


class ReachApp(App[int]):
    """The debugger for agent sessions."""

    TITLE = "reach-tui"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[Binding]] = [Binding("ctrl+c", "quit", show=False, system=True)]  # type: ignore[assignment]

    def __init__(self, workspace: Workspace, *, notice: str | None = None) -> None:
        super().__init__()
        self.animation_level = "none"  # a page down would animate for most of a second
        self.workspace = workspace
        self.notice = notice
        self.glyphs = choose_glyphs()
        self._filtered: list[LineFilter] = []
        if self.glyphs is ASCII:
            from reach_tui.tui.ascii import AsciiFilter  # seldom needed

            self._filtered.append(AsciiFilter())
        self.now: Callable[[], datetime] = lambda: datetime.now().astimezone()
        self.keymap: dict[str, str] = {}
        self.following = False
        """True while new steps are shown as the agents write them."""
        self._live: Live | None = None
        self.palette: Palette
        self._themes = theme_files()
        self._complaints: list[ReachError] = []
        self._label_thread = ThreadPoolExecutor(1, thread_name_prefix="labels")
        self._use_theme(workspace.settings.theme)
        self._use_keys()

    # Set-up

    def _use_theme(self, name: str) -> bool:
        """Load and use a theme; with a broken or unknown one the default stays, and the reason is shown."""
        path = self._themes.get(name)
        try:
            if path is None:
                known = ", ".join(sorted(self._themes))
                raise ConfigError(f"no theme named {name!r}", None, f"there are {known}")
            theme = load_theme(path)
        except ConfigError as error:
            self._complaints.append(error)
            return name != DEFAULT and self._use_theme(DEFAULT)
        self.register_theme(theme)
        self.palette = palette_of(theme)
        if self.is_running:
            self.theme = name
        else:  # whoever watches is told when the program begins
            self.set_reactive(App.theme, name)
        return True

    def _use_keys(self) -> None:
        try:
            self.keymap = checked_keymap(self.workspace.settings.keys, "config.toml")
        except ConfigError as error:
            self._complaints.append(error)
        self.set_keymap(self.keymap)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every drawn line passes through: where marks are ASCII, frames and all other signs are."""
        return [*super().get_line_filters(), *self._filtered]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours for the style sheet while a theme without our roles is in force."""
        return {"reach-rule": "#444444", "reach-dim": "#888888", "reach-key": "#cccccc"}

    def get_default_screen(self) -> SessionsScreen:
        """The list of sessions stands at the bottom of the stack: pushed on an empty screen it costs two frames."""
        return SessionsScreen()

    def on_mount(self) -> None:
        for complaint in self._complaints:
            self.say(complaint.line(), severity="warning")

    # For the screens

    def say(self, text: str, *, severity: str = "information") -> None:
        """A notification; the text is shown as it is, never as markup."""
        from reach_tui.base.text import clean

        self.notify(clean(text)[:600], severity=severity, markup=False, timeout=8)  # type: ignore[arg-type]

    def on_label_thread(self, job: Callable[[], None]) -> None:
        """Run a label's write in the one thread for them, in the order given."""
        self._label_thread.submit(job)

    def finish_labels(self) -> None:
        """Wait until every label given so far is on disk."""
        if self._live is not None:
            self._live.stop()
        self._label_thread.shutdown(wait=True)
        self.workspace.close()

    def action_follow(self) -> None:
        """Follow the open stores while their agents write, or stop following."""
        from reach_tui.tui.live import Live

        self.following = not self.following
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self.following:
            self._live = Live(self)
            self.say("following: new steps appear as they are written")
        else:
            self.say("no longer following")
        for screen in self.screen_stack:
            screen.refresh(layout=False)
            for bar in screen.query(Bar):
                bar.refresh()

    def open_sessions(self, source: Source) -> list[str]:
        """The sessions of a source that are open on screen."""
        from reach_tui.tui.screens.session import SessionScreen  # not needed for the first frame

        screens = [screen for screen in self.screen_stack if isinstance(screen, SessionScreen)]
        return [screen.judged.session.id for screen in screens if screen.source is source]

    @property
    def sessions_screen(self) -> SessionsScreen | None:
        """The first screen, with every session."""
        return next((screen for screen in self.screen_stack if isinstance(screen, SessionsScreen)), None)

    def open_search(self) -> None:
        """Search everything that is open."""
        from reach_tui.tui.screens.search import SearchScreen

        first = self.sessions_screen
        if first is not None and first.sources:
            self.push_screen(SearchScreen(list(first.sources)))

    def open_queue(self, what: str = "resume") -> None:
        """The labelling queue over everything that is open; another one takes the place of the one in front."""
        from reach_tui.tui.screens.queue import QueueScreen

        first = self.sessions_screen
        if first is not None and first.sources:
            screen = QueueScreen(list(first.sources), what)
            if isinstance(self.screen, QueueScreen):
                self.switch_screen(screen)
            else:
                self.push_screen(screen)

    def title_of(self, source: Source, session_id: str) -> str:
        """A session's title, as the session list has it; its id where it is not listed."""
        from reach_tui.tui.rows import title_of

        first = self.sessions_screen
        number = first.sources.index(source) if first is not None and source in first.sources else -1
        entry = first.entries.get((number, session_id)) if first is not None else None
        return title_of(entry.judged) if entry is not None else session_id

    def store_changed(self, message: StoreChanged) -> None:
        """Pass the news of a store on to every screen that shows it."""
        for screen in self.screen_stack:
            screen.post_message(message)

    def action_theme(self) -> None:
        """The next theme, in the order of their names."""
        names = sorted(self._themes)
        start = names.index(self.theme) if self.theme in names else -1
        self.choose_theme(names[(start + 1) % len(names)])

    def choose_theme(self, name: str) -> None:
        """Use a theme and draw everything anew."""
        before = len(self._complaints)
        self._use_theme(name)
        for complaint in self._complaints[before:]:
            self.say(complaint.line(), severity="warning")
        for screen in self.screen_stack:
            for view in screen.query(LineView):
                view.redraw()
            screen.refresh(layout=False)
        self.say(f"theme {self.theme}")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every command of the screen in front, and every theme."""
        name = getattr(screen, "commands_of", None)
        for command in commands_for(name) if name else ():
            action = command.action_name
            if command.id != "palette":
                keys = shown_keys(self.keymap.get(command.id, command.keys))
                yield SystemCommand(
                    command.help, f"{keys}  {command.group}", lambda action=action: self._run(screen, action)
                )
        for theme in sorted(self._themes):
            yield SystemCommand(f"theme: {theme}", "Program", lambda theme=theme: self.choose_theme(theme))

    def _run(self, screen: Screen[object], action: str) -> None:
        self.call_later(self.run_action, action, screen)


def run(workspace: Workspace, *, notice: str | None = None, headless: bool = False) -> int:
    """Open the TUI; returns its exit code. `headless`: without a terminal, until the list is filled."""
    app = ReachApp(workspace, notice=notice)
    try:
        if headless:
            app.run(headless=True, size=(120, 40), auto_pilot=_until_filled)
            print(f"{len(workspace.found.sources)} databases, screen filled")
        else:
            app.run()
    finally:
        app.finish_labels()
    return app.return_code or 0


async def _until_filled(pilot: object) -> None:
    import asyncio

    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    screen = pilot.app.screen
    for _ in range(600):
        if isinstance(screen := pilot.app.screen, SessionsScreen) and screen.filled:
            break
        await asyncio.sleep(0.05)
    pilot.app.exit(0, return_code=0 if isinstance(screen, SessionsScreen) and screen.filled else 1)

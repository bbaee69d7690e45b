"""One step, full screen: everything about it, and the whole result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding

from reach_tui.tui.commands import DETAIL, bindings_for
from reach_tui.tui.lines import Line, padded
from reach_tui.tui.panels import Style, inspect
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.label_commands import LabelCommands
from reach_tui.tui.widgets.line_view import LinesView, LineView

if TYPE_CHECKING:
    from reach_tui.tui.labelling import Labelling
    from reach_tui.tui.screens.session import SessionScreen
    from reach_tui.workspace import JudgedCall, Source

Build: TypeAlias = Callable[[int], Sequence[Line]]
FIRST = 1 << 18
"""Characters of a result shown at once; `a` shows the rest."""


class DetailScreen(LabelCommands, FramedScreen):
    """The call under the cursor of the session behind; n, h and the label keys work here too."""

    commands_of = DETAIL
    BINDINGS: ClassVar[list[Binding]] = [*bindings_for(DETAIL), Binding("a,enter", "all", show=False)]  # type: ignore[assignment]

    def __init__(self, session: SessionScreen) -> None:
        super().__init__()
        self._session = session
        self._limit = FIRST
        self._building = 0

    @property
    def labelling(self) -> Labelling:  # type: ignore[override]
        return self._session.labelling

    @property
    def source(self) -> Source:  # type: ignore[override]
        return self._session.source

    @property
    def current_call(self) -> JudgedCall | None:
        return self._session.current_call

    @property
    def moving_view(self) -> LineView:
        return self.query_one("#detail", LinesView)

    def compose_body(self) -> ComposeResult:
        yield LinesView(id="detail")

    def begin(self) -> None:
        self._session.when_told = lambda: self.rebuild(keep_scroll=True)
        self.call_after_refresh(self.rebuild)

    def on_unmount(self) -> None:
        self._session.when_told = None

    def rebuild(self, *, keep_scroll: bool = False) -> None:
        """Build the lines of the current step in a worker and show them."""
        self._building += 1
        step = self._session.current
        if step is not None:
            width = self.query_one("#detail", LinesView).line_width
            step, belief, reading = self._session.told(step)
            style = Style(self.reach.glyphs, limit=self._limit, reading=reading)
            build: Build = lambda wanted: inspect(step, wanted, style, belief=belief)  # noqa: E731
            self._make(self._building, build, width, keep_scroll)
        self.refresh_bars()

    @work(thread=True, group="detail", description="detail", exclusive=True, exit_on_error=False)
    def _make(self, number: int, build: Build, width: int, keep_scroll: bool) -> None:
        self.app.call_from_thread(self._made, number, build, width, build(width), keep_scroll)

    def _made(self, number: int, build: Build, width: int, lines: Sequence[Line], keep_scroll: bool) -> None:
        if number == self._building and self.is_mounted:
            view = self.query_one("#detail", LinesView)
            view.show(lambda wanted: lines if wanted == width else build(wanted), keep_scroll=keep_scroll)

    def set_status(self, text: str, style: str) -> None:
        """The session's screen keeps the status; here it is drawn too."""
        self._session.set_status(text, style)
        self.refresh_bars()

    def jump(self, step: int, *, hidden: bool) -> bool:
        """The next failure of the session, shown here."""
        moved = self._session.jump(step, hidden=hidden)
        if moved:
            self._limit = FIRST
            self.rebuild()
        self.refresh_bars()
        return moved

    def action_all(self) -> None:
        """The whole result, however long."""
        self._limit = 1 << 40
        self.rebuild()

    def action_back(self) -> None:
        self.app.pop_screen()

    def title_lines(self, width: int) -> list[Line]:
        step = self._session.current
        number = step.step.number if step else 0
        left: Line = [
            (f" step {number} of {len(self._session.step_list.steps)}", "title"),
            (f" · {self._session.title_line}", "dim"),
        ]
        return [padded(left, width), [(self.reach.glyphs.rule * width, "rule")]]

    def keys_below(self, width: int) -> list[Line]:
        return self.label_bar(width, self._session.status_line)

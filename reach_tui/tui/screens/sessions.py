"""The first screen: every session, the ones that hide errors first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.timer import Timer

from reach_tui.tui.commands import SESSIONS, bindings_for
from reach_tui.tui.lines import Line, spread, width_of
from reach_tui.tui.overview import Overview, advice, summary, top_lines
from reach_tui.tui.rows import SessionRow, session_columns, session_head, title_of
from reach_tui.tui.screens.counted import CountedSessions
from reach_tui.tui.screens.filter_line import FilterLine
from reach_tui.tui.session_tree import SORTS, Row
from reach_tui.tui.widgets.line_view import Bar, LineList
from reach_tui.tui.widgets.session_list import SessionList

if TYPE_CHECKING:
    from textual.widgets import Input

    from reach_tui.workspace.filters import Filter


_RESORT_SECONDS = 0.25
_REST = 12  # the list is sorted anew for a twelfth of the time at the most
_PAUSE = 1.0
"""Seconds without a key after which rows may change places."""
_CALM, _NEWS_SECONDS = 0.5, 1.0
"""News of the count are drawn after so many seconds without a key; while keys come, so often, in a key's frame."""
_BOTH_RATES = 50
"""Cells that the true rate and that by flag need below the list, before keys take what is left."""
_MANY, _TYPING_SECONDS = 3_000, 0.04  # from so many sessions on keys typed fast are taken together


class SessionsScreen(FilterLine, CountedSessions):
    """Sessions with hidden and flagged failures, counted while one looks."""

    commands_of = SESSIONS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SESSIONS)  # type: ignore[assignment]
    filter_hint = "words, tool:edit hidden>3 since:mon model:gpt is:unfinished"

    def __init__(self) -> None:
        super().__init__()
        self.filter: Filter | None = None
        self._moved = False
        """True once the person has moved the cursor: it stays on its session then."""
        self._key_at = 0.0
        self._resort: Timer | None = None
        """Running while counts have arrived that no order takes account of."""
        self._told_at = 0.0
        self._cost = 0.0
        self._typing: Timer | None = None

    def compose_body(self) -> ComposeResult:
        yield Bar(id="head")
        yield SessionList()

    def begin(self) -> None:
        self.query_one("#head", Bar).show(self._column_heads)
        self.line_list.follow = self._bring_news
        super().begin()

    # Rows

    @property
    def sort(self) -> str:
        """The column that sorts."""
        return self.session_tree.sort

    @property
    def session_list(self) -> SessionList:
        """The list, with its own type."""
        return self.query_one(SessionList)

    def rebuild(self) -> None:
        """Filter, sort and fold anew; the cursor stays on its session (on the worst one until the person moves it)."""
        begun = time.perf_counter()
        rows = self.session_list
        rows.several = len(self.sources) > 1
        terms = self.filter if self.filter is not None and (self.filter.tests or self.filter.words) else None
        found = self.session_tree.rows(terms)
        with self.prevent(LineList.Highlighted):
            rows.show(found, None if self._moved else self._worst(found))
        rows.advice = advice(self.overview)
        self.refresh_bars()
        self._cost = time.perf_counter() - begun

    def changed(self) -> None:
        """Sort anew soon."""
        if self._resort is None:
            self._resort = self.set_timer(max(_RESORT_SECONDS, _REST * self._cost), self._resort_now)

    def all_changed(self) -> None:
        """Sort anew now, if the person lets us."""
        if self._resort is not None:
            self._resort.stop()
        self._resort_now()

    def _resort_now(self) -> None:
        self._resort = None
        calm = time.monotonic() - self._key_at
        if calm >= _PAUSE:
            self.rebuild()
            return
        if calm >= _CALM:
            self._tell_news()
        self.changed()  # rows must not move under the person's hands

    def _tell_news(self) -> None:
        """Draw what the count has said since: figures of visible rows, and the lines around the list."""
        self._told_at = time.monotonic()
        self.session_list.renew(self.entries)
        self.refresh_bars()

    def _bring_news(self) -> None:
        """The cursor moves: what waits to be drawn goes with it, for a frame of its own would delay the next key's."""
        if self._resort is not None and time.monotonic() - self._told_at >= _NEWS_SECONDS:
            self._tell_news()

    def still(self) -> None:
        """From now on the cursor stays on its session."""
        self._moved = True

    def _worst(self, rows: list[Row]) -> int:
        if self.sort != "hidden" or not rows:
            return 0
        family = rows[:1]
        for row in rows[1:]:
            if not row[1].depth:
                break
            family.append(row)
        hidden = [row.judged.counts.counts.hidden if row.judged.counts else 0 for _, row in family]
        return hidden.index(max(hidden))

    @on(LineList.Highlighted)
    def _cursor_moved(self) -> None:
        self._moved = True
        self._key_at = time.monotonic()

    # Keys

    def action_open(self) -> None:
        rows = self.session_list
        if self.filtering:
            self.close_filter(clear=False)
        if rows.rows:
            from reach_tui.tui.screens.session import SessionScreen

            row: SessionRow = rows.rows[rows.cursor][1]
            self._moved = True
            self.app.push_screen(SessionScreen(row.source, row.judged, several=len(self.sources) > 1))

    def action_clear(self) -> None:
        """Escape never quits: it is pressed once too often too easily."""
        self.close_filter(clear=True)

    def action_leave(self) -> None:
        """Leave the filter, if one is open; else quit."""
        if not self.close_filter(clear=True):
            self.app.exit(0)

    def action_sort(self) -> None:
        self.session_tree.sort_by(SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])
        self._moved = False
        self.rebuild()
        self.line_list.reveal(self.line_list.cursor)

    def action_unfold(self) -> None:
        self._fold(unfolded=True)

    def action_fold(self) -> None:
        self._fold(unfolded=False)

    def _fold(self, *, unfolded: bool) -> None:
        rows = self.session_list
        if not rows.rows:
            return
        index = rows.cursor
        while index and rows.rows[index][1].depth:
            index -= 1
        key, row = rows.rows[index]
        if row.children:
            rows.cursor = index
            self._moved = True
            self.session_tree.fold(key, unfolded=unfolded)
            self.rebuild()

    def action_report(self) -> None:
        """The report on every open source."""
        from reach_tui.tui.screens.report import ReportScreen

        if self.sources:
            self.app.push_screen(ReportScreen(list(self.sources)))

    def action_replay(self) -> None:
        """The session under the cursor under other settings."""
        from reach_tui.tui.screens.replay import ReplayScreen

        if self.session_list.rows:
            row = self.session_list.rows[self.session_list.cursor][1]
            self._moved = True
            self.app.push_screen(ReplayScreen(row.source, row.judged))

    def action_symptoms(self) -> None:
        """The symptoms over every open source."""
        from reach_tui.tui.screens.symptoms import SymptomsScreen

        if self.sources:
            self.app.push_screen(SymptomsScreen(self.sources))

    def action_metrics(self) -> None:
        """The four metrics over every open source."""
        from reach_tui.tui.screens.metrics import MetricsScreen

        if self.sources:
            self.app.push_screen(MetricsScreen(self.sources))

    def action_all_calls(self) -> None:
        """Every call as one list."""
        from reach_tui.tui.screens.all_calls import AllCallsScreen

        if self.entries:
            self.app.push_screen(AllCallsScreen(self))

    def action_notes(self) -> None:
        """The notes that have no class yet."""
        from reach_tui.tui.screens.notes import NotesScreen

        if self.sources:
            self.app.push_screen(NotesScreen(list(self.sources)))

    def action_problems(self) -> None:
        from reach_tui.tui.screens.dialogs import TextDialog

        lines = [problem.line() for problem in self.problems]
        broken = [
            (entry.judged.counts.counts.unreadable, title_of(entry.judged))
            for entry in self.entries.values()
            if entry.judged.counts is not None and entry.judged.counts.counts.unreadable
        ]
        if broken:
            lines.append("Rows that are not whole, by session (! in a session names them):")
            lines += [f"{count:>6,}  {title}" for count, title in sorted(broken, key=lambda one: -one[0])]
        if any(entry.judged.counts is None for entry in self.entries.values()):
            lines.append("Not every session has been counted yet.")
        self.app.push_screen(TextDialog("what could not be read", lines or ["everything could be read"]))

    def on_input_changed(self, event: Input.Changed) -> None:
        from reach_tui.workspace.filters import parse_filter

        self.filter = parse_filter(event.value) if event.value.strip() else None
        self._moved = self._moved and self.filter is None  # where one has found a session, one stays on it
        self._key_at = time.monotonic()
        if len(self.entries) < _MANY:
            self.rebuild()
        elif self._typing is None:
            self._typing = self.set_timer(_TYPING_SECONDS, self._typed)

    def _typed(self) -> None:
        self._typing = None
        self.rebuild()

    def on_screen_resume(self) -> None:
        if self.listed:
            self.reload_labels()
            self.recount_if_seen()

    # Bars

    @property
    def overview(self) -> Overview:
        """The list as a whole, for the lines around it."""
        return Overview(
            self.sources,
            len(self.problems),
            self.listed,
            self.progress,
            self.counting.total,
            self.counting.hiding,
            len(self.session_list.rows),
            self.filter.understood if self.filter is not None else None,
            self.reach.following,
        )

    def title_lines(self, width: int) -> list[Line]:
        return top_lines(self.overview, width, self.reach.glyphs)

    def _column_heads(self, width: int) -> list[Line]:
        columns = session_columns(max(width - 1, 10), len(self.sources) > 1)  # one cell is the scrollbar's
        return [session_head(columns, self.sort, self.reach.glyphs)]

    def keys_below(self, width: int) -> list[Line]:
        keys = self.key_line(width)
        room = max(width // 2, min(_BOTH_RATES, 5 * width // 8))
        left: Line = [(f" {summary(self.overview, room)}", "dim")]
        if width_of(left) + width_of(keys) + 1 > width:
            keys = self.key_line(max(20, width - min(width_of(left), room + 1) - 2))
        return [[(self.reach.glyphs.rule * width, "rule")], spread(left, keys, width)]

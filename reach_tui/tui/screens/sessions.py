"""The first screen: every session, the ones that hide errors first."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.worker import get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.model import Counts, Session
from reach_tui.tui.commands import SESSIONS, bindings_for
from reach_tui.tui.lines import Line, spread, width_of
from reach_tui.tui.live import StoreChanged
from reach_tui.tui.overview import Overview, add_up, advice, summary, top_lines
from reach_tui.tui.rows import SessionRow, session_columns, session_head
from reach_tui.tui.screens.base import ListScreen
from reach_tui.tui.tree import SORTS, Entry, Key, visible_rows
from reach_tui.tui.widgets.line_view import Bar, LineList
from reach_tui.tui.widgets.session_list import SessionList
from reach_tui.workspace import JudgedSession, SessionCounts, Source
from reach_tui.workspace.filters import Filter, parse_filter
from reach_tui.workspace.opening import Listed as Listing
from reach_tui.workspace.scan import ScanProcess

if TYPE_CHECKING:
    from textual.widgets import Input


_BATCH_SECONDS = 0.12
_RESORT_SECONDS = 0.25
_AFTER_FIRST_FRAME = 0.05
_WARM_UP_AFTER = 0.2


class SessionsScreen(ListScreen):
    """Sessions with hidden and flagged failures, counted while one looks."""

    commands_of = SESSIONS
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SESSIONS)  # type: ignore[assignment]
    filter_hint = "words, tool:edit hidden>3 since:mon model:gpt is:unfinished"

    @dataclass
    class Loaded(Message):
        """The sessions of one source are listed."""

        number: int
        source: Source
        sessions: list[Session]

    @dataclass
    class Failed(Message):
        """Something could not be read."""

        error: ReachError

    @dataclass
    class Listed(Message):
        """Every source has been asked for its sessions."""

    @dataclass
    class Counted(Message):
        """The sums of some sessions of a source."""

        number: int
        sums: list[SessionCounts]

    @dataclass
    class Scanned(Message):
        """Every source has been counted."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[Key, Entry] = {}
        self.problems: list[ReachError] = []
        self.sources: list[Source] = []
        self.sort = SORTS[0]
        self.folds: dict[Key, bool] = {}
        self.filter: Filter | None = None
        self.filled = False
        self._listed = False
        self._stale: set[Key] = set()
        self._recounting = False
        self._moved = False
        self._counted = 0
        self._sums = (Counts(), 0)
        self._started = time.monotonic()
        self._resort: Timer | None = None
        self._scan: ScanProcess | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        yield Bar(id="head")
        yield SessionList()
        yield Horizontal(id="filter-line")
        yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#top", Bar).show(self._top)
        self.query_one("#head", Bar).show(self._head)
        self.query_one("#bottom", Bar).show(self._bottom)
        self.line_list.focus()
        first = self.reach.workspace.opening().first()
        if first is not None:  # read while Textual was imported: the first frame has it, the rest comes after
            self.post_message(self._news(first))
            self.set_timer(_AFTER_FIRST_FRAME, lambda: self._load(1))
        else:
            self._load()

    def on_unmount(self) -> None:
        if self._scan is not None:
            self._scan.cancel()

    # Reading, in workers

    @work(thread=True, group="load", description="load", exit_on_error=False)
    def _load(self, skip: int = 0) -> None:
        for item in islice(self.reach.workspace.opening(), skip, None):
            self.post_message(self._news(item))
        self.post_message(self.Listed())

    def _news(self, item: Listing | ReachError) -> Loaded | Failed:
        if isinstance(item, ReachError):
            return self.Failed(item)
        return self.Loaded(item.number, item.source, item.sessions)

    @work(thread=True, group="warm-up", description="warm-up", exit_on_error=False)
    def _warm_up(self) -> None:
        for mistake in self.reach.workspace.rule_mistakes:
            self.app.call_from_thread(self.reach.say, mistake.line(), severity="warning")
        self.reach.workspace.warm_up()

    @work(thread=True, group="scan", description="scan", exit_on_error=False)
    def _count(self) -> None:
        worker = get_current_worker()
        for number, source in enumerate(self.sources):
            if worker.is_cancelled:
                return
            self._scan = scan = ScanProcess(source.path, source.kind)
            batch: list[SessionCounts] = []
            sent = time.monotonic()
            for sums in scan:
                batch.append(sums)
                if worker.is_cancelled:
                    scan.cancel()
                    return
                if time.monotonic() - sent > _BATCH_SECONDS:
                    self.post_message(self.Counted(number, batch))
                    batch, sent = [], time.monotonic()
            if batch:
                self.post_message(self.Counted(number, batch))
            if scan.error is not None:
                self.post_message(self.Failed(ReachError(f"counting stopped: {scan.error}")))
        self.post_message(self.Scanned())
        for source in self.sources:  # what search needs; nobody waits for it
            if worker.is_cancelled:
                return
            self._scan = scan = ScanProcess(source.path, source.kind, words=True)
            if worker.is_cancelled:
                scan.cancel()
            scan.wait()

    # What the workers say

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        if len(self.sources) <= message.number:
            self.sources.append(message.source)
            if message.source.notice:
                self.reach.say(f"{message.source.name}: {message.source.notice}", severity="warning")
        for session in message.sessions:
            key = (message.number, session.id)
            self.entries[key] = Entry(key, message.source, JudgedSession(session))
        self.rebuild()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.problems.append(message.error)
        if len(self.problems) <= 3:
            self.reach.say(message.error.line(), severity="error")
        elif len(self.problems) == 4:
            self.reach.say("more could not be read: ! lists it", severity="error")
        self._refresh_bars()

    @on(Listed)
    def _all_listed(self) -> None:
        self._listed = True
        if self.reach.notice:
            self.reach.say(self.reach.notice)
        self.rebuild()
        if self.entries:
            self.call_after_refresh(self._start_counting)
        else:
            self.filled = True

    def _start_counting(self) -> None:
        """Everything that is not needed to show the list, once the list is on screen."""
        self._reload_labels()
        self._count()
        self.set_timer(_WARM_UP_AFTER, self._warm_up)

    @on(Counted)
    def _some_counted(self, message: Counted) -> None:
        for sums in message.sums:
            entry = self.entries.get((message.number, sums.session_id))
            if entry is not None:
                self._counted += entry.judged.counts is None
                entry.judged = replace(entry.judged, counts=sums)
        if self._resort is None:
            self._resort = self.set_timer(_RESORT_SECONDS, self._resort_now)

    def _resort_now(self) -> None:
        self._resort = None
        self.rebuild()

    @on(Scanned)
    def _all_counted(self) -> None:
        self.filled = True
        if self._resort is not None:
            self._resort.stop()
        self._resort_now()

    # Live follow

    @on(StoreChanged)
    def _store_changed(self, message: StoreChanged) -> None:
        number = next((i for i, source in enumerate(self.sources) if source is message.source), None)
        if number is not None:
            self._stale |= {(number, session_id) for session_id in message.session_ids}
            self._recount_if_seen()

    def _recount_if_seen(self) -> None:
        """Badges that nobody sees are counted when the list is in front again."""
        if self._stale and not self._recounting and self.app.screen is self:
            self._recounting = True
            self._recount()

    @work(thread=True, group="recount", description="recount", exit_on_error=False)
    def _recount(self) -> None:
        """Count the sessions that changed, until none is left."""
        workspace = self.reach.workspace
        while self._stale and self.app.screen is self:
            key = self._stale.pop()
            source = self.sources[key[0]]
            begun = time.monotonic()
            try:
                session = source.reader.session(key[1])
                if session is not None:
                    self.app.call_from_thread(self._recounted, key, session, workspace.session_counts(source, key[1]))
            except ReachError as error:
                self.post_message(self.Failed(error))
            time.sleep(min(1.0, 3 * (time.monotonic() - begun)))
        self._recounting = False

    def _recounted(self, key: Key, session: Session, sums: SessionCounts) -> None:
        entry = self.entries.get(key)
        judged = JudgedSession(session, sums, entry.judged.labelled if entry else 0)
        self.entries[key] = Entry(key, self.sources[key[0]], judged)
        self._moved = True  # the cursor stays where it is
        self.rebuild()

    # Rows

    @property
    def session_list(self) -> SessionList:
        """The list, with its own type."""
        return self.query_one(SessionList)

    def rebuild(self) -> None:
        """Filter, sort and fold anew; the cursor stays on its session (on the worst one until the person moves it)."""
        rows = self.session_list
        chosen = rows.rows[rows.cursor][0] if rows.rows and self._moved else None
        keep = None
        if self.filter is not None and self.filter.tests:
            terms = self.filter
            keep = lambda entry: terms.matches(entry.judged, f"{entry.source.kind} {entry.source.name}")  # noqa: E731
        rows.rows = visible_rows(list(self.entries.values()), self.sort, keep, self.folds)
        rows.several = len(self.sources) > 1
        rows.advice = advice(self.overview)
        rows.set_count(len(rows.rows))
        where = next((index for index, (key, _) in enumerate(rows.rows) if key == chosen), None)
        with self.prevent(LineList.Highlighted):
            rows.cursor = where if where is not None else (rows.cursor if self._moved else self._worst(rows.rows))
        self._sums = add_up(self.entries.values())
        self._refresh_bars()

    def _worst(self, rows: list[tuple[Key, SessionRow]]) -> int:
        if self.sort != "hidden" or not rows:
            return 0
        family = rows[:1]
        for row in rows[1:]:
            if not row[1].depth:
                break
            family.append(row)
        hidden = [row.judged.counts.counts.hidden if row.judged.counts else 0 for _, row in family]
        return hidden.index(max(hidden))

    def _refresh_bars(self) -> None:
        for bar in self.query(Bar):
            bar.refresh()

    @on(LineList.Highlighted)
    def _cursor_moved(self) -> None:
        self._moved = True

    @on(LineList.Chosen)
    def _row_clicked(self) -> None:
        self.action_open()

    # Keys

    def action_open(self) -> None:
        rows = self.session_list
        if self.filtering:
            self.close_filter(clear=False)
        if rows.rows:
            from reach_tui.tui.screens.session import SessionScreen

            row = rows.rows[rows.cursor][1]
            self._moved = True
            self.app.push_screen(SessionScreen(row.source, row.judged, several=len(self.sources) > 1))

    def action_back(self) -> None:
        if not self.close_filter(clear=True):
            self.app.exit(0)

    def action_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
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
            self.folds[key] = unfolded
            self.rebuild()

    def action_report(self) -> None:
        """The report on every open source."""
        from reach_tui.tui.screens.report import ReportScreen

        if self.sources:
            self.app.push_screen(ReportScreen(list(self.sources)))

    def action_problems(self) -> None:
        from reach_tui.tui.screens.dialogs import TextDialog

        lines = [problem.line() for problem in self.problems] or ["everything could be read"]
        self.app.push_screen(TextDialog("what could not be read", lines))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.filter = parse_filter(event.value) if event.value.strip() else None
        self._moved = False
        self.rebuild()

    def on_screen_resume(self) -> None:
        if self._listed:
            self._reload_labels()
            self._recount_if_seen()

    @work(thread=True, group="labelled", description="labelled", exclusive=True, exit_on_error=False)
    def _reload_labels(self) -> None:
        found: dict[Key, int] = {}
        for number, source in enumerate(self.sources):
            try:
                found |= {(number, name): count for name, count in self.reach.workspace.labelled_counts(source).items()}
            except ReachError as error:
                self.post_message(self.Failed(error))
        self.app.call_from_thread(self._relabel, found)

    def _relabel(self, found: dict[Key, int]) -> None:
        for key, entry in self.entries.items():
            if entry.judged.labelled != found.get(key, 0):
                entry.judged = replace(entry.judged, labelled=found.get(key, 0))
        self.rebuild()

    # Bars

    @property
    def overview(self) -> Overview:
        """The list as a whole, for the lines around it."""
        total, hiding = self._sums
        return Overview(
            self.sources,
            len(self.problems),
            self._listed,
            self.filled,
            self._counted,
            len(self.entries),
            time.monotonic() - self._started,
            total,
            hiding,
            len(self.session_list.rows),
            self.filter.understood if self.filter is not None else None,
            self.reach.following,
        )

    def _top(self, width: int) -> list[Line]:
        return top_lines(self.overview, width, self.reach.glyphs)

    def _head(self, width: int) -> list[Line]:
        columns = session_columns(max(width - 1, 10), len(self.sources) > 1)  # one cell is the scrollbar's
        return [session_head(columns, self.sort, self.reach.glyphs)]

    def _bottom(self, width: int) -> list[Line]:
        keys = self.key_line(width)
        left = [(f" {summary(self.overview)}", "dim")]
        if width_of(left) + width_of(keys) + 1 > width:
            keys = self.key_line(max(20, width - min(width_of(left), width // 2) - 2))
        return [[(self.reach.glyphs.rule * width, "rule")], spread(left, keys, width)]

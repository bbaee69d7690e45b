"""The sessions of every open source, and their counts: read, counted by a process of its own, counted again live."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.worker import Worker, get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.model import Session
from reach_tui.tui.collector import Collector
from reach_tui.tui.counting import Counting
from reach_tui.tui.live import StoreChanged
from reach_tui.tui.overview import Progress, State
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.session_tree import Entry, Key, SessionTree
from reach_tui.workspace import JudgedSession, SessionCounts, Source
from reach_tui.workspace.opening import Listed as Listing
from reach_tui.workspace.scan import ScanProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reach_tui.workspace.badges import Badges

_BATCH_SECONDS = 0.12
_AFTER_FIRST_FRAME = 0.05
_BADGES_FIRST = 0.5
"""Seconds that reading on waits for the counts of the first screenful: both would compete."""
_WARM_UP_AFTER = 0.2
_NEWS_AFTER = 3.0  # seconds after which indexing is worth a word


class CountedSessions(FramedScreen):
    """What the session list does in workers; the screen says how rows are shown."""

    @dataclass
    class Loaded(Message):
        """Some sessions of a source."""

        number: int
        source: Source
        entries: list[Entry]

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
        first: bool = False
        """Those of the first screenful, which come before the scan."""

    @dataclass
    class Scanned(Message):
        """Every source has been counted."""

    @dataclass
    class Indexed(Message):
        """The words of every source are in the index."""

    def __init__(self) -> None:
        super().__init__()
        self.session_tree = SessionTree()
        self.sources: list[Source] = []
        self.problems: list[ReachError] = []
        self.filled = False
        """True once every session has been counted."""
        self.listed = False
        self.state = State.READING
        self.counting = Counting()
        self._labelled: dict[Key, int] = {}
        self._stale: set[Key] = set()
        self._recounting = self._loading = False
        self._collector = Collector()
        self._scan: ScanProcess | None = None

    @property
    def entries(self) -> dict[Key, Entry]:
        """Every session."""
        return self.session_tree.entries

    def rebuild(self) -> None:
        """Lay the rows out anew."""
        raise NotImplementedError  # the screen does

    def changed(self) -> None:
        """Counts have arrived: the rows may wait until the person pauses."""
        raise NotImplementedError  # the screen does

    def all_changed(self) -> None:
        """Every count is there."""
        raise NotImplementedError  # the screen does

    def begin(self) -> None:
        """Start reading: what was read while Textual was imported is in the first frame, the rest comes after."""
        self.call_after_refresh(self._collector.begin)
        first = self.reach.workspace.opening().first()
        if first is not None:
            news = self._news(first)
            if isinstance(news, self.Loaded):
                self._loaded(news)  # a message would come a frame later
            else:
                self.post_message(news)
            badges = self.reach.workspace.badges
            if badges is not None:
                self._take_badges(badges)
            self.set_timer(_AFTER_FIRST_FRAME if badges is None else _BADGES_FIRST, self._load_rest)
        else:
            self._load()

    def _load_rest(self) -> None:
        """Read on after the first screenful, once."""
        if not self._loading:
            self._loading = True
            self._load(1)

    def on_unmount(self) -> None:
        if self._scan is not None:
            self._scan.cancel()
        if self.reach.workspace.badges is not None:
            self.reach.workspace.badges.cancel()

    # In workers

    @work(thread=True, group="load", description="load", exit_on_error=False)
    def _load(self, skip: int = 0) -> None:
        for item in islice(self.reach.workspace.opening(), skip, None):
            news = self._news(item)
            if isinstance(news, self.Loaded):
                for entry in news.entries:
                    entry.searched  # noqa: B018 - made here, so that no key has to
            self.post_message(news)
        self.post_message(self.Listed())

    def _news(self, item: Listing | ReachError) -> Loaded | Failed:
        if isinstance(item, ReachError):
            return self.Failed(item)
        made = [Entry((item.number, one.id), item.source, JudgedSession(one)) for one in item.sessions]
        return self.Loaded(item.number, item.source, made)

    @work(thread=True, group="badges", description="badges", exit_on_error=False)
    def _take_badges(self, badges: Badges) -> None:
        for batch in _in_batches(badges):  # a huge session keeps the others back
            self.post_message(self.Counted(0, batch))
        self.post_message(self.Counted(0, [], first=True))

    @work(thread=True, group="warm-up", description="warm-up", exit_on_error=False)
    def _warm_up(self) -> None:
        for mistake in self.reach.workspace.rule_mistakes:
            self.app.call_from_thread(self.reach.say, mistake.line(), severity="warning")
        self.reach.workspace.warm_up()
        if len(self.sources) == 1:
            with suppress(ReachError):  # told where a call is looked at
                self.reach.workspace.inference(self.sources[0]).warm_up()

    @work(thread=True, group="scan", description="scan", exit_on_error=False)
    def _count(self) -> None:
        worker = get_current_worker()
        for number, source in enumerate(self.sources):
            if not worker.is_cancelled:
                self._count_source(number, source, worker)
        if not worker.is_cancelled:
            self.post_message(self.Scanned())
        for source in self.sources:  # what search needs; nobody waits for it
            if not worker.is_cancelled:
                self._process(source, worker, words=True).wait()
        if not worker.is_cancelled:
            self.post_message(self.Indexed())

    def _process(self, source: Source, worker: Worker[object], *, words: bool = False) -> ScanProcess:
        self._scan = scan = ScanProcess(source.path, source.kind, words=words)
        if worker.is_cancelled:  # between the question and the start
            scan.cancel()
        return scan

    def _count_source(self, number: int, source: Source, worker: Worker[object]) -> None:
        scan = self._process(source, worker)
        for batch in _in_batches(scan):
            self.post_message(self.Counted(number, batch))
        if scan.error is not None:
            self.post_message(self.Failed(ReachError(f"counting stopped: {scan.error}")))

    # What the workers say

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        if len(self.sources) <= message.number:
            self.sources.append(message.source)
            if message.source.notice:
                self.reach.say(f"{message.source.name}: {message.source.notice}", severity="warning")
        shown = bool(self.entries)
        self.session_tree.add(message.entries)
        self._collector.keep()
        if shown:  # the newest are on screen, or will be with all others
            self.changed()
        else:
            self.rebuild()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.problems.append(message.error)
        if len(self.problems) <= 3:
            self.reach.say(message.error.line(), severity="error")
        elif len(self.problems) == 4:
            self.reach.say("more could not be read: ! lists it", severity="error")
        self.refresh_bars()

    @on(Listed)
    def _all_listed(self) -> None:
        self.listed = True
        if self.reach.notice:
            self.reach.say(self.reach.notice)
        if not self.entries:
            self.filled, self.state = True, State.DONE
        self.rebuild()
        if self.entries:
            self.call_after_refresh(self._start_counting)

    def _start_counting(self) -> None:
        """Everything that is not needed to show the list, once the list is on screen."""
        self.reload_labels()
        self.go_on()
        self.set_timer(_WARM_UP_AFTER, self._warm_up)

    @on(Counted)
    def _some_counted(self, message: Counted) -> None:
        for sums in message.sums:
            entry = self.entries.get((message.number, sums.session_id))
            if entry is not None:
                self.take(entry, entry.judged.session, sums)
        self._collector.counted(self.counting.sessions)
        self.counting.mark(time.monotonic())
        if message.first:
            self.all_changed()
            self.call_after_refresh(self._load_rest)
        else:
            self.changed()

    def take(self, entry: Entry, session: Session, sums: SessionCounts | None) -> None:
        """A session's sums; the totals follow."""
        self.counting.exchange(entry.judged.counts, sums)
        self.session_tree.put(entry, JudgedSession(session, sums, entry.judged.labelled))

    @on(Scanned)
    def _all_counted(self) -> None:
        self.filled, self.state = True, State.COUNTED
        self._collector.keep()
        self.set_timer(_NEWS_AFTER, self._still_indexing)
        self.all_changed()

    def _still_indexing(self) -> None:
        if self.state is State.COUNTED:
            self.state = State.INDEXING
            self.refresh_bars()

    @on(Indexed)
    def _all_indexed(self) -> None:
        self.state = State.DONE
        self.refresh_bars()

    # Stopping and going on

    def action_pause(self) -> None:
        """Stop counting, or go on: what was counted is kept."""
        if self.state is State.PAUSED:
            self.go_on()
            self.reach.say("counting goes on")
        elif self.state in (State.SCANNING, State.COUNTED, State.INDEXING):
            self.state = State.PAUSED
            self.workers.cancel_group(self, "scan")
            if self._scan is not None:
                self._scan.cancel()
            self.reach.say("stopped: what was counted is kept; the same key, or the next start, goes on")
        else:
            self.reach.say("nothing is being counted")
        self.refresh_bars()

    def go_on(self) -> None:
        """Count, or go on counting."""
        self.state = State.INDEXING if self.filled else State.SCANNING
        self.counting.start(time.monotonic())
        self._count()

    @property
    def progress(self) -> Progress:
        """How far counting is."""
        return self.counting.progress(self.state, len(self.entries))

    # Live follow

    @on(StoreChanged)
    def _store_changed(self, message: StoreChanged) -> None:
        number = next((i for i, source in enumerate(self.sources) if source is message.source), None)
        if number is not None:
            self._stale |= {(number, session_id) for session_id in message.session_ids}
            self.recount_if_seen()

    def recount_if_seen(self) -> None:
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
        if entry is None or entry.judged.session.parent_id != session.parent_id:
            if entry is not None:
                self.take(entry, entry.judged.session, None)
            entry = Entry(key, self.sources[key[0]], JudgedSession(session, None, self._labelled.get(key, 0)))
            self.session_tree.add([entry])
        self.take(entry, session, sums)
        entry.forget_searched()
        self.still()
        self.rebuild()

    def still(self) -> None:
        """From now on the cursor stays on its session."""
        raise NotImplementedError  # the screen does

    # Labels

    @work(thread=True, group="labelled", description="labelled", exclusive=True, exit_on_error=False)
    def reload_labels(self) -> None:
        """Read how many labels each session has."""
        found: dict[Key, int] = {}
        for number, source in enumerate(list(self.sources)):
            try:
                found |= {(number, name): count for name, count in self.reach.workspace.labelled_counts(source).items()}
            except ReachError as error:
                self.post_message(self.Failed(error))
        self.app.call_from_thread(self._relabel, found)

    def _relabel(self, found: dict[Key, int]) -> None:
        moved = self._differing(found)
        self._labelled = found
        for entry in moved:
            judged = entry.judged
            self.session_tree.put(entry, JudgedSession(judged.session, judged.counts, found.get(entry.key, 0)))
        if moved:
            self.rebuild()

    def _differing(self, found: dict[Key, int]) -> Iterable[Entry]:
        keys = found.keys() | self._labelled.keys()
        listed = [self.entries[key] for key in keys if key in self.entries]
        return [entry for entry in listed if entry.judged.labelled != found.get(entry.key, 0)]


def _in_batches(sums: Iterable[SessionCounts]) -> Iterator[list[SessionCounts]]:
    """What has come, a few times a second."""
    batch: list[SessionCounts] = []
    sent = time.monotonic()
    for one in sums:
        batch.append(one)
        if time.monotonic() - sent > _BATCH_SECONDS:
            yield batch
            batch, sent = [], time.monotonic()
    if batch:
        yield batch

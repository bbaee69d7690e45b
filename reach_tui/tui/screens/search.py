"""Search over the arguments and results of every call that is open; Enter on a hit jumps to its step."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, get_current_worker

from reach_tui.base.errors import ReachError
from reach_tui.tui.call_lines import HitLine, draw_hit, line_of
from reach_tui.tui.commands import SEARCH, bindings_for
from reach_tui.tui.lines import Line, wrap
from reach_tui.tui.overview import seconds_left
from reach_tui.tui.screens.base import FramedScreen, named
from reach_tui.tui.screens.call_opening import OpensCalls
from reach_tui.tui.widgets.line_view import LineList, app_of
from reach_tui.workspace import JudgedCall, Source
from reach_tui.workspace.reading import Stopped
from reach_tui.workspace.searching import Hit, marks, search_source

if TYPE_CHECKING:
    from textual.widgets import Input

MOST = 10_000
"""Hits listed at the most."""
_TYPING_SECONDS = 0.35
_BATCH_SECONDS = 0.1
_HINTS = (
    "Words that must all be in a call's arguments or result.",
    "Case and accents do not matter. A word is found where a word begins, Chinese anywhere.",
    "Operators and quotes are text like any other.",
)
_ONE_LETTER = ("Enter searches for one letter alone.",)
_NO_HITS = (
    "No call holds all these words.",
    "Fewer words find more, and the beginning of a word is enough.  / goes back to the words.",
)


class HitList(LineList):
    """The hits."""

    def __init__(self) -> None:
        super().__init__(id="hits")
        self.hits: list[HitLine] = []
        self.advice: tuple[str, ...] = _HINTS

    def line_at(self, index: int, width: int) -> Line:
        app = app_of(self)
        return draw_hit(self.hits[index], width, app.glyphs, app.now(), cursor=index == self.cursor)

    def empty_line(self, index: int, width: int) -> Line:
        rows = [row for text in self.advice for row in wrap(text, width - 4)]
        return [(f"  {rows[index - 1]}", "dim")] if 0 < index <= len(rows) else []


@dataclass(frozen=True, slots=True)
class Reading:
    """Sessions that must be read, since no index knows their words; `of` 0: none."""

    source: str
    read: int
    of: int
    seconds: float


class SearchScreen(OpensCalls, FramedScreen):
    """Words, and the calls that hold them, as they are found."""

    commands_of = SEARCH
    BINDINGS: ClassVar[list[Binding]] = bindings_for(SEARCH)  # type: ignore[assignment]

    @dataclass
    class Found(Message):
        """Some hits of a search, and how far it is; `last`: it has ended."""

        number: int
        hits: list[HitLine]
        reading: Reading | None
        last: bool = False

    def __init__(self, sources: list[Source]) -> None:
        super().__init__()
        self._sources = sources
        self.several = len(sources) > 1
        self.words: tuple[str, ...] = ()
        self.running = False
        self._number = 0
        self._state = ""
        self._typing: Timer | None = None

    def compose_body(self) -> ComposeResult:
        from textual.widgets import Input

        with Horizontal(id="search-line"):
            entry = Input(placeholder="words in arguments and results", classes="reach-input", max_length=1000)
            entry.cursor_blink = False
            yield entry
        yield HitList()

    def begin(self) -> None:
        self._entry.focus()

    @property
    def hit_list(self) -> HitList:
        """The list, with its own type."""
        return self.query_one(HitList)

    @property
    def _entry(self) -> Input:
        from textual.widgets import Input

        return self.query_one(Input)

    # The words

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(_TYPING_SECONDS, self._look)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._look(at_once=True)
        self.hit_list.focus()

    def _look(self, *, at_once: bool = False) -> None:
        """Search for what has been typed; one letter alone only when asked to."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None
        text = self._entry.value
        words = tuple(text.split())
        if words == self.words:
            return
        hints: tuple[str, ...] = _HINTS
        if words and not at_once and len(text.strip()) < 2 and text.isascii():
            words, hints = (), _ONE_LETTER  # what was found before is not what stands there now
        self.words = words
        self._number += 1
        self.workers.cancel_group(self, "search")
        hits = self.hit_list
        hits.hits, hits.cursor, hits.advice = [], 0, () if words else hints
        hits.set_count(0)
        self.running, self._state = bool(words), ""
        if words:
            self._search(self._number, words)
        self.refresh_bars()

    # Searching

    @work(thread=True, group="search", description="search", exit_on_error=False)
    def _search(self, number: int, words: tuple[str, ...]) -> None:
        report = _Reporter(self, number, get_current_worker())
        left = MOST
        try:
            for source in self._sources:
                report.source = source
                report.begun = time.monotonic()
                try:
                    for hit in search_source(source, words, left, watch=report.watch):
                        left -= 1
                        report.take(self._line(source, hit, words))
                except ReachError as error:
                    self.app.call_from_thread(self.reach.say, error.line(), severity="error")
                if left <= 0:
                    break
        except Stopped:
            return
        report.tell(last=True)

    def _line(self, source: Source, hit: Hit, words: tuple[str, ...]) -> HitLine:
        call = line_of(source, JudgedCall(hit.call, hit.verdict), self.reach.glyphs)
        title = self.reach.title_of(source, hit.session_id)
        spans = tuple(marks(hit.excerpt, words))
        return HitLine(call, hit.step, title, hit.where, hit.excerpt, spans)

    @on(Found)
    def _found(self, message: Found) -> None:
        if message.number != self._number or not self.running:
            return
        hits = self.hit_list
        hits.hits += message.hits
        self.running = not message.last
        if message.reading is not None:
            self._state = self._progress(message.reading)
        if message.last:
            self._state = f"the first {MOST:,}" if len(hits.hits) >= MOST else ""
            hits.advice = _NO_HITS
        if message.hits and len(hits.hits) - len(message.hits) >= hits.top + hits.size.height:
            hits.set_count_unseen(len(hits.hits))
        elif message.hits or message.last:
            hits.set_count(len(hits.hits))
        self.refresh_bars()

    def _progress(self, reading: Reading) -> str:
        share = reading.read / reading.of
        left = seconds_left(reading.seconds * (1 - share) / share) if reading.read and reading.seconds > 0.5 else ""
        name = f"{reading.source}: " if self.several else ""
        return f"{name}reading {reading.read:,} of {reading.of:,} sessions {share:.0%} {left}".rstrip()

    # Keys

    async def action_filter(self) -> None:
        self._entry.focus()

    def action_down(self) -> None:
        """From the words down to the hits; on the hits: the next one."""
        if self.focused is self._entry:
            self.hit_list.focus()
        else:
            super().action_down()

    def action_open(self) -> None:
        rows = self.hit_list
        if rows.hits:
            self.open_call(rows.hits[rows.cursor].call)

    def action_back(self) -> None:
        """Stop a search that is under way; else leave."""
        if self.running:
            self.running = False
            self.workers.cancel_group(self, "search")
            self._state = f"stopped · {self._state}" if self._state else "stopped"
            self.hit_list.advice = ("Stopped: nothing found so far.",)
            self.hit_list.redraw()
            self.refresh_bars()
        else:
            self.app.pop_screen()

    # Bars

    def head(self, width: int) -> tuple[Line, Line]:
        count = len(self.hit_list.hits)
        text = f"{count:,} hit{'' if count == 1 else 's'}" if self.words else ""
        if self.running:
            text += f" · {self._state or 'searching …'} · Escape stops"
        elif self._state:
            text += f" · {self._state}"
        left: Line = [(" search", "title"), (f"  {named(self._sources)}", "dim")]
        return left, [(f"{text} ", "dim")]


class _Reporter:
    """Tells the screen what a search has found, a few times a second; in the search's thread."""

    def __init__(self, screen: SearchScreen, number: int, worker: Worker[object]) -> None:
        self._screen, self._number, self._worker = screen, number, worker
        self.source: Source | None = None
        self.begun = 0.0
        self._hits: list[HitLine] = []
        self._reading: Reading | None = None
        self._told = 0.0

    def watch(self, read: int, of: int) -> None:
        """Between two sessions. Raises `Stopped`."""
        if self._worker.is_cancelled:
            raise Stopped
        name = self.source.name if self.source else ""
        self._reading = Reading(name, read, of, time.monotonic() - self.begun)
        self._tell_now_and_then()

    def take(self, hit: HitLine) -> None:
        """A hit. Raises `Stopped`."""
        if self._worker.is_cancelled:
            raise Stopped
        self._hits.append(hit)
        self._tell_now_and_then()

    def _tell_now_and_then(self) -> None:
        if time.monotonic() - self._told > _BATCH_SECONDS:
            self.tell()

    def tell(self, *, last: bool = False) -> None:
        """Send what there is."""
        self._told = time.monotonic()
        self._screen.post_message(SearchScreen.Found(self._number, self._hits, self._reading, last))
        self._hits = []

"""Counting behind the list: it stops and goes on, rows stay while the person moves, early counts are the same."""

from __future__ import annotations

import asyncio
import gc
import shutil
import time
from pathlib import Path

import pytest

from reach_tui.model import Counts
from reach_tui.tui.counting import Counting
from reach_tui.tui.glyphs import UNICODE
from reach_tui.tui.lines import plain
from reach_tui.tui.overview import Overview, Progress, State, seconds_left, summary, top_lines
from reach_tui.tui.screens import counted, sessions
from reach_tui.tui.screens.all_calls import AllCallsScreen
from reach_tui.workspace import SessionCounts, Workspace
from reach_tui.workspace.badges import Badges
from tests.tui.kit import SAMPLES, running, screen_text, sessions_of, shows, until

SHOP = SAMPLES / "reach" / "shop.db"


class SlowScan:
    """A scan that gives one session and then waits until it is ended, but for its second run."""

    runs = 0

    def __init__(self, path: Path, kind: str | None = None, *, words: bool = False) -> None:
        self.cancelled = False
        self.error: str | None = None
        self._sums = [] if words else list(Badges(path))
        if not words:
            type(self).runs += 1
        self._whole = words or self.runs > 1

    def __iter__(self) -> object:
        for number, one in enumerate(self._sums):
            yield one
            ends = time.monotonic() + 20
            while not self._whole and number == 0 and not self.cancelled and time.monotonic() < ends:
                time.sleep(0.01)
            if self.cancelled:
                return

    def wait(self) -> None:
        """Nothing to wait for."""

    def cancel(self) -> None:
        """End it."""
        self.cancelled = True


async def test_counting_stops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reach_tui.tui.app import ReachApp
    from reach_tui.tui.screens.sessions import SessionsScreen
    from reach_tui.workspace import Settings

    shop = Path(shutil.copy(SHOP, tmp_path / "shop.db"))
    monkeypatch.setattr(SlowScan, "runs", 0)
    monkeypatch.setattr(counted, "ScanProcess", SlowScan)
    app = ReachApp(Workspace([shop], Settings(by="dev")))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(lambda: isinstance(app.screen, SessionsScreen) and app.screen.state is State.SCANNING)
        await shows(app, "scanning")
        await until(lambda: SlowScan.runs == 1)
        await pilot.press("p")
        screen = sessions_of(app)
        assert screen.state is State.PAUSED
        await shows(app, "stopped")
        await until(lambda: not any(one.group == "scan" and not one.is_finished for one in screen.workers))
        assert not screen.filled
        counted_then = screen.progress.counted
        await pilot.press("p")
        await until(lambda: screen.filled)
        assert counted_then < screen.progress.counted == len(screen.entries)
        assert "scanning" not in screen_text(app)
        await until(lambda: screen.state is State.DONE)
        await pilot.press("p")
        assert any("nothing is being counted" in one.message for one in app._notifications)
    app.finish_labels()


async def test_rows_stay_while_the_person_moves(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path / "shop.db"))
    async with running([shop]) as (app, pilot):
        screen = sessions_of(app)
        await pilot.press("j", "j")
        before = [key for key, _ in screen.session_list.rows]
        chosen = before[screen.session_list.cursor]
        entry = screen.entries[before[-1]]
        worst = SessionCounts(before[-1][1], Counts(calls=9, failed=999, hidden=999), {}, False)
        screen.take(entry, entry.judged.session, worst)
        screen.changed()
        await shows(app, "999")  # its figures change where it stands
        assert [key for key, _ in screen.session_list.rows] == before
        await until(lambda: screen.session_list.rows[0][0] == before[-1])  # and a second later it is the first
        assert screen.session_list.rows[screen.session_list.cursor][0] == chosen
        assert screen.counting.total.hidden == sum(
            one.judged.counts.counts.hidden for one in screen.entries.values() if one.judged.counts
        )


async def test_while_keys_come_news_of_the_count_come_with_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path / "shop.db"))
    async with running([shop]) as (app, pilot):
        screen = sessions_of(app)
        monkeypatch.setattr(sessions, "_CALM", 60.0)  # the next key is always about to come
        monkeypatch.setattr(sessions, "_PAUSE", 60.0)
        await pilot.press("j")
        entry = screen.entries[screen.session_list.rows[3][0]]
        news = SessionCounts(entry.key[1], Counts(calls=9, failed=999, hidden=999), {}, False)
        screen.take(entry, entry.judged.session, news)
        screen.changed()
        await asyncio.sleep(0.6)
        assert "999" not in screen_text(app)
        await pilot.press("j")
        await pilot.pause()
        assert "999" in screen_text(app)
        monkeypatch.undo()
        await until(lambda: screen.session_list.rows[0][0] == entry.key)  # and once the person rests it is the first


async def test_garbage_is_collected_from_the_first_frame_on(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path / "shop.db"))
    frozen = gc.get_freeze_count()
    gc.disable()  # as the command does while it starts
    try:
        async with running([shop]):
            assert gc.isenabled()
            assert gc.get_freeze_count() > frozen
    finally:
        gc.enable()


async def test_leaving_the_list_of_calls_ends_its_thread(tmp_path: Path) -> None:
    shop = Path(shutil.copy(SHOP, tmp_path / "shop.db"))
    async with running([shop]) as (app, pilot):
        await pilot.press("c")
        await until(lambda: isinstance(app.screen, AllCallsScreen))
        worker = next(one for one in app.workers if one.group == "read")
        await pilot.press("escape")
        await until(lambda: worker.is_finished)
        assert not isinstance(app.screen, AllCallsScreen)


def test_early_counts_are_those_of_the_scan() -> None:
    workspace = Workspace([SHOP])
    source = workspace.found.sources[0]
    early = {one.session_id: one for one in Badges(SHOP)}
    assert len(early) == 12
    for name, one in early.items():
        whole = workspace.session_counts(source, name)
        assert (one.counts.calls, one.counts.failed, one.counts.hidden) == (
            whole.counts.calls, whole.counts.failed, whole.counts.hidden,
        )  # fmt: skip


def test_early_counts_of_no_trace_are_none(tmp_path: Path) -> None:
    nothing = tmp_path / "x.db"
    nothing.write_bytes(b"no database")
    assert list(Badges(nothing)) == []
    ended = Badges(SHOP)
    ended.cancel()
    assert len(list(ended)) <= 12


@pytest.mark.parametrize(
    ("state", "words"),
    [(State.SCANNING, "31,200/s · scanning"), (State.PAUSED, "stopped"), (State.INDEXING, "indexing")],
)
def test_the_head_says_how_far_it_is(state: State, words: str) -> None:
    source = Workspace([SHOP]).found.sources[0]
    progress = Progress(state, 71, 100, 31_200.4, 4.2)
    overview = Overview([source], 0, True, progress, Counts(calls=12_408), 3, 100)
    text = plain(top_lines(overview, 120, UNICODE)[:1])
    assert "12,408 calls" in text
    assert words in text
    if state is State.SCANNING:
        assert text.rstrip().endswith("71% 4 s")
    assert seconds_left(240) == "4 min"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize(("hiding", "sessions"), [(5, 12), (1_037, 31_204)])
def test_both_rates_are_below_the_list_in_any_width(width: int, hiding: int, sessions: int) -> None:
    progress = Progress(State.DONE, sessions, sessions)
    counts = Counts(calls=1_000, failed=126, flagged=109, hidden=40)
    room = 5 * width // 8
    said = summary(Overview((), 0, True, progress, counts, hiding, sessions), room)
    assert "12.6% " in said
    assert "10.9% by flag" in said
    assert ("hide errors" in said) == (width >= 80)
    assert len(said) <= max(room, 27)


def test_counts_that_change_are_not_added_twice() -> None:
    counting = Counting()
    before = SessionCounts("a", Counts(calls=10, failed=2, hidden=1))
    after = SessionCounts("a", Counts(calls=12, failed=2))
    counting.exchange(None, before)
    counting.exchange(None, SessionCounts("b", Counts(calls=5, hidden=5)))
    assert (counting.sessions, counting.total, counting.hiding) == (2, Counts(calls=15, failed=2, hidden=6), 2)
    counting.exchange(before, after)
    assert (counting.sessions, counting.total, counting.hiding) == (2, Counts(calls=17, failed=2, hidden=5), 1)
    counting.exchange(after, None)
    assert (counting.sessions, counting.total, counting.hiding) == (1, Counts(calls=5, hidden=5), 1)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    counting = Counting()
    counting.start(100.0)
    counting.exchange(None, SessionCounts("a", Counts(calls=1_000)))
    counting.mark(100.2)
    assert counting.progress(State.SCANNING, 11).rate is None  # too soon to say
    counting.mark(101.0)
    assert counting.progress(State.SCANNING, 11) == Progress(State.SCANNING, 1, 11, 1_000.0, 10.0)
    assert counting.progress(State.PAUSED, 11) == Progress(State.PAUSED, 1, 11)
    counting.exchange(None, SessionCounts("b", Counts(calls=20)))
    counting.mark(110.0)
    assert counting.progress(State.SCANNING, 11).rate == pytest.approx(20 / 9)

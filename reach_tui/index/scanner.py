"""Scanning a source into its index: what is fresh is told at once, what is stale is judged, newest sessions first.

Plain functions over one reader, so that any process may run them. A scan that is killed has lost what it judged since
its last commit, about a second's work; the next one goes on from there and comes to the same figures.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import Protocol

from reach_tui.analyze.counts import SessionCounts, Tally
from reach_tui.base.text import scrub_surrogates
from reach_tui.index.freshness import fingerprint, look, row_state, row_states
from reach_tui.index.page import Row, SessionPage
from reach_tui.index.schema import IndexBroken
from reach_tui.index.store import Index, Known, index_path, remove
from reach_tui.index.text import text_mark
from reach_tui.model import ToolCall, Verdict
from reach_tui.stores.reader import Reader, Scanned

FIRST_CHUNK, CHUNK = 40, 200
"""Sessions read at a time: the visible ones first."""
_COMMIT_SECONDS = 0.25
_ROWS = 2_000  # calls of one session held before they are written
_LARGEST = (1 << 63) - 1
EXACT = ("step", "started_at", "duration_ms", "copied")
"""Columns that counting calls the faster way leaves empty; they come with the words."""


class Judge(Protocol):
    """What gives verdicts (the detectors' engine)."""

    @property
    def version(self) -> str:
        """The rules' version: verdicts under another one are stale."""

    def judge(self, call: ToolCall) -> Verdict:
        """The verdict on one call."""


def scan(reader: Reader, engine: Judge) -> Iterator[SessionCounts]:
    """The sums of every session: the fresh ones from the index, then the stale ones as they are judged.

    A session that changes meanwhile comes again. Raises `StoreError`; what is wrong with the index only costs time: it
    is built anew, and where it cannot be written the scan does without.
    """
    for _ in range(2):
        try:
            with Index.opened(reader, engine.version, replace=True) as index:
                yield from _scan(reader, engine, index)
            return
        except IndexBroken as error:
            if not error.rebuild:
                break
            try:
                remove(index_path(reader))
            except IndexBroken:
                break
    yield from scan_without_index(reader, engine)


def scan_without_index(reader: Reader, engine: Judge) -> Iterator[SessionCounts]:
    """The sums of every session, newest first, from the calls alone (`turns`: the last one with a call)."""
    ids = [session.id for session in reader.sessions()]
    for chunk in chunks(ids):
        for session_id, calls in _judged_by_session(reader, chunk):
            total = Tally()
            for call in calls:
                total.add(call, engine.judge(call))
            yield total.of(session_id)


def chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Session ids as they are read at a time: few first, then more."""
    waiting, size = iter(ids), FIRST_CHUNK
    while chunk := list(islice(waiting, size)):
        size = CHUNK
        yield chunk


def _judged_by_session(reader: Reader, chunk: Sequence[str]) -> Iterator[tuple[str, Iterable[ToolCall]]]:
    """Each session with its calls, the faster way if the reader has one."""
    if isinstance(reader, Scanned):
        for found in reader.scan(chunk):
            yield found.session_id, found.calls
    else:
        yield from by_session(reader.calls(chunk), chunk)


def by_session(calls: Iterable[ToolCall], names: Iterable[str]) -> Iterator[tuple[str, Iterable[ToolCall]]]:
    """Calls in groups of one session each; those of `names` without any last."""
    without_calls = dict.fromkeys(names)
    for session_id, group in groupby(calls, key=attrgetter("session_id")):
        without_calls.pop(session_id, None)
        yield session_id, group
    for session_id in without_calls:
        yield session_id, ()


def _scan(reader: Reader, engine: Judge, index: Index) -> Iterator[SessionCounts]:
    with index.guarded():
        complete, mark = index.meta("complete"), index.meta("mark")
    if complete is not None and complete == fingerprint(reader):
        yield from index.sums()
        return
    seen = look(reader, mark)
    index.invalidate(seen)
    known = index.known()
    yield from index.sums()
    listed = [session.id for session in reader.sessions()]
    index.forget(known.keys() - set(listed))
    before = {name: one for name, one in known.items() if one.fresh}
    _doubt(reader, index, before, [name for name, one in before.items() if one.unfinished])
    stale = [name for name in listed if name not in before]
    yield from judge_sessions(reader, engine, index, stale)
    # what the mark cannot tell: rows edited in place. Every session that was fresh is summed up once a start
    _doubt(reader, index, before, list(before))
    judged = set(stale)
    yield from judge_sessions(reader, engine, index, [name for name in listed if name not in before.keys() | judged])
    if seen.settled:
        index.complete(seen.fingerprint)


def _doubt(reader: Reader, index: Index, fresh: dict[str, Known], names: Sequence[str]) -> None:
    """Take those sessions out of `fresh` whose rows are not what they were."""
    for states in row_states(reader, names):
        moved = [name for name, state in states.items() if name in fresh and fresh[name].state != state]
        if moved:
            index.doubt(moved)
            for name in moved:
                del fresh[name]


def judge_sessions(reader: Reader, engine: Judge, index: Index, names: Sequence[str]) -> Iterator[SessionCounts]:
    """Judge these sessions and keep the outcome; sums are given once they are kept."""
    done: list[SessionCounts] = []
    begun = time.monotonic()
    for chunk in chunks(names):
        states = row_state(reader, chunk)  # before the calls: what comes between makes the session stale, not wrong
        for session_id, calls in _judged_by_session(reader, chunk):
            done.append(_judge_session(engine, index, session_id, calls, states.get(session_id)))
            if time.monotonic() - begun > _COMMIT_SECONDS:
                index.commit()
                yield from done
                done, begun = [], time.monotonic()
        index.commit()
        yield from done
        done, begun = [], time.monotonic()


def _judge_session(
    engine: Judge, index: Index, session_id: str, calls: Iterable[ToolCall], state: str | None
) -> SessionCounts:
    total = Tally()
    page = SessionPage(index, session_id)
    rows: list[Row] = []
    for call in calls:
        verdict = engine.judge(call)
        total.add(call, verdict)
        rows.append((call.key, _facts(call, verdict), _names(call, verdict)))
        if len(rows) == _ROWS:
            page.put(rows)
            rows.clear()
    page.put(rows)
    sums = total.of(session_id)
    page.finish(sums, state)
    return sums


def _facts(call: ToolCall, verdict: Verdict) -> tuple[object, ...]:
    step, started, duration, copied = exact_facts(call) if call.step else (None, None, None, None)
    return (
        scrub_surrogates(call.id), step, call.turn, _bit(call.flagged), _bit(verdict.failed), int(verdict.soft), copied,
        started, duration, None if call.result is None else call.result.bytes, text_mark(call),
    )  # fmt: skip


def exact_facts(call: ToolCall) -> tuple[object, ...]:
    """The columns of `EXACT`."""
    return call.step, _small(call.started_at), _small(call.duration_ms), int(call.copy_of is not None)


def _names(call: ToolCall, verdict: Verdict) -> tuple[str | None, ...]:
    return call.tool, call.target, verdict.category, verdict.subcategory, verdict.rule


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _small(value: int | None) -> int | None:
    """A number that SQLite can hold."""
    return value if value is not None and -_LARGEST <= value <= _LARGEST else None

"""What many sessions come to, from the index: figures of the report, summed a group of sessions at a time.

A group's sum is kept under a hash of what its sessions' figures are, so it holds as long as none of them changes, for
any report that counts the group whole. The order stays the sessions' own: sums of figures keep first examples.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from reach_tui.analyze.counts import SessionCounts
from reach_tui.analyze.pairs import Wanted
from reach_tui.analyze.tally import Tally
from reach_tui.index import figures
from reach_tui.index.digest import Judge, Kind, counts_of, judged, tally_of, whole_key
from reach_tui.index.scanner import Digester, State, attempts, chunks, judge_sessions, stated
from reach_tui.index.schema import IndexBroken, mark_of
from reach_tui.index.store import Index, Known
from reach_tui.model import Session
from reach_tui.stores.reader import Reader

Made = TypeVar("Made")

GROUP = 64
"""Sessions summed up in one; counted from the oldest, so that new ones change the last group only."""


def counted(
    reader: Reader, engine: Judge, sessions: Sequence[Session], digester: Digester = stated
) -> Iterator[SessionCounts]:
    """The sums of all sessions there are, each once, the fresh ones first. Raises `StoreError`."""
    wanted = {session.id for session in sessions}

    def with_index(index: Index) -> Iterator[SessionCounts]:
        state = State.of(reader, index, lambda: sessions)
        state.settle_doubts()
        for sums in index.sums():
            if sums.session_id in state.fresh:
                yield sums
        yield from judge_sessions(reader, engine, index, state.stale(sessions), digester)
        state.note()

    for sums in attempts(reader, engine, with_index):
        if sums.session_id in wanted:
            wanted.discard(sums.session_id)
            yield sums
    for chunk in chunks([session for session in sessions if session.id in wanted]):
        yield from map(counts_of, judged(reader, engine, chunk))


def tallied(
    reader: Reader,
    engine: Judge,
    listed: Callable[[], Sequence[Session]],
    takes: Callable[[Session], bool],
    digester: Digester = stated,
) -> Generator[str, None, Tally]:
    """The figures of the sessions that are taken, in their order; gives the id of each that must be judged.

    `listed` gives all sessions there are. Raises `StoreError`.
    """
    result: list[Tally] = []

    def with_index(index: Index) -> Iterator[str]:
        state = State.of(reader, index, listed)
        chosen = [session for session in listed() if takes(session)]
        for sums in state.refreshed(engine, chosen, digester):
            yield sums.session_id
        result.append(_sum(reader, engine, index, chosen, state.told))

    yield from attempts(reader, engine, with_index)
    if result:
        return result[-1]
    total = Tally()
    for chunk in chunks(filter(takes, listed())):
        found = {}
        for one in judged(reader, engine, chunk):
            found[one.session.id] = tally_of(one)
            yield one.session.id
        _include(total, [found[session.id] for session in chunk if session.id in found])
    return total


def tallied_tools(
    reader: Reader,
    engine: Judge,
    sessions: Sequence[Session],
    chosen: Sequence[Session],
    wanted: Wanted,
    uses: Callable[[str], bool],
) -> Generator[str, None, Tally]:
    """The same of `wanted` calls: sessions without a tool in use are taken from the index, the others are read."""

    def without(index: Index) -> set[str]:
        return {one.session_id for one in index.sums() if not any(map(uses, one.tools))}

    kept = each_of(reader, engine, sessions, chosen, Tally.without_calls, without)
    total = Tally()
    for chunk in chunks(chosen):
        found = {session.id: kept[session.id] for session in chunk if session.id in kept}
        for read in judged(reader, engine, [session for session in chunk if session.id not in kept]):
            found[read.session.id] = tally_of(read, wanted)
            yield read.session.id
        _include(total, [found[session.id] for session in chunk if session.id in found])
    return total


def verdicts(
    reader: Reader, engine: Judge, sessions: Sequence[Session], labelled: Sequence[Session]
) -> dict[str, tuple[str, bool | None]]:
    """Tool as shown and verdict of every call of the labelled sessions, by key. Raises `StoreError`."""
    found: dict[str, tuple[str, bool | None]] = {}
    told: set[str] = set()

    def with_index(index: Index) -> Iterator[None]:
        state = State.of(reader, index, lambda: sessions)
        state.settle_doubts()
        state.note()
        for session in labelled:
            if (one := state.fresh.get(session.id)) is not None:
                page = index.page(one.no)
                told.add(session.id)
                for number, key in zip(page.numbers, page.keys, strict=True):
                    kind = page.kinds[number]
                    found[whole_key(session.id, key)] = kind.shown_tool, kind.failed
        yield None

    for _ in attempts(reader, engine, with_index) if labelled else ():
        pass
    for one in judged(reader, engine, [session for session in labelled if session.id not in told]):
        found.update((call.key, (call.shown_tool, verdict.failed)) for call, verdict in one.pairs)
    return found


def kinds_of(reader: Reader, engine: Judge, sessions: Sequence[Session]) -> dict[str, list[Kind]]:
    """The kinds of calls in those sessions that the index knows as they are now, of all there are.

    Raises `StoreError`.
    """
    found: dict[str, list[Kind]] = {}

    def with_index(index: Index) -> Iterator[None]:
        state = State.of(reader, index, lambda: sessions)
        state.settle_doubts()
        state.note()
        for name, one in state.fresh.items():
            found[name] = index.kinds(one.no)
        yield None

    for _ in attempts(reader, engine, with_index):
        pass
    return found


def each_of(
    reader: Reader,
    engine: Judge,
    sessions: Sequence[Session],
    chosen: Sequence[Session],
    made: Callable[[Tally], Made],
    among: Callable[[Index], Container[str]] | None = None,
) -> dict[str, Made]:
    """What is made of the figures of each chosen session that the index knows as it is now, of all there are.

    `among` names those to look at (None: all). Raises `StoreError`.
    """
    found: dict[str, Made] = {}

    def with_index(index: Index) -> Iterator[None]:
        state = State.of(reader, index, lambda: sessions)
        state.settle_doubts()
        state.note()
        some = among(index) if among is not None else None
        looked = [session for session in chosen if some is None or session.id in some]
        for run in _runs(index.known(), looked, state.told):
            if not isinstance(run, Session):
                for (session, _, _), packed in zip(run, index.figures([item[1:] for item in run]), strict=True):
                    found[session.id] = made(_decoded(packed))
        yield None

    for _ in attempts(reader, engine, with_index):
        pass
    return found


def _include(total: Tally, more: Iterable[Tally]) -> None:
    for one in more:
        total.include(one)


Item: TypeAlias = tuple[Session, int, bytes]
"""A session whose figures the index has, with its number and mark."""


def _sum(reader: Reader, engine: Judge, index: Index, sessions: Sequence[Session], told: Mapping[str, int]) -> Tally:
    total = Tally()
    for run in _runs(index.known(), sessions, told):
        if isinstance(run, Session):  # changed since, or nothing that can be kept
            _include(total, map(tally_of, judged(reader, engine, [run])))
        else:
            total.include(_group(index, run))
    index.drop_old_totals()
    return total


def _runs(
    known: Mapping[str, Known], sessions: Sequence[Session], told: Mapping[str, int]
) -> Iterator[list[Item] | Session]:
    """The sessions in their order: in groups where the index has their figures, else one by one.

    `told`: of each its `about`.
    """
    group: list[Item] = []
    for place, session in enumerate(sessions):
        one = known.get(session.id)
        if one is None or not one.fresh or one.mark is None or one.about != told[session.id]:
            if group:
                yield group
            yield session
            group = []
            continue
        group.append((session, one.no, one.mark))
        if (len(sessions) - place - 1) % GROUP == 0:
            yield group
            group = []
    if group:
        yield group


def _group(index: Index, run: Sequence[Item]) -> Tally:
    mark = mark_of(*(mark for _, _, mark in run))
    if (packed := index.total(mark)) is not None:
        return _decoded(packed)
    total = Tally()
    _include(total, map(_decoded, index.figures([item[1:] for item in run])))
    if (packed := figures.encode(total)) is not None:
        index.keep_total(mark, packed)
    return total


def _decoded(packed: bytes) -> Tally:
    try:
        return figures.decode(packed)
    except ValueError as error:
        raise IndexBroken("changed bytes") from error

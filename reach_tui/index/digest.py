"""What the index keeps of a session, made from its calls alone: sums, figures of the report, and each call's verdict.

Pure and small: any process may make digests and send them to the one that writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec

from reach_tui.analyze.counts import SessionCounts
from reach_tui.analyze.counts import Tally as Counting
from reach_tui.analyze.pairs import Pair, Wanted, originals
from reach_tui.analyze.tally import Tally, of_session
from reach_tui.index import figures
from reach_tui.model import Glance, Session, Step, StepKind, Verdict
from reach_tui.stores.growth import RowState
from reach_tui.stores.reader import Reader, Scanned, Told

_BATCH = 1000  # calls read before they are judged


class Judge(Protocol):
    """What gives verdicts (the detectors' engine)."""

    @property
    def version(self) -> str:
        """The rules' version: verdicts under another one are stale."""

    def judge(self, call: Glance) -> Verdict:
        """The verdict on one call."""

    def judge_all(self, calls: Sequence[Glance]) -> list[Verdict]:
        """The verdicts on some calls in order."""


class Kind(NamedTuple):
    """What calls of a session have in common: most are of one of a few kinds."""

    tool: str
    target: str | None
    flagged: bool | None
    failed: bool | None
    soft: bool
    copied: bool
    """A stored copy of another call."""
    category: str | None
    subcategory: str | None
    rule: str | None
    confidence: float = 0.0
    """Of the verdict, 0..1, in thousandths."""

    @property
    def hidden(self) -> bool:
        """Failed, and the store does not say so."""
        return self.failed is True and self.flagged is not True

    @property
    def failure_class(self) -> tuple[str | None, str | None, str | None]:
        """Level 1, level 2 and rule."""
        return self.category, self.subcategory, self.rule

    @property
    def shown_tool(self) -> str:
        """As of a call."""
        return f"{self.tool}→{self.target}" if self.target else self.tool


class Page(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The calls of a session in order: `keys` (shortened, see `short_key`), and of each the number of its kind."""

    kinds: list[Kind]
    numbers: list[int]
    keys: list[str]


class Digest(NamedTuple):
    """One session; `figures` and `page` are packed, None where they hold what cannot be packed."""

    sums: SessionCounts
    figures: bytes | None
    page: bytes | None
    rows: Sequence[RowState] = ()
    """The state of the session's rows, as far as its reader tells."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.sums.session_id


class Judged(NamedTuple):
    """A session as it was read: calls with verdicts in order, its other steps, turns and rows that cannot be read."""

    session: Session
    pairs: list[Pair]
    steps: list[Step]
    turns: int
    unreadable: int
    rows: Sequence[RowState] = ()


def judged(reader: Reader, engine: Judge, sessions: Sequence[Session]) -> Iterator[Judged]:
    """These sessions, read and judged, the faster way if the reader has one. Raises `StoreError`."""
    if isinstance(reader, Scanned):
        by_id = {session.id: session for session in sessions}
        for some in _batches(reader.scan([*by_id])):
            for told, calls in zip(some, _verdicts(some, engine), strict=True):
                yield Judged(by_id[told.session_id], calls, [], told.turns, told.unreadable, told.rows)
            some.clear()
        return
    for session in sessions:
        steps = list(reader.steps(session.id))
        pairs: list[Pair] = [(step.call, engine.judge(step.call)) for step in steps if step.call is not None]
        turns = sum(step.kind is StepKind.USER and not step.inherited for step in steps)
        raw = sum(step.kind is StepKind.RAW for step in steps)
        yield Judged(session, pairs, [step for step in steps if step.call is None], turns, raw)


def _batches(found: Iterable[Told]) -> Iterator[list[Told]]:
    """Sessions with together some `_BATCH` calls."""
    some: list[Told] = []
    calls = 0
    for told in found:
        some.append(told)
        calls += len(told.calls)
        if calls >= _BATCH:
            yield some
            some, calls = [], 0
    if some:
        yield some


def _verdicts(some: Sequence[Told], engine: Judge) -> list[list[Pair]]:
    """The calls of each session with verdicts."""
    calls = [call for told in some for call in told.calls]
    pairs = zip(calls, engine.judge_all(calls), strict=True)
    return [[*islice(pairs, len(told.calls))] for told in some]


def tally_of(one: Judged, wanted: Wanted = originals) -> Tally:
    """What the report counts of a session."""
    return of_session(one.session, one.pairs, one.steps, wanted, one.unreadable)


def counts_of(one: Judged) -> SessionCounts:
    """What a list of sessions shows of it."""
    total = Counting()
    fine: list[str] = []
    for call, verdict in one.pairs:
        if call.plain and verdict.failed is False:
            fine.append(call.shown_tool)
        else:
            total.add(call, verdict)
    total.add_fine(fine)
    total.clarified |= any(step.route is not None and step.route.decision == "clarify" for step in one.steps)
    return total.of(one.session.id, one.turns, one.unreadable)


def digest(one: Judged) -> Digest:
    """What the index keeps of it."""
    return Digest(counts_of(one), figures.encode(tally_of(one)), encode_page(one.session.id, one.pairs), one.rows)


def digests(reader: Reader, engine: Judge, sessions: Sequence[Session]) -> Iterator[Digest]:
    """The digests of these sessions. Raises `StoreError`."""
    for one in judged(reader, engine, sessions):
        yield digest(one)


def encode_page(session_id: str, pairs: Sequence[Pair]) -> bytes | None:
    """The calls as a packed `Page`."""
    kinds: dict[tuple[object, ...], int] = {}
    numbers: list[int] = []
    keys: list[str] = []
    prefix, cut = f"{session_id}/", len(session_id)
    known: dict[tuple[str, int], int] = {}  # of plain calls, by the verdict object: most share one of two
    for call, verdict in pairs:
        alike = (call.tool, id(verdict)) if call.plain else None
        number = known.get(alike) if alike else None
        if number is None:
            number = kinds.setdefault(_kind(call, verdict), len(kinds))
            if alike:
                known[alike] = number
        numbers.append(number)
        key = call.key
        keys.append(key[cut:] if key.startswith(prefix) else f"={key}")
    try:
        return msgspec.msgpack.encode((list(kinds), numbers, keys))
    except (UnicodeError, OverflowError):
        return None


def _kind(call: Glance, verdict: Verdict) -> tuple[object, ...]:
    failed, rule = verdict.failed, verdict.rule
    return (
        call.tool, call.target, call.flagged, failed, failed is None and rule is not None, call.copy_of is not None,
        verdict.category, verdict.subcategory, rule, round(verdict.confidence, 3),
    )  # fmt: skip


def kind_of(call: Glance, verdict: Verdict) -> Kind:
    """The kind of a call."""
    return Kind._make(_kind(call, verdict))


_page = msgspec.msgpack.Decoder(Page)


def decode_page(packed: bytes) -> Page:
    """The calls in a packed page. Raises `ValueError` for bytes that are none."""
    page: Page = _page.decode(packed)
    if len(page.numbers) != len(page.keys) or any(number >= len(page.kinds) for number in set(page.numbers)):
        raise ValueError("a page that is none")
    return page


class _Kinds(msgspec.Struct, array_like=True, frozen=True, gc=False):
    kinds: list[Kind]


_kinds = msgspec.msgpack.Decoder(_Kinds)


def decode_kinds(packed: bytes) -> list[Kind]:
    """The kinds alone of a packed page, in half the time. Raises `ValueError` for bytes that are none."""
    kinds: list[Kind] = _kinds.decode(packed).kinds
    return kinds


def short_key(session_id: str, key: str) -> str:
    """A call's key without the session's id that most begin with."""
    return key[len(session_id) :] if key.startswith(f"{session_id}/") else f"={key}"


def whole_key(session_id: str, short: str) -> str:
    """The key behind a `short_key`."""
    return short[1:] if short.startswith("=") else session_id + short

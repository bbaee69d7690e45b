"""Search over the arguments and results of a source's calls: by the index where it knows, else in the text itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from reach_tui.index.digest import Judge
from reach_tui.index.freshness import fingerprint, look
from reach_tui.index.places import index_path
from reach_tui.index.schema import IndexBroken
from reach_tui.index.store import Index
from reach_tui.index.text import Words, full_text_query
from reach_tui.index.words import candidates, ready_sessions, unready_sessions
from reach_tui.model import Glance, ToolCall, Verdict
from reach_tui.stores.reader import Reader, Scanned

_FEW = 50  # sessions read before the index is asked: the newest ones, which no scan has seen yet; and at a time


@dataclass(frozen=True, slots=True)
class Hit:
    """A call that holds the words."""

    call: ToolCall
    verdict: Verdict
    where: str
    """`result` or `arguments`: where the first word stands."""
    excerpt: str
    """One line around it, clean."""

    @property
    def session_id(self) -> str:
        """The session to open."""
        return self.call.session_id

    @property
    def call_key(self) -> str:
        """The call's key."""
        return self.call.key

    @property
    def step(self) -> int:
        """The step to jump to, from 1."""
        return self.call.step


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: all `words`, as text, in calls of these `tools` (any), failed ones only or not.

    `whole` reads also the middle of long texts, of which the index holds head and tail.
    """

    words: tuple[str, ...]
    tools: frozenset[str] = frozenset()
    failed: bool = False
    whole: bool = False


Watch = Callable[[int, int], None]
"""Told how many sessions were looked at, and how many are to be; what it raises ends the search."""


def search(
    reader: Reader, engine: Judge, query: Query, limit: int | None = None, watch: Watch | None = None
) -> Iterator[Hit]:
    """The calls that hold all words, about newest session first, as they are found. Raises `StoreError`.

    No words find nothing. Operators and quotes are text like any other. `watch` is asked before some sessions are
    read: all of them, or those where the index finds what may be a hit.
    """
    yield from islice(_Search(reader, engine, query, watch or _unwatched).hits(), limit)


def _unwatched(read: int, of: int) -> None:
    pass


class _Search:
    def __init__(self, reader: Reader, engine: Judge, query: Query, watch: Watch) -> None:
        self.reader = reader
        self.engine = engine
        self.query = query
        self.words = Words(query.words)
        self.told: set[str] = set()
        self.doubtful = False
        """True while most of what the index finds is no hit: a phrase's words may stand there with signs between."""
        self.watch = watch

    def hits(self) -> Iterator[Hit]:
        if not self.words.words:
            return
        left: Collection[str] | None = None
        if full_text_query(self.words.words) is not None and index_path(self.reader).exists():
            try:
                with Index.opened(self.reader, self.engine.version) as index:
                    left, answers = self._left(index)
                    if len(left) <= _FEW:
                        yield from self._stream(left)
                        left = ()
                    yield from self._indexed(index, answers)
                if self.query.whole:
                    left = None
            except IndexBroken:
                left = None
        yield from self._stream(self._listed() if left is None else left)

    def _listed(self) -> list[str]:
        return [session.id for session in self.reader.sessions()]

    def _left(self, index: Index) -> tuple[Collection[str], Callable[[str], bool]]:
        """The sessions that must be read, and whether the index can answer for one."""
        with index.guarded():
            complete, mark = index.meta("complete"), index.meta("mark")
        if complete is not None and complete == fingerprint(self.reader):  # it knows every session: none is listed
            left = unready_sessions(index)
            return left, lambda name: name not in left
        ready = ready_sessions(index)
        if ready:
            changed = look(self.reader, mark).changed
            ready = set() if changed is None else ready - changed
        return [name for name in self._listed() if name not in ready], ready.__contains__

    def _indexed(self, index: Index, answers: Callable[[str], bool]) -> Iterator[Hit]:
        tools = {part for name in self.query.tools for part in (name, *name.split("→"))}
        for found, read, of in candidates(index, self.words.words, tools, self.query.failed):
            wanted = {name: keys for name, keys in found.items() if answers(name)}
            for chunk in _more_and_more(wanted):
                self.watch(read, of)
                before = len(self.told)
                yield from self._among(chunk, wanted)
                self.doubtful = 2 * (len(self.told) - before) < sum(len(wanted[name]) for name in chunk)

    def _stream(self, names: Collection[str]) -> Iterator[Hit]:
        read = 0
        for chunk in _more_and_more(names):
            self.watch(read, len(names))
            yield from self._among(chunk, None)
            read += len(chunk)

    def _among(self, names: Sequence[str], wanted: Mapping[str, set[str]] | None) -> Iterator[Hit]:
        """The hits of some sessions, of their `wanted` calls or of all."""
        if isinstance(self.reader, Scanned) and (
            wanted is None or self.doubtful
        ):  # the faster way to see that it is none
            holding: dict[str, set[str]] = {}
            for one in self.reader.scan(names):
                calls = [call for call in one.calls if wanted is None or call.key in wanted[one.session_id]]
                if keys := {call.key for call in calls if self._wants(call) and self.words.place(call)}:
                    holding[one.session_id] = keys
            names, wanted = [name for name in names if name in holding], holding
        if not names:
            return
        for call in self.reader.calls(names):
            if wanted is not None and call.key not in wanted.get(call.session_id, ()):
                continue
            if not self._wants(call) or (place := self.words.place(call)) is None:
                continue
            verdict = self.engine.judge(call)
            if not self.query.failed or verdict.failed is True:
                self.told.add(call.key)
                yield Hit(call, verdict, *place)

    def _wants(self, call: Glance) -> bool:
        tools = self.query.tools
        return call.key not in self.told and (not tools or bool(tools & {call.tool, call.target, call.shown_tool}))


def _more_and_more(names: Iterable[str]) -> Iterator[list[str]]:
    """Sessions as they are read at a time: one first, so that the first hit is soon there."""
    waiting, size = iter(names), 1
    while chunk := list(islice(waiting, size)):
        yield chunk
        size = min(2 * size, _FEW)

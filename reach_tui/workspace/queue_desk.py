"""One person working through a queue: items read one by one, labels given to them, undone, put off.

Nothing here waits for a key: a screen calls `load` and the writing methods from its threads. Which item comes next is
known at once, from what is answered or about to be.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from reach_tui.base.errors import LabelError, ReachError
from reach_tui.base.hashing import content_hash
from reach_tui.base.jsonio import BadJson, dumps, loads
from reach_tui.labels.queues import Queue as Queue
from reach_tui.labels.queues import QueueItem as QueueItem
from reach_tui.labels.queues import put_off, put_off_by
from reach_tui.labels.store import UNCODED as UNCODED
from reach_tui.model import Label, Session, StepKind
from reach_tui.workspace.judged import JudgedCall, JudgedStep
from reach_tui.workspace.queueing import ADJUDICATION, RULE_ERRORS, Settled, label_stores, source_of, step_back
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

BEFORE, AFTER = 6, 2
"""Steps around a call that are shown."""
_KEPT_SESSIONS = 4
_RATE = 20  # the last labels that the rate is taken from
_LONGEST_MS = 300_000  # a label that took longer was a pause


@dataclass(frozen=True, slots=True)
class Item:
    """A call of the queue as it is shown."""

    item: QueueItem
    source: Source | None = None
    session: Session | None = None
    judged: JudgedCall | None = None
    """None where the trace no longer has the call, or cannot be read (then `problem` says so)."""
    before: tuple[JudgedStep, ...] = ()
    after: tuple[JudgedStep, ...] = ()
    steps: int = 0
    """Of the whole session."""
    alike: tuple[JudgedCall, ...] = ()
    """Further failures of the session with the same tool, rule and text, which the person has not labelled."""
    labels: tuple[Label, ...] = ()
    """Everybody's labels in force on the call, oldest first; only those of the codebook in use."""
    problem: str = ""

    def own(self, by: str, role: str = "annotator") -> Label | None:
        """That person's label in that role."""
        return next((label for label in reversed(self.labels) if (label.by, label.role) == (by, role)), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a write: what is in force now on which calls, and the place to go back to."""

    labels: tuple[Label, ...] = ()
    """The rows written; category None where no label is left."""
    position: int | None = None
    """Of the (first) call written to, if it is in the queue."""
    error: ReachError | None = None


def likeness(judged: JudgedCall) -> tuple[str, str, str] | None:
    """What identical failures have in common: tool, rule, and the evidence without numbers; None for no failure."""
    verdict = judged.verdict
    if verdict.failed is not True or verdict.rule is None:
        return None
    text = verdict.evidence.text[:400] if verdict.evidence else ""
    plain = re.sub(r"\b(?:[0-9a-f]{8,}|\d+)\b", "0", " ".join(text.casefold().split()))
    return judged.call.shown_tool, verdict.rule, plain


@dataclass(slots=True)
class Place:
    """Which items are done, put off or left; the order of work."""

    items: Sequence[QueueItem]
    done: set[int] = field(default_factory=set)
    off: dict[int, str] = field(default_factory=dict)
    """What was put off or skipped last, oldest first; it counts while the item has no label."""
    pending: set[int] = field(default_factory=set)
    """Labelled, and not on disk yet."""
    skipped: set[int] = field(init=False)
    deferred: list[int] = field(init=False)
    """Oldest first."""
    _fresh: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._sort()

    def _sort(self) -> None:
        out = self.done | self.pending
        self.skipped = {place for place, action in self.off.items() if action == "skip" and place not in self.done}
        self.deferred = [place for place, action in self.off.items() if action == "defer" and place not in out]
        out |= self.skipped | set(self.deferred)
        self._fresh = [item.position for item in self.items if item.position not in out]

    @property
    def total(self) -> int:
        """Items that are not skipped."""
        return len(self.items) - len(self.skipped)

    @property
    def left(self) -> int:
        """How many are to do."""
        return len(self._fresh) + len(self.deferred)

    def first(self) -> int | None:
        """The position to begin with; None when everything is done."""
        return next(iter((*self._fresh[:1], *self.deferred[:1])), None)

    def after(self, position: int) -> int | None:
        """The next position to do: the untouched ones in order, then those put off, then from the start again."""
        if position in self.deferred:
            place = self.deferred.index(position)
            order = [*self.deferred[place + 1 :], *self._fresh, *self.deferred[:place]]
        else:
            place = bisect_right(self._fresh, position)
            order = [*self._fresh[place : place + 2], *self._fresh[:2], *self.deferred]
        return next((one for one in order if one != position), None)

    def beside(self, position: int, step: int) -> int | None:
        """The item before or after that one, done or not; None at the ends."""
        other = position + step
        return other if 1 <= other <= len(self.items) else None

    def begin(self, position: int) -> None:
        """A label for the item is being written: nobody needs to come back to it."""
        self.pending.add(position)
        self._sort()

    def answered(self, positions: Iterable[int], *, answered: bool = True) -> None:
        """Items have a label now, or (`answered` False) none any more, or still none."""
        for position in positions:
            self.pending.discard(position)
            (self.done.add if answered else self.done.discard)(position)
        self._sort()

    def put_off(self, position: int, action: str | None) -> None:
        """An item comes back last (`defer`), not at all (`skip`), or in its place (`return`, None)."""
        self.off.pop(position, None)  # the newest comes last
        if action is not None:
            self.off[position] = action
        self._sort()


class Desk:
    """A queue, the open sources and one person. Methods that read or write may be called from any thread."""

    def __init__(self, workspace: Workspace, sources: Sequence[Source], queue: Queue) -> None:
        """Find the person's place. Raises `LabelError`."""
        self.workspace = workspace
        self.sources = tuple(sources)
        self.queue = queue
        self.role = "adjudicator" if queue.recipe.get("kind") == ADJUDICATION else "annotator"
        self._positions = {item.target: item.position for item in queue.items}
        self._lock = threading.Lock()
        self._read: dict[tuple[str, str], tuple[Source | None, Session | None, list[JudgedStep]]] = {}
        self._store = workspace.queue_store()
        self.place = self.find_place()
        self._spent: list[int] = []

    def find_place(self) -> Place:
        """The person's place as it is on disk. Raises `LabelError`."""
        mine = Settled(self.workspace, self.sources).in_queue(self.queue)
        off: dict[int, str] = {}
        for position, action in put_off_by(self._store, self.queue.id, self.workspace.by):
            off.pop(position, None)  # the newest counts, also for the order in which they come back
            off[position] = action
        return Place(self.queue.items, {item.position for item in self.queue.items if item.target in mine}, off)

    def own(self, item: Item | None) -> Label | None:
        """The person's own label of an item, in the role this queue asks for."""
        return item.own(self.workspace.by, self.role) if item is not None else None

    def item(self, position: int) -> QueueItem:
        """The item of that position, which must be in the queue."""
        return self.queue.items[position - 1]

    def position_of(self, label: Label) -> int | None:
        """Where a label's call stands in the queue."""
        return self._positions.get((label.store, label.session_id, label.call_key or ""))

    # Reading

    def load(self, position: int) -> Item:
        """An item as it is shown; what cannot be read is said in it."""
        item = self.item(position)
        try:
            source, session, steps = self._session(item)
            if source is None:
                return Item(item, problem=f"its trace is not open: {item.source}")
            at = next((i for i, one in enumerate(steps) if one.judged and one.judged.call.key == item.call_key), None)
            judged = steps[at].judged if at is not None else None
            if at is None or judged is None:
                return Item(item, source, session, problem="the trace no longer has this call")
            store = self.workspace.label_store(source)
            codebook = self.workspace.taxonomy.id
            labels = [one for one in store.of_call(*item.target) if one.taxonomy == codebook]
            others = store.in_force(item.store, item.session_id).values()
            mine = {one.call_key for one in others if (one.by, one.taxonomy) == (self.workspace.by, codebook)}
        except ReachError as error:
            return Item(item, problem=error.line())
        before, after = steps[max(0, at - BEFORE) : at], steps[at + 1 : at + 1 + AFTER]
        asked = next((one for one in reversed(steps[:at]) if one.step.kind is StepKind.USER), None)
        if asked is not None and asked not in before:
            before = [asked, *before]
        alike = tuple(one for one in _alike(likeness(judged), judged, steps) if one.call.key not in mine)
        around = tuple(before), tuple(after), len(steps)
        return Item(item, source, session, judged, *around, alike, tuple(labels))

    def _session(self, item: QueueItem) -> tuple[Source | None, Session | None, list[JudgedStep]]:
        key = item.store, item.session_id
        with self._lock:
            known = self._read.pop(key, None)
            if known is None:
                source = source_of(self.sources, item.store, item.session_id, item.source)
                session = source.reader.session(item.session_id) if source else None
                steps = list(self.workspace.judged_steps(source, item.session_id)) if source else []
                known = source, session, steps
            self._read[key] = known  # the newest last
            while len(self._read) > _KEPT_SESSIONS:
                del self._read[next(iter(self._read))]
            return known

    # Labelling

    def label(self, item: Item, judged: JudgedCall, category: str, **fields: object) -> Label:
        """A label for a call of an item, not saved yet."""
        if item.source is None:
            raise LabelError("there is no call to label", hint="skip the item")
        made = self.workspace.make_label(item.source, judged, category)
        return replace(made, role=self.role, **fields)  # type: ignore[arg-type]

    def shown(self, item: Item, spent_ms: int, *, blind: bool) -> str:
        """How an item was shown, for the label's `shown`."""
        return dumps({"blind": blind, "queue": self.queue.id, "position": item.item.position, "spent_ms": spent_ms})

    def save(self, item: Item, labels: Sequence[tuple[JudgedCall, Label]]) -> Answer:
        """Make labels durable, several as one step of undo; then they are on disk."""
        if item.source is None:
            return Answer(error=LabelError("there is no call to label", hint="skip the item"))
        try:
            store = self.workspace.label_store(item.source)
            ready = [replace(label, content_hash=_hash(judged)) for judged, label in labels]
            saved = store.save_many(ready) if len(ready) > 1 else [store.save(one) for one in ready]
        except ReachError as error:
            return Answer(tuple(label for _, label in labels), item.item.position, error)
        return Answer(tuple(saved), item.item.position)

    def undo(self) -> Answer:
        """Take the person's last label (or batch) back, in whichever label database it is."""
        return self._step(redo=False)

    def redo(self) -> Answer:
        """Give it again."""
        return self._step(redo=True)

    def _step(self, *, redo: bool) -> Answer:
        try:
            written = step_back(self.workspace, self.sources, redo=redo)
        except ReachError as error:
            return Answer(error=error)
        places = [place for label in written if (place := self.position_of(label)) is not None]
        return Answer(tuple(written), min(places) if places else None)

    def put_off(self, position: int, action: str) -> Answer:
        """Keep on disk that an item was deferred, skipped or returned."""
        try:
            put_off(self._store, self.queue.id, position, self.workspace.by, action)
        except ReachError as error:
            return Answer((), position, error)
        return Answer((), position)

    def take_in(self, answer: Answer) -> None:
        """Take what is on disk now into the place; for the thread that shows it."""
        for label in answer.labels:
            position = self.position_of(label)
            if position is None or label.role != self.role:
                continue
            if answer.error is not None:
                self.place.answered([position], answered=position in self.place.done)
            else:
                self.place.answered([position], answered=self._counts(label))

    def _counts(self, label: Label) -> bool:
        """True for a label that answers an item; where all were labelled before, only those of this queue do."""
        if label.category is None:
            return False
        return self.queue.recipe.get("kind") != RULE_ERRORS or self.queue.id in (label.shown or "")

    # Time

    def spent(self, ms: int) -> None:
        """A label took so long."""
        self._spent = [*self._spent[1 - _RATE :], min(ms, _LONGEST_MS)]

    def recall_rate(self) -> None:
        """Take the rate from the last labels given in this queue before. Raises `LabelError`."""
        stores = label_stores(self.workspace, self.sources)
        labels = [one for store in stores for one in store.last_shown(self.workspace.by, _RATE)]
        for label in sorted(labels, key=lambda one: one.at)[-_RATE:]:
            try:
                told = loads(label.shown or "null")
            except BadJson:
                continue
            if isinstance(told, dict) and told.get("queue") == self.queue.id:
                ms = told.get("spent_ms")
                if isinstance(ms, int) and ms > 0:
                    self.spent(ms)

    @property
    def minutes_left(self) -> int | None:
        """At the rate of the last labels; None while there are too few to say."""
        if len(self._spent) < 3:
            return None
        return max(1, round(fmean(self._spent) * self.place.left / 60_000)) if self.place.left else 0


def _hash(judged: JudgedCall) -> str:
    call = judged.call
    return content_hash(call.tool, call.arguments, call.result.text if call.result else None)


def _alike(
    kind: tuple[str, str, str] | None, judged: JudgedCall, steps: Sequence[JudgedStep]
) -> tuple[JudgedCall, ...]:
    if kind is None:
        return ()
    calls = (one.judged for one in steps if one.judged is not None)
    return tuple(one for one in calls if one.call.key != judged.call.key and likeness(one) == kind)

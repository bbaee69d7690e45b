"""Labelling queues over open traces: drawing one by a recipe, keeping it, finding the one to go on with."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from reach_tui.analyze.sampling import CONTROL, Candidate, Drawing, Drawn, Recipe
from reach_tui.base.clock import now_ms, to_iso
from reach_tui.base.errors import LabelError
from reach_tui.base.jsonio import JsonValue
from reach_tui.index.pages import SessionKinds, listed
from reach_tui.index.workers import Workers
from reach_tui.labels.queues import Queue, QueueItem, Standing, load_queue, put_off_by, queues, save_queue, standing
from reach_tui.labels.store import UNCODED, LabelStore
from reach_tui.model import Label
from reach_tui.workspace.label_figures import Target, disputes, opinions, score_labels
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

ADJUDICATION = "adjudication"
"""`kind` in the recipe of a queue of disagreements between people."""
RULE_ERRORS = "rule_errors"
"""`kind` in the recipe of a queue of calls on which rule and person disagree."""
_WORDS = {"hidden": "hidden errors", "failed": "failures", "soft": "soft signals", "flagged": "flagged", "all": "calls"}
_ORDER_WORDS = {"doubt": "nearest to doubt first", "random": "in random order", "newest": "newest first"}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far drawing has come: sessions looked at, of how many."""

    done: int
    sessions: int


def candidates(workspace: Workspace, source: Source) -> Iterator[Candidate | None]:
    """Every call of a source that may be drawn, copies left out; None at each step of work. Raises `StoreError`."""
    sessions = list(source.reader.sessions())
    with Workers() as digester:
        for one in listed(source.reader, workspace.engine, sessions, digester):
            if one is not None:
                yield from _candidates(source, one)
            yield None


def _candidates(source: Source, told: SessionKinds) -> Iterator[Candidate]:
    session = told.session
    file = source.file_of(session.id)
    for key, kind in told.calls:
        if not kind.copied:
            yield Candidate(
                source.kind, file, session.id, key, kind.shown_tool, kind.failed, kind.hidden, kind.flagged,
                kind.confidence, kind.rule, kind.category, session.started_at,
            )  # fmt: skip


def drawn(
    workspace: Workspace, sources: Sequence[Source], recipe: Recipe, without: Set[Target] = frozenset()
) -> Generator[Progress, None, list[Drawn]]:
    """Draw a list over these sources; tells how far it is, and may be given up at any time. Raises `StoreError`."""
    drawing = Drawing(recipe)
    steps = total = 0
    for source in sources:
        total += sum(1 for _ in source.reader.sessions())
        for one in candidates(workspace, source):
            if one is not None:
                if (one.store, one.session_id, one.key) not in without:
                    drawing.add(one)
                continue
            steps += 1
            yield Progress(min(steps, total), total)
    return drawing.drawn()


def make_queue(
    workspace: Workspace, sources: Sequence[Source], recipe: Recipe, name: str = "", *, fresh: bool = False
) -> Generator[Progress, None, Queue]:
    """Draw a queue and keep it with its recipe; `fresh` leaves out what the person has labelled.

    Raises `LabelError` (also where nothing fits), `StoreError`.
    """
    without = Settled(workspace, sources).labelled() if fresh else frozenset()
    chosen = yield from drawn(workspace, sources, recipe, without)
    items = [
        QueueItem(place, one.candidate.store, one.candidate.session_id, one.candidate.key, one.stratum,
                  one.candidate.source)
        for place, one in enumerate(chosen, 1)
    ]  # fmt: skip
    if all(item.stratum == CONTROL for item in items) and recipe.kind != "all" and recipe.controls < 1:
        left = " that you have not labelled" if fresh else ""
        raise LabelError(f"no {_WORDS[recipe.kind]} to label{left}", hint="try another kind, or controls alone")
    told = _as_json(recipe) | ({"fresh": True} if fresh else {})
    return save_queue(queue_store(workspace), name or name_of(recipe), workspace.by, told, items)


def name_of(recipe: Recipe) -> str:
    """What a queue is called: `hidden errors, nearest to doubt first`."""
    narrowed = ", ".join([*recipe.tools, *recipe.rules])
    return f"{_WORDS[recipe.kind]}{f' of {narrowed}' if narrowed else ''}, {_ORDER_WORDS[recipe.order]}"


def _as_json(recipe: Recipe) -> dict[str, JsonValue]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(recipe).items()}


def recipe_of(queue: Queue) -> Recipe | None:
    """The recipe a queue was drawn by; None for one that was not drawn (disagreements), or is of a later version."""
    known = {field.name for field in fields(Recipe)}
    values: dict[str, Any] = {
        name: tuple(map(str, value)) if isinstance(value, list) else value
        for name, value in queue.recipe.items()
        if name in known
    }
    try:
        return Recipe(**values)
    except (TypeError, ValueError):
        return None


def described(recipe: Mapping[str, JsonValue]) -> str:
    """A recipe in one line: `hidden, by tool, doubt, 20 % controls, seed 1`."""
    kind = str(recipe.get("kind", "?"))
    parts = [kind]
    if recipe.get("stratify") not in (None, "none"):
        parts.append(f"by {recipe['stratify']}")
    if (order := recipe.get("order")) is not None:
        parts.append(str(order))
    share = recipe.get("controls")
    if isinstance(share, int | float) and share:
        parts.append(f"{share:.0%} controls")
    narrowed = {name: recipe.get(name) for name in ("tools", "rules")}
    parts += [
        f"{name} {' '.join(map(str, ones))}" for name, ones in narrowed.items() if isinstance(ones, list) and ones
    ]
    if (seed := recipe.get("seed")) is not None:
        parts.append(f"seed {seed}")
    if recipe.get("fresh"):
        parts.append("not labelled before")
    return ", ".join(parts)


# Disagreements


def adjudication_queue(workspace: Workspace, sources: Sequence[Source]) -> Queue:
    """Keep a queue of the calls in these sources on which people disagree. Raises `LabelError` if there are none."""
    folding = workspace.folding
    open_ones = [
        target for source in sources for target in disputes(opinions(workspace.labels_in_force(source), folding))
    ]
    items = _items(workspace, sources, dict.fromkeys(open_ones, "dispute"))
    if not items:
        raise LabelError("people agree on every call of these traces that two of them labelled")
    recipe: dict[str, JsonValue] = {"kind": ADJUDICATION}
    return save_queue(queue_store(workspace), "disagreements between people", workspace.by, recipe, items)


def rule_error_queue(workspace: Workspace, sources: Sequence[Source]) -> Queue:
    """Keep a queue of the labelled calls on which detectors and people disagree, rule by rule.

    Raises `LabelError` if there are none, `StoreError`.
    """
    wrong = score_labels(workspace, sources).scores.disagreements
    labels = {
        label.call_key: (label.store, label.session_id, label.call_key)
        for source in sources
        for label in workspace.labels_in_force(source)
        if label.call_key is not None
    }
    by_rule = sorted(wrong, key=lambda one: (one.rule or "", one.key))
    targets = {labels[one.key]: one.rule or "no rule" for one in by_rule if one.key in labels}
    items = _items(workspace, sources, targets)
    if not items:
        raise LabelError("detectors and labels agree on every labelled call", hint="label more, with random controls")
    recipe: dict[str, JsonValue] = {"kind": RULE_ERRORS}
    return save_queue(queue_store(workspace), "rule and person disagree", workspace.by, recipe, items)


def _items(workspace: Workspace, sources: Sequence[Source], targets: Mapping[Target, str]) -> list[QueueItem]:
    """The targets that the sources have, as items."""
    found: list[QueueItem] = []
    for (kind, session_id, key), stratum in targets.items():
        source = source_of(sources, kind, session_id)
        if source is not None:
            file = source.file_of(session_id)
            found.append(QueueItem(len(found) + 1, kind, session_id, key, stratum, file))
    return found


def source_of(sources: Sequence[Source], kind: str, session_id: str, file: str = "") -> Source | None:
    """The source with that session; the one of that file name first. Raises `StoreError`."""
    able = sorted((one for one in sources if one.kind == kind), key=lambda one: one.name != file)
    return next((one for one in able if one.reader.session(session_id) is not None), None)


# Finding


def queue_store(workspace: Workspace) -> LabelStore:
    """Where queues are kept: the label database the person named, or their own; never in a trace."""
    return workspace.queue_store()


def all_queues(workspace: Workspace) -> list[Queue]:
    """Every queue, newest first, without items. Raises `LabelError`."""
    return queues(queue_store(workspace))


def whole_queue(workspace: Workspace, queue_id: str) -> Queue:
    """A queue with its items. Raises `LabelError`."""
    return load_queue(queue_store(workspace), queue_id)


class Settled:
    """What a person labelled in force, over all label databases of the sources; asked once for many queues."""

    def __init__(self, workspace: Workspace, sources: Sequence[Source]) -> None:
        self._workspace = workspace
        self._stores = label_stores(workspace, sources)
        self._found: dict[tuple[str | None, str | None], set[Target]] = {}

    def in_queue(self, queue: Queue) -> set[Target]:
        """What answers items of a queue; of disputes only what they settled. Raises `LabelError`."""
        kind = queue.recipe.get("kind")
        # the calls of a walk were all labelled before
        return self._targets("adjudicator" if kind == ADJUDICATION else None, queue.id if kind == RULE_ERRORS else None)

    def labelled(self) -> Set[Target]:
        """Everything the person labelled. Raises `LabelError`."""
        return self._targets(None, None)

    def _targets(self, role: str | None, here: str | None) -> set[Target]:
        if (role, here) not in self._found:
            told = (store.targets(self._workspace.by, role, here) for store in self._stores)
            self._found[role, here] = set().union(*told)
        return self._found[role, here]

    def standing(self, queue: Queue) -> Standing:
        """Where the person stands in a queue (with its items). Raises `LabelError`."""
        put_off = put_off_by(queue_store(self._workspace), queue.id, self._workspace.by)
        return standing(queue, self.in_queue(queue), put_off)


def standing_of(workspace: Workspace, sources: Sequence[Source], queue: Queue) -> Standing:
    """Where the person stands in a queue (with its items). Raises `LabelError`."""
    return Settled(workspace, sources).standing(queue)


def to_go_on_with(workspace: Workspace, sources: Sequence[Source]) -> Queue | None:
    """The newest queue over these sources in which the person has something left to do, else the newest of all.

    Raises `LabelError`, `StoreError`.
    """
    mine = Settled(workspace, sources)
    finished = None
    for one in all_queues(workspace):
        queue = whole_queue(workspace, one.id)
        left = mine.standing(queue).left
        if left and _reachable(sources, left):
            return queue
        if finished is None and not left and _reachable(sources, queue.items):
            finished = queue
    return finished


def _reachable(sources: Sequence[Source], items: Sequence[QueueItem]) -> bool:
    """True if the sources have one of the first items: else the queue is over other traces."""
    return any(source_of(sources, one.store, one.session_id, one.source) for one in items[:3])


def queue_records(workspace: Workspace, sources: Sequence[Source]) -> Iterator[dict[str, JsonValue]]:
    """The queues as records: id, name, by, at, the person's place, recipe. Raises `LabelError`."""
    mine = Settled(workspace, sources)
    for one in all_queues(workspace):
        queue = whole_queue(workspace, one.id)
        place = mine.standing(queue)
        yield {
            "id": queue.id,
            "name": queue.name,
            "by": queue.by,
            "at": to_iso(queue.at),
            "done": place.done,
            "total": place.total,
            "skipped": place.skipped,
            "deferred": place.deferred,
            "recipe": dict(queue.recipe),
        }


def label_stores(workspace: Workspace, sources: Sequence[Source]) -> list[LabelStore]:
    """The label databases of the sources, and the one that keeps queues, each once. Raises `LabelError`."""
    stores = {id(store): store for store in (queue_store(workspace), *map(workspace.label_store, sources))}
    return list(stores.values())


def step_back(workspace: Workspace, sources: Sequence[Source], *, redo: bool) -> list[Label]:
    """Undo (or redo) the person's last label or batch, in whichever label database it is; the rows written.

    Raises `LabelError`.
    """
    able = [
        (at, store)
        for store in label_stores(workspace, sources)
        if (at := store.last_step(workspace.by, redo=redo)) is not None
    ]
    if not able:
        return []
    store = max(able, key=lambda pair: pair[0])[1]
    return store.redo_all(workspace.by) if redo else store.undo_all(workspace.by)


# Opening

RESUME = "resume"
DISPUTES, WRONG_RULES = "disputes", "wrong rules"
_RECIPES = {
    "hidden": Recipe(),
    "failed": Recipe(kind="failed"),
    "soft": Recipe(kind="soft"),
    "all": Recipe(kind="all", order="random", stratify="none", controls=0.0),
}


def opened(workspace: Workspace, sources: Sequence[Source], what: str) -> Generator[Progress, None, Queue]:
    """The queue to work on: `resume` (a new one only if there is none), a kind to draw, disagreements, a queue's id.

    Raises `LabelError`, `StoreError`.
    """
    if what == RESUME:
        found = to_go_on_with(workspace, sources)
        if found is not None:
            return found
        what = "hidden"
    if what in _RECIPES:
        recipe = replace(_RECIPES[what], seed=len(all_queues(workspace)) + 1)  # not the same calls once more
        return (yield from make_queue(workspace, sources, recipe, fresh=True))
    if what == DISPUTES:
        return adjudication_queue(workspace, sources)
    if what == WRONG_RULES:
        return rule_error_queue(workspace, sources)
    return whole_queue(workspace, what)


# Notes without a class


def notes(workspace: Workspace, sources: Sequence[Source]) -> list[tuple[Source, Label]]:
    """The person's notes under this codebook that have no class yet, by their words: alike ones stand together.

    Raises `LabelError`.
    """
    found: dict[str, tuple[Source, Label]] = {}
    for source in sources:
        for label in workspace.label_store(source).all_in_force(source.kind, by=workspace.by):
            if label.category == UNCODED and label.taxonomy == workspace.taxonomy.id:
                found.setdefault(label.uid or "", (source, label))
    return sorted(found.values(), key=lambda pair: (pair[1].note.casefold(), pair[1].call_key or ""))


def class_notes(workspace: Workspace, chosen: Sequence[tuple[Source, Label]], category: str) -> int:
    """Give notes a class, in one step of undo for each label database; how many. Raises `LabelError`."""
    stores: dict[int, tuple[LabelStore, list[Label]]] = {}
    for source, label in chosen:
        store = workspace.label_store(source)
        stores.setdefault(id(store), (store, []))[1].append(
            replace(label, category=category, at=now_ms(), id=None, taxonomy_version=workspace.taxonomy.version)
        )
    for store, labels in stores.values():
        store.save_many(labels)
    return len(chosen)
